from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nightly import size
from road_people import FULL, until

from persistence.backlog import Backlog
from persistence.inbox import Arrival, Inbox
from persistence.lanes import MAX_ATTEMPTS

if TYPE_CHECKING:
    from fault_processes import Forks
    from road_people import Road

LANES, ROWS = size((20, 10), (200, 100))  # one row in a hundred is poison, one lane at least
LIMIT = size(60.0, 900.0)  # seconds
WORD = "veneno"


async def test_one_percent_poison_harms_nobody_else(road: Road) -> None:
    """Rows that cannot be digested are set aside after five tries, seen, and replayable; all others are done."""
    pool = road.database.pool
    inbox = Inbox(road.database, 0.0)
    total = LANES * ROWS
    poison = {f"{lane}-{ROWS // 2}" for lane in range(max(1, total // 100))}
    rows = [
        Arrival(
            f"p{lane}-{row}",
            f"entrega:poison-{lane}",
            "status",
            {"oops": 1} if f"{lane}-{row}" in poison else {"status": {"id": "x", "status": "read"}},
            "c",
            imediato=True,
        )
        for lane in range(LANES)
        for row in range(ROWS)
    ]
    await inbox.put(rows)

    async def settled() -> bool:
        await pool.execute("UPDATE lanes SET ready_at = now(), backoff_until = NULL WHERE backoff_until > now()")
        road.house.lanes.ring()
        return bool(await pool.fetchval("SELECT count(*) = 0 FROM inbox WHERE estado = 0"))

    await until(settled, LIMIT)
    aside = await pool.fetch("SELECT id, chave, tentativas, erro FROM inbox WHERE estado = 2")
    assert {row["chave"].removeprefix("p") for row in aside} == poison
    assert all(row["tentativas"] == MAX_ATTEMPTS and row["erro"] for row in aside)
    backlog = Backlog(road.database)
    assert (await backlog.pending()).quarantined == len(poison)
    await pool.execute("""UPDATE inbox SET payload = '{"status": {"id": "x", "status": "read"}}' WHERE estado = 2""")
    for row in aside:
        assert await backlog.replay(row["id"])
    await until(settled, LIMIT)
    assert (await backlog.pending()).quarantined == 0


async def test_a_message_that_kills_whoever_reads_it_is_quarantined(forks: Forks) -> None:
    """Process after process dies of one message: after five it is set aside and its sender told; others get on."""
    stage = forks.stage
    ana, bia = await stage.person(), await stage.person()
    processes = 0

    async def supervise() -> None:
        nonlocal processes
        while True:
            process = await forks.start(FAULT_WORD=WORD)
            processes += 1
            await process.ended()
            await stage.leases_run_out("lanes")

    running = asyncio.create_task(supervise())
    hurry = asyncio.create_task(stage.hurry())
    try:
        await until(lambda: _true(processes > 0))
        await ana.tell(f"nota de 100 com {WORD}")
        await bia.tell(FULL)
        await bia.expect("R$ 1.500,00", timeout=LIMIT)
        await ana.expect(timeout=LIMIT)
        row = await stage.database.pool.fetchrow("SELECT tentativas, erro FROM inbox WHERE estado = 2")
        assert row is not None
        assert row["tentativas"] == MAX_ATTEMPTS
        assert processes == MAX_ATTEMPTS + 1
        assert await ana.say(FULL)  # and she can go on
        assert await stage.database.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 2") == 1
    finally:
        running.cancel()
        hurry.cancel()
        await asyncio.gather(running, hurry, return_exceptions=True)


async def _true(value: bool) -> bool:
    return value
