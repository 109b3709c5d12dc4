"""Injects the faults of a plan: at the product's processes, at the channels, at Meta and at the register."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import asyncpg
from sqlalchemy.exc import SQLAlchemyError

from persistence.db.engine import Database
from proofs.sandbox.faults import Fault
from proofs.storm.channels.table import channels_of
from proofs.storm.labels import KINDS
from proofs.storm.plan import Blow, Kind, Plan, blows, demands, drawn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from proofs.sandbox.world import World
    from proofs.storm.channels.channel import Channel
    from proofs.storm.machines.oblivion import Oblivion
    from proofs.storm.machines.process import Process
    from proofs.storm.machines.servers import Servers

ROTATE_EVERY = 1.0  # seconds; how long the balancer in front of the webs takes to notice a dead one

META = {
    Fault.ERROR_500: 0.04,
    Fault.LOSE_ANSWER: 0.04,
    Fault.DROP_BEFORE: 0.02,
    Fault.WEBHOOK_DUPLICATED: 0.15,
    Fault.WEBHOOK_SHUFFLED: 0.15,
}
META_LATE = 10.0  # seconds that one copy of a webhook may come after another; within our wait for a tick (30 s)
REGISTER = {Fault.ERROR_500: 0.3, Fault.HTML: 0.2}  # it is asked once for each customer: few calls
BRIEF = 10.0  # seconds that a certificate is good for that will lapse; to check a file takes some on a busy machine
LONG = 365 * 86_400.0
KEEPS = 240  # tries of half a second to keep a certificate: a database that is put back is away for a while
LOOK_EVERY = 0.2  # seconds between looks at what the size of the storm demands by now


def cloud(world: World, plan: Plan) -> None:
    """Switch the faults of the outside on."""
    for channel in channels_of(plan.channels):
        _over(channel, world, plan.gateway_faults)
        if not plan.unique:
            channel.simulator(world).faults.set(Fault.NO_UNIQUENESS)
    if plan.gateway_faults:
        for fault, chance in META.items():
            world.meta.faults.set(fault, chance=chance, seconds=META_LATE, method="POST")
        for fault, chance in REGISTER.items():
            world.cnpj.faults.set(fault, chance=chance)


def _over(channel: Channel, world: World, share: float) -> None:
    """Switch a channel's faults on: half of ``share`` strikes before anything is taken, half after."""
    faults = channel.simulator(world).faults
    for group in (channel.before, channel.after):
        total = sum(group.values())
        for fault, weight in group.items():
            lasts = {"seconds": channel.seconds[fault]} if fault in channel.seconds else {}
            faults.set(fault, chance=share * weight / total, **lasts)
    if share:
        for fault, chance in {**channel.chances, **channel.webhooks}.items():
            lasts = {"seconds": channel.seconds[fault]} if fault in channel.seconds else {}
            faults.set(fault, chance=chance, **lasts)


def clear(world: World, plan: Plan) -> None:
    """Mend everything outside; a channel that is not unique stays so."""
    for simulator in world.simulators:
        simulator.faults.clear()
    if not plan.unique:
        for channel in channels_of(plan.channels):
            channel.simulator(world).faults.set(Fault.NO_UNIQUENESS)


@dataclass(frozen=True, slots=True)
class Struck:
    """A blow that fell: when, on what, and after how many seconds that very thing was up again."""

    at: datetime
    kind: Kind
    target: str
    back_after: float


