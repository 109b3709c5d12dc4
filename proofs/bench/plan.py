"""How long and how often to measure, and the order: all sides in turns, so that drift meets all alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """``seconds`` of load for each side of a round, ``rounds`` of them.

    ``people`` talk at the same time in the row of whole conversations. ``step`` is told what begins.
    """

    seconds: float
    rounds: int
    people: int
    step: Callable[[str], None]

    async def in_turns(self, sides: Mapping[str, Callable[[], Awaitable[T]]]) -> dict[str, list[T]]:
        """Run A B C, A B C, …: ``rounds`` times every side; returns each side's results in order."""
        results: dict[str, list[T]] = {name: [] for name in sides}
        for number in range(1, self.rounds + 1):
            for name, side in sides.items():
                self.step(f"{name} {number}/{self.rounds}")
                results[name].append(await side())
        return results
