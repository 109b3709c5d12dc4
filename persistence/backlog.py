"""Watches over the inbox: what waits, what is quarantined, what overslept; it never processes anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from persistence.inbox import CHANNEL

if TYPE_CHECKING:
    from persistence.engine import Database

_COUNTS = """
SELECT
    (SELECT count(*) FROM inbox WHERE estado = 0) AS open,
    (SELECT count(*) FROM inbox WHERE estado = 2) AS quarantined,
    (SELECT count(*) FROM lanes WHERE ready_at <= now() AND lease_until IS NULL) AS due_lanes,
    (SELECT count(*) FROM lanes WHERE ready_at IS NOT NULL AND lease_until > now()) AS leased_lanes,
    (SELECT coalesce(extract(epoch FROM now() - min(ready_at)), 0)::float8 FROM lanes
        WHERE ready_at <= now() AND lease_until IS NULL) AS lag_seconds
"""
_WAKE = """
INSERT INTO lanes AS l (lane, ready_at, pending_since) VALUES ($1, now(), now())
ON CONFLICT (lane) DO UPDATE SET ready_at = now(), pending_since = now(), backoff_until = NULL
"""
_REOPEN = """
UPDATE inbox SET estado = 0, tentativas = 0, interpretacao = NULL WHERE id = $1 AND estado = 2 RETURNING lane
"""
_SLEEPERS = """
WITH adormecidas AS (
    SELECT lane FROM lanes WHERE ready_at IS NULL AND lane IN (SELECT lane FROM inbox WHERE estado = 0)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE lanes AS l SET ready_at = now(), pending_since = now() FROM adormecidas WHERE l.lane = adormecidas.lane
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """What waits now. ``lag_seconds``: for how long the most patient due lane has waited for a worker."""

    open: int
    quarantined: int
    due_lanes: int
    leased_lanes: int
    lag_seconds: float


class Backlog:
    """For metrics, staff and the sweep."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pending(self) -> Counts:
        """Count."""
        return Counts(**await self._database.pool.fetchrow(_COUNTS))

    async def replay(self, row_id: int) -> bool:
        """Give a quarantined row five new attempts and a fresh interpretation; False when it is not quarantined."""
        async with self._database.pool.acquire() as connection, connection.transaction():
            lane = await connection.fetchval(_REOPEN, row_id)
            if lane is None:
                return False
            await connection.execute(_WAKE, lane)
            await connection.execute("SELECT pg_notify($1, '')", CHANNEL)
        return True

    async def wake_sleepers(self) -> int:
        """Wake lanes that hold open rows and wait for nothing; there are none unless somebody edits by hand."""
        status: str = await self._database.pool.execute(_SLEEPERS)
        return int(status.removeprefix("UPDATE "))
