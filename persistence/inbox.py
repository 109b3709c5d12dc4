"""Takes in what arrives, each key once, durably; it never looks at what an arrival means."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from persistence.entrance import PUT, PUT_ONE, PUT_WITH_TICKS
from persistence.jsontext import clean, storable
from persistence.outage import DatabaseAwayError, is_objection, is_outage
from persistence.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from persistence.connection import Connection
    from persistence.engine import Database
    from persistence.tick import Tick

FLUSHERS = 2  # more only split the batches, and smaller batches cost more of everything
# A write that takes longer waits for the disk or for a lock: the others do not wait behind it. Ticks, for which nobody
# waits, are held back for so long too, unless something else is written before or ``HELP_ROWS`` are waiting.
HELP_SECONDS = 0.01
HELP_ROWS = 16  # so many waiting are a batch of their own, and the disk may write two at once
MAX_ROWS = 400  # measured: a bigger batch gains nothing and makes its callers wait for each other
MAX_WAITING = 20_000  # arrivals held in memory; beyond it the sender keeps them (503)
PUT_SECONDS = 10.0  # Meta gives up after 5 to 20 s by various accounts; later than this is as good as never
FLUSH_SECONDS = 10.0  # a database slower than this is away
TRIES = 3  # after a deadlock (the same keys in two orders), or on connections that a restart of the database cut


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


_Row = tuple[str, str, str, str, str, bool, "Tick | None"]
_NO_TICK = (None, None, None, None)


@dataclass(slots=True)
class _Caller:
    rows: dict[str, _Row]
    stored: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Inbox:
    """The inbox table's entrance; concurrent callers share one INSERT and one commit.

    Nobody's answer is delayed for it, but for a tick's, by 10 ms at most.
    """

    def __init__(self, database: Database, debounce_seconds: float, *, put_seconds: float = PUT_SECONDS) -> None:
        self._database = database
        self._debounce = timedelta(seconds=debounce_seconds)
        self._patience = Patience(put_seconds)
        self._waiting: deque[_Caller] = deque()
        self._waiting_rows = 0
        self._flushers: set[asyncio.Task[None]] = set()
        self._help: asyncio.TimerHandle | None = None

    async def put(self, arrivals: Sequence[Arrival]) -> int:
        """Store ``arrivals`` in list order and return how many were new; returns only after the commit.

        Raises ``DatabaseAwayError`` (send again later), ``UnstorableError``, or what the database objects to in them.
        Nobody waits longer than ``put_seconds``; what was being written then may still be stored.
        """
        if not arrivals:
            return 0
        caller = _Caller(_rows(arrivals))
        if self._waiting and self._waiting_rows + len(caller.rows) > MAX_WAITING:
            raise DatabaseAwayError("too many arrivals are waiting for the database")
        self._waiting.append(caller)
        self._waiting_rows += len(caller.rows)
        active = self._active
        awaited = not all(arrival.tick for arrival in arrivals)
        if (awaited and not active) or (self._waiting_rows >= HELP_ROWS and active < FLUSHERS):
            self._start()
        elif self._help is None:
            self._help = asyncio.get_running_loop().call_later(HELP_SECONDS, self._send_help)
        self._patience.watch(caller.stored)
        return await caller.stored

    async def put_in(self, connection: Connection, arrivals: Sequence[Arrival]) -> int:
        """Do the same inside an open transaction: stored, and announced, if and when that one commits."""
        if not arrivals:
            return 0
        sql, arguments = self._statement(_rows(arrivals).values())
        return sum(len(row.novas) for row in await connection.exec_driver_sql(sql, arguments))

    async def close(self) -> None:
        """Wait until everything that was handed in is decided."""
        self._send_help()
        await asyncio.gather(*self._flushers, return_exceptions=True)

    def _send_help(self) -> None:
        self._help = None
        if self._waiting and self._active < FLUSHERS:
            self._start()

    @property
    def _active(self) -> int:
        return sum(not flusher.done() for flusher in self._flushers)  # a finished one leaves the set a moment later

    def _start(self) -> None:
        flusher = asyncio.create_task(self._flush(), name="inbox:flush")
        self._flushers.add(flusher)
        flusher.add_done_callback(self._flushers.discard)

    async def _flush(self) -> None:
        while batch := self._take():
            await self._settle(batch)

    def _take(self) -> list[_Caller]:
        batch: list[_Caller] = []
        rows = 0
        while self._waiting and (not batch or rows + len(self._waiting[0].rows) <= MAX_ROWS):
            caller = self._waiting.popleft()
            self._waiting_rows -= len(caller.rows)
            if not caller.stored.done():  # its caller has given up: the sender will come again
                batch.append(caller)
                rows += len(caller.rows)
        return batch

    async def _settle(self, batch: list[_Caller]) -> None:
        try:
            new = set(await self._insert(_merged(batch)))
        except Exception as error:  # noqa: BLE001 - every caller is told, none may wait for ever
            if len(batch) > 1 and is_objection(error):  # somebody's data: the others must not suffer for it
                for caller in batch:
                    await self._settle([caller])
                return
            for caller in batch:
                _fail(caller, error)
            return
        except BaseException:  # we are being stopped
            for caller in batch:
                caller.stored.cancel()
            raise
        for caller in batch:
            mine = new & caller.rows.keys()
            new -= mine
            if not caller.stored.done():
                caller.stored.set_result(len(mine))

    async def _insert(self, rows: Collection[_Row]) -> list[str]:
        sql, arguments = self._statement(rows)
        for attempt in range(1, TRIES + 1):
            try:
                async with asyncio.timeout(FLUSH_SECONDS):
                    record = await self._database.pool.fetchrow(sql, *arguments)
            except Exception as error:
                if attempt == TRIES or not is_outage(error):
                    raise
                await asyncio.sleep(random.uniform(0, 0.05))  # noqa: S311 - only so that two rivals don't meet again
            else:
                return list(record["novas"]) if record else []
        raise AssertionError("unreachable")

    def _statement(self, rows: Collection[_Row]) -> tuple[str, tuple[Any, ...]]:
        if len(rows) == 1:
            [(*values, tick)] = rows
            if tick is None:
                return PUT_ONE, (self._debounce, *values)
        *columns, ticks = zip(*rows, strict=True)
        if not any(ticks):
            return PUT, (self._debounce, *columns)
        told = [tick.columns() if tick else _NO_TICK for tick in ticks]
        return PUT_WITH_TICKS, (self._debounce, *columns, *zip(*told, strict=True))


def _rows(arrivals: Sequence[Arrival]) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    for arrival in arrivals:
        chave = clean(arrival.chave)
        payload = storable(arrival.payload)
        row = (chave, clean(arrival.lane), arrival.tipo, payload, arrival.correlacao, arrival.imediato, arrival.tick)
        rows.setdefault(chave, row)  # the first of two equal keys counts
    return rows


def _merged(batch: list[_Caller]) -> Collection[_Row]:
    rows: dict[str, _Row] = {}
    for caller in batch:
        for chave, row in caller.rows.items():
            rows.setdefault(chave, row)
    return rows.values()


def _fail(caller: _Caller, error: Exception) -> None:
    if caller.stored.done():
        return
    if is_objection(error):
        caller.stored.set_exception(error)
        return
    away = DatabaseAwayError("the database does not answer")
    away.__cause__ = error
    caller.stored.set_exception(away)
