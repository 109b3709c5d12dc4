"""Works on lanes: claims them, hands their rows to handlers in order, renews leases."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import TypeVar

import structlog

from bot.loops.pump import origin
from persistence.db.connection import is_outage, ran_out_of_time
from persistence.queue.lanes import (
    ALONE_FROM,
    DIED,
    MAX_ATTEMPTS,
    MAX_DEATHS,
    ROWS_PER_CLAIM,
    InboxRow,
    Lanes,
    Lease,
    LeaseLost,
)
from persistence.rows import MisshapenRowError
from state_machine.values.errors import ProsaError
from telemetry.metrics import Metrics

Handler = Callable[[Lease, Sequence[InboxRow]], Awaitable[Collection[int]]]
"""Takes the next rows of one lane, all of one ``tipo``; marks those that it takes as done (``Lanes.done``) in its own
transaction and returns their ids. Rows that it leaves are handed to it again, after what came between. When none are
left, ``Lanes.done`` ends the lease too: the lane may be in other hands before the handler returns."""

SetAside = Callable[[Lease, InboxRow, BaseException], Awaitable[None]]
"""Quarantines a row that failed for the last time (``Lanes.set_aside``), with all that follows from it, in one
transaction. When it fails too, the row is quarantined alone."""

DRAIN_SECONDS = 6.0  # a container is killed 10 s after SIGTERM, and closing takes a moment on a busy machine
RELEASE_SECONDS = 1.0  # for giving a lane back while stopping; otherwise its lease runs out
OUTAGE_SECONDS = 1.0  # pause before the database is asked again
IDLE_SECONDS = 30.0  # how long to wait for work at most; the lanes look around more often by themselves

T = TypeVar("T")

log = structlog.get_logger()


class NoProgressError(ProsaError, RuntimeError):
    """A handler returned without having taken any row."""

    code = "no_progress"


class DeadlyRowError(ProsaError, RuntimeError):
    """Worker after worker ended with this row in hand."""

    code = "deadly_row"


def process_name() -> str:
    """Return ``host:pid:hex``: a name for what works here that nothing else has, nor will have."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


