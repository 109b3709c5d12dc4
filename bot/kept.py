"""Keeps a lease only for work that takes long: nearly all is over before, and a task costs more than a timer."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def kept(lease_seconds: float, renewing: Callable[[], asyncio.Task[None]]) -> Iterator[None]:
    """Start ``renewing`` once the body takes a third of the lease (two renewals may fail); end it with the body."""
    started: list[asyncio.Task[None]] = []
    timer = asyncio.get_running_loop().call_later(lease_seconds / 3, lambda: started.append(renewing()))
    try:
        yield
    finally:
        timer.cancel()
        for task in started:
            task.cancel()
