"""Keeps what arrived and asks for nothing: Meta's account notices, and bodies that nobody could read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from persistence.engine import Database
    from persistence.lanes import InboxRow, Lanes, Lease

log = structlog.get_logger(__name__)


class Notices:
    """They stay in the inbox table for people to look at; the log says that they are there."""

    def __init__(self, database: Database, lanes: Lanes) -> None:
        self._database = database
        self._lanes = lanes

    async def on_notice(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Mark as seen."""
        ids = [row.id for row in rows]
        async with self._database.transaction() as connection:
            await self._lanes.done(connection, lease, ids)
        for row in rows:
            log.warning("notice_kept", tipo=row.tipo, row_id=row.id)
        return ids
