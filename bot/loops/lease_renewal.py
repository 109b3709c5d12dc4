"""Keeps a lease only for work that takes long: nearly all is over before, and a task costs more than a timer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Kept:
    """Starts ``renewing`` once the body of a ``with`` takes a third of the lease (two renewals may fail); ends both."""

    __slots__ = ("_renewing", "_seconds", "_task", "_timer")

    def __init__(self, lease_seconds: float, renewing: Callable[[], asyncio.Task[None]]) -> None:
        self._seconds = lease_seconds / 3
        self._renewing = renewing
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._start)

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        self._task = self._renewing()
