"""Stores until when a company's certificate is good, from what an operator typed."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from operations.protocol import CommandRefusedError
from persistence.people import certificates
from state_machine.values.documents import CNPJ, DocumentoInvalido

if TYPE_CHECKING:
    from persistence.db.engine import Database

YEARS: Final = range(2020, 2100)  # a certificate lasts five at most; the rest is a slip of the keyboard


async def note_expiry(database: Database, cnpj: str, texto: str) -> list[str]:
    """Store the last good day, ``AAAA-MM-DD``; an empty text forgets it. Raises ``CommandRefusedError``."""
    try:
        numero = CNPJ(cnpj).numero
    except DocumentoInvalido as error:
        raise CommandRefusedError(f"{cnpj} não é um CNPJ válido; nada mudou.") from error
    vence = _day(texto)
    async with database.transaction() as connection:
        nome = await certificates.note(connection, numero, vence)
    if nome is None:
        raise CommandRefusedError(f"Nenhuma empresa com o CNPJ {cnpj}; nada mudou.")
    if vence is None:
        return [f"{nome}: a data do certificado foi esquecida; a página de saúde não avisa mais."]
    return [f"{nome}: o certificado vale até {vence:%d/%m/%Y}. A página de saúde avisa 30 e 7 dias antes."]


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
