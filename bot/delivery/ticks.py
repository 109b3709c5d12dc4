"""Applies Meta's ticks to our messages: sent, delivered, read, failed; what failed in passing is sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from bot.delivery.sender import MAX_TRIES, backoff, lost_file
from gateway.whatsapp.errors import RetryLater, RetryPair, classify, code_of
from persistence.queue import outbox
from persistence.queue.tick import Tick, number_of
from persistence.queue.ticks import apply
from persistence.rows.inbox_rows import StatusRow

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

FAILED = "failed"  # Meta's word
FALHOU = "falhou"  # ours


class Ticks:
    """Handler of status webhooks."""

    def __init__(self, database: Database, lanes: Lanes, metrics: Metrics) -> None:
        self._database = database
        self._lanes = lanes
        self._metrics = metrics

    async def on_status(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Apply them in order; what a later one already said stays."""
        ids = [row.id for row in rows]
        told = [StatusRow.of(row.payload).status for row in rows]
        if any(status.get("status") == FAILED for status in told):
            async with self._database.transaction() as connection:
                for status in told:
                    await self._one(connection, status)
                await self._lanes.done(connection, lease, ids)
            return ids
        known = [tick for status in told if (tick := Tick.of(status))]
        ours = await apply(self._database, lease, ids, known)
        if others := len({tick.wamid for tick in known}) - ours:
            log.info("status_of_unknown_message", rows=others)
        return ids

    async def _one(self, connection: Connection, status: dict[str, Any]) -> None:
        failed, tick = status.get("status") == FAILED, Tick.of(status)
        if tick is None and not failed:
            return
        wamid = str(status.get("id"))
        error = next((e for e in status.get("errors") or () if isinstance(e, dict)), {})
        code = code_of(error)
        known = await outbox.tick(
            connection,
            outbox_id=number_of(status),
            wamid=wamid,
            status=tick.status if tick else FALHOU,
            codigo=code if code >= 0 else None,
            erro=str(error.get("title") or "") or None,
        )
        if not known:
            log.info("status_of_unknown_message", rows=1)
        elif failed:
            await self._failed(connection, wamid, error)

    async def _failed(self, connection: Connection, wamid: str, error: dict[str, Any]) -> None:
        failure = classify(error)
        retried = False
        if isinstance(failure, RetryLater | RetryPair):
            retried = await outbox.retry_failed(connection, wamid, failure.after or backoff(1), MAX_TRIES)
        if not retried:
            retried = await lost_file(connection, await outbox.failed_file(connection, wamid=wamid), failure)
        self._metrics.messages_undelivered.labels(type(failure).__name__).inc()
        write = log.warning if retried else log.error
        write("message_undelivered", resultado=type(failure).__name__, code=code_of(error))
