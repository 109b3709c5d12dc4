"""Follows a person whose WhatsApp id changed, as Meta says: what was open goes on under the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from persistence.conversations.moving import move

if TYPE_CHECKING:
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

    async def on_moved(self, lease: Lease, row: InboxRow, moved: MovedRow) -> None:
        """Move the person in one commit; nobody is answered."""
        async with self._database.transaction() as connection:
            known = await move(connection, lease.lane, moved.conversa, moved.de, moved.para)
            await self._lanes.done(connection, lease, [row.id])
        await self._live.drop(lease.lane)
        log.info("person_moved", known=known)
