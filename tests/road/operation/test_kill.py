"""kill -9 of `prosa serve` at every moment of a conversation: it goes on, and the gateway's book has one note."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import FULL, PADARIA, until
from tests.road.road_stage import ABSENT, LEASES, Stage, open_stage, trap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from proofs.sandbox.ledger import Record
    from tests.road.road_people import Person

LONGEST_LEASE = timedelta(seconds=15)


@pytest.fixture(scope="module")
async def opened(database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with open_stage(database_url, redis_url, tmp_path_factory.mktemp("prosa")) as stage:
        yield stage


@pytest.fixture
async def stage(opened: Stage) -> Stage:
    """The module's stage with all faults mended, nothing remembered of companies; a process may still run."""
    for simulator in opened.world.simulators:
        simulator.faults.clear()
    await opened.database.pool.execute("DELETE FROM cnpj_cache")
    return opened


@dataclass(frozen=True)
class Moment:
    """When to kill: as soon as ``ledger`` has a fact that fits, before whoever caused it hears the answer."""

    name: str
    ledger: str
    fits: Callable[[Record], bool]
    unsent: bool = False  # a message was at hand and did not leave, so that no tick will tell of it


def _outbound(text: str) -> Callable[[Record], bool]:
    return lambda record: record.kind == "outbound" and text in str(record.data["payload"])


MOMENTS = [
    Moment("the register is asked", "cnpj", lambda r: r.kind == "lookup"),
    Moment("the message is marked as read", "meta", lambda r: r.kind == "read"),
    Moment("the summary is taken by Meta", "meta", _outbound("Confere?")),
    Moment("the order is taken by the gateway", "plugnotas", lambda r: r.kind == "note.created"),
    Moment("the authority has decided", "plugnotas", lambda r: r.kind == "note.settled"),
    Moment("the gateway's webhook is stored", "plugnotas", lambda r: r.kind == "webhook.delivered"),
    Moment("the note is read again", "plugnotas", lambda r: r.kind == "call" and "/consultar/" in r.data["path"]),
    Moment("the PDF is fetched", "plugnotas", lambda r: r.kind == "call" and "/pdf/" in r.data["path"], unsent=True),
    Moment("the PDF is uploaded", "meta", lambda r: r.kind == "media", unsent=True),
    Moment("the PDF is taken by Meta", "meta", _outbound(".pdf")),
    Moment("the XML is taken by Meta", "meta", _outbound(".xml")),
]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.name.replace(" ", "-"))
async def test_killed_at_a_moment_of_the_road(stage: Stage, moment: Moment) -> None:
    """Killed when something happened outside and before the process could know of it, the road goes on to one note."""
    prosa = await stage.serving()
    ana = await stage.person()
    ledger = next(simulator.ledger for simulator in stage.world.simulators if simulator.name == moment.ledger)
    struck = asyncio.Event()

    def look(record: Record) -> None:
        if not struck.is_set() and moment.fits(record):
            prosa.strike()
            struck.set()

    async def revive() -> None:
        await struck.wait()
        await prosa.ended()
        await stage.leases_run_out(*(LEASES if moment.unsent else LEASES[:3]))
        await stage.start()
        if moment.unsent:
            await stage.doubts_pass()

    hush = ledger.listen(look)
    revived = asyncio.create_task(revive())
    try:
        summary = await ana.say(FULL)
        await ana.touch("Confirmar", of=summary)
        pdf, xml = await ana.files()
        await revived
    finally:
        hush()
        revived.cancel()
    assert pdf.startswith(b"%PDF")
    assert b"<nNFSe>" in xml
    await stage.one_note(ana)
    assert len(ana.answers) == 3  # nothing said twice


async def test_killed_after_the_200_before_the_turn(stage: Stage) -> None:
    """What was acknowledged is answered after the restart, although nobody had begun with it."""
    await stage.clear()
    web = await stage.start("web")
    ana = await stage.person()
    await ana.tell("nota de 1500")
    await ana.tell(f"pra {PADARIA}")
    await stage.world.meta.courier.drained()
    await web.kill()
    await ana.tell("consultoria de marketing")  # Meta keeps it meanwhile
    await stage.start()
    answer = await ana.expect()
    # The third message may make a turn of its own; then the client's usual is offered first.
    while "Confirmar" not in [button.title for button in answer.buttons]:
        answer = await ana.expect()
    assert "R$ 1.500,00" in answer.text
    await ana.touch("Confirmar")
    await ana.files()
    await stage.one_note(ana)


