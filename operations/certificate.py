"""A company's A1 certificate: how it comes in, and what becomes of it.

Keeps, replaces, brings back and destroys a company's A1 certificate, or notes how long the gateway's is good.

Takes the certificate that somebody sends by a one-time link: one file at a time is counted, read and decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import sqlalchemy as sa

from gateway.certificate.reading_process import ReadersBusyError, Turns, read_apart
from operations.company import CompanyForm, change_company
from operations.protocol import CommandRefusedError
from operations.services import ServiceForm, add_to
from persistence.audit.records import Author
from persistence.crypto import Vault
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people import certificate_links, certificate_vault, certificates, channels, services
from persistence.people.certificate_links import Link
from persistence.queue.inbox import Arrival, Inbox
from persistence.rows import AvisoCertificado, CertificateRow
from persistence.tables import empresa
from state_machine.values.certificate import A1
from state_machine.values.documents import CNPJ, DocumentoInvalido
from state_machine.values.errors import ProsaError

YEARS: Final = range(2020, 2100)  # a certificate lasts five at most; the rest is a slip of the keyboard
COMMAND_LINE: Final = "linha de comando"  # who acts, in the audit
_ASIDE: Final = (
    f"O anterior fica guardado, cifrado, até a primeira nota aceita com este, por {certificate_vault.FORMER_KEPT.days} "
    "dias no máximo. Para voltar a ele: prosa empresa certificado CNPJ --anterior."
)


async def note_expiry(database: Database, cnpj: str, texto: str) -> list[str]:
    """Store the last good day, ``AAAA-MM-DD``; an empty text forgets it. Raises ``CommandRefusedError``."""
    numero = _cnpj(cnpj)
    vence = _day(texto)
    async with database.transaction() as connection:
        nome = await certificates.note(connection, numero, vence)
    if nome is None:
        raise CommandRefusedError(f"Nenhuma empresa com o CNPJ {cnpj}; nada mudou.")
    if vence is None:
        return [f"{nome}: a data do certificado foi esquecida; a página de saúde não avisa mais."]
    return [f"{nome}: o certificado vale até {vence:%d/%m/%Y}. A página de saúde avisa 30 e 7 dias antes."]


async def keep_certificate(
    database: Database,
    cofre: Vault,
    *,
    cnpj: str,
    arquivo: bytes,
    senha: str,
    raizes: bytes = b"",
    unchecked: bool = False,
    quem: str = COMMAND_LINE,
) -> list[str]:
    """Check a PKCS #12 file and keep its certificate, sealed, in place of the one before; its date becomes the known.

    ``raizes``: as of ``read_apart``; without any, ``unchecked``: it may take the place of one that is good still.
    Raises ``CommandRefusedError`` or ``CertificateRefusedError``: nothing changed.
    """
    if not cofre:
        raise CommandRefusedError(
            "Falta PROSA_MASTER_KEY, a chave que cifra o certificado. Nada foi guardado. "
            "Gere uma com openssl rand -base64 32, ponha na configuração e tente de novo."
        )
    company = await _company(database, cnpj)
    a1 = await read_apart(arquivo, senha, company.cnpj, company.agora, raizes)
    async with database.transaction() as connection:
        may = bool(raizes) or unchecked
        replaced = await certificate_vault.keep(connection, cofre, company.id, a1, quem=quem, replaces=may)
    return [
        f"{company.razao_social}: o certificado de {a1.titular} foi conferido e guardado, cifrado; a senha não foi.",
        f"Vale até {a1.vence:%d/%m/%Y}. A página de saúde avisa 30 e 7 dias antes.",
        *([_ASIDE] if replaced else []),
        *([] if raizes else ["Quem o emitiu não foi conferido: faltam as raízes da ICP-Brasil."]),
        "O canal nacional assina com ele, e o mostra em cada chamada; no PlugNotas, envie também o de lá.",
    ]


async def former_certificate(database: Database, cnpj: str, *, quem: str = COMMAND_LINE) -> list[str]:
    """Have the former certificate be the company's again. Raises ``CommandRefusedError``: nothing changed."""
    company = await _company(database, cnpj)
    async with database.transaction() as connection:
        vence = await certificate_vault.bring_back(connection, company.id, quem=quem)
    if vence is None:
        raise CommandRefusedError(
            f"{company.razao_social} não tem certificado anterior guardado; nada mudou. "
            f"Ele é destruído quando o novo é aceito, ou {certificate_vault.FORMER_KEPT.days} dias depois da troca."
        )
    return [
        f"{company.razao_social}: o certificado anterior voltou a valer, até {vence:%d/%m/%Y}.",
        "A chave do que estava no lugar dele foi destruída. O que esperava por um certificado sai agora.",
    ]


async def destroy_certificate(database: Database, cnpj: str, *, quem: str = COMMAND_LINE) -> list[str]:
    """Destroy the key of the certificate that is kept. Raises ``CommandRefusedError``: nothing changed."""
    company = await _company(database, cnpj)
    async with database.transaction() as connection:
        if not await certificate_vault.destroy(connection, company.id, quem=quem):
            raise CommandRefusedError(f"{company.razao_social} não tem certificado guardado aqui; nada mudou.")
    return [
        f"{company.razao_social}: a chave do certificado foi destruída. As notas já emitidas continuam válidas.",
        "Cópias de segurança antigas do banco ainda a têm, cifrada: apague-as quando puder.",
    ]


async def _company(database: Database, cnpj: str) -> Any:
    """Return ``id``, ``cnpj``, ``razao_social`` and the database's ``agora``."""
    statement = sa.select(empresa.c.id, empresa.c.cnpj, empresa.c.razao_social, sa.func.now().label("agora"))
    async with database.transaction() as connection:
        row = (await connection.execute(statement.where(empresa.c.cnpj == _cnpj(cnpj)))).one_or_none()
    if row is None:
        raise CommandRefusedError(f"Nenhuma empresa com o CNPJ {cnpj}; nada mudou.")
    return row


def _cnpj(texto: str) -> str:
    try:
        return CNPJ(texto).numero
    except DocumentoInvalido as error:
        raise CommandRefusedError(f"{texto} não é um CNPJ válido; nada mudou.") from error


def _day(texto: str) -> date | None:
    if not texto.strip():
        return None
    try:
        day = date.fromisoformat(texto.strip())
    except ValueError as error:
        raise CommandRefusedError(f"{texto} não é uma data como 2027-03-14; nada mudou.") from error
    if day.year not in YEARS:
        raise CommandRefusedError(f"{texto}: confira o ano; nada mudou.")
    return day


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
class KeptFile:
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

    async def send(self, token: str, arquivo: bytes, senha: str, simples: Simples | None = None) -> KeptFile:
        """Keep the certificate and what was said of the Simples, and tell the conversation in the same commit.

        Raises ``CertificateRefusedError``: one try less, nothing else changed. ``LinkEndedError``,
        ``TooManyFilesError``, ``NotNowError``: nothing changed.
        """
        try:
            return await self._send(token, arquivo, senha, simples)
        except ReadersBusyError as busy:
            raise NotNowError from busy

    async def _send(self, token: str, arquivo: bytes, senha: str, simples: Simples | None) -> KeptFile:
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
        return KeptFile(link.razao_social, a1.titular, a1.vence)


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
