"""Carries out what staff order for one session, in its lane like any message; refuses what no longer makes sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from persistence.conversations import snapshots
from persistence.fiscal import attempts
from persistence.people import companies as people
from persistence.versions import AnotherVersionError
from state_machine.machine.events import Evento, QuisAinda, Reprocessou
from state_machine.machine.states import Estado
from state_machine.protocol.emission import StatusEmissao

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from bot.conversation.turn import Conversations
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.machine.session import Sessao

log = structlog.get_logger(__name__)


class Orders:
    """Handler of the inbox rows that staff put into a conversation's lane."""

    def __init__(
        self, database: Database, lanes: Lanes, conversations: Conversations, *, ring: Callable[[], None]
    ) -> None:
        self._database = database
        self._lanes = lanes
        self._conversations = conversations
        self._ring = ring

    async def on_order(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Carry out ``{"ordem": "reprocessar" or "enviar", "sessao_id": …, "id_integracao": …}``."""
        row = rows[0]
        event_of = _EVENTS.get(row.payload["ordem"])
        if event_of is None:
            raise AnotherVersionError(f"an order: {row.payload['ordem']}")
        async with self._database.transaction() as connection:
            sessao = await snapshots.load(connection, lease.lane, row.payload["sessao_id"])
            evento = await event_of(connection, sessao, row.payload["id_integracao"]) if sessao else None
            if sessao is None or evento is None:
                log.warning("order_refused", sessao_id=row.payload["sessao_id"])
            else:
                empresa, agora = await people.get_company(connection, sessao.empresa_id)
                await self._conversations.apply(
                    connection, sessao, (evento,), empresa, agora, row.correlacao, telefone=None
                )
            await self._lanes.done(connection, lease, [row.id])
        self._ring()
        return [row.id]


async def _try_again(connection: Connection, sessao: Sessao, id_integracao: str) -> Reprocessou | None:
    """A new attempt at a refused revision, while the named one is the newest and stands refused; ``None`` otherwise.

    The attempt's row stays locked until the commit, so that no late truth slips in between.
    """
    newest = await attempts.newest(connection, sessao.sessao_id, sessao.revisao)
    if newest is None or newest.id_integracao != id_integracao or newest.status != StatusEmissao.REJEITADO:
        return None
    if sessao.estado is not Estado.REJEITADO or await snapshots.repaired(connection, sessao.sessao_id):
        return None  # its user took the data up in a new session: a second invoice of the same sale
    return Reprocessou(int(newest.tentativa) + 1)


async def _send_stored(connection: Connection, sessao: Sessao, id_integracao: str) -> QuisAinda | None:
    """The stored bytes again, while certainly nobody accepted them; ``None`` otherwise. The row stays locked."""
    newest = await attempts.newest(connection, sessao.sessao_id, sessao.revisao)
    if newest is None or newest.id_integracao != id_integracao or not attempts.is_certainly_nobodys(newest):
        return None
    return QuisAinda()


_EVENTS: dict[str, Callable[[Connection, Sessao, str], Awaitable[Evento | None]]] = {
    "reprocessar": _try_again,
    "enviar": _send_stored,
}
