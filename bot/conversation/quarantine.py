"""Quarantines rows that failed for the last time, and tells the user whose message could not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.conversation.inbound import next_arrival
from persistence.conversations import conversations, snapshots
from persistence.queue import outbox
from persistence.rows.inbox_rows import MessageRow
from state_machine.catalogue import messages
from state_machine.machine.events import PerdeuMensagem

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.conversation.session_events import SessionEvents
    from persistence.conversations.sessions import LiveSessions
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.machine.session import Sessao


class Quarantine:
    """The worker's last resort for a row."""

    def __init__(
        self,
        database: Database,
        lanes: Lanes,
        live: LiveSessions,
        sessions: SessionEvents,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._lanes = lanes
        self._live = live
        self._sessions = sessions
        self._ring = ring

    async def set_aside(self, lease: Lease, row: InboxRow, error: BaseException) -> None:
        """Quarantine the row and, for a message, tell its sender and void the summary, in one transaction."""
        sessao = None
        async with self._database.transaction() as connection:
            if row.tipo == MessageRow.tipo:
                sessao = await self._tell(connection, lease, row)
            await self._lanes.set_aside(connection, lease, row.id, error)
        self._ring()
        if sessao is not None:
            await self._live.put(sessao)

    async def _tell(self, connection: Connection, lease: Lease, row: InboxRow) -> Sessao | None:
        await conversations.greet(connection, next_arrival(lease.lane, (row,)).contato, 0)
        ativa = await snapshots.active(connection, lease.lane)
        if ativa is None:
            mensagem = messages.quarentena()
            outbox.enqueue(connection, conversa=lease.lane, mensagem=mensagem, correlacao=row.correlacao)
            return None
        return await self._sessions.apply_one(connection, ativa, PerdeuMensagem(), row.correlacao)
