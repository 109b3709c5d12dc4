"""Servers under the load generator: each on a fresh database, alone or two by turns while both are up."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import asyncpg
import psutil

from proofs.bench.figure import percentile
from proofs.bench.machine.child import ROOT
from proofs.bench.machine.cores import parted
from proofs.bench.machine.environment import APP_SECRET, settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from proofs.bench.machine.place import Place

CONNECTIONS = 64
# Neighbours slow a machine down for seconds at a time: turns of this length, or a little more to be an even number,
# meet them alike.
SLICE_SECONDS = 0.5
START_SECONDS = (
    2.5  # about; each process has a speed of its own from its start on (by up to a tenth): so several are started
)
NAMES = {"ours": "prosa web", "verify": "só a conferência", "empty": "servidor vazio"}  # as errors tell them
STORING = frozenset({"ours", "fastapi-insert"})


@dataclass(frozen=True, slots=True)
class Pressed:
    """What the load generator saw, slice by slice, the CPU seconds that the server took, and how many rows were found.

    Those of several starts can be added.
    """

    slices: tuple[Mapping[str, Any], ...]
    cpu_seconds: float
    rows: int

    def __add__(self, other: Pressed) -> Pressed:
        return Pressed(self.slices + other.slices, self.cpu_seconds + other.cpu_seconds, self.rows + other.rows)

    @property
    def answered(self) -> int:
        """Answers in all slices."""
        return sum(int(run["answered"]) for run in self.slices)

    @property
    def per_second(self) -> float:
        """Answers per second of all slices together."""
        return self.answered / sum(float(run["answered"] / run["per_second"]) for run in self.slices)

    @property
    def cpu_us(self) -> float:
        """CPU of the server per answer, in microseconds."""
        return self.cpu_seconds / self.answered * 1e6

    def rates(self) -> tuple[float, ...]:
        """Answers per second of each slice."""
        return tuple(run["per_second"] for run in self.slices)

    def taken_ms(self, share: float) -> float:
        """The time to an answer below which ``share`` of all answers lie."""
        return percentile([milliseconds for run in self.slices for milliseconds in run["taken_ms"]], share)


class Target:
    """One server that is up: its answers are counted from the first on."""

    def __init__(self, name: str, url: str, pid: int, database: str) -> None:
        self.pid = pid
        self._name, self._url, self._database = name, url, database
        self._shown = NAMES.get(name, name)
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
            raise RuntimeError(f"{self._shown}: {self._answered} respostas 200, {rows} gravadas")
        return Pressed(tuple(self._slices), self._cpu, rows)

    async def _load(self, seconds: float, connections: int, pause: float) -> dict[str, Any]:
        run = await load(self._url, seconds=seconds, connections=connections, pause=pause)
        if run["bad"] or not run["answered"]:
            raise RuntimeError(f"{self._shown}: {run['answered']} requisições receberam 200, {run['bad']} não")
        return run

    def _spent(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


@asynccontextmanager
async def serving(place: Place, name: str) -> AsyncIterator[Target]:
    """Start ``prosa web`` (``ours``) or one of ``proofs.bench.peers.front`` on a fresh database."""
    async with place.database() as database:
        if name == "ours":
            words, env = ["bot.cli", "web"], settings(place, database)
        else:
            words, env = ["proofs.bench.peers.front", name], {"BENCH_DATABASE_URL": database}
        async with place.running(name, words, env) as server:
            yield Target(name, f"{server.address}/webhooks/whatsapp", server.pid, database)


async def pressed(
    place: Place, name: str, seconds: float, *, connections: int = CONNECTIONS, pause: float = 0.0, apart: bool = False
) -> Pressed:
    """Start one server, warm it, press it, and count what it stored; ``apart``: it has a core to itself."""
    async with serving(place, name) as target:
        with parted(target.pid) if apart else nullcontext():
            await target.warm(min(1.0, seconds / 4), connections=connections, pause=pause)
            await target.press(seconds, connections=connections, pause=pause)
            return await target.told()


async def by_turns(place: Place, names: Sequence[str], seconds: float, *, apart: bool = False) -> dict[str, Pressed]:
    """Start all, warm them, and press each for ``seconds``, a slice at a time, in one order and then in the other.

    All are started anew for every ``START_SECONDS`` of it; each slice opens its connections anew, on every side.
    ``apart``: what is pressed has a core to itself.
    """
    starts = max(1, round(seconds / START_SECONDS))
    found: dict[str, Pressed] = {}
    for _ in range(starts):
        async with AsyncExitStack() as stack:
            targets = {name: await stack.enter_async_context(serving(place, name)) for name in names}
            if apart:
                stack.enter_context(parted(*(target.pid for target in targets.values())))
            for name, seen in (await _turns(targets, seconds / starts)).items():
                found[name] = found[name] + seen if name in found else seen
    return found


async def _turns(targets: Mapping[str, Target], seconds: float) -> dict[str, Pressed]:
    for target in targets.values():
        await target.warm(min(1.0, seconds / 2))
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
        sys.executable, "-P", "-m", "proofs.bench.load.generator", url, *words,
        stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    said, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("o gerador de carga quebrou")
    result: dict[str, Any] = json.loads(said)
    return result


async def _rows(database: str) -> int:
    connection = await asyncpg.connect(database)
    try:
        return int(await connection.fetchval("SELECT count(*) FROM inbox"))
    finally:
        await connection.close()