class LaneWorker:
    """Up to ``concurrency`` lanes at once, each in order; a failing lane delays no other one."""

    def __init__(
        self,
        lanes: Lanes,
        handlers: Mapping[str, Handler],
        metrics: Metrics,
        *,
        concurrency: int = 20,
        drain_seconds: float = DRAIN_SECONDS,
        set_aside: SetAside | None = None,
    ) -> None:
        self.owner = process_name()
        self._lanes = lanes
        self._handlers = handlers
        self._metrics = metrics
        self._seconds = cache(metrics.handler_seconds.labels)  # looking one up takes longer than counting
        self._rows = cache(metrics.rows_done.labels)
        self._concurrency = concurrency
        self._drain_seconds = drain_seconds
        self._set_aside = set_aside
        self._running: set[asyncio.Task[int]] = set()
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()  # a lane ended, or we are to stop
        self._ended = asyncio.Event()
        self._ended.set()

    async def run(self) -> None:
        """Work until ``drain``; a database that is away is asked again until it is back."""
        self._ended.clear()
        try:
            while not self._stopping.is_set():
                await self._step()
            if self._running:
                await asyncio.wait(self._running, timeout=self._drain_seconds)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            self._ended.set()

    async def run_once(self) -> int:
        """Process everything that is due, and what becomes due meanwhile; return how many rows were completed."""
        completed = 0
        while claimed := await self._lanes.claim(self.owner, self._concurrency):
            completed += sum(await asyncio.gather(*(self._start(lease, rows) for lease, rows in claimed)))
        return completed

    async def drain(self) -> None:
        """Stop claiming, let what runs finish (6 s at most), give the lanes back; returns when ``run`` has ended."""
        self.stop()
        await self._ended.wait()

    def stop(self) -> None:
        """Claim nothing any more; ``run`` ends when what runs has finished, after 6 s at most."""
        self._stopping.set()
        self._changed.set()
        self._lanes.ring()

    async def _step(self) -> None:
        self._changed.clear()
        free = self._concurrency - len(self._running)
        if not free:
            await self._changed.wait()
            return
        try:
            claimed = await self._lanes.claim(self.owner, free)
            for lease, rows in claimed:
                self._start(lease, rows)
            if len(claimed) < free:  # all that is due has been taken
                await self._lanes.wait_for_work(IDLE_SECONDS)
        except Exception as error:  # noqa: BLE001 - the loop must outlive whatever happens to the database
            log.warning("worker_waits", erro=type(error).__name__, outage=is_outage(error))
            await self._pause(OUTAGE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass

    def _start(self, lease: Lease, rows: tuple[InboxRow, ...]) -> asyncio.Task[int]:
        task = asyncio.create_task(self._lane(lease, rows), name=f"lane:{tag(lease.lane)}")
        self._running.add(task)
        self._metrics.lanes_running.set(len(self._running))
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[int]) -> None:
        self._running.discard(task)
        self._metrics.lanes_running.set(len(self._running))
        self._changed.set()

    async def _lane(self, lease: Lease, rows: tuple[InboxRow, ...]) -> int:
        work = Round(lease, rows)
        try:
            try:
                async with asyncio.TaskGroup() as group:
                    keeping = group.create_task(self._keep(work))
                    try:
                        await self._work(lease, work)
                    finally:
                        keeping.cancel()
            except* LeaseLost:
                self._metrics.leases_lost.inc()
                log.warning("lease_lost", lane=tag(lease.lane), epoch=lease.epoch)
            except* Exception as errors:  # noqa: BLE001 - a bug in our own bookkeeping: the lease runs out
                log.warning("lane_left", lane=tag(lease.lane), erro=type(errors.exceptions[0]).__name__)
        except asyncio.CancelledError:
            await self._give_back(lease)
            raise
        if not work.over:
            self._lanes.ring()  # the lane is due again, now or later
        return work.completed

    async def _keep(self, work: Round) -> None:
        while True:
            await asyncio.sleep(self._lanes.lease_seconds / 3)  # two renewals may fail before the lease runs out
            try:
                held = await self._lanes.renew(work.lease)
            except Exception as error:
                if not is_outage(error) and not isinstance(error, TimeoutError):
                    raise
            else:
                if not held:
                    raise LeaseLost

    async def _spared(self, lease: Lease, row: InboxRow) -> bool:
        """Keep a lane whose owners keep dying from the others: apart in time, and quarantined in the end."""
        if row.tentativas >= MAX_DEATHS:
            await self._bury(lease, row)
        elif row.tentativas >= ALONE_FROM:
            await self._insist(lambda: self._lanes.back_off(lease, row))
        else:
            return False  # any worker may die once
        return True

    async def _bury(self, lease: Lease, row: InboxRow) -> None:
        error = DeadlyRowError(DIED)
        if await self._aside(lease, row, error):
            await self._insist(lambda: self._lanes.release(lease, more=True))
        else:
            await self._insist(lambda: self._lanes.fail(lease, [row.id], error))

    async def _work(self, lease: Lease, work: Round) -> None:
        if lease.inherited and work.open and await self._spared(lease, work.open[0]):
            return
        while work.open and not self._stopping.is_set():
            run = work.next_run()
            try:
                structlog.contextvars.bind_contextvars(correlacao=run[0].correlacao)  # a lane has a task of its own
                await self._handle(work, run)
            except LeaseLost:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a handler does wrong stays in its lane
                await self._after_failure(lease, run, error)
                return
            if work.given_back:
                work.over = True
                return
        work.over = not await self._insist(lambda: self._lanes.release(lease, more=bool(work.open) or work.truncated))

    async def _handle(self, work: Round, run: Sequence[InboxRow]) -> None:
        tipo = run[0].tipo
        handler = self._handlers.get(tipo)
        if handler is None:
            raise MisshapenRowError(f"a row of kind {tipo}")
        with self._seconds(tipo).time():
            taken = work.complete(await handler(work.lease, run))
        if not taken:
            raise NoProgressError(tipo)
        self._rows(tipo).inc(taken)

    async def _after_failure(self, lease: Lease, run: Sequence[InboxRow], error: Exception) -> None:
        where = {"lane": tag(lease.lane), "tipo": run[0].tipo, "ids": [row.id for row in run]}
        if is_outage(error) and not ran_out_of_time(error):
            self._metrics.lanes_postponed.inc()
            log.warning("lane_postponed", **where, erro=type(error).__name__)
            await self._insist(lambda: self._lanes.postpone(lease, OUTAGE_SECONDS))
            return
        self._metrics.rows_failed.labels(run[0].tipo).inc(len(run))
        log.error(
            "row_failed", **where, tentativas=run[0].tentativas + 1, erro=type(error).__name__, onde=origin(error)
        )
        if run[0].tentativas + 1 >= MAX_ATTEMPTS and await self._aside(lease, run[0], error):
            await self._insist(lambda: self._lanes.release(lease, more=True))
            return
        quarantined = await self._insist(lambda: self._lanes.fail(lease, [row.id for row in run], error))
        if quarantined:
            self._metrics.rows_quarantined.labels(run[0].tipo).inc(len(quarantined))
            log.error("row_quarantined", lane=where["lane"], tipo=where["tipo"], ids=quarantined)

    async def _aside(self, lease: Lease, row: InboxRow, error: BaseException) -> bool:
        if self._set_aside is None:
            return False
        try:
            await self._set_aside(lease, row, error)
        except LeaseLost:
            raise
        except Exception as another:  # noqa: BLE001 - what poisoned the row may poison this too
            log.warning("row_not_set_aside", lane=tag(lease.lane), ids=[row.id], erro=type(another).__name__)
            return False
        self._metrics.rows_quarantined.labels(row.tipo).inc()
        log.error("row_quarantined", lane=tag(lease.lane), tipo=row.tipo, ids=[row.id])
        return True

    async def _insist(self, bookkeeping: Callable[[], Awaitable[T]]) -> T:
        """Write down what became of a lane even if the database restarts now, rather than let the lease run out."""
        while True:
            try:
                return await bookkeeping()
            except Exception as error:
                if not is_outage(error) or self._stopping.is_set():
                    raise
            await self._pause(OUTAGE_SECONDS)

    async def _give_back(self, lease: Lease) -> None:
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await self._lanes.release(lease, more=True)
        except Exception as error:  # noqa: BLE001 - we are stopping: the lease runs out by itself
            log.warning("lane_left", lane=tag(lease.lane), erro=type(error).__name__)


