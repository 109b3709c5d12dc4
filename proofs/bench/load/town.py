"""The product as processes, between a cheap WhatsApp and the simulated gateway."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import aiohttp

from bot.demo.world import COMPANY
from operations.company import add_company
from persistence.conversations import register_cache
from persistence.db.engine import Database
from persistence.embedded.parent_death import die_with_parent
from proofs.bench.load.line import STATUSES, Line
from proofs.bench.machine.child import ROOT
from proofs.bench.machine.cpu import Meter
from proofs.bench.machine.environment import settings
from proofs.sandbox.cnpj_register import companies

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from proofs.bench.machine.child import Child
    from proofs.bench.machine.place import Place

FIRST_LINE = 80_000_000  # phone numbers of the people: 55 11 9 8xxxxxxx
OURS = ("web", "worker")


@dataclass(frozen=True, slots=True)
class Town:
    """Everything that is open for one run."""

    line: Line
    database_url: str
    webs: tuple[Child, ...]
    workers: tuple[Child, ...]
    meter: Meter
    gateway: str  # the simulated PlugNotas, empty when it was not asked for

    async def book(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the gateway's own ledger: the judge of duplicates."""
        query = {"kind": ",".join(kinds)}
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.gateway}/_sandbox/ledger", params=query) as answer,
        ):
            records: list[dict[str, Any]] = await answer.json()
            return records


def person(number: int) -> str:
    """The phone of person ``number``."""
    return f"55119{FIRST_LINE + number}"


@asynccontextmanager
async def open_town(
    place: Place,
    *,
    people: int,
    workers: int = 1,
    with_gateway: bool = False,
    statuses: Sequence[str] = STATUSES,
    database: str | None = None,
) -> AsyncIterator[Town]:
    """Start one web and ``workers`` workers on a fresh database with ``people`` who may issue."""
    async with AsyncExitStack() as stack:
        if database is None:
            database = await stack.enter_async_context(place.database())
        await admit(database, people)
        line = await stack.enter_async_context(Line(statuses))
        gateway = register = ""
        roles = {"postgres": place.pids["postgres"], "valkey": place.pids["valkey"], "load": os.getpid()}
        simulators: Simulators | None = None
        if with_gateway:
            simulators = await _simulators(stack)
            gateway, register = simulators.urls["plugnotas"], simulators.urls["cnpj_api"]
            roles["simulators"] = simulators.process.pid
        given = {"graph": line.url, **({"gateway": gateway, "register": register} if with_gateway else {})}
        env = settings(place, database, **given)
        web = await stack.enter_async_context(place.running("web", ["bot.cli", "web"], env))
        if simulators is not None:
            simulators.connect(web.address)
        hands = [
            await stack.enter_async_context(place.running("worker", ["bot.cli", "worker"], env)) for _ in range(workers)
        ]
        await line.connect(web.address)
        roles |= {"web": web.pid} | {f"worker {number}": hand.pid for number, hand in enumerate(hands, 1)}
        yield Town(line, database, (web,), tuple(hands), _OwnMeter(roles), gateway)


class _OwnMeter(Meter):
    """The harness is the load: its children are metered by their own roles, so its tree is itself alone."""

    def _now(self) -> dict[str, float]:
        now = super()._now()
        times = os.times()
        return {**now, "load": times.user + times.system}


async def admit(url: str, people: int) -> None:
    """Register the company, with so many people who may issue for it, and what the register says of its customers."""
    database = await Database.open(url, size=1)
    try:
        await add_company(database, replace(COMPANY, usuarios=tuple(person(number) for number in range(people))))
        async with database.transaction() as connection:  # as after the first days: the register is asked once a month
            for cnpj, entry in companies().items():
                await register_cache.put(connection, cnpj, entry)
    finally:
        await database.close()


@dataclass(frozen=True, slots=True)
class Simulators:
    """The simulators as a process of their own."""

    process: asyncio.subprocess.Process
    urls: Mapping[str, Any]

    def connect(self, address: str) -> None:
        """Say where our web listens."""
        if self.process.stdin is None:
            raise RuntimeError("a pipe was asked for")
        self.process.stdin.write(f"{address}\n".encode())


async def _simulators(stack: AsyncExitStack) -> Simulators:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "proofs.sandbox", "--bot-url=-", "--processing=0.05",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=die_with_parent(signal.SIGKILL),
    )  # fmt: skip

    async def end() -> None:
        process.terminate()
        await process.wait()

    stack.push_async_callback(end)
    if process.stdout is None:
        raise RuntimeError("a pipe was asked for")
    return Simulators(process, json.loads(await process.stdout.readline()))
