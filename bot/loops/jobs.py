"""Periodic jobs: what one is, those that are no subject's deadline, and the work of each.

Runs the periodic jobs on every replica, each slot of a job on one of them.

Moves the history's row on, and has Redis and the file remember how far it was.

To add a periodic job: a function that takes a ``JobContext`` and returns how many pieces it did, with one sentence of
docstring; a row in ``JOBS``, with why a second run of one slot does no harm; a row in ``docs/runbook.md`` with the
docstring verbatim. What it needs besides is a field of ``JobContext``, set in ``bot/house.py`` and
``tests/bot/loops/test_schedule.py``. Test one run, and two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.dialects.postgresql import insert

from persistence import outside
from persistence.api import approvals, hooks, keys
from persistence.batches import work as batches
from persistence.db.connection import Connection, is_outage
from persistence.db.engine import Database
from persistence.idempotency import records as idempotency
from persistence.people import certificate_links, certificate_vault, certificates, retention
from persistence.people.retention import Prazos
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Arrival, Inbox
from persistence.rows import CertificateRow, RowKind
from persistence.staff import dashboard
from persistence.tables import job_slots
from persistence.witness import Keepers, Witness
from state_machine.values.errors import ProsaError

HOUR, DAY = 3600, 86_400
OPERATOR_AFTER_SECONDS = 3600.0  # an hour without an answer is no longer the city being slow
SLOTS_KEPT = timedelta(days=1)
EXPIRY_BATCH = 500

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class JobContext:
    """What the jobs work with; ``audit`` is the daily audit, ``cities`` asks for what cities agreed to.

    ``documents`` reads on in the lists of what the authority distributes.
    """

    database: Database
    inbox: Inbox
    backlog: Backlog
    audit: Callable[[], Awaitable[int]]
    prazos: Prazos
    cities: Callable[[], Awaitable[int]]
    documents: Callable[[], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Job:
    """One row of ``JOBS``.

    ``every``: seconds between two looks of a replica. ``slot``: seconds of one slot, which one replica takes; longer
    than ``every``, the first look in it does the work. ``repeat``: why a second run of one slot does no harm (its
    replica may die after the work, or a clock be wrong). ``run`` returns how many pieces it did.
    """

    name: str  # in ``job_slots.job`` and in the logs
    every: int
    run: Callable[[JobContext], Awaitable[int]]
    repeat: str
    slot: int = 0
    due: Callable[[JobContext], Awaitable[bool]] | None = None  # where there is nothing to do, no slot is taken
    what: str = ""  # what one run does; without it, the first line of the work says so

    @property
    def says(self) -> str:
        """What one run does, for the operator's page."""
        return self.what or (self.run.__doc__ or "").strip().removesuffix(".")

    @property
    def slot_seconds(self) -> int:
        """Seconds of one slot."""
        return self.slot or self.every


@dataclass(frozen=True, slots=True)
class Deadline:
    """What a subject of conversation lets expire: a row in its lane tells it of that.

    ``name`` is that of the job. ``overdue`` returns up to so many things that are due: what the row names, its lane,
    and the version of the thing, which the row's key holds: what speaks after a sweep gets a new deadline and row.
    """

    name: str
    what: str  # for the operator's page
    overdue: Callable[[Connection, int], Awaitable[Sequence[tuple[Any, str, int]]]]
    row: Callable[[Any], RowKind]

    def job(self) -> Job:
        """Return the job that looks for what is due."""
        return Job(self.name, 5, self._expire, "the key of the row holds the version", what=self.what, due=self._due)

    async def _due(self, context: JobContext) -> bool:
        async with context.database.alone() as connection:
            return bool(await self.overdue(connection, 1))

    async def _expire(self, context: JobContext) -> int:
        async with context.database.transaction() as connection:
            due = await self.overdue(connection, EXPIRY_BATCH)
            rows = [self._arrival(which, lane, versao) for which, lane, versao in due]
            return await context.inbox.put_in(connection, rows)

    def _arrival(self, which: object, lane: str, versao: int) -> Arrival:
        row = self.row(which)
        correlacao = f"{row.tipo.replace('_', '-')}-{which}"
        return Arrival.of(row, chave=f"{row.tipo}:{which}:{versao}", lane=lane, correlacao=correlacao)


async def wake_sleepers(context: JobContext) -> int:
    """Wake the lanes that hold open rows and wait for nothing."""
    return await context.backlog.wake_sleepers()


async def recover_batches(context: JobContext) -> int:
    """Set free the batches whose worker has given no sign of life for 30 s."""
    async with context.database.transaction() as connection:
        return await batches.recover(connection)


async def watch(context: JobContext) -> int:
    """Log as errors the emissions that have waited for an answer for an hour."""
    late = [g for g in await context.backlog.emissions() if g.oldest_seconds > OPERATOR_AFTER_SECONDS]
    for group in late:
        log.error("emissions_overdue", status=group.status, count=group.count, seconds=round(group.oldest_seconds))
    return 0


async def forget_slots(context: JobContext) -> int:
    """Delete the slots that are older than a day."""
    async with context.database.transaction() as connection:
        old = job_slots.delete().where(job_slots.c.slot < sa.func.now() - SLOTS_KEPT)
        return (await connection.execute(old)).rowcount


async def prune_backlog(context: JobContext) -> int:
    """Delete ticks and hints older than Meta's redelivery, and their idle lanes."""
    return await context.backlog.prune()


async def forget_idempotency(context: JobContext) -> int:
    """Delete the idempotency records that have expired."""
    async with context.database.transaction() as connection:
        return await idempotency.cleanup(connection)


async def forget_register(context: JobContext) -> int:
    """Delete the old answers of the CNPJ register."""
    async with context.database.transaction() as connection:
        return await outside.prune_register(connection)


