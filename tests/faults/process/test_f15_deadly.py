from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from persistence.queue.lanes import MAX_DEATHS
from tests.patience import PATIENCE
from tests.road.road_people import FULL, until

if TYPE_CHECKING:
    from tests.faults.fault_processes import Forks

LIMIT = 3 * PATIENCE  # eleven processes, one after the other
WORD = "veneno"


@pytest.mark.timeout(600)  # eleven processes start, one after the other
async def test_a_message_that_kills_whoever_reads_it_is_quarantined(forks: Forks) -> None:
    """Process after process dies of one message: after ten it is set aside and its sender told; others get on."""
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
    try:
        await until(lambda: _true(processes > 0), timeout=LIMIT)
        await ana.tell(f"nota de 100 com {WORD}")
        await bia.tell(FULL)
        await bia.expect("R$ 1.500,00", timeout=LIMIT)
        await ana.expect(timeout=LIMIT)
        row = await stage.database.pool.fetchrow("SELECT tentativas, erro FROM inbox WHERE estado = 2")
        assert row is not None
        assert row["tentativas"] == MAX_DEATHS
        assert processes == MAX_DEATHS + 1
        await ana.tell(FULL)
        assert await ana.expect(timeout=LIMIT)  # and she can go on
        assert await stage.database.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 2") == 1
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _true(value: bool) -> bool:
    return value
