from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from persistence.queue.lanes import DIED
from tests.faults.tcp_proxy import TcpProxy
from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import open_road, unlike
from tests.road.road_stage import waits_passing

if TYPE_CHECKING:
    from proofs.storm.machines.servers import Servers
    from tests.road.road_people import Person, Road

PEOPLE = size(6, 100)
CRASHES = size(2, 12)
CALM = size(1.0, 10.0)  # seconds between crashes
LIMIT = size(PATIENCE, 900.0)  # seconds


async def whole(road: Road, ana: Person) -> None:
    """One conversation, however long it takes."""
    await ana.tell(unlike())
    await ana.expect("Confere?", timeout=LIMIT)
    await ana.touch("Confirmar")
    await road.world.meta.wait_for(
        ana.who, lambda b: b.attachment is not None and b.attachment.filename.endswith(".xml"), LIMIT
    )


async def judged(road: Road, people: list[Person]) -> None:
    """One note each; every webhook was answered 200 and stored, or 503 (0: nobody was there)."""
    await road.settled(LIMIT)  # what was in hand waits for its lease
    for person in people:
        assert len(await road.notes(person)) == 1
        assert len(await road.sessions(person)) == 1
    keys = {row["chave"] for row in await road.database.pool.fetch("SELECT chave FROM inbox")}
    ticks = {key.split(":")[1] for key in keys if key.startswith("status:")}
    ledger = road.world.meta.ledger
    assert all(ref in keys or ref in ticks for r in ledger.of("webhook.delivered") for ref in r.data["refs"])
    assert {record.data["status"] for record in ledger.of("webhook.failed")} <= {0, 503}


async def test_a_database_that_crashes_loses_nothing(own_servers: Servers) -> None:
    """Stopped at once without a checkpoint, again and again: no note twice, none lost, no false 200."""
    async with open_road(own_servers.database_url, own_servers.redis_url) as road:
        people = [await road.person() for _ in range(PEOPLE)]
        talks = asyncio.gather(*(whole(road, person) for person in people))
        for _ in range(CRASHES):
            await asyncio.sleep(CALM)
            await own_servers.crash_database()
        async with waits_passing(road, doubts=True):
            await talks
            await judged(road, people)


async def _administer(servers: Servers, *statements: str) -> None:
    connection = await asyncpg.connect(servers.owner_url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_a_server_that_only_reads_for_a_while_loses_nothing(own_servers: Servers) -> None:
    """Writes are refused (25006), then every connection is cut, then a crash: one note each, and no false 200."""
    async with open_road(own_servers.database_url, own_servers.redis_url) as road:
        people = [await road.person() for _ in range(PEOPLE)]
        talks = asyncio.gather(*(whole(road, person) for person in people))
        await _administer(own_servers, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
        await asyncio.sleep(CALM)
        others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
        await _administer(
            own_servers,
            "SET default_transaction_read_only = off",
            "ALTER SYSTEM RESET default_transaction_read_only",
            "SELECT pg_reload_conf()",
            f"SELECT pg_terminate_backend(pid) {others}",
        )
        await asyncio.sleep(CALM)
        await own_servers.crash_database()
        async with waits_passing(road, doubts=True):
            await talks
            await judged(road, people)
        # A claim that the crash cut off is inherited later, and counts as one death of a worker: nothing waits for it.
        spoilt = "SELECT count(*) FROM inbox WHERE estado = 2 OR tentativas > 1 OR tentativas > 0 AND erro <> $1"
        assert await road.database.pool.fetchval(spoilt, DIED) == 0


@pytest.mark.parametrize("mark", [b"COMMIT", b"BEGIN", b"Informou"])  # the last: a turn in one statement
async def test_a_commit_whose_reply_is_lost_counts_once(own_servers: Servers, mark: bytes) -> None:
    """The database has committed and we never hear: whatever is tried again finds it done, and there is one note."""
    async with TcpProxy(own_servers.database_url) as proxy, open_road(proxy.url, own_servers.redis_url) as road:
        people = [await road.person() for _ in range(PEOPLE)]
        proxy.mark = mark
        talks = asyncio.gather(*(whole(road, person) for person in people))
        for _ in range(size(8, 200)):
            proxy.forgot.clear()
            proxy.forget = 1
            async with asyncio.timeout(LIMIT):
                forgot = asyncio.create_task(proxy.forgot.wait())
                waits: list[asyncio.Future[Any]] = [forgot, talks]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                forgot.cancel()
        proxy.forget = 0
        async with waits_passing(road, doubts=True, leases=True):
            await talks
            assert proxy.forgotten
            await judged(road, people)
