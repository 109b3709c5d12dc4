"""One storm from the first message to the verdict: opens everything, injects the faults, waits until all is settled."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

import asyncpg

from gateway.nfe.adapter import CONSULTS
from gateway.registry import REGISTRY
from operations.company import CompanyForm, add_company
from persistence.db.engine import Database
from persistence.db.migrate import upgrade
from proofs.sandbox.mailbox import Mailbox
from proofs.sandbox.meta.meta import MetaConfig
from proofs.sandbox.world import World, WorldConfig
from proofs.storm.channels.table import channels_of
from proofs.storm.crowd import wishes
from proofs.storm.erp import Erp
from proofs.storm.figures import gateway_share, latencies, recoveries, spread
from proofs.storm.judge.books import Evidence, House, RecordedNote, Session, open_book
from proofs.storm.judge.verdict import BROKEN, Verdict, judge
from proofs.storm.judge.webhooks import canonical
from proofs.storm.machines.oblivion import Oblivion
from proofs.storm.machines.process import Process, environment, interpreter_environment
from proofs.storm.machines.zygote import PROGRAM, Zygote
from proofs.storm.person import Person, closed_customers, customers
from proofs.storm.plan import KILLS
from proofs.storm.weather import Struck, Weather, clear, cloud
from state_machine.protocol.channel import Ambiente, Canal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from proofs.storm.crowd import Wish
    from proofs.storm.machines.servers import Servers
    from proofs.storm.plan import Plan

DRAIN_LIMIT = 600.0  # seconds; the target is 60; SEFAZ is asked seldom, and what is not done by then is stuck
MAILS_A_MINUTE = 12  # at least; a long list gets a tenth of its rows: it lasts for most of its storm, and no longer
LOST_MAILS = 0.1  # of the mails
OPERATOR_LOOKS = 2.0  # seconds
# What the console's button does.
CHOOSE = """
WITH chosen AS (
    UPDATE nacional_leiaute SET escolha = 'nt009', parado_em = NULL, quem = 'tempestade'
    WHERE parado_em IS NOT NULL RETURNING ambiente
)
UPDATE nfse_emissao SET proxima_acao_em = now()
WHERE retida = 'leiaute' AND proxima_acao_em IS NOT NULL AND EXISTS (SELECT FROM chosen)
"""
# A key's eight questions of an hour may be spent while the faults last: its hour passes at once.
HOUR_PASSES = """
WITH spent AS (
    SELECT e.id FROM nfse_emissao e JOIN gateway_tentativas t ON t.emissao_id = e.id
    WHERE e.canal IN ('nfe', 'nfce') AND e.proxima_acao_em IS NOT NULL AND t.operacao = 'find'
        AND t.em > now() - interval '1 hour' AND (t.pedido IS NOT NULL OR t.resultado = 'Raised')
    GROUP BY e.id HAVING count(*) >= $1
), past AS (
    UPDATE gateway_tentativas SET em = em - interval '1 hour' WHERE emissao_id IN (SELECT id FROM spent)
)
UPDATE nfse_emissao SET proxima_acao_em = now() WHERE id IN (SELECT id FROM spent) RETURNING chave_natural
"""
LOOK_EVERY = 0.2  # seconds
CALM_LOOKS = 3  # in a row: between two ticks of one message nothing is under way for a moment
OPEN_ROWS = {
    "inbox": "SELECT count(*) FROM inbox WHERE estado = 0",
    "inbox, em quarentena": "SELECT count(*) FROM inbox WHERE estado = 2",
    "outbox": "SELECT count(*) FROM outbox WHERE run_at IS NOT NULL",
    "outbox, sem entrega": "SELECT count(*) FROM outbox WHERE status = 'falhou'",
    "nfse_emissao": "SELECT count(*) FROM nfse_emissao WHERE proxima_acao_em IS NOT NULL",
    "cancelamento": "SELECT count(*) FROM cancelamento WHERE proxima_acao_em IS NOT NULL",
}

SESSIONS = """
SELECT s.sessao_id, s.estado, s.snapshot_reason, c.wa_id FROM session_snapshot s JOIN conversas c USING (conversa)
"""
NUMBERS = """
SELECT e.cnpj, n.serie, u.numero, coalesce(i.status, 'rejeitado') = 'rejeitado' AS gap,
    concat_ws(' ', i.id_integracao, i.status, u.motivo) AS served
