"""A scene in which processes of ours come and go, and the time that the dead cost can be let pass at once."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import asyncpg

from bot.delivery.sender import DEAF_AT_MOST
from persistence.db.engine import Database
from proofs.sandbox.world import World
from tests.road.road_people import QUICK, Person, Scene, until
from tests.road.road_process import Prosa, environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path
    from typing import Any

    from proofs.sandbox.ledger import Record
    from proofs.sandbox.server import Simulator
    from proofs.sandbox.world import WorldConfig

# What a dead worker held is free after its lease. Tests that are not about the wait let the time pass at once.
LEASES = ("lanes", "nfse_emissao", "idempotency_records", "cancelamento", "outbox")
DOUBTS_PASS = f"""
UPDATE outbox SET run_at = now(), criado_em = criado_em - interval '{DEAF_AT_MOST.total_seconds()} s'
WHERE status = 'incerto' AND run_at > now()
"""  # noqa: S608 - our own constant
ABSENCE_PASSES = """
UPDATE nfse_emissao SET ausente_desde = ausente_desde - interval '1 min', proxima_acao_em = now()
WHERE ausente_desde > now() - interval '50 s' AND lease_until IS NULL
"""
BACK_OFF_PASSES = "UPDATE lanes SET ready_at = now(), backoff_until = NULL WHERE backoff_until > now()"
ABSENT = "UPDATE nfse_emissao SET ausente_desde = ausente_desde - interval '1 min', proxima_acao_em = now()"

LEASE_RUNS = "UPDATE {table} SET lease_until = lease_until - interval '1 s' WHERE lease_until > now()"

PUSH_EVERY = 0.2  # seconds


@asynccontextmanager
async def waits_passing(scene: Scene, *, doubts: bool = False, leases: bool = False) -> AsyncIterator[None]:
    """Inside, the half minute between two absences passes at once.

    If asked, so does the time that a message in doubt waits for ticks, and leases run some six times as fast.
    """
    meta, pool = scene.world.meta, scene.database.pool

    async def push() -> None:
        while True:
            with contextlib.suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
                if doubts and not meta.working and not meta.courier.pending:  # else a tick is still on its way
                    await pool.execute(DOUBTS_PASS)
                await pool.execute(ABSENCE_PASSES)
                for table in LEASES if leases else ():
                    await pool.execute(LEASE_RUNS.format(table=table))
            await asyncio.sleep(PUSH_EVERY)

    pushing = asyncio.create_task(push())
    try:
        yield
    finally:
        pushing.cancel()


@dataclass
class Stage(Scene):
    """A scene in which processes of ours come and go."""

    env: dict[str, str]
    cwd: Path
    started: list[Prosa] = field(default_factory=list)

    async def start(self, *command: str, **changes: str) -> Prosa:
        """Start a process; webhooks go to it if it listens."""
        prosa = Prosa(command or ("serve",), {**self.env, **changes}, self.cwd)
        self.started.append(prosa)
        address = await prosa.start()
        if address:
            self.world.connect(address)
        return prosa

    async def serving(self) -> Prosa:
        """Return the process that an earlier test left running, or start one: a start costs more than a note."""
        plain = [prosa for prosa in self.started if prosa.running and prosa.env == self.env]
        await self.clear(but=plain[-1:])
        return plain[-1] if plain else await self.start()

    async def clear(self, but: Sequence[Prosa] = ()) -> None:
        """Kill whatever runs, ``but`` these."""
        for prosa in self.started:
            if prosa in but:
                continue
            if prosa.running:
                prosa.proceed()
                await prosa.kill()
        self.started[:] = but

    async def leases_run_out(self, *tables: str) -> None:
        """Let so much time pass that what the dead held is free."""
        for table in tables or LEASES:
            await self.database.pool.execute(
                f"UPDATE {table} SET lease_until = now() WHERE lease_until > now()"  # noqa: S608 - our own constants
            )

    async def doubts_pass(self) -> None:
        """Let the time pass that a message in a dead process's hand waits for a tick that tells that it had left."""
        pool = self.database.pool
        await until(lambda: pool.fetchval("SELECT EXISTS (SELECT FROM outbox WHERE status = 'incerto')"))
        await pool.execute("UPDATE outbox SET run_at = now() WHERE status = 'incerto' AND run_at > now()")

    async def hurry(self) -> None:
        """Let every wait pass at once that no test is about; to be cancelled."""
        while True:
            await asyncio.sleep(0.1)
            if not self.world.meta.courier.pending:  # else a tick is still on its way
                await self.database.pool.execute(DOUBTS_PASS)
            await self.database.pool.execute(ABSENCE_PASSES)
            await self.database.pool.execute(BACK_OFF_PASSES)

    async def one_note(self, person: Person) -> None:
        """The judge: one note in the gateway's book, created once, and the session ended as approved."""
        session = await self.reached(person, "aprovado")
        assert session["snapshot_reason"] == "webhook_success"
        await self.settled()
        created = [
            record
            for record in self.world.plugnotas.ledger.of("note.created")
            if record.data["payload"]["idIntegracao"].startswith(session["sessao_id"])
        ]
        assert len(created) == len(await self.notes(person)) == 1


@asynccontextmanager
async def killed_at_each(stage: Stage, left: list[tuple[str, str]]) -> AsyncIterator[None]:
    """Inside, the process is killed at each of these moments in turn, and another one goes on; ``left`` empties.

    A moment is a fact of a simulator's book with some words in it, before whoever caused it hears the answer.
    """
    struck: asyncio.Queue[None] = asyncio.Queue()

    def look(record: Record) -> None:
        prosa = stage.started[-1]
        if left and prosa.running and record.kind == left[0][0] and left[0][1] in _words(record):
            prosa.strike()
            left.pop(0)
            struck.put_nowait(None)

    async def revive() -> None:
        while True:
            await struck.get()
            await stage.started[-1].ended()
            await stage.leases_run_out()
            await stage.start()

    hushes = [simulator.ledger.listen(look) for simulator in stage.world.simulators]
    reviving = asyncio.create_task(revive())
    try:
        async with waits_passing(stage, doubts=True):
            yield
    finally:
        reviving.cancel()
        for hush in hushes:
            hush()


def _words(record: Record) -> str:
    payload = record.data.get("payload", {})
    shown = payload.get("interactive", {}).get("body", {}).get("text", "")
    of_note = (str(record.data.get(name, "")) for name in ("valor", "operation"))
    return "\n".join((*of_note, shown, str(payload.get("document", ""))))


def trap(simulator: Simulator, fault: str, **setting: Any) -> Callable[[], Awaitable[Record]]:
    """Set a fault; what is returned waits for its first strike from now on."""
    set_at = len(simulator.ledger.of())
    simulator.faults.set(fault, **setting)
    return lambda: simulator.ledger.wait_for(lambda r: r.seq > set_at and r.data.get("fault") == fault)


@asynccontextmanager
async def open_stage(
    database_url: str, redis_url: str, cwd: Path, *, config: WorldConfig = QUICK, **changes: str
) -> AsyncIterator[Stage]:
    """Open a world without any process of ours; those that a test starts are killed at the end."""
    async with World(config=config) as world:
        database = await Database.open(database_url)
        stage = Stage(world, database, environment(world, database_url, redis_url, **changes), cwd)
        try:
            yield stage
        finally:
            await stage.clear()
            await database.close()