def tag(lane: str) -> str:
    """Return a short name for a lane that is safe in logs: the lane itself holds a phone number."""
    return hashlib.blake2s(lane.encode(), digest_size=4).hexdigest()


class Round:
    """The rows of one claim that are still open."""

    def __init__(self, lease: Lease, rows: tuple[InboxRow, ...]) -> None:
        self._lease = lease
        self.open = list(rows)
        self.completed = 0
        self.over = False  # the lane was given back, and nothing waits in it or its workers were rung for
        self.truncated = len(rows) >= ROWS_PER_CLAIM  # there may be more than were read

    @property
    def lease(self) -> Lease:
        """The lease with all rows of the lane that are open, none if there may be more than were read."""
        return self._lease if self.truncated else replace(self._lease, rest=frozenset(row.id for row in self.open))

    @property
    def given_back(self) -> bool:
        """Whether a handler has finished all that was in the lane: its commit gave the lane back."""
        return not self.open and not self.truncated

    def next_run(self) -> Sequence[InboxRow]:
        """Return the rows at the head that are of one kind; a row that failed twice is alone."""
        head = self.open[0]
        if head.tentativas >= ALONE_FROM:
            return (head,)
        return tuple(takewhile(lambda row: row.tipo == head.tipo and row.tentativas < ALONE_FROM, self.open))

    def complete(self, ids: Collection[int]) -> int:
        """Take finished rows out; return how many."""
        left = [row for row in self.open if row.id not in ids]
        taken = len(self.open) - len(left)
        self.open = left
        self.completed += taken
        return taken
