"""Bounds how long anybody waits for the database, with one timer for all; it stops no work."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from persistence.outage import DatabaseAwayError

if TYPE_CHECKING:
    import asyncio


class Patience:
    """Ends waiting with ``DatabaseAwayError`` after ``seconds``; each ``asyncio.timeout`` would cost 10 µs instead."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: deque[tuple[float, asyncio.Future[Any]]] = deque()  # in the order of their ends
        self._timer: asyncio.TimerHandle | None = None

    @property
    def watched(self) -> int:
        """How many are held in memory."""
        return len(self._waiting)

    def watch(self, answer: asyncio.Future[Any]) -> None:
        """Let ``answer`` fail unless it is there in time."""
        while self._waiting and self._waiting[0][1].done():  # so that only what waits is held in memory
            self._waiting.popleft()
        loop = answer.get_loop()
        end = loop.time() + self._seconds
        self._waiting.append((end, answer))
        if self._timer is None:
            self._timer = loop.call_at(end, self._look)

    def _look(self) -> None:
        self._timer = None
        while self._waiting:
            end, answer = self._waiting[0]
            loop = answer.get_loop()
            if not answer.done() and end > loop.time():
                self._timer = loop.call_at(end, self._look)
                return
            self._waiting.popleft()
            if not answer.done():
                answer.set_exception(DatabaseAwayError("the database did not answer in time"))
