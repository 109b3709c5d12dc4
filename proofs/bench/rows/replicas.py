"""Replicas: turns per second, and what a turn costs, with one, two and four workers on one database."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from proofs.bench.figure import Figure
from proofs.bench.load.town import open_town
from proofs.bench.rows.turns import PEOPLE, Ran, talk

if TYPE_CHECKING:
    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "replicas"
COUNTS = (1, 2, 4)


async def measure(place: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; raises ``RuntimeError`` when a message was not answered exactly once."""
    found = await plan.in_turns({str(count): partial(with_workers, place, plan.seconds, count) for count in COUNTS})
    one = found["1"]
    made: list[Figure] = []
    for name, runs in found.items():
        if any(ran.wrong for ran in runs):
            raise RuntimeError(f"respostas a mais ou a menos, workers: {name}")
        made += [
            Figure(row=ROW, name=f"turnos por segundo, workers: {name}", unit="/s", ours=_rates(runs),
                   reference=_rates(one), against="um worker"),
            Figure(row=ROW, name=f"CPU por turno, tudo menos a carga, workers: {name}", unit="ms", ours=_costs(runs),
                   reference=_costs(one), against="um worker"),
        ]  # fmt: skip
    return made


async def with_workers(place: Place, seconds: float, count: int) -> Ran:
    """The load of the turns row on so many workers."""
    async with open_town(place, people=PEOPLE, workers=count) as town:
        return await talk(town, seconds, people=PEOPLE, pause=0)


def _rates(runs: list[Ran]) -> tuple[float, ...]:
    return tuple(ran.rate for ran in runs)


def _costs(runs: list[Ran]) -> tuple[float, ...]:
    return tuple(ran.cost("web", "worker", "postgres", "valkey") for ran in runs)
