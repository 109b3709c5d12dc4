"""Stores what arrives, each key once, durably.

What came in, as it is stored.

The statement by which arrivals enter: what is new is stored, its lanes are due, and ticks are applied at once.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self, cast

import orjson

from persistence.db.connection import Connection, DatabaseAwayError, clean, is_objection, is_outage, storable
from persistence.db.engine import Database
from persistence.queue.outbox import RANK, Tick
from persistence.rows import RowKind
from persistence.tables import TALVEZ_SAIU
from persistence.tables.base import literals


@dataclass(frozen=True, slots=True)
class Arrival:
    """One thing that came in. ``chave`` is what makes it unique for ever, ``lane`` the line in which it waits.

    ``payload`` is JSON. ``imediato``: processed at once, without waiting for the sender to finish typing.
    ``tick``: what it tells of a message of ours; applied as it is stored, so that nobody needs to look at it.
    """

    chave: str
    lane: str
    tipo: str
    payload: Mapping[str, Any]
    correlacao: str
    imediato: bool
    tick: Tick | None = None

    @classmethod
    def of(
        cls, row: RowKind, *, chave: str, lane: str, correlacao: str, imediato: bool = True, tick: Tick | None = None
    ) -> Self:
        """Return the arrival of a row; producers make it in no other way."""
        return cls(chave, lane, row.tipo, row.to_payload(), correlacao, imediato, tick)


CHANNEL = "prosa_inbox"
MAX_DEBOUNCE_FACTOR = 4  # somebody who never stops typing is answered after this many quiet times

# A message that a tick speaks of is found by its wamid; by our number only if it may have left and its wamid is not
# known (see ``persistence.queue.ticks``). A tick that is known says nothing: its message may have left anew since.
# Nobody waits for a message here: where it is in somebody's hands, or is none of ours, the tick stays open in its lane
# like any other arrival, and a worker looks again. Messages are locked before lanes, there as here.
_TICKS = f"""
ineditos AS MATERIALIZED (
    SELECT * FROM entrada e
    WHERE e.wamid IS NOT NULL AND (SELECT true FROM inbox i WHERE i.chave = e.chave) IS NULL
), pelo_wamid AS MATERIALIZED (
    SELECT o.id, e.chave, e.wamid, e.tick, e.posto FROM ineditos e JOIN outbox o ON o.wamid = e.wamid
    FOR NO KEY UPDATE OF o SKIP LOCKED
), pelo_numero AS MATERIALIZED (
    SELECT o.id, e.chave, e.wamid, e.tick, e.posto FROM ineditos e JOIN outbox o ON o.id = e.numero
    WHERE o.wamid IS NULL AND o.status IN ({literals(TALVEZ_SAIU)})
    FOR NO KEY UPDATE OF o SKIP LOCKED
), aplicadas AS MATERIALIZED (
    SELECT * FROM pelo_wamid UNION ALL SELECT * FROM pelo_numero
), contadas AS (
    UPDATE outbox o SET wamid = t.wamid, run_at = NULL, enviado_em = coalesce(o.enviado_em, now()),
        status = CASE WHEN {RANK} < t.posto THEN t.tick ELSE o.status END
    FROM (SELECT DISTINCT ON (id) * FROM aplicadas ORDER BY id, posto DESC) t
    WHERE o.id = t.id AND (o.wamid IS NULL OR o.wamid = t.wamid)
), """  # noqa: S608 - our own constants

# A lane that is due stays due, with its place in the queue: its row is locked, so that whoever is claiming it right now
# comes first, and is then written only if that made it wait. ``pending_since`` is null from a claim until the next
# arrival.
_DUE = f"""
    ON CONFLICT (lane) DO UPDATE SET
        pending_since = coalesce(l.pending_since, now()),
        ready_at = greatest(l.backoff_until, CASE
            WHEN l.pending_since IS NOT NULL AND l.ready_at <= now() THEN l.ready_at
            WHEN excluded.ready_at <= now() THEN now()
            ELSE least(excluded.ready_at, coalesce(l.pending_since, now()) + {MAX_DEBOUNCE_FACTOR} * $1::interval)
        END)
    WHERE l.pending_since IS NULL OR l.ready_at IS NULL OR l.ready_at > now() OR l.backoff_until > now()
