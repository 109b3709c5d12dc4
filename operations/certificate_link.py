"""Takes the certificate that somebody sends by a one-time link: one file at a time is counted, read and decided."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.certificate.reading_process import read_apart
from persistence.people import certificate_links, certificate_vault
from persistence.queue.arrival import Arrival
from persistence.rows.inbox_rows import CertificateRow
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from datetime import date

    from persistence.crypto import Vault
    from persistence.db.engine import Database
    from persistence.people.certificate_links import Link
    from persistence.queue.inbox import Inbox

BY_LINK: Final = "link do WhatsApp"  # who acts, in the audit
READERS: Final = 2  # files that one process has read at once, each by half a second of a processor


class LinkEndedError(ProsaError, LookupError):
    """The link is unknown, was used, ended or is late; which of them is not told."""

    code = "link_ended"


@dataclass(frozen=True, slots=True)
class Kept:
    """What was accepted; ``vence``: its last day in Brazil."""

    razao_social: str
    titular: str
    vence: date


class CertificateLinks:
    """The links as the page uses them."""

    def __init__(self, database: Database, inbox: Inbox, cofre: Vault) -> None:
        self._database = database
        self._inbox = inbox
        self._cofre = cofre
        self._readers = asyncio.Semaphore(READERS)

    async def find(self, token: str) -> Link:
        """Return the link, and change nothing. Raises ``LinkEndedError``."""
        async with self._database.transaction() as connection:
            return _open(await certificate_links.find(connection, token))

    async def send(self, token: str, arquivo: bytes, senha: str) -> Kept:
        """Keep the certificate, and tell the conversation in the same commit.

        Raises ``CertificateRefusedError``: one try less, nothing else changed. ``LinkEndedError``: nothing changed.
        """
        async with self._database.transaction() as connection:
            link = _open(await certificate_links.take_try(connection, token))
        async with self._readers:
            a1 = await read_apart(arquivo, senha, link.cnpj, link.agora)
        async with self._database.transaction() as connection:
            if not await certificate_links.use(connection, link):
                raise LinkEndedError
            await certificate_vault.keep(connection, self._cofre, link.empresa_id, a1, quem=BY_LINK)
            told = Arrival.of(
                CertificateRow("guardado", link.razao_social, a1.vence.isoformat()),
                chave=f"certificado:{link.id}",
                lane=link.conversa,
                correlacao=f"certificado-{link.id.hex[:8]}",
            )
            await self._inbox.put_in(connection, [told])
        return Kept(link.razao_social, a1.titular, a1.vence)


def _open(link: Link | None) -> Link:
    if link is None:
        raise LinkEndedError
    return link
