"""Turns: how soon one message is answered when idle, how many a second under load, and what a turn costs in CPU."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proofs.bench.figure import Figure, at_least, at_most, percentile
from proofs.bench.load.town import open_town, person

if TYPE_CHECKING:
    from proofs.bench.load.town import Town
    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "turns"
IDLE, LOADED = "ocioso", "com carga"
IDLE_PAUSE = 0.05  # seconds between the messages of an idle house
PEOPLE = 40  # talking at the same time, each waiting for an answer before the next message
WORKERS = 2
FIRST = "nota de {} pra 12.345.678/0001-95, consultoria de marketing"
THEN = ("na verdade o valor é {}", "muda o valor para {}", "o valor certo é {} reais")


@dataclass(frozen=True, slots=True)
class Ran:
    """``turns`` answered in ``seconds``; latencies in ms; CPU seconds by role; ``wrong`` counts what must not be."""

    turns: int
    seconds: float
    latencies: tuple[float, ...]
    cpu: dict[str, float]
    wrong: int

    @property
    def rate(self) -> float:
        """Turns per second."""
        return self.turns / self.seconds

    def cost(self, *prefixes: str) -> float:
        """CPU milliseconds per turn of the roles that begin so."""
        spent = sum(value for role, value in self.cpu.items() if role.startswith(prefixes))
        return spent / max(1, self.turns) * 1000


async def measure(place: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; raises ``RuntimeError`` when a message was not answered exactly once."""
    found = await plan.in_turns({IDLE: lambda: idle(place, plan.seconds), LOADED: lambda: loaded(place, plan.seconds)})
    for ran in (*found[IDLE], *found[LOADED]):
        if ran.wrong:
            raise RuntimeError(f"{ran.wrong} respostas a mais ou a menos em {ran.turns} turnos")
    quiet, busy = found[IDLE], found[LOADED]
    p50 = tuple(percentile(list(ran.latencies), 0.5) for ran in quiet)
    p99 = tuple(percentile(list(ran.latencies), 0.99) for ran in quiet)
    parts = {role: round(busy[-1].cost(role), 3) for role in busy[-1].cpu}
    return [
        Figure(row=ROW, name="da mensagem à resposta, ocioso, p50", unit="ms", ours=p50, reach=at_most(15)),
        Figure(row=ROW, name="da mensagem à resposta, ocioso, p99", unit="ms", ours=p99, reach=at_most(40)),
        Figure(
            row=ROW, name=f"turnos por segundo, {WORKERS} workers", unit="/s", ours=tuple(ran.rate for ran in busy),
            reach=at_least(250), note="com três webhooks de status por resposta",
        ),
        Figure(
            row=ROW, name="CPU nossa por turno (web + workers)", unit="ms",
            ours=tuple(ran.cost("web", "worker") for ran in busy), reach=at_most(3), parts=parts,
        ),
    ]  # fmt: skip


async def idle(place: Place, seconds: float) -> Ran:
    """One message at a time, each of a new conversation or a correction of the last, with a pause between."""
    async with open_town(place, people=200) as town:
        return await talk(town, seconds, people=1, pause=IDLE_PAUSE)


async def loaded(place: Place, seconds: float) -> Ran:
    """``PEOPLE`` at once without pauses."""
    async with open_town(place, people=PEOPLE, workers=WORKERS) as town:
        return await talk(town, seconds, people=PEOPLE, pause=0)


async def talk(town: Town, seconds: float, *, people: int, pause: float, first: int = 0, warm: float = 1.0) -> Ran:
    """Let ``people`` from ``first`` on ask and correct without end; the first ``warm`` seconds are not counted."""
    latencies: list[tuple[float, float]] = []
    crowd = range(first, first + people)
    begun = time.perf_counter()
    end = begun + warm + seconds

    async def one(number: int) -> int:
        who = person(number)
        phone = town.line.phone(who)
        for count in itertools.count():
            words = FIRST if count == 0 else THEN[count % len(THEN)]
            asked = await town.line.text(who, words.format(1000 + count))
            answered, _ = await phone.hear(count)
            latencies.append((answered, (answered - asked) * 1000))
            if answered > end:
                return count + 1
            if pause:
                await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def meter() -> dict[str, float]:
        await asyncio.sleep(begun + warm - time.perf_counter())
        town.meter.start()
        await asyncio.sleep(end - time.perf_counter())
        return town.meter.read()

    metered = asyncio.create_task(meter())
    said = await asyncio.gather(*(one(number) for number in crowd))
    cpu = await metered
    await asyncio.sleep(0.3)  # an answer too many would come now
    heard = sum(len(town.line.phone(person(number)).messages) for number in crowd)
    counted = [taken for at, taken in latencies if begun + warm < at <= end]
    return Ran(len(counted), seconds, tuple(counted), cpu, abs(heard - sum(said)) + town.line.refused)
