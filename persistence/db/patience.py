"""Bounds how long anybody waits for the database, with one timer for all; it stops no work."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from persistence.db.outage import DatabaseAwayError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GRAIN = 0.01  # of the promised time: looks are at least so far apart, as each goes through all who wait


@dataclass(slots=True, eq=False)
class Waiting:
    """Somebody who waits for ``answer`` since then, by the event loop's clock."""

    since: float
    answer: asyncio.Future[int]


class Patience:
    """Ends waiting with ``DatabaseAwayError`` after ``seconds``, or a hundredth of them later.

    ``everybody`` gives all who wait; nothing is noted for each of them (an ``asyncio.timeout`` costs 10 µs).
    """

    def __init__(self, seconds: float, everybody: Callable[[], Iterable[Waiting]]) -> None:
        self._seconds = seconds
        self._everybody = everybody
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Look after everybody who waits, until nobody does; to be called whenever somebody begins to."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        left = [one for one in self._everybody() if not one.answer.done()]
        late = loop.time() - self._seconds
        for one in left:
            if one.since <= late:
                one.answer.set_exception(DatabaseAwayError("the database did not answer in time"))
        ends = [one.since + self._seconds for one in left if one.since > late]
        if ends:
            self._timer = loop.call_at(max(min(ends), loop.time() + GRAIN * self._seconds), self._look)
