"""Follows a person whose WhatsApp id changed: what was open goes on under the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from persistence.conversations.moving import move, reunite

if TYPE_CHECKING:
    from persistence.conversations.conversations import Contato
    from persistence.conversations.sessions import LiveSessions
    from persistence.db.engine import Database
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from persistence.rows.inbox_rows import MovedRow

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
