"""One figure as measured: its rounds, and what was to be reached."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from proofs.storm.labels import written


@dataclass(frozen=True, slots=True)
class Reach:
    """A bound for the median."""

    bound: float
    at_least: bool

    def holds(self, value: float) -> bool:
        """Whether ``value`` keeps the bound."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """``ours`` has one value for each round, in ``unit``.

    ``row`` is the module that measured it. ``note`` qualifies the figure; ``parts`` splits it, in the same unit.
    """

    row: str
    name: str
    unit: str
    ours: tuple[float, ...]
    reach: Reach | None = None
    note: str = ""
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The median of ours."""
        return median(self.ours)

    @property
    def spread(self) -> tuple[float, float]:
        """Least and most of ours."""
        return min(self.ours), max(self.ours)

    @property
    def reached(self) -> bool | None:
        """Whether the bound holds; ``None`` where none is set."""
        return None if self.reach is None else self.reach.holds(self.value)

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON shape with what follows from the rounds."""
        derived = {"median": self.value, "reached": self.reached}
        return {**asdict(self), "reach": str(self.reach) if self.reach else None, **derived}


def at_least(bound: float) -> Reach:
    """Ours itself must not be below ``bound``."""
    return Reach(bound, at_least=True)


def at_most(bound: float) -> Reach:
    """Ours itself must not exceed ``bound``."""
    return Reach(bound, at_least=False)


def number(value: float) -> str:
    """Return a number with three digits that mean something, as Brazilians write it."""
    return written(value, ",.0f" if abs(value) >= 100 else ".3g")  # noqa: PLR2004 - where decimals stop to matter


def percentile(values: list[float], share: float) -> float:
    """Return the value below which ``share`` of ``values`` lie (nearest rank); 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
