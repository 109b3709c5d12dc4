"""Claims the inbox's rows, lane by lane and in order, under a fenced lease.

Hears PostgreSQL's NOTIFY on one channel; it only wakes, and never says what there is to do.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import asyncpg
import structlog

from persistence.db.connection import Connection, Write, clean, storable
from persistence.db.engine import Database
from persistence.queue.inbox import CHANNEL
from state_machine.values.errors import ProsaError

RECONNECT_SECONDS = 1.0  # the slow poll of whoever waits covers the gap
ACQUIRE_SECONDS = 5.0  # as long as connecting may take

log = structlog.get_logger()


class Bell:
    """One LISTEN connection, taken from the pool at the first wait and renewed whenever it is lost."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel
        self._rung = asyncio.Event()
        self._listener: asyncio.Task[None] | None = None

    @property
    def rung(self) -> bool:
        """Whether something was heard since the last ``wait``."""
        return self._rung.is_set()

    def ring(self) -> None:
        """Wake this process's waiter."""
        self._rung.set()

    def listen(self) -> None:
        """Start to listen, unless it does already."""
        if self._listener is None:
            self._listener = asyncio.create_task(self._listen(), name=f"bell:{self._channel}")

    async def wait(self, seconds: float) -> None:
        """Return when rung, at the latest after ``seconds``; what is heard later counts for the next wait."""
        self.listen()
        alarm = asyncio.get_running_loop().call_later(seconds, self._rung.set)
        try:
            await self._rung.wait()
        finally:
            alarm.cancel()
            self._rung.clear()

    async def close(self) -> None:
        """Give the connection back."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
            self._listener = None

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning("bell_lost", canal=self._channel, erro=type(error).__name__)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen_once(self) -> None:
        lost = asyncio.Event()
        async with self._database.pool.acquire(timeout=ACQUIRE_SECONDS) as connection:
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(self._channel, self._heard)
            self._rung.set()  # something may have been said before we listened
            try:
                await lost.wait()
            finally:
                if not connection.is_closed():
                    await connection.remove_listener(self._channel, self._heard)

    def _heard(self, *heard: Any) -> None:
        """Wake whoever waits, where something is said in so many seconds."""
        asyncio.get_running_loop().call_later(float(heard[-1] or 0), self._rung.set)


ROWS_PER_CLAIM = 50  # of one lane; bounds memory and the length of a lease
POLL_SECONDS = 30.0  # safety net under NOTIFY, and under the look at all queues that rings for what is due
SHORTEST_NAP = 0.02  # seconds; a lane may be due and still be in another's hands for a moment
BACKOFF_BASE = 1.0  # seconds; doubles with every failure of the row, with jitter
BACKOFF_CAP = 60.0  # seconds; longer would leave a person without an answer for nothing
MAX_ATTEMPTS = 5
MAX_DEATHS = 10  # owners dead or frozen with one row; five met two innocent ones in a storm of 501 kills
DEATHS_APART = 4  # the pause between them grows no more after so many: a killer must not hide for half an hour
ALONE_FROM = 2  # failures after which a row is handled alone, so that it fails without its neighbours
DIED = "its worker died or was frozen with it in hand"
ERROR_LENGTH = 500  # characters kept of an error: enough for a sentence, too little for a dump


# Only who could take more asks when the next one will be due: behind a long queue that would be a walk through it.
# Claiming is two statements on purpose. The rows are read with a snapshot younger than the lane's lock: one statement
# could forget (pending_since) an arrival that it cannot see yet, and that row would sleep.
_CLAIM = """
WITH devidas AS (
    SELECT lane, lease_until IS NOT NULL AS herdada FROM lanes
    WHERE ready_at <= now() AND (lease_until IS NULL OR lease_until <= now())
    ORDER BY ready_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
), tomadas AS (
    UPDATE lanes AS l SET owner = $1, epoch = l.epoch + 1, lease_until = now() + $3::interval, pending_since = NULL
    FROM devidas WHERE l.lane = devidas.lane
    RETURNING l.lane, l.epoch, devidas.herdada
)
SELECT lane, epoch, herdada, NULL::float8 AS proxima FROM tomadas
UNION ALL
SELECT NULL, NULL, NULL, extract(epoch FROM min(greatest(ready_at, lease_until)) - now())::float8
FROM lanes WHERE ready_at IS NOT NULL AND NOT EXISTS (SELECT FROM devidas WHERE devidas.lane = lanes.lane)
    AND (SELECT count(*) FROM devidas) < $2
