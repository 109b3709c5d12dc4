"""Finds out whose document it is: remembered, or asked of the public register; without its answer the turn goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.register.cnpj import CompanyEntry, NotFound, company
from persistence.conversations import register_cache
from state_machine.invoice.draft import Cadastro

if TYPE_CHECKING:
    from bot.ports import Register
    from persistence.db.engine import Database

CNPJ_LENGTH = 14


class Customers:
    """The CNPJ register behind its memory in the database."""

    def __init__(self, database: Database, register: Register) -> None:
        self._database = database
        self._register = register

    async def find(self, documento: str) -> CompanyEntry | None:
        """Return the company behind a CNPJ; ``None`` for a CPF, for an unknown one, and when nobody answers."""
        if len(documento) != CNPJ_LENGTH:
            return None
        async with self._database.alone() as connection:
            entry = await register_cache.get(connection, documento)
        if entry:
            return company(entry.dados, documento) if entry.dados else None
        answer = await self._register.lookup(documento)
        found = answer if isinstance(answer, CompanyEntry) else None
        if found or isinstance(answer, NotFound):
            async with self._database.alone() as connection:
                await register_cache.put(connection, documento, found.raw if found else None)
        return found


def as_cadastro(empresa: CompanyEntry) -> Cadastro:
    """Return what the conversation needs of a register entry."""
    return Cadastro(empresa.cnpj, empresa.razao_social, empresa.situacao)