"""

# What waits is announced, and wakes its lane: at once, or when its sender has been quiet for a while. Which keys are
# new is only told if some are not. ``$1`` is the debounce time, ``$3`` the lanes whose turn is at once, ``$4`` how many
# arrivals there are. (If what is for at once was known, and other words for its lane were not, these go at once too.)
_AWAKE = f"""acordadas AS (
    INSERT INTO lanes AS l (lane, ready_at, pending_since)
    SELECT lane, CASE WHEN lane = ANY ($3::text[]) THEN now() ELSE now() + $1::interval END, now()
    FROM novas WHERE estado = 0 GROUP BY lane ORDER BY lane
    {_DUE}
)
SELECT count(*) AS novas, CASE WHEN count(*) < $4::int THEN array_agg(chave) END AS chaves,
    CASE WHEN bool_or(estado = 0) THEN pg_notify('{CHANNEL}', '') END
FROM novas
"""  # noqa: S608 - our own constants

# ``$2`` is one JSON list of arrivals, each with its fields in order (``_row``): that costs us a fraction of an array
# for each column, and PostgreSQL no more. It is read in order, so the rows of one lane keep theirs.
PUT = f"""
WITH novas AS (
    INSERT INTO inbox (chave, lane, tipo, payload, correlacao)
    SELECT e->>0, e->>1, e->>2, e->3, e->>4 FROM jsonb_array_elements($2::text::jsonb) AS a(e)
    ON CONFLICT (chave) DO NOTHING
    RETURNING chave, lane, estado
), {_AWAKE}"""  # noqa: S608 - our own constants

# With ticks among them, whose fields come last: what they settle is done when it enters.
PUT_WITH_TICKS = f"""
WITH entrada AS MATERIALIZED (
    SELECT e->>0 AS chave, e->>1 AS lane, e->>2 AS tipo, e->3 AS payload, e->>4 AS correlacao,
        e->>5 AS wamid, (e->>6)::bigint AS numero, e->>7 AS tick, (e->>8)::int AS posto, posicao
    FROM jsonb_array_elements($2::text::jsonb) WITH ORDINALITY AS a(e, posicao)
), {_TICKS}novas AS (
    INSERT INTO inbox (chave, lane, tipo, payload, correlacao, estado, feito_em)
    SELECT chave, lane, tipo, payload, correlacao, feita::int::smallint, CASE WHEN feita THEN now() END
    FROM (SELECT *, chave IN (SELECT chave FROM aplicadas) AS feita FROM entrada) AS e ORDER BY posicao
    ON CONFLICT (chave) DO NOTHING
    RETURNING chave, lane, estado
), {_AWAKE}"""  # noqa: S608 - our own constants

# The same for one arrival, as most come when little goes on: a smaller plan. ``$2`` to ``$7`` are its fields.
PUT_ONE = f"""
WITH nova AS (
    INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ($2, $3, $4, $5::text::jsonb, $6)
    ON CONFLICT (chave) DO NOTHING RETURNING chave
), acordada AS (
    INSERT INTO lanes AS l (lane, ready_at, pending_since)
    SELECT $3, CASE WHEN $7::boolean THEN now() ELSE now() + $1::interval END, now() FROM nova
    {_DUE}
)
SELECT count(*) AS novas, NULL AS chaves, CASE WHEN count(*) > 0 THEN
    pg_notify('{CHANNEL}', CASE WHEN $7 THEN '' ELSE extract(epoch FROM $1::interval)::text END) END FROM nova
