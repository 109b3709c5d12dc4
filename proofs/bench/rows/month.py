"""A million invoices a month: their peak, arriving whether or not we are ready; what it takes of each part."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from proofs.bench.figure import Figure, percentile
from proofs.bench.rows.conversations import checked, talk
from proofs.storm.labels import written

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan
    from proofs.bench.rows.conversations import Crowd

ROW = "month"
PER_MONTH = 1_000_000
PEAK = 10  # times the average: business hours, the last days of the month
PER_SECOND = PER_MONTH * PEAK / (30 * 86_400)  # 3.9


async def measure(place: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; raises ``RuntimeError`` for a duplicate or a missing note."""
    sides = {ROW: lambda: talk(place, plan.seconds, arriving(PER_SECOND), most_per_second=PER_SECOND)}
    runs = checked((await plan.in_turns(sides))[ROW])

    def share(*prefixes: str) -> tuple[float, ...]:
        """Percent of one core."""
        return tuple(
            100 * sum(used for role, used in ran.cpu.items() if role.startswith(prefixes)) / ran.seconds for ran in runs
        )

    def slowest(share: float) -> tuple[float, ...]:
        return tuple(percentile(list(ran.answered), share) * 1000 for ran in runs)

    parts = {role: round(100 * used / runs[-1].seconds, 1) for role, used in runs[-1].cpu.items()}
    rate = f"{written(PER_SECOND, '.1f')} iniciadas por segundo, {sum(ran.notes for ran in runs)} notas, 0 em dobro"
    return [
        Figure(row=ROW, name="conversas terminadas por segundo", unit="/s",
               ours=tuple(ran.done / ran.seconds for ran in runs), note=rate),
        Figure(row=ROW, name="da mensagem ao resumo, p50", unit="ms", ours=slowest(0.5)),
        Figure(row=ROW, name="da mensagem ao resumo, p99", unit="ms", ours=slowest(0.99)),
        Figure(row=ROW, name="de um núcleo: web e workers", unit="%", ours=share("web", "worker"), parts=parts),
        Figure(row=ROW, name="de um núcleo: PostgreSQL", unit="%", ours=share("postgres")),
        Figure(row=ROW, name="banco por nota emitida", unit="KB", ours=tuple(ran.stored / 1000 for ran in runs)),
    ]  # fmt: skip


def arriving(per_second: float) -> Crowd:
    """Somebody new begins ``per_second`` times a second, however many are still talking."""

    async def crowd(one: Callable[[], Awaitable[None]], end: float) -> None:
        async with asyncio.TaskGroup() as group:
            begun = time.perf_counter()
            count = 0
            while (due := begun + count / per_second) < end:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                group.create_task(_whole(one))
                count += 1

    return crowd


async def _whole(one: Callable[[], Awaitable[None]]) -> None:
    await one()
