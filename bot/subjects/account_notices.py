"""Keeps what arrived and asks for nothing: Meta's account notices, unreadable bodies, messages to foreign numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from persistence.rows.inbox_rows import MessageRow

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bot.loops.worker import Handler
    from persistence.db.engine import Database
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


class Notices:
    """They stay in the inbox table for people to look at; the log says that they are there."""

    def __init__(self, database: Database, lanes: Lanes, metrics: Metrics) -> None:
        self._database = database
        self._lanes = lanes
        self._metrics = metrics

    async def on_notice(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Mark as seen."""
        ids = await self._keep(lease, rows)
        for row in rows:
            log.warning("notice_kept", tipo=row.tipo, row_id=row.id)
        return ids

    def unless_foreign(self, phone_number_id: str, handler: Handler) -> Handler:
        """Return the handler of messages for this number of ours only; those for another one are marked as seen.

        Meta signs for an app, which may have numbers that Prosa does not serve: to answer there would be to speak in
        the name of somebody else. All rows of a lane are for one number.
        """

        async def handle(lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
            if MessageRow.of(rows[0].payload).phone_number_id == phone_number_id:
                return await handler(lease, rows)
            ids = await self._keep(lease, rows)
            self._metrics.messages_foreign.inc(len(ids))
            log.warning("foreign_number", count=len(ids))
            return ids

        return handle

    async def _keep(self, lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        ids = [row.id for row in rows]
        async with self._database.transaction() as connection:
            await self._lanes.done(connection, lease, ids)
        return ids
