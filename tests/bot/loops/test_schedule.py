from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

import bot.loops.jobs
from bot.loops.jobs import Job, JobContext, Schedule, ScheduleSilentError
from bot.wiring.handlers import jobs
from persistence.db.engine import Database
from persistence.people.retention import Prazos
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from tests.owner import as_owner
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

ALL = jobs()
SLOT = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


async def nothing() -> int:
    return 0


def scheduler(database: Database, table: Sequence[Job] = ALL) -> Schedule:
    context = JobContext(
        database, Inbox(database, 0), Backlog(database), nothing, Prazos(0, 0, 0, 0, 0), nothing, nothing
    )
    return Schedule(context, table)


async def test_three_schedulers_run_a_slot_once(database: Database) -> None:
    """Whichever replica comes first takes the slot; the next slot, and another job's, are new."""
    replicas = [scheduler(database) for _ in range(3)]
    for job, slot in (("expiry", SLOT), ("expiry", SLOT.replace(minute=1)), ("sleepers", SLOT)):
        taken = await asyncio.gather(*(replica._take_slot(job, slot) for replica in replicas))
        assert sorted(taken) == [False, False, True]


async def test_old_slots_are_forgotten(database: Database) -> None:
    """Slots of yesterday go, those of today stay: the table does not grow for ever."""
    replica = scheduler(database)
    await as_owner(database.pool, "TRUNCATE job_slots")
    now = datetime.now(UTC)
    await replica._take_slot("expiry", datetime(2020, 1, 1, tzinfo=UTC))
    await replica._take_slot("expiry", now)
    assert await replica.run_job("slots") == 1
    assert await database.pool.fetchval("SELECT slot FROM job_slots") == now


async def test_starting_and_stopping(database: Database) -> None:
    """It runs until it is asked to stop; asking twice, or before it runs, harms nobody."""
    replica = scheduler(database)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        running = group.create_task(replica.run())
        await asyncio.sleep(0)
        assert not running.done()
        replica.stop()
        replica.stop()
    early = scheduler(database)
    early.stop()
    async with asyncio.timeout(PATIENCE):
        await early.run()


async def test_a_scheduler_that_falls_silent_is_a_failure(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """When nothing is started any more, the loop ends with an error instead of looking alive for ever."""
    monkeypatch.setattr(bot.loops.jobs, "BEAT_SECONDS", 0.05)
    replica = scheduler(database)
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(replica.run())
        while not replica._beats:  # noqa: ASYNC110 - a figure has no event
            await asyncio.sleep(0.01)
        assert not running.done()
        replica._scheduler.pause()
        with pytest.raises(ScheduleSilentError):
            await running


async def test_nothing_overdue_is_no_work(database: Database) -> None:
    """A sweep over an empty house puts nothing into the inbox."""
    assert await scheduler(database).run_job("expiry") == 0
    assert await database.pool.fetchval("SELECT count(*) FROM inbox") == 0


async def test_every_row_of_the_table_is_a_job(database: Database) -> None:
    """A job is looked at as often as its row says, the audit hourly; what has no row is no job."""
    without = [job for job in ALL if job.name != "audit"]
    for table, there in ((ALL, True), (without, False)):
        replica = scheduler(database, table)
        replica._add_jobs()
        assert (replica._scheduler.get_job("audit") is not None) is there
        planned = {job.id: job.trigger.interval.total_seconds() for job in replica._scheduler.get_jobs()}
        del planned["beat"]
        assert planned == {job.name: job.every for job in table}


async def test_a_job_runs_in_one_slot_once(database: Database) -> None:
    """A slot that is longer than the time between two looks is taken by the first of them, on whichever replica."""
    ran = []

    async def work(_: JobContext) -> int:
        ran.append(1)
        return 1

    job = Job("long", 1, work, "it only counts", slot=100 * 365 * 86_400)
    for replica in [scheduler(database, [job]) for _ in range(3)]:
        await replica._look(job)
    assert len(ran) == 1
    slot = await database.pool.fetchval("SELECT slot FROM job_slots WHERE job = 'long'")
    assert slot == datetime(1970, 1, 1, tzinfo=UTC)


async def test_a_failed_job_stops_no_other(database: Database) -> None:
    """Its next slot comes; the scheduler goes on."""

    async def fail(_: JobContext) -> int:
        raise ConnectionError

    with capture_logs() as logs:
        await scheduler(database)._look(Job("fails", 1, fail, "it does nothing"))
    assert [(line["event"], line["job"], line["error"]) for line in logs] == [
        ("job_failed", "fails", "ConnectionError")
    ]


def test_the_runbook_lists_the_jobs() -> None:
    """``docs/runbook.md`` has each row of the table: name, seconds between two looks, what one run does."""
    page = (Path(__file__).parents[3] / "docs" / "runbook.md").read_text()
    rows = [f"| `{job.name}` | {job.every} | {job.says} |" for job in ALL]
    assert [row for row in rows if row not in page] == []
    assert len({job.name for job in ALL}) == len(ALL)
