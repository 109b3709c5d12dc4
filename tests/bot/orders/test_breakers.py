from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest_asyncio

import bot.wiring.outside
from bot.loops.worker import process_name
from bot.wiring.outside import Breakers
from persistence import outside
from persistence.db.engine import Database
from tests.owner import as_owner
from tests.patience import PATIENCE
from tests.road.road_people import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

NEVER = 3600.0
OPEN, CLOSED = True, False


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


async def _alive(database: Database) -> dict[tuple[str, str], Any]:
    async with database.transaction() as connection:
        return {(row.processo, row.destino): row for row in await outside.live_breakers(connection)}


@asynccontextmanager
async def _running(told: Breakers) -> AsyncIterator[None]:
    task = asyncio.create_task(told.run())
    try:
        yield
    finally:
        told.stop()
        await task


async def test_a_process_says_how_its_breakers_stand(database: Database) -> None:
    """Each destination has a row; its moment is the change's, not that of the last word."""
    told = Breakers(database, "a:1:x")
    gateway = told.watch("gateway")
    told.watch("modelo")
    await told.run_once()
    first = await _alive(database)
    assert {key: row.aberto for key, row in first.items()} == {("a:1:x", "gateway"): False, ("a:1:x", "modelo"): False}
    gateway(OPEN)
    await told.run_once()
    await told.run_once()
    second = await _alive(database)
    assert second["a:1:x", "gateway"].aberto
    assert second["a:1:x", "gateway"].mudou_em > first["a:1:x", "gateway"].mudou_em
    assert second["a:1:x", "modelo"].mudou_em == first["a:1:x", "modelo"].mudou_em
    assert next(iter(second)) == ("a:1:x", "gateway")  # what is open comes first


async def test_a_change_is_told_at_once_and_an_end_too(database: Database) -> None:
    """Nobody waits for the next regular word, and a process that stops leaves nothing behind."""
    told = Breakers(database, "b:2:y", every=NEVER)
    changed = told.watch("gateway")

    async def stands(*, aberto: bool) -> bool:
        row = (await _alive(database)).get(("b:2:y", "gateway"))
        return row is not None and row.aberto is aberto

    async with _running(told):
        await until(lambda: stands(aberto=CLOSED))
        changed(OPEN)
        await until(lambda: stands(aberto=OPEN))
        changed(CLOSED)
        await until(lambda: stands(aberto=CLOSED))
    assert ("b:2:y", "gateway") not in await _alive(database)


async def test_a_silent_process_is_not_shown_and_then_forgotten(database: Database) -> None:
    """Two minutes without a word hide it; after an hour another's word sweeps it away."""
    pool, gone = database.pool, Breakers(database, "c:3:z")
    gone.watch("gateway")
    await gone.run_once()
    await pool.execute("UPDATE disjuntor SET visto_em = now() - interval '121 seconds' WHERE processo = 'c:3:z'")
    assert ("c:3:z", "gateway") not in await _alive(database)
    await Breakers(database, "d:4:w").run_once()
    kept = "SELECT count(*) FROM disjuntor WHERE processo = 'c:3:z'"
    assert await pool.fetchval(kept) == 1
    await pool.execute("UPDATE disjuntor SET visto_em = now() - interval '61 minutes' WHERE processo = 'c:3:z'")
    await Breakers(database, "d:4:w").run_once()
    assert await pool.fetchval(kept) == 0


async def test_a_database_that_refuses_ends_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be told is told when the database listens again."""
    warned = asyncio.Event()
    monkeypatch.setattr(bot.wiring.outside.log, "warning", lambda *_args, **_fields: warned.set())
    told = Breakers(database, "e:5:v", every=0.05)
    told.watch("gateway")
    await as_owner(database.pool, "ALTER TABLE disjuntor RENAME TO fora")
    async with _running(told):
        async with asyncio.timeout(PATIENCE):
            await warned.wait()
        await as_owner(database.pool, "ALTER TABLE fora RENAME TO disjuntor")

        async def shown() -> bool:
            return ("e:5:v", "gateway") in await _alive(database)

        await until(shown)


def test_no_two_processes_have_one_name() -> None:
    """A name says where something works, and is never given twice."""
    first, second = process_name(), process_name()
    assert first != second
    assert first.rpartition(":")[0] == second.rpartition(":")[0]
