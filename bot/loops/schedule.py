"""Runs the house's periodic work on every replica, each slot of it on one; the work itself is safe to repeat."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa
import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.dialects.postgresql import insert

from persistence.conversations import register_cache, snapshots
from persistence.fiscal import cancellations
from persistence.idempotency import records as idempotency
from persistence.people import retention
from persistence.queue.arrival import Arrival
from persistence.staff import dashboard
from persistence.tables import job_slots
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from persistence.db.engine import Database
    from persistence.people.retention import Prazos
    from persistence.queue.backlog import Backlog
    from persistence.queue.inbox import Inbox

BEAT_SECONDS = 5  # how often the scheduler shows that it lives
SILENT_BEATS = 6  # that many missed in a row, and it has stopped: a busy loop delays both sides alike
EXPIRY_SECONDS = 5  # how late a deadline may be noticed
SLEEPERS_SECONDS = 60  # safety net for a lane that nobody woke
WATCH_SECONDS = 300  # how often an overdue emission is named in the log
OPERATOR_AFTER_SECONDS = 3600.0  # an hour without an answer is no longer the city being slow
AUDIT_SECONDS = 3600  # how often is looked whose audit of the day is missing: a gateway may be away for hours
DASHBOARD_SECONDS = 600  # three sums of the whole period take some seconds at a million journal rows
SLOTS_KEPT = timedelta(days=1)
EXPIRY_BATCH = 500
_TAKE = insert(job_slots).on_conflict_do_nothing()

log = structlog.get_logger(__name__)


class ScheduleSilentError(ProsaError, RuntimeError):
    """The scheduler starts nothing any more."""

    code = "schedule_silent"


class Schedule:
    """APScheduler with an in-memory store; PostgreSQL decides which replica runs a slot."""

    def __init__(
        self,
        database: Database,
        inbox: Inbox,
        backlog: Backlog,
        audit: Callable[[], Awaitable[int]] | None = None,
        prazos: Prazos | None = None,
    ) -> None:
        self._database = database
        self._prazos = prazos
        self._inbox = inbox
        self._backlog = backlog
        self._audit = audit
        self._scheduler = AsyncIOScheduler(timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1})
        self._stopping = asyncio.Event()
        self._beats = 0

    async def run(self) -> None:
        """Start jobs until ``stop``; what runs then is not waited for. Raises ``ScheduleSilentError``."""
        self._add_jobs()
        self._scheduler.start()
        try:
            missed = 0
            while not self._stopping.is_set() and missed < SILENT_BEATS:
                before = self._beats
                with suppress(TimeoutError):
                    async with asyncio.timeout(BEAT_SECONDS):
                        await self._stopping.wait()
                missed = 0 if self._beats > before else missed + 1
            if not self._stopping.is_set():
                raise ScheduleSilentError
        finally:
            self._scheduler.shutdown(wait=False)

    def stop(self) -> None:
        """Start nothing any more; again, or before ``run``, harms nobody."""
        self._stopping.set()

    def _add_jobs(self) -> None:
        self._scheduler.add_job(self._beat, IntervalTrigger(seconds=BEAT_SECONDS), id="beat")
        self._every(EXPIRY_SECONDS, "expiry", self.expire)
        self._every(EXPIRY_SECONDS, "cancellation_expiry", self.expire_cancellations)
        self._every(SLEEPERS_SECONDS, "sleepers", self._wake_sleepers)
        self._every(WATCH_SECONDS, "watch", self._watch)
        self._every(3600, "slots", self._forget_slots)
        self._every(3600, "prune", self._backlog.prune)
        self._every(3600, "idempotency", self._forget_idempotency)
        self._every(3600, "register_cache", self._forget_register)
        self._every(DASHBOARD_SECONDS, "dashboard", self._count_dashboard)
        if self._audit is not None:
            self._every(AUDIT_SECONDS, "audit", self._audit)
        if self._prazos is not None:  # the first of a day's hours does it
            self._every(3600, "retention", self._forget_people, slot_seconds=86_400)

    async def expire(self) -> int:
        """Put an event into the lane of every session whose deadline passed; returns how many."""
        async with self._database.transaction() as connection:
            overdue = await snapshots.overdue(connection, EXPIRY_BATCH)
            arrivals = [
                Arrival(
                    # one per version: a session that spoke after this sweep gets a new deadline and a new event
                    chave=f"prazo:{sessao_id}:{versao}",
                    lane=conversa,
                    tipo="prazo",
                    payload={"sessao_id": sessao_id},
                    correlacao=f"prazo-{sessao_id}",
                    imediato=True,
                )
                for sessao_id, conversa, versao in overdue
            ]
            return await self._inbox.put_in(connection, arrivals)

    async def expire_cancellations(self) -> int:
        """Do the same for every cancellation that waits for the user's word."""
        async with self._database.transaction() as connection:
            arrivals = [
                Arrival(
                    chave=f"prazo_cancelamento:{cancelamento_id}:{versao}",
                    lane=conversa,
                    tipo="prazo_cancelamento",
                    payload={"cancelamento_id": cancelamento_id},
                    correlacao=f"prazo-cancelamento-{cancelamento_id}",
                    imediato=True,
                )
                for cancelamento_id, conversa, versao in await cancellations.overdue(connection, EXPIRY_BATCH)
            ]
            return await self._inbox.put_in(connection, arrivals)

    async def _beat(self) -> None:
        self._beats += 1

    async def _wake_sleepers(self) -> int:
        return await self._backlog.wake_sleepers()

    async def _watch(self) -> int:
        """Say loudly what waits: emissions without an answer for an hour, and rows of another version of us."""
        for tabela, count in (await self._backlog.unknown()).items():
            if count:
                log.error("rows_of_another_version", kind=tabela, count=count)
        late = [g for g in await self._backlog.emissions() if g.oldest_seconds > OPERATOR_AFTER_SECONDS]
        for group in late:
            log.error("emissions_overdue", status=group.status, count=group.count, seconds=round(group.oldest_seconds))
        return 0

    async def _forget_idempotency(self) -> int:
        async with self._database.transaction() as connection:
            return await idempotency.cleanup(connection)

    async def _forget_register(self) -> int:
        async with self._database.transaction() as connection:
            return await register_cache.prune(connection)

    async def _count_dashboard(self) -> int:
        return await dashboard.refresh(self._database)

    async def _forget_people(self) -> int:
        return await retention.sweep(self._database, self._prazos) if self._prazos else 0

    async def _forget_slots(self) -> int:
        async with self._database.transaction() as connection:
            old = job_slots.delete().where(job_slots.c.slot < sa.func.now() - SLOTS_KEPT)
            return (await connection.execute(old)).rowcount

    def _every(
        self, seconds: int, job: str, work: Callable[[], Awaitable[int]], *, slot_seconds: int | None = None
    ) -> None:
        length = slot_seconds or seconds

        async def run() -> None:
            moment = int(datetime.now(UTC).timestamp()) // length * length
            try:
                if await self._take_slot(job, datetime.fromtimestamp(moment, UTC)):
                    done = await work()
                    if done:
                        log.info("job_ran", job=job, count=done)
            except Exception as error:  # noqa: BLE001 - the next slot comes
                log.warning("job_failed", job=job, error=type(error).__name__)

        self._scheduler.add_job(run, IntervalTrigger(seconds=seconds), id=job)

    async def _take_slot(self, job: str, slot: datetime) -> bool:
        async with self._database.transaction() as connection:
            return (await connection.execute(_TAKE, {"job": job, "slot": slot})).rowcount == 1
