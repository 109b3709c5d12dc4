"""One figure as measured: rounds of ours, rounds of the reference, what was to be reached."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal

from proofs.storm.labels import written

Kind = Literal["ratio", "value"]


@dataclass(frozen=True, slots=True)
class Reach:
    """A bound for the median of ours (``value``), or for the median of ours ÷ reference (``ratio``)."""

    kind: Kind
    bound: float
    at_least: bool

    def holds(self, value: float) -> bool:
        """Whether ``value`` keeps the bound."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{'×' if self.kind == 'ratio' else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """``ours`` and ``reference`` have one value for each round, or each turn of it, in ``unit``; both took turns.

    ``row`` is the module that measured it, ``against`` what the reference is. ``note`` qualifies the figure;
    ``parts`` splits it, in the same unit.
    """

    row: str
    name: str
    unit: str
    ours: tuple[float, ...]
    reference: tuple[float, ...] = ()
    against: str = ""
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
    def compared(self) -> float | None:
        """The median of the reference."""
        return median(self.reference) if self.reference else None

    @property
    def ratio(self) -> float | None:
        """The median of ours ÷ reference, pair by pair; ``None`` without one."""
        pairs = [a / b for a, b in zip(self.ours, self.reference, strict=False) if b]
        return median(pairs) if pairs else None

    @property
    def reached(self) -> bool | None:
        """Whether the bound holds; ``None`` where none is set, or the reference is missing."""
        if self.reach is None:
            return None
        value = self.ratio if self.reach.kind == "ratio" else self.value
        return None if value is None else self.reach.holds(value)

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON shape with what follows from the rounds."""
        derived = {"median": self.value, "ratio": self.ratio, "reached": self.reached}
        return {**asdict(self), "reach": str(self.reach) if self.reach else None, **derived}


def at_least(bound: float) -> Reach:
    """Ours itself must not be below ``bound``."""
    return Reach("value", bound, at_least=True)


def at_most(bound: float) -> Reach:
    """Ours itself must not exceed ``bound``."""
    return Reach("value", bound, at_least=False)


def times_at_least(bound: float) -> Reach:
    """Ours must be ``bound`` times the reference, or more."""
    return Reach("ratio", bound, at_least=True)


def times_at_most(bound: float) -> Reach:
    """Ours must be ``bound`` times the reference, or less."""
    return Reach("ratio", bound, at_least=False)


def number(value: float | None) -> str:
    """Return a number with three digits that mean something, as Brazilians write it; empty for none."""
    if value is None:
        return ""
    return written(value, ",.0f" if abs(value) >= 100 else ".3g")  # noqa: PLR2004 - where decimals stop to matter


def percentile(values: list[float], share: float) -> float:
    """Return the value below which ``share`` of ``values`` lie (nearest rank); 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
