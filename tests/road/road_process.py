"""`prosa` as a process of its own, to be killed: starts it, says where it listens, ends it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofs.storm.machines.process import settings_in
from tests import children
from tests.patience import PATIENCE
from tests.road.road_forks import Offspring, forked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.sandbox.world import World

ROOT = Path(__file__).resolve().parents[2]


def environment(world: World, database_url: str, redis_url: str, **changes: str) -> dict[str, str]:
    """Return the settings of a house in this world, as an operator would give them."""
    return {
        **settings_in(world, database_url, redis_url),
        "PROSA_REPEAT_WINDOW_SECONDS": "0",
        "PROSA_RECONCILE_LADDER": "0.2,0.5,1",
        **changes,
    }


@dataclass
class Prosa:
    """One run of a command of ours; its log is kept for whoever asks why."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    log: list[dict[str, Any]] = field(default_factory=list)
    process: asyncio.subprocess.Process | Offspring | None = None
    wrap: tuple[str, ...] = ()  # a program that starts it
    module: str = "bot.cli"
    _reader: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Start it and return its address ("" when it has none)."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PROSA_")}
        env = {**kept, "PYTHONPATH": str(ROOT), **self.env}
        if self.wrap or env["PYTHONPATH"] != str(ROOT):  # another program, or another release
            words = (*self.wrap, sys.executable, "-m", self.module, *self.command)
            self.process = await children.start(*words, env=env, cwd=self.cwd, stderr=asyncio.subprocess.PIPE)
        else:
            self.process = await forked(self.module, self.command, env, self.cwd)
        up: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(self.process, up))
        async with asyncio.timeout(PATIENCE):
            return await up

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.process is not None and self.process.returncode is None

    def strike(self) -> None:
        """``kill -9``, at this very moment."""
        if self.process is not None and self.running:
            with contextlib.suppress(ProcessLookupError):  # it ended by itself a moment ago
                os.kill(self.process.pid, signal.SIGKILL)

    async def kill(self) -> None:
        """``kill -9``, and wait until it is gone."""
        self.strike()
        await self.ended()

    def freeze(self) -> None:
        """SIGSTOP: it holds what it holds, and does not know that time passes."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def proceed(self) -> None:
        """SIGCONT."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    async def ended(self) -> int:
        """Wait for its end; returns the exit status. One that does not end is killed, and ``TimeoutError`` raised."""
        assert self.process is not None
        assert self._reader is not None
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(self._reader)  # whoever gives up waiting does not end the reading
                return await self.process.wait()
        except TimeoutError:
            self.strike()
            raise

    async def terminate(self) -> tuple[int, float]:
        """SIGTERM; returns the exit status and how many seconds the end took."""
        assert self.process is not None
        started = time.monotonic()
        self.process.terminate()
        return await self.ended(), time.monotonic() - started

    async def _read(self, process: asyncio.subprocess.Process | Offspring, up: asyncio.Future[str]) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"event": line.decode(errors="replace").rstrip()}
            self.log.append(entry)
            if entry.get("event") == "started" and not up.done():
                up.set_result(entry.get("address", ""))
        if not up.done():
            up.set_exception(RuntimeError(f"it did not start: {self.log}"))