"""
_ROWS = """
SELECT r.* FROM unnest($1::text[]) AS l(lane) CROSS JOIN LATERAL (
    SELECT id, lane, chave, tipo, payload, tentativas, correlacao, recebido_em, interpretacao FROM inbox
    WHERE inbox.lane = l.lane AND estado = 0 ORDER BY id LIMIT $2
) AS r ORDER BY r.lane, r.id
"""
# The dead owner was at work on the head of the lane, all of one kind or, after two failures, one row alone.
_COUNT_DEATHS = """
WITH cabeca AS (
    SELECT DISTINCT ON (lane) lane, id, tipo, tentativas FROM inbox
    WHERE lane = ANY($1::text[]) AND estado = 0 ORDER BY lane, id
)
UPDATE inbox AS i SET tentativas = i.tentativas + 1, erro = $2
FROM cabeca c
WHERE i.lane = c.lane AND i.estado = 0 AND (i.id = c.id OR (
    c.tentativas < $3 AND i.tentativas < $3 AND i.tipo = c.tipo AND NOT EXISTS (
        SELECT FROM inbox AS entre
        WHERE entre.lane = i.lane AND entre.estado = 0 AND entre.id < i.id
          AND (entre.tipo <> c.tipo OR entre.tentativas >= $3)
    )
))
"""
_RENEW = "UPDATE lanes SET lease_until = now() + $3::interval WHERE lane = $1 AND epoch = $2 AND owner IS NOT NULL"
_ANY_OPEN = "SELECT EXISTS (SELECT FROM inbox WHERE id = ANY($1::bigint[]) AND estado = 0)"

# Whatever arrived since the claim has set pending_since on this very row, whichever order its ids and commits had.
_RELEASE = """
UPDATE lanes SET owner = NULL, lease_until = NULL, backoff_until = NULL,
    ready_at = CASE WHEN $3 THEN least(ready_at, now()) WHEN pending_since IS NOT NULL THEN ready_at END,
    pending_since = CASE WHEN $3 THEN coalesce(pending_since, now()) ELSE pending_since END
WHERE lane = $1 AND epoch = $2 AND owner IS NOT NULL
RETURNING ready_at IS NOT NULL
"""
_BACK_OFF = """
UPDATE lanes SET owner = NULL, lease_until = NULL, backoff_until = now() + $3::interval,
    ready_at = now() + $3::interval, pending_since = coalesce(pending_since, now())
WHERE lane = $1 AND epoch = $2 AND owner IS NOT NULL
"""
_LOCK = "SELECT true FROM lanes WHERE lane = $1 AND epoch = $2 AND owner IS NOT NULL FOR NO KEY UPDATE"
# A release within the commit that finishes the last rows; who waits may be in another process, and is rung for.
GIVEN_BACK = """
owner = NULL, lease_until = NULL, backoff_until = NULL, ready_at = CASE WHEN pending_since IS NOT NULL THEN ready_at END
"""
RING = f"CASE WHEN pending_since IS NOT NULL THEN pg_notify('{CHANNEL}', '') END"
_GIVE_BACK = f"UPDATE lanes SET {GIVEN_BACK} WHERE lane = $1 AND epoch = $2 AND owner IS NOT NULL RETURNING {RING}"  # noqa: S608 - our own constants
_FINISH = "UPDATE inbox SET estado = 1, feito_em = now() WHERE lane = $1 AND id = ANY($2::bigint[]) AND estado = 0"
# The fence and the rows in one statement: a lock that had to wait sees the lane as it is then, not as it was.
_DONE = """
WITH nossa AS MATERIALIZED (
    SELECT FROM lanes WHERE lane = $1 AND epoch = $2 AND owner IS NOT NULL FOR NO KEY UPDATE
)
UPDATE inbox SET estado = 1, feito_em = now()
WHERE lane = $1 AND id = ANY($3::bigint[]) AND estado = 0 AND EXISTS (SELECT FROM nossa)
"""
_FAIL = """
UPDATE inbox SET tentativas = tentativas + 1, erro = $3,
    estado = CASE WHEN tentativas + 1 >= $4 THEN 2 ELSE 0 END
