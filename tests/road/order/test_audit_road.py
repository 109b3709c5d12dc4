"""The audit against a gateway whose book somebody else writes in too."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import httpx
import pytest
from structlog.testing import capture_logs

from bot.operator.reconcile import lines, status_of
from proofs.demo.world import COMPANY
from proofs.sandbox.plugnotas.model import CANCELLED
from state_machine.protocol.audit import Conferencia, DifferenceKind
from tests.owner import as_owner
from tests.road.road_forks import run
from tests.road.road_people import FULL, QUICK, open_road, until
from tests.road.road_process import ROOT, environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from proofs.sandbox.plugnotas.model import Note
    from tests.road.road_people import Person, Road

WHY = {"motivo": "cancelada no site da prefeitura", "codigo": "9"}


@pytest.fixture
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """A road of its own for each test, in whose gateway a page holds two notes."""
    plugnotas = QUICK.plugnotas.__class__(processing=0.05, rendering=0.0, page=2)
    config = QUICK.__class__(meta=QUICK.meta, plugnotas=plugnotas)
    async with open_road(database_url, redis_url, config=config) as opened:
        # the database is the module's, this gateway's book is empty: so must ours be
        await as_owner(opened.database.pool, "TRUNCATE nfse_emissao, session_snapshot, job_slots CASCADE")
        yield opened


async def _issued(road: Road) -> tuple[Person, Note]:
    ana = await road.person()
    await ana.issue(FULL)
    await road.settled()
    return ana, (await road.notes(ana))[-1]


def _api(road: Road) -> httpx.AsyncClient:
    """The gateway's API, as the city's site and other programs use it."""
    plugnotas = road.world.plugnotas
    return httpx.AsyncClient(base_url=plugnotas.url, headers={"x-api-key": plugnotas.config.api_key})


async def _behind_our_back(road: Road, like: Note, key: str | None = "erp-901") -> str:
    """Have a note made that we know nothing of; returns the gateway's id."""
    payload = {name: value for name, value in like.payload.items() if name != "idIntegracao"}
    async with _api(road) as api:
        answer = await api.post("/nfse", json=[payload | ({"idIntegracao": key} if key else {})])
    id_externo = answer.raise_for_status().json()["documents"][0]["id"]
    await until(lambda: _is(road, id_externo, "CONCLUIDO"))
    return str(id_externo)


async def _cancelled_outside(road: Road, note: Note) -> None:
    """Nobody tells us: its webhook is lost."""
    road.world.plugnotas.faults.set("sem_webhook")
    async with _api(road) as api:
        (await api.post(f"/nfse/cancelar/{note.id}", json=WHY)).raise_for_status()
    await until(lambda: _is(road, note.id, CANCELLED))


async def _is(road: Road, id_externo: str, situacao: str) -> bool:
    return road.world.plugnotas.notes[id_externo].situacao == situacao


async def _found(road: Road) -> Conferencia:
    [conferida] = await road.house.audit.run(3)
    assert isinstance(conferida.resultado, Conferencia)
    return conferida.resultado


async def _kinds(road: Road) -> list[tuple[DifferenceKind, str]]:
    return [(found.tipo, found.motivo) for found in (await _found(road)).diferencas]


def _lists(road: Road) -> int:
    calls = road.world.plugnotas.ledger.of("call")
    return sum(call.data["path"] == "/nfse/consultar/periodo" for call in calls)


def _counted(road: Road, tipo: DifferenceKind) -> float | None:
    return road.house.metrics.registry.get_sample_value("prosa_audit_differences_total", {"tipo": tipo.value})


async def test_what_was_made_behind_our_back_is_found(road: Road) -> None:
    """Three notes on two pages: ours agrees, that of another program and the one without a reference are named."""
    _, note = await _issued(road)
    assert (await _kinds(road), _lists(road)) == ([], 1)
    foreign = await _behind_our_back(road, note)
    bare = await _behind_our_back(road, note, None)
    before = _lists(road)
    found = await _found(road)
    assert {diferenca.referencia for diferenca in found.de(DifferenceKind.SO_DELES)} == {foreign, bare}
    assert (len(found.diferencas), found.listadas, _lists(road) - before) == (2, 3, 2)


async def test_a_note_cancelled_outside_is_found_and_read_again(road: Road) -> None:
    """No webhook came: the audit names it and has it read once more, which tells its user; then the books agree."""
    ana, note = await _issued(road)
    await _cancelled_outside(road, note)
    assert await _kinds(road) == [(DifferenceKind.DIVERGEM, "cancelada lá, autorizada aqui")]
    await ana.expect(f"nota {note.numero}")
    await road.settled()
    row = await road.database.pool.fetchrow("SELECT status FROM nfse_processada WHERE id_externo = $1", note.id)
    assert row["status"] == "cancelado"
    assert await _kinds(road) == []
    assert sum(record.data["id"] == note.id for record in road.world.plugnotas.ledger.of("cancel.asked")) == 1


async def test_a_note_that_they_lost_or_never_had_is_found(road: Road) -> None:
    """What is in our books and not in theirs; one of a moment ago has time to appear there."""
    _, note = await _issued(road)
    del road.world.plugnotas.notes[note.id]
    assert await _kinds(road) == []
    await _learnt_before(road)
    assert await _kinds(road) == [(DifferenceKind.SO_NOSSAS, "autorizada aqui, não aparece na lista deles")]


async def _learnt_before(road: Road) -> None:
    """Let so much time have passed since we sent and heard that any listing followed."""
    await road.database.pool.execute("UPDATE nfse_emissao SET enviado_em = enviado_em - interval '1 day'")
    await road.database.pool.execute("UPDATE nfse_processada SET criado_em = criado_em - interval '1 day'")


