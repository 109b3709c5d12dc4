from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest_asyncio

from persistence.db.engine import Database
from persistence.queue.lanes import Bell
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LONG = PATIENCE * 2


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def bell(database: Database) -> AsyncIterator[Bell]:
    bell = Bell(database, "tests")
    try:
        async with asyncio.timeout(PATIENCE):
            await bell.wait(LONG)  # ends when the listener stands: something may have been said before
        yield bell
    finally:
        await bell.close()


async def notify(database: Database, channel: str = "tests") -> None:
    await database.pool.execute("SELECT pg_notify($1, '')", channel)


async def test_a_notification_rings(database: Database, bell: Bell) -> None:
    """A waiter returns at NOTIFY on its channel, and what was heard before it waited counts too."""
    async with asyncio.timeout(PATIENCE):
        waiting = asyncio.create_task(bell.wait(LONG))
        await notify(database)
        await waiting
        bell.ring()
        await bell.wait(LONG)


async def test_other_channels_do_not_ring(database: Database, bell: Bell) -> None:
    """The wait ends by itself when nothing is heard."""
    await notify(database, "elsewhere")
    await bell.wait(0.05)
    assert not bell.rung


async def test_a_lost_listener_comes_back(database: Database, bell: Bell) -> None:
    """What was said while the LISTEN connection was gone rings when the next one stands."""
    killed = """
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE query LIKE 'LISTEN%' AND datname = current_database()
    """
    async with asyncio.timeout(PATIENCE):
        waiting = asyncio.create_task(bell.wait(LONG))
        assert await database.pool.fetchval(killed) == 1
        await notify(database)
        await waiting
        again = asyncio.create_task(bell.wait(LONG))
        await notify(database)
        await again
