"""What the engine guarantees to every kind of order, shown by a third kind, which voids a number."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from bot.loops.pump import Pump
from bot.orders.order import MOST_FAILURES, Events, Instead, OrderWorker
from bot.settings import Settings
from gateway.lines import CallKind, Lines
from gateway.registry import REGISTRY, Channels
from persistence.claims import Leases, OrderLeaseLostError, Taken
from persistence.db.engine import Database
from state_machine.protocol.channel import PRIMEIRO, Ambiente, Canal
from state_machine.protocol.emission import Unknown
from tests.owner import as_owner
from tests.stored_work import clear, emission

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bot.orders.order import Call
    from persistence.db.connection import Connection

TABLE = """
CREATE TABLE inutilizacao (id bigint PRIMARY KEY, epoch bigint NOT NULL DEFAULT 0, envio text NOT NULL,
    lease_until timestamptz, contado int NOT NULL DEFAULT 0, proxima_acao_em timestamptz DEFAULT now());
GRANT ALL ON inutilizacao TO PUBLIC
"""
CLAIM = sa.text("""
UPDATE inutilizacao i SET lease_until = now() + interval '15 s', epoch = i.epoch + 1,
    envio = CASE WHEN i.envio = 'a_enviar' THEN 'enviando' ELSE i.envio END
FROM inutilizacao era WHERE era.id = i.id AND i.proxima_acao_em <= now()
    AND (i.lease_until IS NULL OR i.lease_until < now())
RETURNING i.id, i.epoch, era.envio
""")
SETTLE = sa.text("""
UPDATE inutilizacao SET envio = :envio, contado = contado + :contado, lease_until = NULL,
    proxima_acao_em = CASE WHEN :envio <> 'fim' THEN now() + make_interval(secs => :daqui) END
