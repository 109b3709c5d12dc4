"""Runs the periodic jobs on every replica, each slot of a job on one of them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.dialects.postgresql import insert

from persistence.tables import job_slots
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.loops.jobs import Job, JobContext

BEAT_SECONDS = 5  # how often the scheduler shows that it lives
SILENT_BEATS = 6  # that many missed in a row, and it has stopped: a busy loop delays both sides alike
_TAKE = insert(job_slots).on_conflict_do_nothing()

log = structlog.get_logger(__name__)


class ScheduleSilentError(ProsaError, RuntimeError):
    """The scheduler starts nothing any more."""

    code = "schedule_silent"


class Schedule:
    """APScheduler with an in-memory store; PostgreSQL decides which replica runs a slot."""

    def __init__(self, context: JobContext, jobs: Sequence[Job]) -> None:
        self._context = context
        self._jobs = {job.name: job for job in jobs}
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

    async def run_job(self, name: str) -> int:
        """Run a job now, whoever has its slot; returns how many pieces it did. Raises what the job raises."""
        return await self._jobs[name].run(self._context)

    def _add_jobs(self) -> None:
        self._scheduler.add_job(self._beat, IntervalTrigger(seconds=BEAT_SECONDS), id="beat")
        for job in self._jobs.values():
            self._scheduler.add_job(self._look, IntervalTrigger(seconds=job.every), [job], id=job.name)

    async def _beat(self) -> None:
        self._beats += 1

    async def _look(self, job: Job) -> None:
        """Run the job unless its slot was taken; never raises."""
        moment = int(datetime.now(UTC).timestamp()) // job.slot_seconds * job.slot_seconds
        try:
            if await self._take_slot(job.name, datetime.fromtimestamp(moment, UTC)):
                done = await job.run(self._context)
                if done:
                    log.info("job_ran", job=job.name, count=done)
        except Exception as error:  # noqa: BLE001 - the next slot comes
            log.warning("job_failed", job=job.name, error=type(error).__name__)

    async def _take_slot(self, job: str, slot: datetime) -> bool:
        async with self._context.database.transaction() as connection:
            return (await connection.execute(_TAKE, {"job": job, "slot": slot})).rowcount == 1
