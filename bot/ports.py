"""What the core of the bot asks of the outside; the composition root hands in the real ones."""

from __future__ import annotations

from typing import Protocol

from extractor.contract import Extractor
from gateway.mail.message import Mail
from gateway.port import FiscalGateway
from gateway.register import CepEntry, Consulta, NotFound, Unavailable
from gateway.whatsapp.errors import Failure, SendResult
from gateway.whatsapp.media import Uploaded
from gateway.whatsapp.messages import Mensagem
from state_machine.mailing.delivery import MailOutcome

__all__ = ["CepLookup", "Extractor", "FiscalGateway", "Mailer", "Messenger", "Register"]


class Mailer(Protocol):
    """One line to the mail server; see ``gateway.mail.client.MailConnection``."""

    async def send(self, mail: Mail) -> MailOutcome:
        """Hand one mail in, once."""
        ...


class Messenger(Protocol):
    """The WhatsApp Cloud API as far as we use it; see ``gateway.whatsapp.client.WhatsApp``."""

    async def send(
        self,
        mensagem: Mensagem,
        destinatario: str,
        outbox_id: str,
        *,
        reply_to: str | None = None,
        tentativa: int = 0,
    ) -> SendResult:
        """Send one message once."""
        ...

    async def mark_read_and_typing(self, wamid: str) -> bool:
        """Show blue ticks and "typing…"."""
        ...

    async def upload_media(self, conteudo: bytes, mime: str, filename: str) -> Uploaded | Failure:
        """Upload a document to be sent by its id."""
        ...


class Register(Protocol):
    """The public CNPJ register; see ``gateway.register.CNPJRegister``."""

    async def lookup(self, cnpj: str) -> Consulta:
        """Say whose CNPJ this is; never raises."""
        ...


class CepLookup(Protocol):
    """The public register of CEPs; see ``gateway.register.CepRegister``."""

    async def lookup(self, cep: str) -> CepEntry | NotFound | Unavailable:
        """Say where this CEP is; never raises."""
        ...