"""  # noqa: S608 - our own constants

_NO_TICK = (None, None, None, None)


def entering(arrivals: Sequence[Arrival]) -> tuple[str, tuple[Any, ...]]:
    """Return the statement for ``arrivals`` and what it takes after ``$1``; of two equal keys the first counts.

    It gives ``novas``, and in ``chaves`` which, if not all are. Raises ``UnstorableError`` for what has no bottom.
    """
    if any(arrival.tick for arrival in arrivals):
        told = [arrival.tick.columns() if arrival.tick else _NO_TICK for arrival in arrivals]
        return PUT_WITH_TICKS, _many(arrivals, [(*_row(a), *tick) for a, tick in zip(arrivals, told, strict=True)])
    if len(arrivals) == 1:
        [arrival] = arrivals
        chave, lane, tipo, payload, correlacao = _row(arrival)
        return PUT_ONE, (clean(chave), clean(lane), tipo, storable(payload), correlacao, arrival.imediato)
    return PUT, _many(arrivals, [_row(arrival) for arrival in arrivals])


def _row(a: Arrival) -> tuple[Any, ...]:
    return a.chave, a.lane, a.tipo, a.payload, a.correlacao


def _many(arrivals: Sequence[Arrival], rows: list[tuple[Any, ...]]) -> tuple[str, list[str], int]:
    return _json(rows), list({clean(arrival.lane) for arrival in arrivals if arrival.imediato}), len(rows)


def _json(rows: list[tuple[Any, ...]]) -> str:
    try:
        text = orjson.dumps(rows)
        spoilt = b"\\u0000" in text
    except TypeError:  # surrogates, integers beyond 64 bits, depth
        spoilt = True
    if spoilt:
        text = orjson.dumps(
            [
                (clean(chave), clean(lane), tipo, orjson.Fragment(storable(payload)), *rest)
                for chave, lane, tipo, payload, *rest in rows
            ]
        )
    return text.decode()


FLUSHERS = 2
# One writer at a time: two at once make smaller batches, and these cost more of everything. A write that has taken so
# long waits for the disk or for a lock, and the others do not wait behind it. Ticks, for which nobody waits, are held
# back for so long too, unless something else is written before or a batch of them is together.
HELP_SECONDS = 0.01
GRAIN = 0.001  # seconds: the event loop's clock goes in whole ones
COMPANY_ROWS = 16
# Of many, a writer takes its share only: if all go together, all are answered together, come again together, and the
# database and the web wait for each other in turns.
SHARE_ROWS = 40
MAX_ROWS = 400  # measured: a bigger batch gains nothing and makes its callers wait for each other
LONGEST = 64 * 1024 * 1024  # characters of a batch; PostgreSQL takes up to 256 MiB as one JSON
MAX_WAITING = 20_000  # arrivals held in memory; beyond it the sender keeps them (503)
PUT_SECONDS = 10.0  # Meta gives up after 5 to 20 s by various accounts; later than this is as good as never
FLUSH_SECONDS = 10.0  # a database slower than this is away
TRIES = 3  # after a deadlock, or on connections that a restart of the database cut


@dataclass(slots=True, eq=False)
class _Caller:
    answer: asyncio.Future[int]
    arrivals: Sequence[Arrival]


@dataclass(slots=True, eq=False)
class _Write:
    """A batch on its way since then, by the event loop's clock."""

    since: float