async def forget_certificate_links(context: JobContext) -> int:
    """Delete the links for certificates that ended a day ago."""
    async with context.database.transaction() as connection:
        return await certificate_links.forget(connection)


async def forget_former_certificates(context: JobContext) -> int:
    """Destroy former certificates whose successor was accepted once, or took their place seven days ago."""
    async with context.database.transaction() as connection:
        return await certificate_vault.forget_former(connection)


async def warn_of_certificates(context: JobContext) -> int:
    """Warn who wrote lately of a kept certificate that ends in 30, 7 or 1 days, once each."""
    async with context.database.transaction() as connection:
        rows = [
            Arrival.of(
                CertificateRow("vence", due.razao_social, due.vence.isoformat()),
                chave=due.chave,
                lane=due.conversa,
                correlacao="certificado-vence",
            )
            for due in await certificates.due_warnings(connection)
        ]
        return await context.inbox.put_in(connection, rows)


async def end_proposals(context: JobContext) -> int:
    """End the proposals whose approver is gone, or answered nothing for a week."""
    async with context.database.transaction() as connection:
        return await approvals.end_overdue(connection)


async def forget_operations(context: JobContext) -> int:
    """Delete what is known of the API's submissions, and of what its webhooks told, of 30 days ago."""
    async with context.database.transaction() as connection:
        return await keys.forget_operations(connection) + await hooks.forget(connection)


async def count_dashboard(context: JobContext) -> int:
    """Count the sums of the dashboard."""
    return await dashboard.refresh(context.database)


async def audit(context: JobContext) -> int:
    """Compare the notes of every company whose audit of the day is missing."""
    return await context.audit()


async def ask_cities(context: JobContext) -> int:
    """Ask ADN for the agreement and rates of companies' cities that it has not told for a day, or never."""
    return await context.cities()


async def read_documents(context: JobContext) -> int:
    """Read on in the authority's lists of documents, each company's every hour: what others issued and cancelled."""
    return await context.documents()


async def forget_people(context: JobContext) -> int:
    """Delete the personal data whose retention period has ended."""
    return await retention.sweep(context.database, context.prazos)


_DELETES = "what is deleted is not there a second time"
JOBS: Sequence[Job] = (
    Job("batches", 60, recover_batches, "a batch that is free is nobody's to set free, and is queued once"),
    Job("sleepers", 60, wake_sleepers, "a lane that is due already stays so"),  # safety net
    Job("watch", 300, watch, "it only logs"),
    Job("slots", HOUR, forget_slots, _DELETES),
    Job("prune", HOUR, prune_backlog, _DELETES),
    Job("idempotency", HOUR, forget_idempotency, _DELETES),
    Job("register_cache", HOUR, forget_register, _DELETES),
    Job("certificate_links", HOUR, forget_certificate_links, _DELETES),
    Job("former_certificates", HOUR, forget_former_certificates, _DELETES),
    Job("certificate_warnings", 900, warn_of_certificates, "the key of the row names certificate, stage and person"),
    Job("proposals_overdue", 60, end_proposals, "what has ended waits no longer"),
    Job("api_operations", HOUR, forget_operations, _DELETES),
    Job("dashboard", 600, count_dashboard, "the sums are replaced"),  # some seconds at a million journal rows
    Job("audit", HOUR, audit, "each company's audit of a day is taken by a slot of its own"),  # a gateway may be away
    Job("cities", 60, ask_cities, "the answers are replaced"),  # a new company's is asked for within the minute
    Job("documents", 60, read_documents, "what came moves the list on in its own commit"),
    Job("retention", HOUR, forget_people, _DELETES, slot=DAY),
)


BEAT_SECONDS = 5  # how often the scheduler shows that it lives
SILENT_BEATS = 6  # that many missed in a row, and it has stopped: a busy loop delays both sides alike
_TAKE = insert(job_slots).on_conflict_do_nothing()


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
            if job.due is not None and not await job.due(self._context):
                return
            if await self._take_slot(job.name, datetime.fromtimestamp(moment, UTC)):
                done = await job.run(self._context)
                if done:
                    log.info("job_ran", job=job.name, count=done)
        except Exception as error:  # noqa: BLE001 - the next slot comes
            log.warning("job_failed", job=job.name, error=type(error).__name__)

    async def _take_slot(self, job: str, slot: datetime) -> bool:
        async with self._context.database.alone() as connection:
            return (await connection.execute(_TAKE, {"job": job, "slot": slot})).rowcount == 1


BEAT_EVERY = 5.0  # seconds: what a copy may be younger than and still pass for the database itself


class Beats:
    """In any number of processes: each beat counts, and the newest word is kept."""

    def __init__(self, database: Database, witness: Witness, keepers: Keepers, *, every: float = BEAT_EVERY) -> None:
        self._database = database
        self._witness = witness
        self._keepers = keepers
        self._every = every
        self._end = asyncio.Event()

    async def run_once(self) -> None:
        """Compare and move on; in doubt nothing moves, so that what was remembered stays."""
        self._witness.heard(await self._keepers.recall())
        async with self._database.alone() as connection:  # each statement stands by itself, on one server
            word = await self._witness.beat(connection)
        if word is not None:
            self._witness.heard(word)
            await self._keepers.keep(word)

    async def run(self) -> None:
        """Go on until ``stop``; a database that is away is asked again."""
        while not self._end.is_set():
            try:
                await self.run_once()
            except Exception as error:  # noqa: BLE001 - the loop must outlive whatever happens to the database
                log.warning("pump_waits", component="witness", error=type(error).__name__, outage=is_outage(error))
            try:
                async with asyncio.timeout(self._every):
                    await self._end.wait()
            except TimeoutError:
                pass

    def stop(self) -> None:
        """Go on no more."""
        self._end.set()