WHERE id = :id AND epoch = :epoch
""")
VOIDS = sa.Table(
    "inutilizacao",
    sa.MetaData(),
    *(sa.Column(name) for name in ("id", "epoch", "envio", "lease_until", "proxima_acao_em")),
)
COMPANY = "44555666000181"


@dataclass(frozen=True, slots=True)
class Void(Taken):
    """A number to be voided."""

    envio: str


LEASES: Leases[Void] = Leases(VOIDS, was={"envio": attrgetter("envio")})


@dataclass(frozen=True, slots=True)
class Step:
    """What follows."""

    status: str
    daqui: float = 0.0
    motivo: str | None = None
    retida: str | None = None


@dataclass
class _Voiding:
    """A kind of order whose authority answers what the test says."""

    events = Events("voiding_step", "voiding_waits", "voiding_given_back", "voiding_lease_lost", "voiding_failed")
    operation = "void"
    kind = CallKind.CANCELLATION
    concurrency = 4
    leases = LEASES

    answers: list[Any] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)
    instead: Step | None = None

    async def claim(self, connection: Connection, free: int, held: Mapping[int, int]) -> list[Void]:
        self.held = dict(held)
        rows = list(await connection.execute(CLAIM, {}))[:free]
        order = 7, COMPANY, "void", "void", Canal(), "conversa", "s", "c", None
        return [Void(r.id, r.epoch, r.id, *order, time.monotonic(), r.envio) for r in rows]

    async def hint(self, _connection: Connection, _ours: str | None, _theirs: str | None, _corpo: Any) -> int:
        return 0

    def context(self, piece: Void) -> Mapping[str, str | None]:
        return {"id_integracao": piece.id_integracao}

    def sends(self, piece: Void) -> bool:
        return piece.envio == "a_enviar"

    async def prepare(self, piece: Void) -> Void | Instead[Step]:
        return Instead(self.instead) if self.instead else replace(piece, correlacao="ready")

    async def send(self, piece: Void) -> Any:
        await self.sending(piece)
        return self._answer("send")

    async def sending(self, _piece: Void) -> None:
        return None

    async def ask(self, _piece: Void) -> Any:
        return self._answer("ask")

    async def classify(self, _connection: Connection, _piece: Void, answer: Any) -> Step:
        return Step("desconhecido", motivo="lost") if isinstance(answer, Unknown) else Step("fim")

    async def postpone(self, _connection: Connection, piece: Void, seconds: float) -> Step:
        return Step(piece.envio, seconds, retida="circuito")

    def give_up(self, _piece: Void, motivo: str) -> Step:
        return Step("fim", motivo=motivo)

    async def settle(self, connection: Connection, piece: Void, passo: Step, call: Call[Any] | None) -> None:
        values = {"envio": passo.status, "contado": 1 if call else 0, "daqui": passo.daqui}
        if (await connection.execute(SETTLE, {**values, "id": piece.id, "epoch": piece.epoch})).rowcount != 1:
            raise OrderLeaseLostError

    async def conclude(self, _connection: Connection, _piece: Void, _passo: Step, _call: Call[Any] | None) -> None:
        return None

    def alarms(self, passo: Step, *, called: bool) -> bool:
        return called and passo.motivo is not None

    def _answer(self, how: str) -> Any:
        self.calls.append(how)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Engine:
    """The engine over that kind, and its one row."""

    def __init__(self, database: Database, which: int) -> None:
        self.database = database
        self.which = which
        self.kind = _Voiding()
        self.lines = Lines(clock=time.monotonic, threshold=1, cooldown=60.0)
        padrao = Canal(PRIMEIRO, Ambiente.PRODUCAO)
        channels = Channels(REGISTRY, Settings(), padrao, guard=lambda: None, lines=lambda: self.lines)
        self.worker: OrderWorker[Void, Any, Step] = OrderWorker(self.kind, database, channels)
        w = self.worker
        self.pump: Pump[Void] = Pump(
            "voids", w.claim, w.work, w.renew, lease_seconds=w.lease_seconds, concurrency=w.concurrency
        )

    async def taken(self) -> Void:
        """Take the row."""
        [piece] = await self.worker.claim(4)
        return piece

    async def row(self) -> Any:
        """Return it."""
        return await self.database.pool.fetchrow("SELECT * FROM inutilizacao")

    async def attempts(self) -> list[tuple[Any, ...]]:
        """Return what the record says of its calls."""
        query = "SELECT operacao, resultado, detalhe FROM gateway_tentativas WHERE emissao_id = $1 ORDER BY id"
        return [tuple(row) for row in await self.database.pool.fetch(query, self.which)]


@pytest.fixture(scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    await as_owner(database.pool, TABLE)
    yield database
    await database.close()


@pytest.fixture
async def engine(database: Database) -> Engine:
    """One number waits to be voided."""
    await clear(database)
    which = await emission(database)
    await as_owner(database.pool, "TRUNCATE inutilizacao")
    await database.pool.execute("INSERT INTO inutilizacao (id, envio) VALUES ($1, 'a_enviar')", which)
    return Engine(database, which)


async def test_a_kind_of_order_is_sent_asked_about_and_settled(engine: Engine) -> None:
    """A lost answer is asked about and not sent again; each call is an attempt with its own row."""
    engine.kind.answers = [Unknown("reset"), "voided"]
    assert await engine.pump.run_once() == 2
    assert engine.kind.calls == ["send", "ask"]
    assert ((await engine.row())["envio"], (await engine.row())["contado"]) == ("fim", 2)
    assert await engine.attempts() == [("void", "Unknown", "lost"), ("find", "str", None)]


async def test_an_open_breaker_keeps_every_kind_from_calling(engine: Engine) -> None:
    """The row waits with the reason, nothing is called, and nothing counts as an attempt."""
    engine.lines.breaker(COMPANY, CallKind.CANCELLATION).failed()
    with capture_logs() as logs:
        await engine.worker.work(await engine.taken())
    assert engine.kind.calls == []
    found = await engine.row()
    assert (found["envio"], found["contado"], found["lease_until"]) == ("a_enviar", 0, None)
    assert await engine.attempts() == []
    assert [(line["event"], line["reason"]) for line in logs] == [("voiding_waits", "circuito")]


async def test_the_breaker_of_another_kind_of_call_stops_nothing(engine: Engine) -> None:
    """Submissions that fail say nothing of this kind."""
    engine.lines.breaker(COMPANY, CallKind.SUBMISSION).failed()
    engine.kind.answers = ["voided"]
    await engine.worker.work(await engine.taken())
    assert engine.kind.calls == ["send"]


async def test_what_may_not_be_sent_is_not_sent(engine: Engine) -> None:
    """What ``prepare`` says instead is stored, without a call."""
    engine.kind.instead = Step("a_enviar", 60.0, retida="credencial")
    await engine.worker.work(await engine.taken())
    assert engine.kind.calls == []
    assert (await engine.row())["contado"] == 0


async def test_a_worker_frozen_before_sending_gives_back(engine: Engine) -> None:
    """It woke up later than it may send: the order is due again as it was."""
    piece = await engine.taken()
    await engine.worker.work(replace(piece, tomada_em=piece.tomada_em - engine.worker.send_within - 1))
    assert engine.kind.calls == []
    found = await engine.row()
    assert (found["envio"], found["lease_until"], found["contado"]) == ("a_enviar", None, 0)


@pytest.mark.parametrize(("taken_over", "event"), [(True, "voiding_lease_lost"), (False, "voiding_failed")])
async def test_trouble_ends_in_the_log_and_frees_the_slot(engine: Engine, event: str, *, taken_over: bool) -> None:
    """A late commit and an exception leave the row to its lease, the latter is recorded, and the slot is free again."""
    engine.kind.answers = ["voided"] if taken_over else [ValueError()]
    piece = await engine.taken()
    if taken_over:
        await engine.database.pool.execute("UPDATE inutilizacao SET epoch = epoch + 1")
    with capture_logs() as logs:
        await engine.worker.work(piece)
    assert [line["event"] for line in logs] == [event]
    assert await engine.attempts() == ([] if taken_over else [("void", "Raised", "ValueError")])
    assert (await engine.row())["envio"] == "enviando"
    await engine.worker.claim(4)
    assert engine.kind.held == {}


async def test_what_raises_again_and_again_goes_to_people(engine: Engine) -> None:
    """Five times in a row, whatever was tried; an answer in between begins the count anew."""
    engine.kind.answers = [*[ValueError()] * (MOST_FAILURES - 1), Unknown("lost"), *[ValueError()] * MOST_FAILURES]
    for _ in range(2 * MOST_FAILURES):
        assert (await engine.row())["envio"] != "fim"
        await engine.database.pool.execute("UPDATE inutilizacao SET lease_until = NULL, proxima_acao_em = now()")
        await engine.worker.work(await engine.taken())
    assert (await engine.row())["envio"] == "fim"
    results = [result for _, result, _ in await engine.attempts()]
    assert results == ["Raised"] * 4 + ["Unknown"] + ["Raised"] * 5


async def test_what_is_being_sent_is_renewed_as_it_was_made_ready(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pump knows the order as it was claimed; its record was made later, under the bytes that are sent."""
    engine.kind.answers, piece = ["voided"], await engine.taken()

    async def sending(_piece: Void) -> None:
        assert await engine.worker.renew(piece)

    plain, renewed = Leases.renew, []

    async def renew(leases: Leases[Void], connection: Connection, piece: Void) -> bool:
        renewed.append(piece.correlacao)
        return await plain(leases, connection, piece)

    monkeypatch.setattr(Leases, "renew", renew)
    monkeypatch.setattr(engine.kind, "sending", sending)
    await engine.worker.work(piece)
    assert not await engine.worker.renew(piece), "it is settled"
    assert renewed == ["ready", piece.correlacao]


async def test_a_claim_knows_who_holds_slots(engine: Engine) -> None:
    """The share of a company counts what this worker has in hand."""
    await engine.taken()
    await engine.worker.claim(4)
    assert engine.kind.held == {7: 1}
