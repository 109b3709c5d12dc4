"""One storm from the first message to the verdict: opens all, lets it rage, waits for calm; judges nothing itself."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import asyncpg

from bot.company import add_company
from bot.demo import COMPANY
from persistence.engine import Database
from persistence.migrate import upgrade
from sandbox.meta import MetaConfig
from sandbox.plugnotas import PlugNotasConfig
from sandbox.world import World, WorldConfig
from storm.figures import gateway_share, latencies, recoveries, spread
from storm.judge import Evidence, Verdict, judge
from storm.person import Person, customers
from storm.plan import KILLS, Plan, Wish, wishes
from storm.process import Process, environment, interpreter_environment
from storm.weather import Struck, Weather, clear, cloud
from storm.zygote import Zygote

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from storm.servers import Servers

DRAIN_LIMIT = 180.0  # seconds; the target is 60, and what is not done by then is stuck
LOOK_EVERY = 0.2  # seconds
CALM_LOOKS = 3  # in a row: between two ticks of one message nothing is under way for a moment
OPEN_ROWS = {
    "inbox": "SELECT count(*) FROM inbox WHERE estado = 0",
    "quarantine": "SELECT count(*) FROM inbox WHERE estado = 2",
    "outbox": "SELECT count(*) FROM outbox WHERE run_at IS NOT NULL",
    "outbox given up": "SELECT count(*) FROM outbox WHERE status = 'falhou'",
    "nfse_emissao": "SELECT count(*) FROM nfse_emissao WHERE proxima_acao_em IS NOT NULL",
}


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict and everything that a report shows; ``events`` are warnings and errors in the house's logs."""

    plan: Plan
    verdict: Verdict
    started_at: datetime
    seconds: float
    drained_after: float | None  # seconds from the end of the faults; None: not within the limit
    struck: tuple[Struck, ...]
    settled: list[tuple[float, float]]  # (seconds since the start, seconds from tap to number)
    figures: dict[str, Any]
    events: dict[str, int]
    broken: list[str]

    @property
    def passed(self) -> bool:
        """Whether the promise was kept, and the storm itself worked."""
        return self.verdict.kept and self.drained_after is not None and not self.broken

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON shape."""
        verdict = {"confirmed": self.verdict.confirmed, "notes": self.verdict.notes, "sent": self.verdict.sent}
        return {
            "passed": self.passed,
            "plan": asdict(self.plan),
            "verdict": verdict | self.verdict.faults,
            "seconds": round(self.seconds, 1),
            "drained_after": None if self.drained_after is None else round(self.drained_after, 1),
            "blows": dict(Counter(blow.kind.value for blow in self.struck)),
            **self.figures,
            "events": self.events,
            "broken": self.broken,
        }


class Storm:
    """Everything that is open while it rages."""

    def __init__(
        self,
        plan: Plan,
        world: World,
        servers: Servers,
        home: Path,
        zygote: Zygote,
        watch: Callable[[str, int], None],
    ) -> None:
        self._plan = plan
        self._world = world
        self._servers = servers
        self._watch = watch
        env = environment(world, servers.database_url, servers.redis_url)
        commands = ["web"] * plan.webs + ["worker"] * plan.workers
        self.processes = [Process(command, env, home, number, zygote) for number, command in enumerate(commands)]
        self.weather = Weather(plan, world, servers, self.processes)
        self._slots = asyncio.Semaphore(plan.people)
        self.begun: dict[str, Wish] = {}

    async def rage(self, crowd: list[Wish]) -> list[asyncio.Task[None]]:
        """Let the crowd talk in bad weather until the last one has confirmed; returns who still waits for files."""
        cloud(self._world, self._plan)
        storm = asyncio.create_task(self.weather.rage())
        deadline = time.monotonic() + self._plan.minutes_max * 60
        waiting: list[asyncio.Task[None]] = []
        talks: list[asyncio.Task[None]] = []
        for wish in crowd:
            await self._slots.acquire()
            if time.monotonic() > deadline or self.weather.broken:
                self._slots.release()
                break
            talks.append(asyncio.create_task(self._talk(wish, waiting)))
        await asyncio.gather(*talks)
        storm.cancel()
        clear(self._world, self._plan)
        return waiting

    async def _talk(self, wish: Wish, waiting: list[asyncio.Task[None]]) -> None:
        self.begun[wish.who] = wish
        self._watch("begun", 1)
        person = Person(self._world.meta, wish)
        try:
            await person.confirm()
        except TimeoutError:
            return  # the judge sees that nothing was confirmed
        finally:
            self._slots.release()
        self._watch("confirmed", 1)
        waiting.append(asyncio.create_task(self._wait(person)))

    async def _wait(self, person: Person) -> None:
        with contextlib.suppress(TimeoutError):  # the judge sees what is missing
            await person.receive()
            self._watch("received", 1)

    async def drain(self) -> float | None:
        """Wait until nothing is under way, inside or outside; returns the seconds, None past the limit."""
        started = time.monotonic()
        await self.weather.calm()
        calm = 0
        while time.monotonic() - started < DRAIN_LIMIT:
            pending = self._world.meta.courier.pending + self._world.plugnotas.courier.pending
            calm = 0 if pending or any((await self.open_rows()).values()) else calm + 1
            if calm == CALM_LOOKS:
                return time.monotonic() - started
            await asyncio.sleep(LOOK_EVERY)
        return None

    async def open_rows(self) -> dict[str, int]:
        """Count what is still to be done, and what went wrong for good; -1 while the database is away."""
        try:
            connection = await asyncpg.connect(self._servers.database_url)
        except (OSError, asyncpg.PostgresError):
            return {"database": -1}
        try:
            return {name: await connection.fetchval(query) for name, query in OPEN_ROWS.items()}
        finally:
            await connection.close()

    async def evidence(self) -> Evidence:
        """Collect the books, and what our tables hold."""
        connection = await asyncpg.connect(self._servers.database_url)
        try:
            sessions = await connection.fetch("SELECT sessao_id, estado, snapshot_reason FROM session_snapshot")
            inbox = await connection.fetch("SELECT chave FROM inbox")
        finally:
            await connection.close()
        return Evidence(
            wishes=self.begun,
            meta=self._world.meta.ledger.of(),
            gateway=self._world.plugnotas.ledger.of(),
            sessions=[tuple(row) for row in sessions],
            inbox=frozenset(row["chave"] for row in inbox),
            open_rows=await self.open_rows(),
        )


async def storm(plan: Plan, servers: Servers, home: Path, watch: Callable[[str, int], None]) -> Result:
    """Run one storm on running servers; ``watch`` hears (what, how many more). The caller prints and exits."""
    upgrade_url = servers.database_url
    await asyncio.to_thread(upgrade, upgrade_url)
    crowd = wishes(plan, customers())
    database = await Database.open(servers.database_url, size=1)
    await add_company(database, replace(COMPANY, usuarios=tuple(wish.who for wish in crowd)))
    await database.close()
    async with AsyncExitStack() as stack:
        config = WorldConfig(
            meta=MetaConfig(status_delay=0.02), plugnotas=PlugNotasConfig(processing=0.3, rendering=0.1), seed=plan.seed
        )
        world = await stack.enter_async_context(World(home / "sandbox", config=config))
        zygote = Zygote(interpreter_environment(home), home)
        stack.callback(zygote.close)
        raging = Storm(plan, world, servers, home, zygote, watch)
        for process in raging.processes:
            stack.push_async_callback(process.kill)
        await asyncio.gather(*(process.start() for process in raging.processes))
        balancer = asyncio.create_task(raging.weather.balance())
        stack.callback(balancer.cancel)
        started, started_at = time.monotonic(), world.meta.ledger.now()
        waiting = await raging.rage(crowd)
        raged = time.monotonic() - started
        drained = await raging.drain()
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        evidence = await raging.evidence()
        events: Counter[str] = sum((process.events for process in raging.processes), Counter())
        settled = latencies(evidence.meta, evidence.gateway)
        kills = sum(blow.kind in KILLS for blow in raging.weather.struck)
        figures = {
            "raged_seconds": round(raged, 1),
            "kills": kills,
            "kills_per_emission": round(kills / max(1, len(raging.begun)), 4),
            "blows_per_emission": round(len(raging.weather.struck) / max(1, len(raging.begun)), 4),
            "starts": sum(process.starts for process in raging.processes),
            "gateway": gateway_share(evidence.gateway, world.plugnotas.faults.hits),
            "faults": {
                s.name: {fault.value: count for fault, count in sorted(s.faults.hits.items())} for s in world.simulators
            },
            "tap_to_note_seconds": spread(seconds for _, seconds in settled),
            "recovery_seconds": recoveries(raging.weather.struck, evidence.meta),
            "back_seconds": spread(blow.back_after for blow in raging.weather.struck),
        }
        return Result(
            plan=plan,
            verdict=judge(evidence),
            started_at=started_at,
            seconds=time.monotonic() - started,
            drained_after=drained,
            struck=tuple(raging.weather.struck),
            settled=[((at - started_at).total_seconds(), seconds) for at, seconds in settled],
            figures=figures,
            events=dict(events.most_common()),
            broken=raging.weather.broken,
        )
