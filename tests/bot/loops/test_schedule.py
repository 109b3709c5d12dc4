from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from owner import as_owner
from patience import PATIENCE

import bot.loops.schedule
from bot.loops.schedule import Schedule, ScheduleSilentError
from persistence.db.engine import Database
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SLOT = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


def scheduler(database: Database) -> Schedule:
    return Schedule(database, Inbox(database, 0), Backlog(database))


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
    assert await replica._forget_slots() == 1
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
    monkeypatch.setattr(bot.loops.schedule, "BEAT_SECONDS", 0.05)
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
    assert await scheduler(database).expire() == 0
    assert await database.pool.fetchval("SELECT count(*) FROM inbox") == 0


async def test_the_audit_is_one_of_the_jobs(database: Database) -> None:
    """A house with an audit has it looked at hourly; one without has no such job."""

    async def audit() -> int:
        return 0

    audited = Schedule(database, Inbox(database, 0), Backlog(database), audit)
    for replica, there in ((audited, True), (scheduler(database), False)):
        replica._add_jobs()
        assert (replica._scheduler.get_job("audit") is not None) is there
