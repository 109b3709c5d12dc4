"""``python -m proofs.bench.peers.lanes_only URL``: a lane worker that only marks rows done: the engine's limit."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import uvloop

from bot.loops.worker import LaneWorker
from bot.process.run import Ending
from bot.wiring.outside import LANE_LEASE_SECONDS
from persistence.db.engine import Database
from persistence.queue.lanes import Lanes
from proofs.bench.peers.front import started
from telemetry.logs import configure
from telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from persistence.queue.lanes import InboxRow, Lease


async def work(url: str) -> None:
    """Work until a signal; the rows are one by one, as a turn takes them."""
    stop = Ending().stop_event()
    database = await Database.open(url)
    lanes = Lanes(database, LANE_LEASE_SECONDS)

    async def nothing(lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        async with database.transaction() as connection:
            await lanes.done(connection, lease, [rows[0].id])
        return [rows[0].id]

    worker = LaneWorker(lanes, {"mensagem": nothing}, Metrics())
    started("")
    running = asyncio.create_task(worker.run())
    await stop.wait()
    await worker.drain()
    await running
    await lanes.close()
    await database.close()


if __name__ == "__main__":
    configure("INFO", "json")
    uvloop.run(work(sys.argv[1]))