WHERE lane = $1 AND id = ANY($2::bigint[]) AND estado = 0
RETURNING id, estado, tentativas, random() AS acaso
"""
_SET_ASIDE = """
UPDATE inbox SET estado = 2, tentativas = greatest(tentativas, least(tentativas + 1, $4)), erro = $3
WHERE lane = $1 AND id = $2 AND estado = 0
"""
_INTERPRETATION = """
UPDATE inbox SET interpretacao = coalesce(interpretacao, $2::text::jsonb) WHERE id = $1 RETURNING interpretacao
"""


class LeaseLost(ProsaError):  # noqa: N818 - reads as what happened; nobody's mistake
    """Another worker holds the lane now; whatever this one was about to commit is refused."""

    code = "lease_lost"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one lane; ``epoch`` is the fencing token.

    ``inherited``: its last owner never gave it back, so that an attempt was counted for what it was at work on.
    ``rest`` are the open rows of the lane, empty where there may be more than we know: whoever finishes them all gives
    the lane back with the same commit.
    """

    lane: str
    owner: str
    epoch: int
    inherited: bool = False
    rest: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One open arrival. ``tentativas`` counts failures so far, ``interpretacao`` is the reading kept for a retry."""

    id: int
    chave: str
    tipo: str
    payload: dict[str, Any]
    tentativas: int
    correlacao: str
    recebido_em: datetime
    interpretacao: Any | None


class Lanes:
    """The inbox table's exit. All times are the database's; a dead owner blocks its lanes for ``lease_seconds``."""

    def __init__(self, database: Database, lease_seconds: float) -> None:
        self.lease_seconds = lease_seconds
        self._lease = timedelta(seconds=lease_seconds)
        self._database = database
        self._bell = Bell(database, CHANNEL)
        self._due_at: float | None = None  # our monotonic clock when the next lane will be due, as the last claim saw

    async def claim(self, owner: str, limit: int) -> list[tuple[Lease, tuple[InboxRow, ...]]]:
        """Lease up to ``limit`` lanes that are due, each with its first 50 open rows in order (possibly none)."""
        pool = self._database.pool
        found = await pool.fetch(_CLAIM, owner, limit, self._lease)
        taken = [record for record in found if record["lane"] is not None]
        later = next(record["proxima"] for record in found if record["lane"] is None)
        self._due_at = None if later is None else time.monotonic() + later
        if not taken:
            return []
        inherited = [record["lane"] for record in taken if record["herdada"]]
        if inherited:
            log.warning("lanes_inherited", lanes=len(inherited), owner=owner)  # their owner died or was frozen
            await pool.execute(_COUNT_DEATHS, inherited, DIED, ALONE_FROM)
        leases = {r["lane"]: Lease(r["lane"], owner, r["epoch"], r["herdada"]) for r in taken}
        rows = await pool.fetch(_ROWS, list(leases), ROWS_PER_CLAIM)
        by_lane = {lane: tuple(map(_row, group)) for lane, group in groupby(rows, key=lambda record: record["lane"])}
        return [(lease, by_lane.get(lane, ())) for lane, lease in leases.items()]

    async def renew(self, lease: Lease) -> bool:
        """Extend the lease from now; False when it is no longer ours and one of its ``rest`` is open.

        Without an open row the commit that finished them gave the lane back, and what follows it may end in peace.
        """
        pool = self._database.pool
        if await pool.execute(_RENEW, lease.lane, lease.epoch, self._lease) == "UPDATE 1":
            return True
        return bool(lease.rest) and not await pool.fetchval(_ANY_OPEN, list(lease.rest))

    async def fence(self, connection: Connection, lease: Lease) -> None:
        """Lock the lane until the transaction ends; raise ``LeaseLost`` when the lease is no longer ours.

        Arrivals of this lane wait behind the lock: call it late in the transaction.
        """
        if not (await connection.exec_driver_sql(_LOCK, (lease.lane, lease.epoch))).rows:
            raise LeaseLost

    async def done(self, connection: Connection, lease: Lease, ids: Collection[int]) -> None:
        """Mark rows as done together with everything else in the transaction, fenced; the last ones end the lease too.

        Its end raises ``LeaseLost`` then, also when somebody finished one of them already.
        """
        if not ids:
            await self.fence(connection, lease)
            return
        if lease.rest and lease.rest.issubset(ids):
            this = (lease.lane, lease.epoch)
            rows = (lease.lane, list(ids))
            connection.later_write(Write(_GIVE_BACK, this, "lanes", returns=True, rows=1, otherwise=LeaseLost()))
            connection.later_write(Write(_FINISH, rows, "inbox", returns=False, rows=len(ids), otherwise=LeaseLost()))
            return
        arguments = (lease.lane, lease.epoch, list(ids))
        connection.later_write(Write(_DONE, arguments, "inbox", returns=False, rows=len(ids), otherwise=LeaseLost()))

    async def back_off(self, lease: Lease, row: InboxRow) -> None:
        """Give the lane back for as long as a failure of this row would; nothing is counted."""
        await self.postpone(lease, backoff(min(row.tentativas, DEATHS_APART), random.random()))  # noqa: S311 - jitter

    async def set_aside(self, connection: Connection, lease: Lease, row_id: int, error: BaseException) -> None:
        """Quarantine a row together with everything else in the transaction, fenced; raises ``LeaseLost``."""
        await self.fence(connection, lease)
        arguments = (lease.lane, row_id, _short(error), MAX_ATTEMPTS)
        if (await connection.exec_driver_sql(_SET_ASIDE, arguments)).rowcount != 1:
            raise LeaseLost

    async def release(self, lease: Lease, *, more: bool = False) -> bool:
        """Give the lane back; with ``more`` (open rows are left) it is due at once. A lost lease is no error.

        Says whether something waits in it, due now or later.
        """
        waits = await self._database.pool.fetchval(_RELEASE, lease.lane, lease.epoch, more)
        if more:
            await self._database.pool.execute("SELECT pg_notify($1, '')", CHANNEL)
        return bool(waits)

    async def postpone(self, lease: Lease, seconds: float) -> None:
        """Give the lane back and leave it alone for a while; the rows are not to blame, so nothing is counted."""
        await self._database.pool.execute(_BACK_OFF, lease.lane, lease.epoch, timedelta(seconds=seconds))

    async def fail(
        self, lease: Lease, ids: Collection[int], error: BaseException, *, max_attempts: int = MAX_ATTEMPTS
    ) -> list[int]:
        """Count a failure of ``ids``, give the lane back with a back-off, and return the ids that are quarantined now.

        A quarantined row leaves the lane's way. Raises ``LeaseLost``.
        """
        text = _short(error)
        async with self._database.pool.acquire() as connection, connection.transaction():
            failed = await connection.fetch(_FAIL, lease.lane, list(ids), text, max_attempts)
            delay = timedelta(
                seconds=max((backoff(r["tentativas"], r["acaso"]) for r in failed if r["estado"] == 0), default=0.0)
            )
            if await connection.execute(_BACK_OFF, lease.lane, lease.epoch, delay) != "UPDATE 1":
                raise LeaseLost  # which takes the counting back
        return [record["id"] for record in failed if record["estado"] != 0]

    async def store_interpretation(self, row_id: int, data: Any) -> Any:
        """Keep the reading of a row for a retried turn; the first one stays, and is returned."""
        return await self._database.pool.fetchval(_INTERPRETATION, row_id, storable(data))

    async def wait_for_work(self, timeout: float) -> None:  # noqa: ASYNC109 - the caller's patience, not a deadline
        """Return when lanes may be due: at a NOTIFY, when the next one will be, or after a short while anyway.

        What will be due is what the last ``claim`` saw; whatever has arrived since has rung.
        """
        nap = min(timeout, POLL_SECONDS)
        if self._due_at is not None:
            nap = min(nap, max(self._due_at - time.monotonic(), SHORTEST_NAP))
        await self._bell.wait(nap)

    def ring(self) -> None:
        """Wake ``wait_for_work`` of this process."""
        self._bell.ring()

    async def close(self) -> None:
        """Stop listening; to be called before the database is closed."""
        await self._bell.close()


def _short(error: BaseException) -> str:
    return clean(f"{type(error).__name__}: {error}")[:ERROR_LENGTH]


def _row(record: Any) -> InboxRow:
    return InboxRow(**{name: record[name] for name in InboxRow.__slots__})


def backoff(tentativas: int, chance: float) -> float:
    """Return the pause in seconds after failure number ``tentativas`` (from 1); ``chance`` in [0, 1) is jitter."""
    delay = min(BACKOFF_CAP, BACKOFF_BASE * 2.0 ** (tentativas - 1))
    return delay * (0.5 + chance / 2)
