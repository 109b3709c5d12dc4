"""What a storm is made of, drawn from one seed: who wants which invoice, and when which blow falls; does nothing."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CORRECTING = 0.1  # of the people: they change the amount once, and some of them tap the old summary first
TAPPING_THE_OLD = 0.5  # of those who correct
IMPATIENT = 0.4  # of the people: they tap Confirmar more than once
MOST_TAPS = 4
TAP_GAP = 0.4  # seconds between impatient taps, at most
FIRST_LINE = 80_000_000  # phone numbers of the crowd: 55 11 9 8xxxxxxx
FROZEN_SECONDS = (16.0, 22.0)  # past the longest lease (15 s), so that another worker has taken over meanwhile


@dataclass(frozen=True, slots=True)
class Plan:
    """One storm. ``kills_every`` are the least and most seconds between blows; ``gateway_faults`` a share of calls."""

    emissions: int
    seed: int
    workers: int = 2
    webs: int = 2
    people: int = 30  # talking at the same time
    minutes_max: float = 60.0
    kills_every: tuple[float, float] = (0.3, 6.0)
    gateway_faults: float = 0.2
    unique: bool = True


@dataclass(frozen=True, slots=True)
class Wish:
    """One person and the one invoice they want; ``valor`` in BRL, ``tomador`` the bare CNPJ.

    ``antes`` is an amount said first and corrected later (``None``: right at once); ``toques`` are the pauses in
    seconds before each tap on Confirmar; ``toca_antiga``: taps the outdated summary too.
    """

    who: str
    valor: Decimal
    tomador: str
    antes: Decimal | None
    toques: tuple[float, ...]
    toca_antiga: bool


class Kind(StrEnum):
    """A blow at the house itself; the gateway's and Meta's faults are in ``storm.weather``."""

    KILL_WORKER = "kill -9 worker"
    KILL_WEB = "kill -9 web"
    FREEZE = "freeze worker"
    DATABASE = "database crash"
    FLUSH = "FLUSHALL"


KILLS = frozenset({Kind.KILL_WORKER, Kind.KILL_WEB})
WEIGHTS = {Kind.KILL_WORKER: 45, Kind.KILL_WEB: 28, Kind.FREEZE: 5, Kind.DATABASE: 8, Kind.FLUSH: 14}


@dataclass(frozen=True, slots=True)
class Blow:
    """``after`` seconds of calm, ``kind`` falls on ``target`` (counted modulo the processes there are).

    ``lasts`` seconds: how long a dead process stays away, or a frozen one stays frozen.
    """

    after: float
    kind: Kind
    target: int
    lasts: float


def wishes(plan: Plan, tomadores: Sequence[str]) -> list[Wish]:
    """Draw the crowd: every person has a phone and an amount of their own."""
    chance = random.Random(f"{plan.seed}|wishes")  # noqa: S311 - seeded on purpose
    return [_wish(number, chance, tomadores) for number in range(plan.emissions)]


def _wish(number: int, chance: random.Random, tomadores: Sequence[str]) -> Wish:
    valor = Decimal(100_000 + number * 7) / 100  # R$ 1.000,00 upwards, no two alike
    corrects = chance.random() < CORRECTING
    taps = chance.randint(2, MOST_TAPS) if chance.random() < IMPATIENT else 1
    return Wish(
        who=f"55119{FIRST_LINE + number}",
        valor=valor,
        tomador=chance.choice(tomadores),
        antes=valor + Decimal("500000.00") if corrects else None,  # nobody's amount
        toques=(chance.uniform(0.0, 1.5), *(chance.uniform(0.0, TAP_GAP) for _ in range(taps - 1))),
        toca_antiga=corrects and chance.random() < TAPPING_THE_OLD,
    )


def blows(plan: Plan) -> Iterator[Blow]:
    """Yield the schedule, without end: it depends on the seed alone, never on what happens."""
    chance = random.Random(f"{plan.seed}|blows")  # noqa: S311 - seeded on purpose
    kinds, weights = tuple(WEIGHTS), tuple(WEIGHTS.values())
    while True:
        after = chance.uniform(*plan.kills_every)
        kind = chance.choices(kinds, weights)[0]
        target = chance.randrange(1000)
        away = chance.uniform(0.0, 1.5)
        frozen = chance.uniform(*FROZEN_SECONDS)
        yield Blow(after, kind, target, frozen if kind is Kind.FREEZE else away)