async def test_killed_between_claim_and_order(stage: Stage) -> None:
    """The order never left: the gateway is asked twice before the stored bytes are sent, and there is one note."""
    reached = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.set()
        await reader.read()
        writer.close()

    pit = await asyncio.start_server(swallow, "127.0.0.1", 0)
    port = pit.sockets[0].getsockname()[1]
    await stage.clear()
    prosa = await stage.start(PROSA_PLUGNOTAS_URL=f"http://127.0.0.1:{port}")
    ana = await stage.person()
    await ana.say(FULL)
    await ana.touch("Confirmar")
    async with asyncio.timeout(PATIENCE):
        await reached.wait()
    await prosa.kill()
    pit.close()
    await stage.leases_run_out()
    await stage.start()
    key = (await stage.reached(ana, "processando"))["id_integracao"]
    pool = stage.database.pool
    await until(lambda: pool.fetchval("SELECT ausente_desde FROM nfse_emissao WHERE id_integracao = $1", key))
    assert await stage.notes(ana) == []
    await pool.execute(f"{ABSENT} WHERE id_integracao = $1", key)
    await ana.files()
    await stage.one_note(ana)


async def test_the_next_process_takes_over_within_seconds(stage: Stage) -> None:
    """Killed amid a turn and an order at once: the dead process's leases are short, and both go on in real time."""
    prosa = await stage.serving()
    talking, ordering = await stage.person(), await stage.person()
    await ordering.say(FULL)
    ordered = trap(stage.world.plugnotas, "pendurar_resposta", seconds=60)
    await ordering.touch("Confirmar")
    await ordered()
    await stage.database.pool.execute("DELETE FROM cnpj_cache")
    asked = trap(stage.world.cnpj, "lento", seconds=60)
    await talking.tell(FULL)
    await asked()
    await prosa.kill()
    for table in ("lanes", "nfse_emissao"):
        held = f"SELECT max(lease_until) - now() FROM {table} WHERE lease_until > now()"  # noqa: S608 - two of ours
        assert await stage.database.pool.fetchval(held) <= LONGEST_LEASE, table
    stage.world.plugnotas.faults.clear()
    stage.world.cnpj.faults.clear()
    await stage.start()
    await talking.expect("PADARIA DO ZÉ LTDA")
    await ordering.expect("autorizada")
    await stage.one_note(ordering)


CANCEL_MOMENTS = [
    Moment("the summary is taken by Meta", "meta", _outbound("Cancelo esta nota?")),
    Moment("the receipt is taken by Meta", "meta", _outbound("Pedi o cancelamento")),
    Moment("the order is taken by the gateway", "plugnotas", lambda r: r.kind == "cancel.asked"),
    Moment("the authority has decided", "plugnotas", lambda r: r.kind == "cancel.settled"),
    Moment("the request is asked about", "plugnotas", lambda r: r.kind == "call" and "/status/" in r.data["path"]),
    Moment(
        "the end is told",
        "meta",
        lambda r: _outbound("cancelada*")(r) or _outbound("não foi aceito: ela")(r),
    ),
]


