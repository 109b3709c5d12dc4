"""What a storm is: its size, when which fault happens by its seed, and how many of each its size demands."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FROZEN_SECONDS = (16.0, 22.0)  # past the longest lease (15 s), so that another worker has taken over meanwhile


@dataclass(frozen=True, slots=True)
class Plan:
    """One storm. ``kills_every`` are the least and most seconds between blows; ``gateway_faults`` a share of calls.

    ``channels`` are the names of the fiscal channels whose companies take turns.
    """

    emissions: int
    seed: int
    workers: int = 2
    webs: int = 2
    people: int = 30  # talking at the same time
    minutes_max: float = 60.0
    kills_every: tuple[float, float] = (0.3, 6.0)
    gateway_faults: float = 0.2
    unique: bool = True
    channels: tuple[str, ...] = ("plugnotas",)
    new_layout: bool = False  # the national authority changes its layout in the middle, without a word


class Kind(StrEnum):
    """A fault of the product's own processes; the gateway's and Meta's are in ``proofs.storm.weather``."""

    KILL_WORKER = "kill -9 worker"
    KILL_WEB = "kill -9 web"
    FREEZE = "freeze worker"
    DATABASE = "database crash"
    FLUSH = "FLUSHALL"
    CERTIFICATE = "certificate lapses"
    RESTORE = "database restored from a copy"
    FAILOVER = "failover to a replica without the last commits"


KILLS = frozenset({Kind.KILL_WORKER, Kind.KILL_WEB})
WEIGHTS = {Kind.KILL_WORKER: 45, Kind.KILL_WEB: 28, Kind.FREEZE: 5, Kind.DATABASE: 8, Kind.FLUSH: 14}
FORGETTING = (Kind.RESTORE, Kind.FAILOVER)
# Blows that only a storm with this channel has; those of no weight come by demand alone: people ask again after each.
OF_CHANNEL = dict.fromkeys(
    ("nacional", "paulistana", "nfe", "nfce"), {Kind.CERTIFICATE: 4} | dict.fromkeys(FORGETTING, 0)
)


@dataclass(frozen=True, slots=True)
class Demand:
    """One for each ``every`` emissions, at least one from ``start`` emissions on, none below."""

    every: int
    start: int

    def least(self, emissions: int) -> int:
        """Return how many a storm of this size needs."""
        return max(1, emissions // self.every) if emissions >= self.start else 0


SMALLEST = 20  # emissions: a smaller storm proves nothing
BLOWS = {  # 10,000 emissions: more than 200 kills
    Kind.KILL_WORKER: Demand(every=75, start=SMALLEST),
    Kind.KILL_WEB: Demand(every=125, start=SMALLEST),
    Kind.FREEZE: Demand(every=600, start=300),
    Kind.DATABASE: Demand(every=400, start=100),
    Kind.FLUSH: Demand(every=300, start=100),
    Kind.CERTIFICATE: Demand(every=400, start=SMALLEST),
    Kind.RESTORE: Demand(every=1000, start=400),
    Kind.FAILOVER: Demand(every=1000, start=400),
}


def weights(channels: Iterable[str]) -> dict[Kind, int]:
    """Return the kinds of blows of a storm with these channels, each with its weight."""
    return WEIGHTS | {kind: weight for name in channels for kind, weight in OF_CHANNEL.get(name, {}).items()}


def demands(plan: Plan) -> Iterator[tuple[Kind, Demand]]:
    """Yield the kinds of blows that this storm can have, each with its demand."""
    possible = weights(plan.channels)
    yield from ((kind, demand) for kind, demand in BLOWS.items() if kind in possible)


@dataclass(frozen=True, slots=True)
class Blow:
    """``after`` seconds of calm, ``kind`` falls on ``target`` (counted modulo the processes there are).

    ``lasts`` seconds: how long a dead process stays away, a frozen one stays frozen, a company has no certificate; of
    a database that forgets, what it forgets beside the first seconds.
    """

    after: float
    kind: Kind
    target: int
    lasts: float


def blows(plan: Plan) -> Iterator[Blow]:
    """Yield the schedule, without end: it depends on the seed alone, never on what happens."""
    chance = random.Random(f"{plan.seed}|blows")  # noqa: S311 - seeded on purpose
    possible = weights(plan.channels)
    kinds, shares = tuple(possible), tuple(possible.values())
    while True:
        after = chance.uniform(*plan.kills_every)
        yield drawn(chance, chance.choices(kinds, shares)[0], after)


def drawn(chance: random.Random, kind: Kind, after: float = 0.0) -> Blow:
    """Return a blow of this kind with a target and a length drawn from ``chance``."""
    target = chance.randrange(1000)
    away = chance.uniform(0.0, 1.5)
    frozen = chance.uniform(*FROZEN_SECONDS)
    return Blow(after, kind, target, frozen if kind is Kind.FREEZE else away)
