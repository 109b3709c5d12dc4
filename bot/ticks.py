"""Applies Meta's ticks to our messages: sent, delivered, read, failed; a passing failure is sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from bot.delivery import MAX_TRIES, backoff
from gateway.whatsapp_errors import RetryLater, RetryPair, classify
from persistence import outbox

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from bot.metrics import Metrics
    from persistence.engine import Database
    from persistence.lanes import InboxRow, Lanes, Lease

log = structlog.get_logger(__name__)

_TICKS = {"sent": "enviado", "delivered": "entregue", "read": "lido", "played": "lido", "failed": "falhou"}


class Ticks:
    """Handler of status webhooks."""

    def __init__(self, database: Database, lanes: Lanes, metrics: Metrics) -> None:
        self._database = database
        self._lanes = lanes
        self._metrics = metrics

    async def on_status(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Apply them in order; what a later one already said stays."""
        ids = [row.id for row in rows]
        async with self._database.transaction() as connection:
            for row in rows:
                await self._tick(connection, row.payload["status"])
            await self._lanes.done(connection, lease, ids)
        return ids

    async def _tick(self, connection: AsyncConnection, status: dict[str, Any]) -> None:
        tick = _TICKS.get(str(status.get("status")))
        if tick is None:
            return
        wamid, ours = str(status.get("id")), str(status.get("biz_opaque_callback_data") or "")
        error: dict[str, Any] = next((e for e in status.get("errors") or () if isinstance(e, dict)), {})
        code = error.get("code")
        known = await outbox.tick(
            connection,
            outbox_id=int(ours) if ours.isascii() and ours.isdigit() else None,
            wamid=wamid,
            status=tick,
            codigo=code if isinstance(code, int) else None,
            erro=str(error.get("title") or "") or None,
        )
        if not known:
            log.info("status_of_unknown_message", status=tick)
        elif tick == "falhou":
            await self._failed(connection, wamid, error)

    async def _failed(self, connection: AsyncConnection, wamid: str, error: dict[str, Any]) -> None:
        failure = classify(error)
        retried = False
        if isinstance(failure, RetryLater | RetryPair):
            retried = await outbox.retry_failed(connection, wamid, failure.after or backoff(1), MAX_TRIES)
        self._metrics.messages_undelivered.labels(type(failure).__name__).inc()
        write = log.warning if retried else log.error
        write("message_undelivered", resultado=type(failure).__name__, code=error.get("code"))
