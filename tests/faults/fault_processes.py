"""`prosa` in processes with failpoints, forked so that a start costs little."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proofs.storm.machines.process import Process, interpreter_environment
from proofs.storm.machines.zygote import Zygote
from tests.road.road_people import QUICK
from tests.road.road_stage import Stage, open_stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PROGRAM = (str(Path(__file__).with_name("fault_points.py")),)


class Forks:
    """Starts processes on a stage; a web among them gets the webhooks."""

    def __init__(self, stage: Stage, zygote: Zygote) -> None:
        self.stage = stage
        self._zygote = zygote
        self._started: list[Process] = []

    async def start(self, command: str = "serve", **changes: str) -> Process:
        """Start one, with these additions to its environment."""
        env = {**self.stage.env, **changes}
        process = Process(command, env, self.stage.cwd, len(self._started), self._zygote)
        self._started.append(process)
        await process.start()
        if process.address:
            self.stage.world.connect(process.address)
        return process

    async def clear(self) -> None:
        """Kill whatever runs."""
        await asyncio.gather(*(process.kill() for process in self._started))
        self._started.clear()


@asynccontextmanager
async def open_forks(database_url: str, redis_url: str, cwd: Path) -> AsyncIterator[Forks]:
    """Open a stage and a zygote with failpoints."""
    async with open_stage(database_url, redis_url, cwd, config=QUICK) as stage:
        zygote = Zygote(interpreter_environment(), cwd, PROGRAM)
        forks = Forks(stage, zygote)
        try:
            yield forks
        finally:
            await forks.clear()
            zygote.close()
