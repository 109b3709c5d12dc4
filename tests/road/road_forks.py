"""Processes of the product forked from one that has imported it: a start costs a quarter of what it else does."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from proofs.storm.machines.process import interpreter_environment
from proofs.storm.machines.zygote import Zygote
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

    from proofs.storm.machines.zygote import Forked

PRODUCT = "bot.cli"


class Offspring:
    """A forked process, with what a process of ``asyncio`` has of pid, end and standard error."""

    def __init__(self, pid: int, stderr: asyncio.StreamReader, end: asyncio.Task[int]) -> None:
        self.pid = pid
        self.stderr = stderr
        self._end = end

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; ``None`` while it runs."""
        return self._end.result() if self._end.done() else None

    async def wait(self) -> int:
        """Wait for its end; returns the exit status."""
        return await asyncio.shield(self._end)

    def terminate(self) -> None:
        """SIGTERM."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)


async def forked(module: str, command: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> Offspring:
    """Start ``python -m module command`` with these settings."""
    (heard, stderr), (ended, told) = os.pipe(), os.pipe()
    try:
        child = await asyncio.to_thread(
            _zygote().spawn, command, env, stderr, told=told, module=None if module == PRODUCT else module, cwd=cwd
        )
    finally:
        os.close(stderr)
        os.close(told)
    os.close(child.pidfd)
    end = asyncio.create_task(_status(await _stream(ended)))
    return Offspring(child.pid, await _stream(heard), end)


class Child:
    """A forked process, with what ``subprocess.Popen`` has of pid, signals and end; its standard input stays open."""

    def __init__(self, forked: Forked, told: int, keyboard: int) -> None:
        self.pid = forked.pid
        self._pidfd = forked.pidfd
        self._told = told
        self._keyboard = keyboard
        self._status: int | None = None

    def poll(self) -> int | None:
        """The exit status, negative for a signal; ``None`` while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, seconds: float | None = None) -> int:
        """Wait for its end; returns the exit status. Raises ``subprocess.TimeoutExpired``."""
        if self._status is None:
            if not select.select([self._told], [], [], seconds)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), seconds or 0)
            self._status = int(os.read(self._told, 16))
            for fd in (self._told, self._pidfd, self._keyboard):
                os.close(fd)
        return self._status

    def send_signal(self, number: signal.Signals) -> None:
        """Signal it alone, as long as it is there."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended a moment ago
                signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> None:
        """Wait for its end: what it says goes elsewhere."""
        self.wait()


def child(module: str, command: Sequence[str], env: Mapping[str, str], cwd: Path, output: IO[bytes]) -> Child:
    """Start ``python -m module command``, which writes into ``output`` and has nothing to read."""
    (ended, told), (typed, keyboard) = os.pipe(), os.pipe()
    try:
        forked = _zygote().spawn(
            command, env, output.fileno(), told=told, stdio=(typed, output.fileno()), module=module, cwd=cwd
        )
    finally:
        os.close(told)
        os.close(typed)
    return Child(forked, ended, keyboard)


def run(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, typed: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``./prosa`` to its end; ``typed`` is its standard input, ``None`` an empty one."""
    pipes = {name: os.pipe() for name in ("told", "typed", "out", "err")}
    theirs = {name: pipe[name != "typed"] for name, pipe in pipes.items()}
    ours = {name: pipe[name == "typed"] for name, pipe in pipes.items()}
    try:
        child = _zygote().spawn(
            command,
            env,
            theirs["err"],
            told=theirs["told"],
            stdio=(theirs["typed"], theirs["out"]),
            module="proofs",
            cwd=cwd,
        )
    finally:
        for fd in theirs.values():
            os.close(fd)
    os.close(child.pidfd)
    watch = threading.Timer(PATIENCE, os.kill, (child.pid, signal.SIGKILL))
    watch.start()
    with ThreadPoolExecutor(len(ours)) as reading:
        said = {name: reading.submit(_read, ours[name]) for name in ("told", "out", "err")}
        with suppress(BrokenPipeError), os.fdopen(ours["typed"], "w") as keyboard:
            keyboard.write(typed or "")
    watch.cancel()
    status = int(said["told"].result())
    return subprocess.CompletedProcess(["prosa", *command], status, said["out"].result(), said["err"].result())


def _read(fd: int) -> str:
    with os.fdopen(fd, encoding="utf-8") as file:
        return file.read()


@cache
def _zygote() -> Zygote:
    """The one of this test process, with which it ends."""
    return Zygote(interpreter_environment(), Path(__file__).resolve().parents[2])


async def _status(told: asyncio.StreamReader) -> int:
    return int(await told.read())


async def _stream(fd: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    file = os.fdopen(fd, "rb", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader
