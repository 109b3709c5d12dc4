"""Sets aside what failed for the last time; a user's message not silently, and never with its old summary valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.carry_out import text_message
from bot.inbound import next_arrival
from persistence import conversations, outbox, people, snapshots
from state_machine import messages
from state_machine.eventos import PerdeuMensagem

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.turn import Conversations
    from persistence.connection import Connection
    from persistence.engine import Database
    from persistence.lanes import InboxRow, Lanes, Lease
    from persistence.sessions import LiveSessions
    from state_machine.sessao import Sessao


class Quarantine:
    """The worker's last resort for a row."""

    def __init__(
        self,
        database: Database,
        lanes: Lanes,
        live: LiveSessions,
        conversations: Conversations,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._lanes = lanes
        self._live = live
        self._conversations = conversations
        self._ring = ring

    async def set_aside(self, lease: Lease, row: InboxRow, error: BaseException) -> None:
        """Quarantine the row and, for a message, tell its sender and void the summary, in one transaction."""
        sessao = None
        async with self._database.transaction() as connection:
            if row.tipo == "mensagem":
                sessao = await self._tell(connection, lease, row)
            await self._lanes.set_aside(connection, lease, row.id, error)
        self._ring()
        if sessao is not None:
            await self._live.put(sessao)

    async def _tell(self, connection: Connection, lease: Lease, row: InboxRow) -> Sessao | None:
        await conversations.greet(connection, next_arrival(lease.lane, (row,)).contato, 0)
        ativa = await snapshots.active(connection, lease.lane)
        if ativa is None:
            mensagem = text_message(messages.quarentena())
            outbox.enqueue(connection, conversa=lease.lane, mensagem=mensagem, correlacao=row.correlacao)
            return None
        empresa, agora = await people.get_company(connection, ativa.empresa_id)
        return await self._conversations.apply(
            connection, ativa, (PerdeuMensagem(),), empresa, agora, row.correlacao, telefone=None
        )
