"""Servers under the load generator: each on a fresh database, alone or two by turns while both are up."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import asyncpg
import psutil

from bench.child import ROOT
from bench.environment import APP_SECRET, settings
from bench.figure import percentile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from bench.place import Place

CONNECTIONS = 64
SLICE_SECONDS = 0.5  # neighbours slow a machine down for seconds at a time: turns of this length meet them alike
STORING = frozenset({"ours", "fastapi-insert"})


@dataclass(frozen=True, slots=True)
class Pressed:
    """What the load generator saw in all slices together, what the server used, and how many rows were found then."""

    answered: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    rows: int


class Target:
    """One server that is up: its answers are counted from the first on."""

    def __init__(self, name: str, url: str, pid: int, database: str) -> None:
        self._name, self._url, self._database = name, url, database
        self._process = psutil.Process(pid)
        self._slices: list[Mapping[str, Any]] = []
        self._answered = 0
        self._cpu = 0.0

    async def warm(self, seconds: float, *, connections: int = CONNECTIONS, pause: float = 0.0) -> None:
        """Press it without measuring."""
        self._answered += (await self._load(seconds, connections, pause))["answered"]

    async def press(self, seconds: float, *, connections: int = CONNECTIONS, pause: float = 0.0) -> None:
        """Measure one slice; raises ``RuntimeError`` when an answer was not 200."""
        before = self._spent()
        run = await self._load(seconds, connections, pause)
        self._cpu += self._spent() - before
        self._answered += run["answered"]
        self._slices.append(run)

    async def told(self) -> Pressed:
        """Return all slices as one; raises ``RuntimeError`` when a 200 was not stored."""
        rows = await _rows(self._database)
        if self._name in STORING and rows != self._answered:
            raise RuntimeError(f"{self._name}: {self._answered} acknowledged, {rows} stored")
        taken = [milliseconds for run in self._slices for milliseconds in run["taken_ms"]]
        answered = len(taken)
        return Pressed(
            answered=answered,
            per_second=answered / sum(run["answered"] / run["per_second"] for run in self._slices),
            p50_ms=percentile(taken, 0.5),
            p99_ms=percentile(taken, 0.99),
            cpu_us=self._cpu / answered * 1e6,
            rows=rows,
        )

    async def _load(self, seconds: float, connections: int, pause: float) -> dict[str, Any]:
        run = await load(self._url, seconds=seconds, connections=connections, pause=pause)
        if run["bad"] or not run["answered"]:
            raise RuntimeError(
                f"{self._name}: {run['answered']} requests were answered with 200, {run['bad']} were not"
            )
        return run

    def _spent(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


@asynccontextmanager
async def serving(place: Place, name: str) -> AsyncIterator[Target]:
    """Start ``prosa web`` (``ours``) or one of ``bench.front`` on a fresh database."""
    async with place.database() as database:
        if name == "ours":
            words, env = ["bot.cli", "web"], settings(place, database)
        else:
            words, env = ["bench.front", name], {"BENCH_DATABASE_URL": database}
        async with place.running(name, words, env) as server:
            yield Target(name, f"{server.address}/webhooks/whatsapp", server.pid, database)


async def pressed(
    place: Place, name: str, seconds: float, *, connections: int = CONNECTIONS, pause: float = 0.0
) -> Pressed:
    """Start one server, warm it, press it, and count what it stored."""
    async with serving(place, name) as target:
        await target.warm(min(1.0, seconds / 4), connections=connections, pause=pause)
        await target.press(seconds, connections=connections, pause=pause)
        return await target.told()


async def by_turns(place: Place, names: Sequence[str], seconds: float) -> dict[str, Pressed]:
    """Start all, warm them, and press each for ``seconds``, a slice at a time, in one order and then in the other.

    Each slice opens its connections anew, on every side.
    """
    async with AsyncExitStack() as stack:
        targets = {name: await stack.enter_async_context(serving(place, name)) for name in names}
        for target in targets.values():
            await target.warm(min(1.0, seconds / 4))
        slices = 2 * max(1, round(seconds / SLICE_SECONDS / 2))
        order = list(targets.values())
        for _ in range(slices):
            for target in order:
                await target.press(seconds / slices)
            order.reverse()
        return {name: await target.told() for name, target in targets.items()}


async def load(url: str, *, seconds: float, connections: int, pause: float) -> dict[str, Any]:
    """Run the load generator in its own process."""
    options = {"--connections": connections, "--seconds": seconds, "--pause": pause, "--secret": APP_SECRET}
    words = [str(word) for pair in options.items() for word in pair]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "bench.load", url, *words,
        stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    said, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("the load generator broke")
    result: dict[str, Any] = json.loads(said)
    return result


async def _rows(database: str) -> int:
    connection = await asyncpg.connect(database)
    try:
        return int(await connection.fetchval("SELECT count(*) FROM inbox"))
    finally:
        await connection.close()
