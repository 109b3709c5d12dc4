"""The bytes of a mail: headers, and text in two forms."""

from __future__ import annotations

import html
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, formataddr
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from email.policy import Policy

_TEXT: Final = """{texto}

—
{motivo}
Para não receber mais: {sair}
"""
_HTML: Final = """<!doctype html>
<html lang="pt-BR"><head><meta charset="utf-8"></head>
<body>
{body}
<hr>
<p><small>{motivo} <a href="{sair}">Não quero mais receber</a></small></p>
</body></html>
"""


@dataclass(frozen=True, slots=True)
class MailedFile:
    """A file that goes with a mail."""

    nome: str
    mime: str
    conteudo: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail: ``nome`` is what stands beside the sender's address, ``files`` go with it.

    ``motivo`` says why it came; ``sair`` is where its reader says no to more, with one click (RFC 8058).
    """

    message_id: str
    sender: str
    nome: str
    to: str
    assunto: str
    texto: str
    motivo: str
    sair: str
    files: tuple[MailedFile, ...] = ()


def to_bytes(mail: Mail) -> bytes:
    """Return the message as it is handed in, in ASCII. Raises ``ValueError`` for a header of several lines."""
    registry = HeaderRegistry()
    for name in ("list-unsubscribe", "message-id"):
        registry.map_to_type(name, _Whole)
    message = EmailMessage(SMTP.clone(max_line_length=76, cte_type="7bit", header_factory=registry))
    message["From"] = formataddr((mail.nome, mail.sender))
    message["To"] = mail.to
    message["Subject"] = mail.assunto
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = mail.message_id
    message["Auto-Submitted"] = "auto-generated"
    message["List-Unsubscribe"] = f"<{mail.sair}>"
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(_TEXT.format(texto=mail.texto, motivo=mail.motivo, sair=mail.sair))
    message.add_alternative(_html(mail), subtype="html")
    for file in mail.files:
        kind, _, subtype = file.mime.partition("/")
        message.add_attachment(file.conteudo, maintype=kind, subtype=subtype, filename=file.nome)
    return message.as_bytes()


class _Whole(UnstructuredHeader, BaseHeader):
    """A header of one long word: folded, it would be encoded, and mean nothing to the programs that look for it."""

    def fold(self, *, policy: Policy) -> str:
        return f"{self.name}: {self}{policy.linesep}"


def _html(mail: Mail) -> str:
    paragraphs = (html.escape(part).replace("\n", "<br>\n") for part in mail.texto.split("\n\n"))
    body = "\n".join(f"<p>{part}</p>" for part in paragraphs)
    return _HTML.format(body=body, motivo=html.escape(mail.motivo), sair=html.escape(mail.sair))
