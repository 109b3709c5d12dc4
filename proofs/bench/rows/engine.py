"""The lane engine alone: rows per second through two workers whose handler only marks them done; the turns' limit."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import asyncpg

from persistence.db.engine import Database
from persistence.queue.inbox import CHANNEL, Arrival, Inbox
from proofs.bench.figure import Figure
from proofs.bench.machine.cpu import Meter

if TYPE_CHECKING:
    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "engine"
LANES = 200
WORKERS = 2
GUESS = 1500  # rows per second that a machine may do: enough of them for the wanted seconds
MOST_SECONDS = 120.0
LATER_SECONDS = 3600
OFF = f"UPDATE lanes SET ready_at = now(); NOTIFY {CHANNEL}"  # noqa: S608 - our own constant
SPAN = "SELECT extract(epoch FROM max(feito_em) - min(feito_em))::float8 FROM inbox"


async def measure(place: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; raises ``RuntimeError`` when rows are left."""
    found = await plan.in_turns({ROW: lambda: drained(place, int(plan.seconds * GUESS))})
    rates, costs = zip(*found[ROW], strict=True)
    return [
        Figure(row=ROW, name=f"tarefas vazias por segundo, {WORKERS} workers", unit="/s", ours=rates,
               note=f"{LANES} filas, uma transação por tarefa"),
        Figure(row=ROW, name="CPU dos workers por tarefa vazia", unit="ms", ours=costs),
    ]  # fmt: skip


async def drained(place: Place, rows: int) -> tuple[float, float]:
    """Fill an inbox, let the workers empty it; returns rows per second and CPU milliseconds of ours per row."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(place.database())
        await fill(url, rows)
        words = ["proofs.bench.peers.lanes_only", url]
        workers = [await stack.enter_async_context(place.running("lanes", words, {})) for _ in range(WORKERS)]
        meter = Meter({str(number): worker.pid for number, worker in enumerate(workers)})
        connection = await asyncpg.connect(url)
        stack.push_async_callback(connection.close)
        deadline = time.monotonic() + MOST_SECONDS
        await connection.execute(OFF)
        while await connection.fetchval("SELECT EXISTS (SELECT FROM inbox WHERE estado = 0)"):
            if time.monotonic() > deadline:
                raise RuntimeError("sobraram tarefas nas filas")
            await asyncio.sleep(0.05)
        spent = sum(meter.read().values())
        lasted = await connection.fetchval(SPAN)
    return rows / max(lasted, 0.001), spent / rows * 1000


async def fill(url: str, rows: int) -> None:
    """Put ``rows`` arrivals into ``LANES`` lanes that are not due yet, so that all workers begin together."""
    database = await Database.open(url, size=2)
    inbox = Inbox(database, LATER_SECONDS)
    try:
        for first in range(0, rows, 400):
            await inbox.put(
                [
                    Arrival(f"k{number}", f"lane:{number % LANES}", "mensagem", {}, "bench", imediato=False)
                    for number in range(first, min(first + 400, rows))
                ]
            )
    finally:
        await inbox.close()
        await database.close()