async def test_ours_that_we_gave_up_is_found_and_adopted_by_reconciliation(road: Road) -> None:
    """An emission in the hands of people stands authorised there: named, asked about, and approved; nothing is sent."""
    ana, note = await _issued(road)
    await road.database.pool.execute("DELETE FROM nfse_documento")
    await road.database.pool.execute("DELETE FROM nfse_processada")
    await road.database.pool.execute("UPDATE nfse_emissao SET status = 'erro', criado_em = now() - interval '25 h'")
    assert await _kinds(road) == [(DifferenceKind.SO_DELES, "autorizada lá, erro aqui")]
    status = "SELECT status FROM nfse_emissao"
    await until(lambda: _says(road, status, "concluido"))
    await road.settled()
    assert (await _kinds(road), len(await road.notes(ana))) == ([], 1)
    calls = road.world.plugnotas.ledger.of("call")
    assert sum((call.data["method"], call.data["path"]) == ("POST", "/nfse") for call in calls) == 1
    assert await road.database.pool.fetchval("SELECT id_externo FROM nfse_processada") == note.id


async def _says(road: Road, query: str, wanted: str) -> bool:
    return bool(await road.database.pool.fetchval(query) == wanted)


async def test_what_waits_to_be_sent_keeps_its_time(road: Road) -> None:
    """Being listed there makes nothing of ours leave earlier than the gateway allowed."""
    await _issued(road)
    later = "UPDATE nfse_emissao SET status = 'pendente', proxima_acao_em = now() + interval '1 h'"
    await road.database.pool.execute(later)
    assert (await _found(road)).em_curso == 1
    waits = await road.database.pool.fetchval("SELECT proxima_acao_em > now() + interval '50 min' FROM nfse_emissao")
    assert waits is True
    await road.database.pool.execute("UPDATE nfse_emissao SET status = 'concluido', proxima_acao_em = NULL")


async def test_each_company_is_audited_once_a_day(road: Road) -> None:
    """Two replicas at once, and again later: one audit counts; it is loud once for each kind of difference."""
    _, note = await _issued(road)
    await _behind_our_back(road, note)
    with capture_logs() as logs:
        done = await asyncio.gather(road.house.audit.daily(), road.house.audit.daily())
        assert (sorted(done), await road.house.audit.daily()) == ([0, 1], 0)
    errors = [line for line in logs if line["event"] == "audit_differs"]
    assert [(line["log_level"], line["kind"], line["count"]) for line in errors] == [("error", "so_deles", 1)]
    assert [_counted(road, tipo) for tipo in DifferenceKind] == [0, 1, 0]


async def test_a_gateway_that_cannot_tell_is_asked_again(road: Road) -> None:
    """A page that does not come makes no difference at all; the day's audit stays open until it comes."""
    _, note = await _issued(road)
    for _ in range(2):
        await _behind_our_back(road, note, None)
    road.world.plugnotas.faults.set("erro_500", method="GET", times=1)
    with capture_logs() as logs:
        assert await road.house.audit.daily() == 0
    assert [line["event"] for line in logs if line["event"].startswith("audit")] == ["audit_without_answer"]
    assert await road.house.audit.daily() == 1
    assert _counted(road, DifferenceKind.SO_DELES) == 2


async def test_the_words_for_a_terminal(road: Road) -> None:
    """Each company on a line, each difference below it, and nobody's document but the issuer's; then the status."""
    _, note = await _issued(road)
    equal = await road.house.audit.run(1)
    assert status_of(equal) == 0
    assert "1 no gateway, tudo confere." in lines(equal)[0]
    foreign = await _behind_our_back(road, note)
    differs = await road.house.audit.run(1)
    assert status_of(differs) == 1
    head, line = lines(differs)
    assert head.startswith("ANA DESIGN ME (11.222.333/0001-81): ")
    assert head.endswith("2 no gateway; só no gateway: 1.")
    assert line.strip() == (
        f"SÓ NO GATEWAY · erp-901 · nota 2 · R$ 1.500,00 · id no gateway {foreign}: referência que não é nossa"
    )
    road.world.plugnotas.faults.set("limite_429", method="GET", times=1)
    silent = await road.house.audit.run(1)
    assert status_of(silent) == 2
    assert "o gateway não soube dizer (HTTP 429)" in lines(silent)[0]
    assert status_of([*silent, *differs]) == 1
    assert await road.house.audit.run(1, "99888777000166") == []


async def test_the_command_line_audits(road: Road, database_url: str, redis_url: str, tmp_path: Path) -> None:
    """As an operator types it, or cron: what differs, and an exit status to act on."""
    _, note = await _issued(road)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROSA_")}
    env = {**kept, "PYTHONPATH": str(ROOT), **environment(road.world, database_url, redis_url)}

    async def conferir(*words: str, **changes: str) -> tuple[int, str, str]:
        done = await asyncio.to_thread(run, ["conferir", *words], {**env, **changes}, tmp_path)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    assert (await conferir("--dias", "1"))[0] == 0
    await _behind_our_back(road, note)
    code, out, _ = await conferir("--cnpj", "11.222.333/0001-81")
    assert (code, "referência que não é nossa" in out) == (1, True)
    code, out, _ = await conferir(PROSA_PLUGNOTAS_API_KEY="wrong-but-of-a-length")
    assert (code, "HTTP 401" in out) == (2, True)
    code, _, err = await conferir("--cnpj", "99.888.777/0001-66")
    assert (code, "Nenhuma empresa" in err) == (2, True)
    assert COMPANY.cnpj not in json.dumps(out)
