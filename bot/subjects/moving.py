"""Follows a person whose WhatsApp id changed; who gave a number up without being followed issues no more from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from operations.company import CompanyError, remove_user
from persistence.access.accounts import Alcance
from persistence.conversations import person_asked
from persistence.conversations.moving import end_open, move, reunite

if TYPE_CHECKING:
    from persistence.conversations.conversations import Contato
    from persistence.conversations.sessions import LiveSessions
    from persistence.db.engine import Database
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from persistence.rows.inbox_rows import LeftNumberRow, MovedRow

log = structlog.get_logger(__name__)


class Moves:
    """The rows wait in the lane of the former id, so that whatever it wrote before is read first."""

    def __init__(self, database: Database, lanes: Lanes, live: LiveSessions) -> None:
        self._database = database
        self._lanes = lanes
        self._live = live

    async def reunite(self, contato: Contato) -> bool:
        """Say whether the same telephone wrote under another id before; what waits there is theirs now."""
        async with self._database.transaction() as connection:
            former = await reunite(connection, contato)
        if former is None:
            return False
        await self._live.drop(former)
        log.info("person_reunited", former=former)
        return True

    async def on_moved(self, lease: Lease, row: InboxRow, moved: MovedRow) -> None:
        """Move the person in one commit; nobody is answered."""
        async with self._database.transaction() as connection:
            known = await move(connection, lease.lane, moved.conversa, moved.de, moved.para)
            await self._lanes.done(connection, lease, [row.id])
        await self._live.drop(lease.lane)
        log.info("person_moved", known=known)

    async def on_left(self, lease: Lease, row: InboxRow, left: LeftNumberRow) -> None:
        """End the number's right to issue and what is open there, and ask staff who has the new one."""
        async with self._database.transaction() as connection:
            try:
                done = await remove_user(
                    connection, left.telefone, "trocou de número", Alcance(todas=True), quem="WhatsApp", staff_id=None
                )
            except CompanyError:  # a telephone that never issued
                conversas: tuple[str, ...] = ()
            else:
                conversas = done.conversas
            await end_open(connection, conversas)
            for conversa in conversas:
                person_asked.ask(connection, conversa, "trocou_numero")
            await self._lanes.done(connection, lease, [row.id])
        for conversa in conversas:
            await self._live.drop(conversa)
        log.info("number_left", conversations=len(conversas))
