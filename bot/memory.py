"""What a conversation remembers, asked of the database as a turn needs it; changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence import attempts, notes, snapshots

if TYPE_CHECKING:
    from datetime import datetime

    from persistence.connection import Connection
    from persistence.engine import Database
    from state_machine.pedidos import NotaListada
    from state_machine.sessao import Sessao

_NOW = sa.select(sa.func.now())


class ConversationMemory:
    """What ``plan`` may ask about a conversation, one statement each."""

    def __init__(self, database: Database, conversa: str, ativa: Sessao | None) -> None:
        self._database = database
        self._conversa = conversa
        self.ativa = ativa

    async def load(self, sessao_id: str) -> Sessao | None:
        """One session of this conversation."""
        async with self._database.alone() as connection:
            return await snapshots.load(connection, self._conversa, sessao_id)

    async def latest(self) -> tuple[Sessao, datetime] | None:
        """The newest session and when it last changed."""
        async with self._database.alone() as connection:
            return await snapshots.latest(connection, self._conversa)

    async def repaired(self, sessao_id: str) -> bool:
        """Whether a later session took this one's data up."""
        async with self._database.alone() as connection:
            return await snapshots.repaired(connection, sessao_id)

    async def stopped(self, sessao: Sessao) -> bool:
        """Whether the session's invoice waits for its person's word."""
        async with self._database.transaction() as connection:
            return await attempts.waits_for_person(connection, sessao.sessao_id, sessao.revisao)

    async def notes(self, limit: int, *, numero: str | None = None, autorizadas: bool = True) -> list[NotaListada]:
        """This conversation's newest invoices, newest first; nobody else's."""
        async with self._database.alone() as connection:
            return await notes.listed(connection, self._conversa, limit, numero=numero, autorizadas=autorizadas)


async def database_now(connection: Connection) -> datetime:
    """The moment of the transaction, by the database's clock (aware UTC)."""
    agora: datetime = (await connection.execute(_NOW)).scalar_one()
    return agora
