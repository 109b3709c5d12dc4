from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Any

import aiohttp
import psutil
import pytest

from persistence.db.engine import Database
from tests.nightly import size
from tests.owner import as_owner
from tests.patience import PATIENCE
from tests.road.road_people import FULL, open_road, unlike

if TYPE_CHECKING:
    from tests.road.road_people import Road

SOAK = size(6.0, 1800.0)  # seconds
WARM = size(16, 400)  # conversations before the memory is looked at
GROWTH = size(1.15, 1.05)  # a short soak still fills caches
PEOPLE = 8  # at the same time
BACKLOG = 200  # open rows; eight people make some dozens
POOL = 2  # connections in each of the two pools
DISK_FULL = """
CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER no_space BEFORE INSERT ON inbox FOR EACH STATEMENT EXECUTE FUNCTION no_space();
"""
OPEN = "SELECT count(*) FROM inbox WHERE estado = 0"


def rss() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


@pytest.fixture
def small_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    opening: Any = Database.open  # of the class: its function holds the defaults
    monkeypatch.setitem(opening.__func__.__kwdefaults__, "size", POOL)


async def issue(road: Road) -> None:
    """One whole conversation."""
    ana = await road.person()
    await ana.tell(unlike())
    await ana.expect(timeout=PATIENCE)
    await ana.touch("Confirmar")
    await road.world.meta.wait_for(
        ana.who, lambda b: b.attachment is not None and b.attachment.filename.endswith(".xml"), PATIENCE
    )


async def test_hours_of_conversations_on_two_connections_leave_memory_flat(
    small_pool: None, database_url: str, redis_url: str
) -> None:
    """Conversation after conversation with two connections in each pool: memory stays, nothing piles up, no 500."""
    async with open_road(database_url, redis_url) as road:
        done = 0

        async def talk(until: float, at_least: int) -> None:
            nonlocal done
            while done < at_least or time.monotonic() < until:
                await issue(road)
                done += 1
                assert await road.database.pool.fetchval(OPEN) < BACKLOG

        await asyncio.gather(*(talk(0.0, WARM) for _ in range(PEOPLE)))
        before = rss()
        ends = time.monotonic() + SOAK
        await asyncio.gather(*(talk(ends, 0) for _ in range(PEOPLE)))
        await road.settled()
        assert rss() < before * GROWTH + 200 * 1024 * (done - WARM)  # the simulators remember every note and file
        assert {r.data["status"] for r in road.world.meta.ledger.of("webhook.failed")} <= {503}
        assert len(road.world.plugnotas.ledger.of("note.created")) == done


async def test_a_full_disk_is_a_503_and_passes(road: Road) -> None:
    """The database cannot store: senders are told 503 and keep it; once there is room all of it is answered."""
    ana = await road.person()
    await as_owner(road.database.pool, DISK_FULL)
    try:
        await ana.tell(FULL)
        failed = await road.world.meta.ledger.wait_for(lambda record: record.kind == "webhook.failed")
        assert failed.data["status"] == 503
        async with aiohttp.ClientSession() as session:
            courier = road.world.plugnotas.courier
            hint = b'{"id": "000000000000000000000000", "situacao": "CONCLUIDO"}'
            async with session.post(courier.url or "", data=hint, headers=courier._headers(hint)) as answer:
                assert answer.status == 503
    finally:
        await as_owner(road.database.pool, "DROP FUNCTION no_space CASCADE")
    await ana.expect("R$ 1.500,00")
    await road.settled()
    assert {r.data["status"] for r in road.world.meta.ledger.of("webhook.failed")} == {503}
