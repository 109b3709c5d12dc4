"""The product as processes, between a cheap WhatsApp and the simulated gateway."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from gateway.registry import REGISTRY
from operations.company import add_company
from persistence import outside
from persistence.db.engine import Database
from persistence.embedded.home import die_with_parent
from proofs.bench.load.channels import PLUGNOTAS, PROCESSING
from proofs.bench.load.line import STATUSES, Line
from proofs.bench.machine.child import ROOT
from proofs.bench.machine.cpu import Meter
from proofs.bench.machine.environment import settings
from proofs.sandbox.cnpj_register import companies

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from proofs.bench.load.channels import Channel
    from proofs.bench.machine.child import Child
    from proofs.bench.machine.place import Place

FIRST_LINE = 80_000_000  # phone numbers of the people: 55 11 9 8xxxxxxx
OURS = ("web", "worker")
_NO_URLS: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Town:
    """Everything that is open for one run."""

    line: Line
    database_url: str
    webs: tuple[Child, ...]
    workers: tuple[Child, ...]
    meter: Meter
    issuing: Channel | None
    addresses: Mapping[str, Any]  # what the simulators printed; empty without a channel

    async def notes(self) -> tuple[int, int]:
        """Return (numbered notes, notes too many) by the own ledger of who issues: the judge of duplicates.

        Raises ``LookupError`` in a town where nobody issues.
        """
        if self.issuing is None:
            raise LookupError("nobody issues here")
        where = f"{self.addresses[self.issuing.simulator]}/_sandbox/ledger"
        own = self.addresses.get("nacional_ca_file")
        trusted = ssl.create_default_context(cafile=own) if own else True
        query = {"kind": ",".join(self.issuing.kinds)}
        async with aiohttp.ClientSession() as session, session.get(where, params=query, ssl=trusted) as answer:
            answer.raise_for_status()
            return self.issuing.notes(await answer.json())


def person(number: int) -> str:
    """The phone of person ``number``."""
    return f"55119{FIRST_LINE + number}"


@asynccontextmanager
async def open_town(
    place: Place,
    *,
    people: int,
    workers: int = 1,
    channel: Channel | None = None,
    statuses: Sequence[str] = STATUSES,
    database: str | None = None,
) -> AsyncIterator[Town]:
    """Start one web and ``workers`` workers on a fresh database with ``people`` who may issue.

    Without a ``channel`` nobody answers for invoices.
    """
    async with AsyncExitStack() as stack:
        if database is None:
            database = await stack.enter_async_context(place.database())
        line = await stack.enter_async_context(Line(statuses))
        roles = {"postgres": place.pids["postgres"], "valkey": place.pids["valkey"], "load": os.getpid()}
        given: dict[str, Any] = {"graph": line.url}
        simulators: Simulators | None = None
        if channel is not None:
            simulators = await _simulators(stack, channel)
            given |= {"register": simulators.urls["cnpj_api"], "channel": channel.settings(simulators.urls)}
            roles["simulators"] = simulators.process.pid
        await admit(database, people, channel or PLUGNOTAS, simulators.urls if simulators else {})
        env = settings(place, database, **given)
        web = await stack.enter_async_context(place.running("web", ["bot.cli", "web"], env))
        if simulators is not None:
            simulators.connect(web.address)
        hands = [
            await stack.enter_async_context(place.running("worker", ["bot.cli", "worker"], env)) for _ in range(workers)
        ]
        await line.connect(web.address)
        roles |= {"web": web.pid} | {f"worker {number}": hand.pid for number, hand in enumerate(hands, 1)}
        addresses = simulators.urls if simulators else {}
        yield Town(line, database, (web,), tuple(hands), _OwnMeter(roles), channel, addresses)


class _OwnMeter(Meter):
    """The harness is the load: its children are metered by their own roles, so its tree is itself alone."""

    def _now(self) -> dict[str, float]:
        now = super()._now()
        times = os.times()
        return {**now, "load": times.user + times.system}


async def admit(url: str, people: int, channel: Channel = PLUGNOTAS, urls: Mapping[str, Any] = _NO_URLS) -> None:
    """Register the channel's company with so many people who may issue, and what the register says of its customers."""
    database = await Database.open(url, size=1)
    try:
        form = replace(channel.company, usuarios=tuple(person(number) for number in range(people)))
        await add_company(database, form, rows=REGISTRY)
        await channel.ready(database, urls)
        async with database.transaction() as connection:  # as after the first days: the register is asked once a month
            for cnpj, entry in companies().items():
                await outside.cache_company(connection, cnpj, entry)
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


async def _simulators(stack: AsyncExitStack, channel: Channel) -> Simulators:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "proofs.sandbox", "--bot-url=-", f"--processing={PROCESSING}", *channel.words,
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
