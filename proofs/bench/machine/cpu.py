"""CPU seconds by role (web, worker, postgres, …) from the system's books; neighbours move it less than wall time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping


class Meter:
    """CPU seconds of process trees, by role, since ``start``."""

    def __init__(self, roles: Mapping[str, int]) -> None:
        self._processes = {role: psutil.Process(pid) for role, pid in roles.items()}
        self._before = self._now()

    def start(self) -> None:
        """Count from now."""
        self._before = self._now()

    def read(self) -> dict[str, float]:
        """Return the seconds that each role used since ``start``, its children included."""
        now = self._now()
        return {role: now[role] - self._before[role] for role in now}

    def _now(self) -> dict[str, float]:
        return {role: _tree(process) for role, process in self._processes.items()}


def _tree(process: psutil.Process) -> float:
    """User and system time of a process, of its children that live, and of those that it has buried."""
    times = process.cpu_times()
    total: float = times.user + times.system + times.children_user + times.children_system
    for child in process.children(recursive=True):
        try:
            its = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += its.user + its.system + its.children_user + its.children_system
    return total


def resident(pid: int) -> int:
    """Return the bytes of memory that a process holds."""
    return int(psutil.Process(pid).memory_info().rss)