class Inbox:
    """The inbox table's entrance; concurrent callers share one INSERT and one commit.

    What comes during a write waits for its end, 10 ms at most, and then for its own. If nothing is being written, only
    a tick's answer is delayed, by as much.
    """

    def __init__(self, database: Database, debounce_seconds: float, *, put_seconds: float = PUT_SECONDS) -> None:
        self._database = database
        self._debounce = timedelta(seconds=debounce_seconds)
        self._put_seconds = put_seconds
        self._waiting: deque[_Caller] = deque()
        self._writing: list[_Write] = []
        self._waiting_rows = 0
        self._flushers: set[asyncio.Task[None]] = set()
        self._help: asyncio.TimerHandle | None = None

    async def put(self, arrivals: Sequence[Arrival]) -> int:
        """Store ``arrivals`` in list order and return how many were new; returns only after the commit.

        Raises ``DatabaseAwayError`` (send again later), ``UnstorableError``, or what the database objects to in them.
        Nobody waits longer than ``put_seconds``; what was being written may still be stored.
        """
        if not arrivals:
            return 0
        if self._waiting and self._waiting_rows + len(arrivals) > MAX_WAITING:
            raise DatabaseAwayError("too many arrivals are waiting for the database")
        caller = _Caller(asyncio.get_running_loop().create_future(), arrivals)
        self._waiting.append(caller)
        self._waiting_rows += len(arrivals)
        self._see_to(arrivals)
        try:
            async with asyncio.timeout(self._put_seconds):
                return await caller.answer
        except TimeoutError as error:
            raise DatabaseAwayError("the database did not answer in time") from error

    def _see_to(self, arrivals: Sequence[Arrival]) -> None:
        if self._flushers:
            self._help_later(self._slow_in() if self._writing else HELP_SECONDS)
        elif self._waiting_rows < COMPANY_ROWS and all(arrival.tick for arrival in arrivals):
            self._help_later(HELP_SECONDS)
        else:
            self._start()

    async def put_in(self, connection: Connection, arrivals: Sequence[Arrival]) -> int:
        """Do the same inside an open transaction: stored, and announced, if and when that one commits."""
        if not arrivals:
            return 0
        sql, arguments = entering(arrivals)
        [row] = await connection.exec_driver_sql(sql, (self._debounce, *arguments))
        return int(row.novas)

    async def close(self) -> None:
        """Wait until everything that was handed in is decided."""
        self._send_help()
        while self._flushers:  # one may start another
            await asyncio.gather(*self._flushers, return_exceptions=True)

    def _help_later(self, seconds: float) -> None:
        if self._help is None:
            self._help = asyncio.get_running_loop().call_later(max(seconds, GRAIN), self._send_help)

    def _send_help(self) -> None:
        if self._help is not None:
            self._help.cancel()
            self._help = None
        if self._waiting and len(self._flushers) < FLUSHERS:
            if (slow_in := self._slow_in()) > 0:
                self._help_later(slow_in)
            else:
                self._start()

    def _slow_in(self) -> float:
        """Seconds until every write that is under way has taken too long to be waited for."""
        if not self._writing:
            return 0
        return max(write.since for write in self._writing) + HELP_SECONDS - asyncio.get_running_loop().time()

    def _start(self) -> None:
        flusher = asyncio.create_task(self._flush(), name="inbox:flush")
        self._flushers.add(flusher)
        flusher.add_done_callback(self._flushers.discard)

    async def _flush(self) -> None:
        try:
            while self._slow_in() <= 0 and (batch := self._take()):
                if self._waiting:
                    self._help_later(HELP_SECONDS)
                write = _Write(asyncio.get_running_loop().time())
                self._writing.append(write)
                try:
                    await self._settle(batch)
                finally:
                    self._writing.remove(write)
        finally:
            self._flushers.discard(cast("asyncio.Task[None]", asyncio.current_task()))  # the callback comes later
            if self._waiting:  # another writer is at work, or this one was stopped
                self._help_later(self._slow_in())

    def _take(self) -> list[_Caller]:
        batch: list[_Caller] = []
        rows = 0
        share = min(MAX_ROWS, max(SHARE_ROWS, self._waiting_rows // 2))
        while self._waiting and (not batch or rows + len(self._waiting[0].arrivals) <= share):
            caller = self._waiting.popleft()
            self._waiting_rows -= len(caller.arrivals)
            if not caller.answer.done():  # its caller has given up: the sender will come again
                batch.append(caller)
                rows += len(caller.arrivals)
        return batch

    async def _settle(self, batch: list[_Caller]) -> None:
        try:
            new = await self._insert([arrival for caller in batch for arrival in caller.arrivals])
        except Exception as error:  # noqa: BLE001 - every caller is told, none may wait for ever
            if len(batch) > 1 and _is_about_data(error):  # somebody's: the others must not suffer for it
                for caller in batch:
                    if not caller.answer.done():
                        await self._settle([caller])
                return
            for caller in batch:
                _fail(caller, error)
            return
        except BaseException:  # we are being stopped
            for caller in batch:
                caller.answer.cancel()
            raise
        for caller in batch:
            count = len(caller.arrivals) if new is None else _taken(new, caller.arrivals)
            if not caller.answer.done():
                caller.answer.set_result(count)

    async def _insert(self, arrivals: Sequence[Arrival]) -> set[str] | None:
        """Return the keys that were new; ``None`` when all were."""
        sql, arguments = entering(arrivals)
        if len(arrivals) > 1 and len(arguments[0]) > LONGEST:
            return await self._insert_halves(arrivals)
        for attempt in range(1, TRIES + 1):
            try:
                async with asyncio.timeout(FLUSH_SECONDS):
                    row = await self._database.pool.fetchrow(sql, self._debounce, *arguments)
            except Exception as error:
                if attempt == TRIES or not is_outage(error):
                    raise
                await asyncio.sleep(random.uniform(0, 0.05))  # noqa: S311 - only so that two rivals don't meet again
            else:
                return None if row["novas"] == len(arrivals) else set(row["chaves"] or ())
        raise AssertionError("unreachable")

    async def _insert_halves(self, arrivals: Sequence[Arrival]) -> set[str]:
        new: set[str] = set()
        for half in (arrivals[: len(arrivals) // 2], arrivals[len(arrivals) // 2 :]):
            found = await self._insert(half)
            new.update((clean(arrival.chave) for arrival in half) if found is None else found)
        return new


def _taken(new: set[str], arrivals: Sequence[Arrival]) -> int:
    """Count what of ``arrivals`` is ``new``, and take it out: who brings it too is not told that it was."""
    mine = new.intersection(clean(arrival.chave) for arrival in arrivals)
    new -= mine
    return len(mine)


def _is_about_data(error: Exception) -> bool:
    return isinstance(error, (TypeError, ValueError)) or is_objection(error)  # ``UnstorableError`` is one of these


def _fail(caller: _Caller, error: Exception) -> None:
    if caller.answer.done():
        return
    if _is_about_data(error):
        caller.answer.set_exception(error)
        return
    away = DatabaseAwayError("the database does not answer")
    away.__cause__ = error
    caller.answer.set_exception(away)
