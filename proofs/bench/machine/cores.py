"""Which process runs on which core: a server under load on one of its own, and what belongs to it on the others."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet


def can_part() -> bool:
    """Tell whether this system holds processes to cores (Linux does), and has two for us."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1


@contextmanager
def parted(*servers: int) -> Iterator[None]:
    """Hold the ``servers`` (process ids) to one core, and us with everything else that we started to the others.

    Afterwards whoever is left may run anywhere. What is started meanwhile stays where we are until then.
    """
    whole = os.sched_getaffinity(0)
    first = min(whole)
    try:
        _hold(_family(), whole - {first})
        _hold([psutil.Process(pid) for pid in servers], {first})
        yield
    finally:
        _hold(_family(), whole)


def _family() -> list[psutil.Process]:
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def _hold(processes: list[psutil.Process], cores: AbstractSet[int]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            for thread in process.threads():
                with suppress(ProcessLookupError):  # it has ended
                    os.sched_setaffinity(thread.id, cores)