FROM numeracao_uso u JOIN numeracao n ON n.id = u.numeracao_id JOIN empresa e ON e.id = n.empresa_id
LEFT JOIN nfse_emissao i ON i.id = u.emissao_id
"""
STEPS = """
SELECT i.id_integracao, concat_ws(' ', 'sessão', s.estado, s.snapshot_reason, 'passos',
    (SELECT string_agg(concat_ws(':', t.operacao, t.resultado, left(t.detalhe, 80)), ' ' ORDER BY t.id)
     FROM gateway_tentativas t WHERE t.emissao_id = i.id)) AS did
FROM nfse_emissao i LEFT JOIN session_snapshot s ON s.sessao_id = i.sessao_id
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict and everything that a report shows; ``events`` are warnings and errors in the product's logs."""

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
    def word(self) -> str:
        """The verdict's word; BROKEN also when work was left, or a process never came up again."""
        failed = self.drained_after is None or self.broken
        return BROKEN if failed and not self.verdict.unusable else self.verdict.word

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON shape."""
        verdict = {
            name: getattr(self.verdict, name)
            for name in ("confirmed", "notes", "sent", "unusable", "lacking", "judged", "exercised")
        }
        return {
            "word": self.word,
            "plan": asdict(self.plan),
            "verdict": verdict | self.verdict.faults,
            "seconds": round(self.seconds, 1),
            "drained_after": None if self.drained_after is None else round(self.drained_after, 1),
            "blows": dict(Counter(blow.kind.value for blow in self.struck)),
            **self.figures,
            "events": self.events,
            "broken": self.broken,
        }


def _lost(chance: random.Random) -> Callable[[str], str | None]:
    """Return what has the answer to some mails lost: they were taken."""
    return lambda command: Mailbox.LOSE if command == "end" and chance.random() < LOST_MAILS else None


def mailing(port: int, listed: int = 0) -> dict[str, str]:
    """Return the settings by which mails are handed in here, with short waits; ``listed``: addresses of the list."""
    return {
        "PROSA_SMTP_URL": f"smtp+plain://127.0.0.1:{port}",
        "PROSA_SMTP_FROM": "avisos@prosa.example",
        "PROSA_PUBLIC_URL": "https://prosa.example",
        "PROSA_SMTP_LADDER": "1,2,5",
        "PROSA_SMTP_UNKNOWN_SECONDS": "3",
        "PROSA_SMTP_DOMAIN_PER_MINUTE": str(max(MAILS_A_MINUTE, listed // 10)),
    }


class Storm:
    """Everything that is open while it runs."""

    def __init__(
        self,
        plan: Plan,
        world: World,
        servers: Servers,
        home: Path,
        zygote: Zygote,
        watch: Callable[[str, int], None],
        mailbox: Mailbox,
        port: int,
    ) -> None:
        self._plan = plan
        self._mailbox = mailbox
        self._world = world
        self._servers = servers
        self._watch = watch
        env = environment(world, servers.database_url, servers.redis_url, plan.channels)
        env |= mailing(port, plan.emissions // 10) | {"PROSA_HOME": str(home / "prosa")}
        commands = ["web"] * plan.webs + ["worker"] * plan.workers
        self.processes = [Process(command, env, home, number, zygote) for number, command in enumerate(commands)]
        self.oblivion = Oblivion(world, servers, {**interpreter_environment(), **env})
        self.weather = Weather(plan, world, servers, self.processes, self.oblivion)
        self.erp = Erp(
            servers.database_url, [each for each in self.processes if each.command == "web"], plan.emissions // 10
        )
        self._slots = asyncio.Semaphore(plan.people)
        self.begun: dict[str, Wish] = {}
        self._half = asyncio.Event()
        self._turns: list[asyncio.Task[None]] = []

    async def rage(self, crowd: list[Wish]) -> list[asyncio.Task[None]]:
        """Let the crowd talk in bad weather until the last one has confirmed; returns who still waits for files."""
        cloud(self._world, self._plan)
        storm = asyncio.create_task(self.weather.rage(lambda: len(self.begun)))
        self.listing = asyncio.create_task(self.erp.send_list(crowd[0].emitente))
        if self._plan.new_layout:
            self._turns.append(asyncio.create_task(self._change_layout()))
        if self._world.config.sefaz is not None:
            self._turns.append(asyncio.create_task(self._pass_hours()))
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
        await self.weather.calm()
        clear(self._world, self._plan)
        return waiting

    async def _change_layout(self) -> None:
        """Have the authority take the other layout once half of the crowd has begun; an operator chooses it, once told.

        A database that forgets the choice stops again, and is told again.
        """
        await self._half.wait()
        sefin = self._world.sefin
        sefin.config = replace(sefin.config, nt009=date(2026, 1, 1))
        while True:
            await asyncio.sleep(OPERATOR_LOOKS)
            with contextlib.suppress(OSError, asyncpg.PostgresError, TimeoutError):
                connection = await asyncpg.connect(self._servers.database_url)
                try:
                    await connection.execute(CHOOSE)
                finally:
                    await connection.close()

    async def _pass_hours(self) -> None:
        """Let the hour pass for each key that SEFAZ may not be asked about any more."""
        while True:
            await asyncio.sleep(OPERATOR_LOOKS)
            with contextlib.suppress(OSError, asyncpg.PostgresError, TimeoutError):
                connection = await asyncpg.connect(self._servers.owner_url)
                try:
                    async with connection.transaction():
                        for row in await connection.fetch(HOUR_PASSES, CONSULTS):
                            self._world.sefaz.hour_passes(row["chave_natural"])
                finally:
                    await connection.close()

    async def _talk(self, wish: Wish, waiting: list[asyncio.Task[None]]) -> None:
        self.begun[wish.who] = wish
        self._watch("begun", 1)
        if len(self.begun) >= self._plan.emissions // 2:
            self._half.set()
        person = Person(self._world.meta, wish, self.erp)
        try:
            await self._lived(person, person.confirm)
        except TimeoutError:
            return  # the judge sees that nothing was confirmed
        finally:
            self._slots.release()
        self._watch("confirmed", 1)
        with contextlib.suppress(TimeoutError):  # the judge sees what is missing
            await self._lived(person, person.finish)
        waiting.append(asyncio.create_task(self._wait(person)))

    async def _wait(self, person: Person) -> None:
        with contextlib.suppress(TimeoutError):  # the judge sees what is missing
            await self._lived(person, person.receive)
            self._watch("received", 1)

    async def _lived(self, person: Person, what: Callable[[], Awaitable[None]]) -> None:
        """Do it; whom a loss met asks again first, and then does what does not confirm. Raises ``TimeoutError``."""
        left = [what]
        while left:
            doing = asyncio.ensure_future(left[0]())
            loss = asyncio.ensure_future(self.oblivion.felt())
            try:
                await asyncio.wait({doing, loss}, return_when=asyncio.FIRST_COMPLETED)
                if doing.done():
                    await doing
                    left.pop(0)
                    continue
            finally:
                for each in (doing, loss):
                    each.cancel()
                await asyncio.gather(doing, loss, return_exceptions=True)
            left = [person.again, *([] if what == person.confirm else [what])]

    async def drain(self) -> float | None:
        """Wait until nothing is under way, inside or outside; returns the seconds, None past the limit."""
        started = time.monotonic()
        await self.weather.calm()
        try:
            return await self._drained(started)
        finally:
            for turn in self._turns:
                turn.cancel()

    async def _drained(self, started: float) -> float | None:
        calm = 0
        while time.monotonic() - started < DRAIN_LIMIT:
            busy = [channel.busy(self._world) for channel in channels_of(self._plan.channels)]
            pending = self._world.meta.courier.pending or any(busy) or not self.listing.done()
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
            return {"banco fora do ar": -1}
        try:
            return {name: await connection.fetchval(query) for name, query in OPEN_ROWS.items()}
        finally:
            await connection.close()

    async def evidence(self) -> Evidence:
        """Collect the books, and what our tables hold."""
        world = self._world
        return Evidence(
            plan=self._plan,
            wishes=self.begun,
            meta=open_book(world.meta.ledger, bodies=False),
            books={
                channel.name: open_book(channel.simulator(world).ledger, bodies=True)
                for channel in channels_of(self._plan.channels)
            },
            register=open_book(world.cnpj.ledger, bodies=False),
            media=world.meta.read_media,
            house=await self._house(),
            blows=Counter(blow.kind for blow in self.weather.struck),
            losses=tuple(self.oblivion.losses),
            listed=self.erp.listed,
            mails=[(mail.to, str(mail.message["Message-ID"]), mail.at) for mail in self._mailbox.kept],
        )

    async def _house(self) -> House:
        connection = await asyncpg.connect(self._servers.database_url)
        try:
            sessions = await connection.fetch(SESSIONS)
            inbox = await connection.fetch("SELECT chave FROM inbox")
            hints = await connection.fetch("SELECT payload -> 'corpo' AS corpo FROM inbox WHERE tipo = 'gateway'")
            notes = await connection.fetch(
                "SELECT id_externo, numero, coalesce(chave, ''), status FROM nfse_processada"
            )
            emissions = await connection.fetch("SELECT id_integracao, status FROM nfse_emissao")
            numbers = await connection.fetch(NUMBERS)
            steps = await connection.fetch(STEPS)
        finally:
            await connection.close()
        return House(
            sessions=[Session(*row) for row in sessions],
            inbox=frozenset(row["chave"] for row in inbox),
            hints=frozenset(canonical(row["corpo"]) for row in hints),
            notes=[RecordedNote(*row) for row in notes],
            emissions=[(row["id_integracao"], row["status"]) for row in emissions],
            open_rows=await self.open_rows(),
            gaps=frozenset((row["cnpj"], row["serie"], row["numero"]) for row in numbers if row["gap"]),
            steps={row["id_integracao"]: row["did"] for row in steps},
            served={(row["cnpj"], row["serie"], row["numero"]): row["served"] for row in numbers},
        )


async def storm(
    plan: Plan,
    servers: Servers,
    home: Path,
    watch: Callable[[str, int], None],
    program: Sequence[str] = PROGRAM,
) -> Result:
    """Run one storm on running servers; ``watch`` hears (what, how many more). The caller prints and exits.

    ``program`` makes the product's processes: the product, or a test's sabotage of it.
    """
    await asyncio.to_thread(upgrade, servers.owner_url, servers.database_url)
    channels = channels_of(plan.channels)
    issuers = [issuer for channel in channels for issuer in channel.issuers]
    crowd = wishes(plan, issuers, customers(), closed_customers())
    async with AsyncExitStack() as stack:
        config = WorldConfig(meta=MetaConfig(status_delay=0.02), seed=plan.seed)
        for channel in channels:
            config = channel.opens(config)
        world = await stack.enter_async_context(World(home / "sandbox", config=config))
        database = await Database.open(servers.database_url, size=1)
        for channel in channels:
            canal = Canal(channel.name, channel.ambiente)
            for issuer in channel.issuers:
                people = tuple(wish.who for wish in crowd if wish.emitente is issuer)
                said = {**asdict(issuer), "usuarios": people}
                said.pop("endereco")
                if issuer.mercado:  # a shop's services, which nobody asks for here, are the gateway's
                    said["canal"] = "plugnotas"
                    await add_company(database, CompanyForm(**said), None, REGISTRY, issuer.endereco)
                else:
                    await add_company(database, CompanyForm(**said), canal, REGISTRY)
            await channel.ready(database, world)
        zygote = Zygote(interpreter_environment(), home, program)
        stack.callback(zygote.close)
        mailbox = Mailbox(weather=_lost(random.Random(f"{plan.seed}|mails")))  # noqa: S311 - seeded on purpose
        port = await stack.enter_async_context(mailbox.listening())
        raging = Storm(plan, world, servers, home, zygote, watch, mailbox, port)
        for process in raging.processes:
            stack.push_async_callback(process.kill)
        ambiente = Ambiente.HOMOLOGACAO if "nacional" in plan.channels else Ambiente.PRODUCAO
        await raging.erp.enter(database, issuers, ambiente)
        await database.close()
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
        settled = latencies(evidence)
        kills = sum(blow.kind in KILLS for blow in raging.weather.struck)
        figures = {
            "raged_seconds": round(raged, 1),
            "kills": kills,
            "kills_per_emission": round(kills / max(1, len(raging.begun)), 4),
            "blows_per_emission": round(len(raging.weather.struck) / max(1, len(raging.begun)), 4),
            "starts": sum(process.starts for process in raging.processes),
            "gateway": gateway_share(evidence.books),
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