@pytest.mark.parametrize(
    ("moment", "refused"),
    [
        pytest.param(moment, refused, id=f"{word}-{moment.name.replace(' ', '-')}")
        for word, refused, moments in [
            ("cancelled", False, CANCEL_MOMENTS),
            ("refused", True, size(CANCEL_MOMENTS[3::2], CANCEL_MOMENTS)),
        ]
        for moment in moments
    ],
)
async def test_killed_while_cancelling(stage: Stage, moment: Moment, refused: bool) -> None:
    """At every moment of it: cancelled once, or standing, and the user told so once."""
    prosa = await stage.serving()
    ana = await stage.person()
    await ana.issue(FULL)
    await stage.settled()
    [note] = await stage.notes(ana)
    if refused:
        stage.world.plugnotas.faults.set("rejeitar_cancelamento")
    ledger = next(simulator.ledger for simulator in stage.world.simulators if simulator.name == moment.ledger)
    struck = asyncio.Event()
    last = "não foi aceito: ela" if refused else f"Nota {note.numero} cancelada"

    def look(record: Record) -> None:
        if not struck.is_set() and moment.fits(record):
            prosa.strike()
            struck.set()

    async def revive() -> None:
        await struck.wait()
        await prosa.ended()
        await stage.leases_run_out(*LEASES[:4])
        await stage.start()

    hush = ledger.listen(look)
    revived = asyncio.create_task(revive())
    try:
        await ana.say(f"cancelar nota {note.numero}")
        await ana.say("valor errado, vou emitir outra")
        await ana.touch("Cancelar a nota")
        await revived
        pool = stage.database.pool
        ended = "SELECT estado FROM cancelamento c JOIN nfse_processada p USING (emissao_id) WHERE p.id_externo = $1"
        async with _time_passes(stage):
            await until(lambda: _is(pool, ended, note.id, {"cancelado", "negado"}))
            await stage.leases_run_out()
            await until(lambda: _told(ana, last))
            await stage.settled()
    finally:
        hush()
        revived.cancel()
    asked = [r for r in stage.world.plugnotas.ledger.of("cancel.asked") if r.data["id"] == note.id]
    status = await pool.fetchval("SELECT status FROM nfse_processada WHERE id_externo = $1", note.id)
    standing = stage.world.plugnotas.notes[note.id].situacao
    assert (standing, status) == (("CONCLUIDO", "autorizado") if refused else ("CANCELADO", "cancelado"))
    assert len(asked) == 1 or (refused and len(asked) == 2)  # a refusal whose answer died is asked for once more
    assert sum(last in answer for answer in ana.answers) == 1


@asynccontextmanager
async def _time_passes(stage: Stage) -> AsyncIterator[None]:
    """The half minutes that doubts last, about a note that stands and about a message without a tick, pass at once."""

    async def pass_on() -> None:
        pool = stage.database.pool
        while True:
            await asyncio.sleep(0.5)
            await pool.execute(
                "UPDATE cancelamento SET vigente_desde = vigente_desde - interval '1 min', proxima_acao_em = now() "
                "WHERE estado = 'pendente' AND vigente_desde > now() - interval '30 s'"
            )
            if stage.world.meta.courier.pending:
                continue  # the tick of a message in doubt is still on its way
            await pool.execute(
                "UPDATE outbox SET run_at = now() WHERE status IN ('incerto', 'pendente') AND run_at > now() "
                "AND NOT EXISTS (SELECT FROM inbox WHERE estado = 0)"
            )

    passing = asyncio.create_task(pass_on())
    try:
        yield
    finally:
        passing.cancel()


async def _is(pool: Any, query: str, key: str, wanted: set[str]) -> bool:
    return await pool.fetchval(query, key) in wanted


async def test_killed_between_storing_and_sending_a_cancellation(stage: Stage) -> None:
    """The order never left: the note is seen to stand twice before it is sent, and it is cancelled once."""
    prosa = await stage.serving()
    ana = await stage.person()
    await ana.issue(FULL)
    await stage.settled()
    [note] = await stage.notes(ana)
    await ana.say(f"cancelar nota {note.numero}")
    summary = await ana.say("valor errado, vou emitir outra")
    await prosa.terminate()
    reached = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.set()
        await reader.read()
        writer.close()

    pit = await asyncio.start_server(swallow, "127.0.0.1", 0)
    port = pit.sockets[0].getsockname()[1]
    prosa = await stage.start(PROSA_PLUGNOTAS_URL=f"http://127.0.0.1:{port}")
    await ana.touch("Cancelar a nota", of=summary)
    async with asyncio.timeout(PATIENCE):
        await reached.wait()
    await prosa.kill()
    pit.close()
    pool = stage.database.pool
    stored = await pool.fetchval("SELECT status FROM nfse_processada WHERE id_externo = $1", note.id)
    assert stored == "cancelamento_pendente"
    await stage.leases_run_out()
    await stage.start()
    await until(lambda: pool.fetchval("SELECT vigente_desde FROM cancelamento WHERE estado = 'pendente'"))
    ledger = stage.world.plugnotas.ledger
    assert not [r for r in ledger.of("cancel.asked") if r.data["id"] == note.id]
    async with _time_passes(stage):
        await until(lambda: _told(ana, f"Nota {note.numero} cancelada"))
        await stage.settled()
    assert len([r for r in ledger.of("cancel.asked") if r.data["id"] == note.id]) == 1


async def _told(person: Person, words: str) -> bool:
    return any(words in answer for answer in person.answers)
