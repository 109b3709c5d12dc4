"""Carries out what staff order for one session, in its lane like any message; refuses what no longer makes sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from bot.subjects.invoice.facts import is_as_confirmed
from persistence.conversations import snapshots
from persistence.fiscal import attempts
from persistence.people import companies as people
from state_machine.machine.events import Evento, QuisAinda, Reprocessou
from state_machine.machine.states import Estado
from state_machine.protocol.emission import StatusEmissao

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.conversation.subject import Resources
    from bot.orders.accept import Door
    from persistence.db.connection import Connection
    from persistence.queue.lanes import InboxRow, Lease
    from persistence.rows.inbox_rows import Ordem, OrderRow
    from state_machine.machine.session import Sessao

log = structlog.get_logger(__name__)


class StaffOrders:
    """Handler of staff's orders for an invoice; a new one is a row of ``_EVENTS``."""

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    async def on_order(self, lease: Lease, row: InboxRow, order: OrderRow) -> None:
        """Apply the event that the order is for its session, unless it no longer makes sense."""
        async with self._r.database.transaction() as connection:
            sessao = await snapshots.load(connection, lease.lane, order.sessao_id)
            evento = (
                await _EVENTS[order.ordem](self._r.door, connection, sessao, order.id_integracao) if sessao else None
            )
            if sessao is None or evento is None:
                log.warning("order_refused", sessao_id=order.sessao_id)
            else:
                await self._r.sessions.apply_one(connection, sessao, evento, row.correlacao)
            await self._r.lanes.done(connection, lease, [row.id])
        self._r.ring()


async def _try_again(door: Door, connection: Connection, sessao: Sessao, id_integracao: str) -> Reprocessou | None:
    """A new attempt at a refused revision, while the named one is the newest and stands refused; ``None`` otherwise.

    The attempt's row stays locked until the commit, so that no late truth slips in between.
    """
    newest = await attempts.newest(connection, sessao.sessao_id, sessao.revisao)
    if newest is None or newest.id_integracao != id_integracao or newest.status != StatusEmissao.REJEITADO:
        return None
    if sessao.estado is not Estado.REJEITADO or await snapshots.repaired(connection, sessao.sessao_id):
        return None  # its user took the data up in a new session: a second invoice of the same sale
    empresa, _ = await people.get_company(connection, sessao.empresa_id)
    if not is_as_confirmed(door, sessao, empresa):
        return None
    return Reprocessou(int(newest.tentativa) + 1)


async def _send_stored(_door: Door, connection: Connection, sessao: Sessao, id_integracao: str) -> QuisAinda | None:
    """The stored bytes again, while certainly nobody accepted them; ``None`` otherwise. The row stays locked."""
    newest = await attempts.newest(connection, sessao.sessao_id, sessao.revisao)
    if newest is None or newest.id_integracao != id_integracao or not attempts.is_certainly_nobodys(newest):
        return None
    return QuisAinda()


_EVENTS: dict[Ordem, Callable[[Door, Connection, Sessao, str], Awaitable[Evento | None]]] = {
    "reprocessar": _try_again,
    "enviar": _send_stored,
}
