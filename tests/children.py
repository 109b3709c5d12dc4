"""Processes that tests start: each is a process group, and dies with the test process, however that one ends."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from persistence.embedded.home import PR_SET_PDEATHSIG, die_with_parent
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

Word = str | Path


def _leash() -> dict[str, Any]:
    # The main thread starts them, and it ends with the process: the kernel watches the thread.
    return {"process_group": 0, "preexec_fn": die_with_parent(signal.SIGKILL)}


def pytest_configure(config: pytest.Config) -> None:
    """Have a worker of pytest-xdist die with the pytest that it works for; keep what processes compile for the next.

    To compile all that Prosa imports takes as long as to start it twice. It stands beside the sources, where the
    processes find it too that get no environment of ours and keep nothing (``gateway.process_apart``).
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False  # else pytest rewrites all assertions in every run
    if hasattr(config, "workerinput") and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


def popen(words: Sequence[Word], **options: Any) -> subprocess.Popen[Any]:
    """Start a process (options as of ``subprocess.Popen``); who calls ends it."""
    return subprocess.Popen(words, **_leash(), **options)  # noqa: S603 - the tests' own commands


@contextmanager
def started(words: Sequence[Word], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process (options as of ``subprocess.Popen``); its whole group is killed at the end."""
    with popen(words, **options) as process:
        try:
            yield process
        finally:
            kill_group(process.pid)


def run(words: Sequence[Word], *, timeout: float = PATIENCE, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a process to its end (options as of ``subprocess.run``), for at most ``timeout`` seconds."""
    check, text = options.pop("check", False), options.pop("input", None)
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if text is not None:
        options["stdin"] = subprocess.PIPE
    with started(words, **options) as process:
        out, err = process.communicate(text, timeout)
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


async def start(program: Word, *words: Word, **options: Any) -> asyncio.subprocess.Process:
    """Start a process (options as of ``asyncio.create_subprocess_exec``); who calls ends it."""
    return await asyncio.create_subprocess_exec(program, *words, **_leash(), **options)


def kill_group(pid: int) -> None:
    """``kill -9`` of a process that was started here, and of whatever it started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def apart() -> list[psutil.Process]:
    """Return the children of this process that run a module of the gateway: the test's servers are others."""
    found = []
    for child in psutil.Process().children():
        try:
            ours = any("gateway." in word for word in child.cmdline())
        except psutil.ZombieProcess:
            ours = True  # nobody waited for it
        except psutil.NoSuchProcess:
            ours = False
        if ours:
            found.append(child)
    return found
