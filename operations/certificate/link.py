"""Takes the certificate that somebody sends by a one-time link: one file at a time is counted, read and decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.certificate.reading_process import read_apart
from gateway.certificate.turns import ReadersBusyError, Turns
from operations.company import CompanyForm, change_company
from operations.services import ServiceForm, add_to
from persistence.audit.records import Author
from persistence.people import certificate_links, certificate_vault, certificates, channels, services
from persistence.queue.arrival import Arrival
from persistence.rows.inbox_rows import CertificateRow
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from datetime import date

    from persistence.crypto import Vault
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.people.certificate_links import Link
    from persistence.queue.inbox import Inbox
    from persistence.rows.inbox_rows import AvisoCertificado
    from state_machine.values.certificate import A1

BY_LINK: Final = "link do WhatsApp"  # who acts, in the audit
HOURLY: Final = 20  # files of one company in an hour: four links' tries


class LinkEndedError(ProsaError, LookupError):
    """The link is unknown, was used, ended or is late; which of them is not told."""

    code = "link_ended"


class TooManyFilesError(ProsaError, RuntimeError):
    """The company had as many files read within the hour as it may."""

    code = "too_many_files"


class NotNowError(ProsaError, RuntimeError):
    """As many files as may wait are waiting."""

    code = "not_now"


@dataclass(frozen=True, slots=True)
class Kept:
    """What was accepted; ``vence``: its last day in Brazil."""

    razao_social: str
    titular: str
    vence: date


@dataclass(frozen=True, slots=True)
class Simples:
    """What the page asks a company of the Simples for NT 009, as codes; ``None`` is not said."""

    apuracao: str | None = None
    atividade: str | None = None


class CertificateLinks:
    """The links as the page uses them; ``raizes`` and ``unchecked``: as of ``keep_certificate``."""

    def __init__(
        self, database: Database, inbox: Inbox, cofre: Vault, raizes: bytes = b"", *, unchecked: bool = False
    ) -> None:
        self._database = database
        self._inbox = inbox
        self._cofre = cofre
        self._raizes = raizes
        self._replaces = bool(raizes) or unchecked
        self._turns = Turns()

    async def find(self, token: str) -> Link:
        """Return the link, and change nothing. Raises ``LinkEndedError``."""
        async with self._database.transaction() as connection:
            return _open(await certificate_links.find(connection, token))

    async def send(self, token: str, arquivo: bytes, senha: str, simples: Simples | None = None) -> Kept:
        """Keep the certificate and what was said of the Simples, and tell the conversation in the same commit.

        Raises ``CertificateRefusedError``: one try less, nothing else changed. ``LinkEndedError``,
        ``TooManyFilesError``, ``NotNowError``: nothing changed.
        """
        try:
            return await self._send(token, arquivo, senha, simples)
        except ReadersBusyError as busy:
            raise NotNowError from busy

    async def _send(self, token: str, arquivo: bytes, senha: str, simples: Simples | None) -> Kept:
        async with self._database.transaction() as connection:
            link = _open(await certificate_links.take_try(connection, token))
            if await certificate_links.tries(connection, link.empresa_id) > HOURLY:
                raise TooManyFilesError
            self._turns.check(link.empresa_id)  # a try that has no place is not counted
        async with self._turns.of(link.empresa_id):
            a1 = await read_apart(arquivo, senha, link.cnpj, link.agora, self._raizes)
        async with self._database.transaction() as connection:
            if not await certificate_links.use(connection, link):
                raise LinkEndedError
            replaced = await certificate_vault.keep(
                connection, self._cofre, link.empresa_id, a1, quem=BY_LINK, replaces=self._replaces
            )
            if link.pergunta and simples is not None:
                await _keep(connection, link, simples)
            told = [_told(link, a1, "guardado", link.conversa)]
            if replaced:
                others = await certificates.talking(connection, link.empresa_id)
                told += [_told(link, a1, "trocado", each) for each in others if each != link.conversa]
            await self._inbox.put_in(connection, told)
        return Kept(link.razao_social, a1.titular, a1.vence)


async def _keep(connection: Connection, link: Link, simples: Simples) -> None:
    company, author = await channels.company(connection, link.cnpj), Author(BY_LINK)
    if simples.apuracao is not None:
        form = CompanyForm(
            cnpj=link.cnpj,
            razao_social=company.razao_social,
            inscricao_municipal=company.inscricao_municipal,
            municipio=company.municipio_ibge,
            apuracao_ibscbs=simples.apuracao,
        )
        await change_company(connection, company, form, {}, author)
    if simples.atividade is not None:
        main = (await services.of_company(connection, company.id, company.codigo_servico))[0]
        said = ServiceForm(codigo=main.codigo, descricao=main.descricao, atividade_sn=simples.atividade)
        await add_to(connection, company, said, author)


def _told(link: Link, a1: A1, aviso: AvisoCertificado, conversa: str) -> Arrival:
    chave = f"certificado:{link.id}" + ("" if aviso == "guardado" else f":{conversa}")
    row = CertificateRow(aviso, link.razao_social, a1.vence.isoformat())
    return Arrival.of(row, chave=chave, lane=conversa, correlacao=f"certificado-{link.id.hex[:8]}")


def _open(link: Link | None) -> Link:
    if link is None:
        raise LinkEndedError
    return link
