"""Keeps, replaces, brings back and destroys a company's A1 certificate, or notes how long the gateway's is good."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from gateway.certificate.reading_process import read_apart
from operations.protocol import CommandRefusedError
from persistence.people import certificate_vault, certificates
from persistence.tables import empresa
from state_machine.values.documents import CNPJ, DocumentoInvalido

if TYPE_CHECKING:
    from persistence.crypto import Vault
    from persistence.db.engine import Database

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