class Weather:
    """Injects faults until it is told to end, and keeps the webhooks' address at a web process that is up."""

    def __init__(
        self, plan: Plan, world: World, servers: Servers, processes: Sequence[Process], oblivion: Oblivion
    ) -> None:
        self.struck: list[Struck] = []
        self.broken: list[str] = []  # a process of ours that did not come up again
        self.oblivion = oblivion
        self._plan = plan
        self._world = world
        self._servers = servers
        self._processes = processes
        self._tasks: set[asyncio.Task[None]] = set()
        self._recovering = False  # the database, from a crash or from a copy
        self._lapsed = False  # a certificate
        self._turn = 0
        self._falling: Counter[Kind] = Counter()  # blows that fell or are falling

    async def rage(self, begun: Callable[[], int]) -> None:
        """Strike by the schedule, and what the size demands besides, as the crowd begins; to be cancelled."""
        await asyncio.gather(self._by_schedule(), self._by_size(begun))

    async def _by_schedule(self) -> None:
        for blow in blows(self._plan):
            await asyncio.sleep(blow.after)
            self._launch(blow)

    async def _by_size(self, begun: Callable[[], int]) -> None:
        """Strike what is behind: a storm that is over soon meets its blows too, spread over its crowd."""
        chance = random.Random(f"{self._plan.seed}|owed")  # noqa: S311 - seeded on purpose
        while True:
            await asyncio.sleep(LOOK_EVERY)
            share = begun() / self._plan.emissions
            for kind, demand in demands(self._plan):
                if self._falling[kind] < math.ceil(demand.least(self._plan.emissions) * share):
                    self._launch(drawn(chance, kind))

    def _launch(self, blow: Blow) -> None:
        self._falling[blow.kind] += 1
        task = asyncio.create_task(self._strike(blow))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def calm(self) -> None:
        """Wait until all that was struck is up again."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def balance(self) -> None:
        """Point Meta and the gateway at one living web after the other; to be cancelled."""
        while True:
            self.turn()
            await asyncio.sleep(ROTATE_EVERY)

    def turn(self) -> None:
        """Send the webhooks to the next web that is up, if any is."""
        up = [process for process in self._processes if process.command == "web" and process.address]
        if up:
            self._turn += 1
            self._world.connect(up[self._turn % len(up)].address)

    async def _strike(self, blow: Blow) -> None:
        at, started = datetime.now(UTC), time.monotonic()
        try:
            target = await self._hit(blow)
        except Exception as error:  # noqa: BLE001 - a storm that broke itself must end loudly, not hang
            self.broken.append(f"{KINDS[blow.kind]}: {type(error).__name__} {error}")
            return
        if not target:
            self._falling[blow.kind] -= 1  # it fell on nothing
        else:
            self.struck.append(Struck(at, blow.kind, target, time.monotonic() - started))

    async def _hit(self, blow: Blow) -> str:
        match blow.kind:
            case Kind.DATABASE:
                if self._recovering:
                    return ""  # it is down already
                self._recovering = True
                try:
                    await self._servers.crash_database()
                finally:
                    self._recovering = False
                return "postgresql"
            case Kind.FLUSH:
                await self._servers.flush_cache()
                return "valkey"
            case Kind.CERTIFICATE:
                return await self._lapse(blow)
            case Kind.RESTORE | Kind.FAILOVER:
                return await self._forget(blow)
            case Kind.FREEZE:
                return await self._on("worker", blow)
            case Kind.KILL_WORKER:
                return await self._on("worker", blow)
            case Kind.KILL_WEB:
                return await self._on("web", blow)

    async def _forget(self, blow: Blow) -> str:
        """Have the database forget; "" where it is down, or about to forget."""
        if self._recovering:
            return ""
        self._recovering = True
        try:
            await self.oblivion.strike(blow, self._fair)
        finally:
            self._recovering = False
        return "postgresql"

    @asynccontextmanager
    async def _fair(self) -> AsyncIterator[None]:
        """Fair weather, and good certificates: those that a copy brings back may have lapsed since."""
        clear(self._world, self._plan)
        try:
            for channel in channels_of(self._plan.channels):
                if (certify := channel.certify) is not None:
                    for issuer in channel.issuers:
                        await self._certified(partial(certify, world=self._world, issuer=issuer, seconds=LONG))
            yield
        finally:
            cloud(self._world, self._plan)

    async def _lapse(self, blow: Blow) -> str:
        """Let a company's certificate lapse, and give it a new one; "" where one has lapsed already."""
        if self._lapsed:
            return ""
        self._lapsed = True
        try:
            for channel in channels_of(self._plan.channels):
                issuer = channel.issuers[blow.target % len(channel.issuers)]
                if (certify := channel.certify) is not None:
                    await self._certified(partial(certify, world=self._world, issuer=issuer, seconds=BRIEF))
                    await asyncio.sleep(BRIEF + blow.lasts)
                    await self._certified(partial(certify, world=self._world, issuer=issuer, seconds=LONG))
        finally:
            self._lapsed = False
        return "certificado"

    async def _certified(self, certify: Callable[[Database], Awaitable[None]]) -> None:
        """Keep a new certificate as an operator does: again and again while the database is away."""
        for _ in range(KEEPS):
            try:
                database = await Database.open(self._servers.database_url, size=1)
                try:
                    return await certify(database)
                finally:
                    await database.close()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, SQLAlchemyError):
                await asyncio.sleep(0.5)
        raise RuntimeError("no certificate could be kept")

    async def _on(self, command: str, blow: Blow) -> str:
        """Hit the next process that is not in trouble already; "" when all are."""
        free = [process for process in self._processes if process.command == command and not process.busy]
        if not free:
            return ""
        process = free[blow.target % len(free)]
        process.busy = True
        try:
            if blow.kind is Kind.FREEZE:
                process.freeze()
                await asyncio.sleep(blow.lasts)
                process.thaw()
            else:
                await process.kill()
                await asyncio.sleep(blow.lasts)
                await self._start(process)
        finally:
            process.busy = False
        return command

    async def _start(self, process: Process) -> None:
        """Start it as a supervisor does: again and again while the database is away."""
        for _ in range(20):
            try:
                await process.start()
            except RuntimeError:  # it met a database in recovery
                await process.kill()
                await asyncio.sleep(0.5)
            else:
                return
        await process.start()
