"""Runs a module of ours as a process of its own: no secret in its environment, bounds on what it may use."""

from __future__ import annotations

import ctypes
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[1]
# The environment is one path: no secret is in it, and nothing that changes how Python or OpenSSL run.
ENVIRONMENT: Final[Mapping[str, str]] = {"PYTHONPATH": str(_ROOT)}
PR_SET_DUMPABLE: Final = 4  # linux/prctl.h


def leave_no_core() -> None:
    """Have this process leave no core file, whatever limits it was started with; its children inherit the limit.

    A host that pipes core files to a program of its own, as systemd-coredump, asks no limit: on Linux the process is
    marked as one that is not dumped.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)


def words(module: str) -> tuple[str, ...]:
    """Return the command that runs a module; -P and -s: no directory of the user's holds modules of ours."""
    return (sys.executable, "-P", "-s", "-B", "-m", module)


def limits(*, cpu: int, memory: int) -> dict[int, int]:
    """Return bounds in seconds of CPU and bytes of memory, for a process that writes no file."""
    return {resource.RLIMIT_CPU: cpu, resource.RLIMIT_AS: memory, resource.RLIMIT_FSIZE: 0}


def restrict(bounds: Mapping[int, int]) -> None:
    """Bind this process to ``bounds`` for the rest of its life, and have it leave no core."""
    leave_no_core()
    for what, most in bounds.items():
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))
