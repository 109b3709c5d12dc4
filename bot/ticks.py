"""Applies Meta's ticks to our messages: sent, delivered, read, failed; a passing failure is sent again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from bot.delivery import MAX_TRIES, backoff
from gateway.whatsapp_errors import RetryLater, RetryPair, classify
from persistence import outbox
from persistence.ticks import Tick, apply

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bot.metrics import Metrics
    from persistence.connection import Connection
    from persistence.engine import Database
    from persistence.lanes import InboxRow, Lanes, Lease

log = structlog.get_logger(__name__)

_TICKS = {"sent": "enviado", "delivered": "entregue", "read": "lido", "played": "lido", "failed": "falhou"}


FAILED = "falhou"
DIGITS = 18  # of a number of ours; longer ones don't fit into the database's


@dataclass(frozen=True, slots=True)
class _Told:
    """What one status webhook says; ``tick`` is ``None`` for what we don't keep."""

    wamid: str
    outbox_id: int
    tick: str | None
    error: dict[str, Any]

    @classmethod
    def of(cls, status: dict[str, Any]) -> _Told:
        ours = str(status.get("biz_opaque_callback_data") or "")
        return cls(
            wamid=str(status.get("id")),
            outbox_id=int(ours) if ours.isascii() and ours.isdigit() and len(ours) <= DIGITS else 0,
            tick=_TICKS.get(str(status.get("status"))),
            error=next((e for e in status.get("errors") or () if isinstance(e, dict)), {}),
        )


class Ticks:
    """Handler of status webhooks."""

    def __init__(self, database: Database, lanes: Lanes, metrics: Metrics) -> None:
        self._database = database
        self._lanes = lanes
        self._metrics = metrics

    async def on_status(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Apply them in order; what a later one already said stays."""
        ids = [row.id for row in rows]
        told = [_Told.of(row.payload["status"]) for row in rows]
        if any(each.tick == FAILED for each in told):
            async with self._database.transaction() as connection:
                for each in told:
                    await self._one(connection, each)
                await self._lanes.done(connection, lease, ids)
            return ids
        known = [Tick(each.wamid, each.outbox_id, each.tick) for each in told if each.tick]
        ours = await apply(self._database, lease, ids, known)
        if others := len({tick.wamid for tick in known}) - ours:
            log.info("status_of_unknown_message", rows=others)
        return ids

    async def _one(self, connection: Connection, told: _Told) -> None:
        if told.tick is None:
            return
        code = told.error.get("code")
        known = await outbox.tick(
            connection,
            outbox_id=told.outbox_id,
            wamid=told.wamid,
            status=told.tick,
            codigo=code if isinstance(code, int) else None,
            erro=str(told.error.get("title") or "") or None,
        )
        if not known:
            log.info("status_of_unknown_message", rows=1)
        elif told.tick == FAILED:
            await self._failed(connection, told.wamid, told.error)

    async def _failed(self, connection: Connection, wamid: str, error: dict[str, Any]) -> None:
        failure = classify(error)
        retried = False
        if isinstance(failure, RetryLater | RetryPair):
            retried = await outbox.retry_failed(connection, wamid, failure.after or backoff(1), MAX_TRIES)
        self._metrics.messages_undelivered.labels(type(failure).__name__).inc()
        write = log.warning if retried else log.error
        write("message_undelivered", resultado=type(failure).__name__, code=error.get("code"))
