"""Where a company numbers through us, each invoice takes one number, and none is lost or given twice."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from operations.company import add_company
from operations.protocol import CommandRefusedError, block, explain, numbering_report, reprocess
from operations.restored import restore
from proofs.demo.world import COMPANY
from tests.road.road_people import FULL, Person, new_phone, unlike

if TYPE_CHECKING:
    from tests.road.road_people import Road

CAFE = replace(COMPANY, cnpj="99.000.002/0001-48", razao_social="CAFÉ DA ESQUINA LTDA", serie_rps="7", primeiro_rps=501)


async def _staff(road: Road) -> Person:
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(CAFE, usuarios=(person.who,)))
    return person


async def _numbered(road: Road, person: Person) -> list[Any]:
    statement = "SELECT serie_rps, numero_rps, status FROM nfse_emissao WHERE sessao_id = ANY($1) ORDER BY id"
    sessions = [row["sessao_id"] for row in await road.sessions(person)]
    return [tuple(row) for row in await road.database.pool.fetch(statement, sessions)]


async def test_without_a_series_the_gateway_numbers(road: Road) -> None:
    """The default: no number leaves the house, and no sequence begins."""
    ana = await road.person()
    await ana.issue()
    [note] = await road.notes(ana)
    assert note.payload["rps"].keys() == {"competencia"}
    assert await _numbered(road, ana) == [(None, None, "concluido")]
    assert "o gateway numera" in (await numbering_report(road.database))[0]


async def test_with_a_series_each_invoice_takes_the_next_number(road: Road) -> None:
    """From the number after the former program's last; in the bytes that are sent and in the row, without a hole."""
    people = [await _staff(road) for _ in range(4)]
    await asyncio.gather(*(person.issue(unlike()) for person in people))
    sent = [note.payload["rps"] for person in people for note in await road.notes(person)]
    assert {rps["serie"] for rps in sent} == {"7"}
    assert sorted(rps["numero"] for rps in sent) == [501, 502, 503, 504]
    stored = [row for person in people for row in await _numbered(road, person)]
    assert sorted(stored) == [("7", number, "concluido") for number in range(501, 505)]
    head, gaps = await numbering_report(road.database)
    assert "CAFÉ DA ESQUINA LTDA" in head
    assert "série 7 · producao · 501 a 504" in head
    assert gaps.strip() == "sem buracos"


async def test_a_refused_number_is_a_gap_until_it_is_used_or_explained(road: Road) -> None:
    """The report shows it; a new attempt of the same invoice keeps it; staff may explain another."""
    road.world.plugnotas.faults.set("rejeitar", times=2)
    ana, rui = await _staff(road), await _staff(road)
    for person in (ana, rui):
        await person.say(FULL)
        assert "não foi aceita" in (await person.press("Confirmar")).text
    [(_, hers, _)], [(_, his, _)] = await _numbered(road, ana), await _numbered(road, rui)
    assert f"    BURACO {hers} a {his}: sem nota e sem explicação" in await numbering_report(road.database)

    await reprocess(road.database, (await road.session(ana))["id_integracao"])
    await ana.expect("tentando emitir de novo")
    await ana.files()
    await road.settled()
    assert await _numbered(road, ana) == [("7", hers, "rejeitado"), ("7", hers, "concluido")]
    lines = await numbering_report(road.database)
    assert f"    BURACO {his}: sem nota e sem explicação" in lines
    sequence = int(lines[0].split(" ")[0])

    with pytest.raises(CommandRefusedError, match="nada mudou"):
        await explain(road.database, sequence, f"{hers}-{his}", "engano")
    await explain(road.database, sequence, str(his), "recusada; nota feita à mão")
    lines = await numbering_report(road.database)
    assert f"    {his}: sem nota, explicado: recusada; nota feita à mão" in lines
    assert not [line for line in lines if "BURACO" in line]


async def test_without_a_restored_copy_no_number_is_explained_by_one(road: Road) -> None:
    """A gateway that tells another number than the one that was sent: ours stays the note's."""
    rui = await _staff(road)
    await rui.say(unlike())
    session = await road.session(rui)
    other = await _staff(road)
    await other.issue(unlike())
    await road.settled()
    [note], [(_, last, _)] = await road.notes(other), await _numbered(road, other)
    sent = copy.deepcopy(note.payload) | {"idIntegracao": f"{session['sessao_id']}-r1-1"}
    sent["rps"]["numero"] = last + 7
    sent["servico"][0]["valor"]["servico"] = float(session["rascunho"]["valor"]["valor"])
    road.world.plugnotas.accept([sent])
    road.world.plugnotas.faults.set("perder_resposta", times=1)
    await rui.touch("Confirmar")
    await rui.files()
    await road.settled()
    assert await _numbered(road, rui) == [("7", last + 1, "concluido")]
    assert not [line for line in await numbering_report(road.database) if f"{last + 1}: sem nota" in line]


@pytest.mark.parametrize("lost", [False, True], ids=["refused as a duplicate", "the answer is lost"])
@pytest.mark.parametrize("differs", [False, True], ids=["same content", "other content"])
async def test_a_note_has_the_number_that_it_was_made_under(road: Road, *, lost: bool, differs: bool) -> None:
    """A forgotten submission's note is found by its reference: the number drawn for it anew is an explained gap.

    However it was found, and also where it is not what was confirmed now.
    """
    ana, rui = await _staff(road), await _staff(road)
    await ana.issue(unlike())
    await road.settled()
    [note] = await road.notes(ana)
    await rui.say(unlike())
    session = await road.session(rui)
    sent = copy.deepcopy(note.payload) | {"idIntegracao": f"{session['sessao_id']}-r1-1"}
    [(_, last, _)] = await _numbered(road, ana)
    sent["rps"]["numero"] = last + 1
    sent["servico"][0]["valor"]["servico"] = float(session["rascunho"]["valor"]["valor"]) + differs
    road.world.plugnotas.accept([sent])
    sequence = int((await numbering_report(road.database))[0].split(" ")[0])
    await restore(road.database, [f"{sequence}:{last + 1}"])
    assert "pode já ter saído" in (await rui.press("Confirmar")).text
    if lost:
        road.world.plugnotas.faults.set("perder_resposta", times=1)
    await rui.touch("Confirmar")
    await (rui.expect("equipe") if differs else rui.files())
    await road.settled()
    assert [status for _, _, status in await _numbered(road, rui)] == ["conflito" if differs else "concluido"]
    assert len(await road.notes(rui)) == 1
    lines = await numbering_report(road.database)
    assert not [line for line in lines if "BURACO" in line]
    assert f"    {last + 2}: sem nota, explicado: a nota saiu sob o número de antes da cópia" in lines


@pytest.mark.parametrize(
    ("sequence", "numbers", "why"), [(None, "1", "x"), (1, "x", "x"), (1, "1", " "), (10**9, "1", "x")]
)
async def test_half_an_explanation_is_none(road: Road, sequence: int | None, numbers: str, why: str) -> None:
    """Which sequence, which numbers and why: all three, or nothing changes."""
    with pytest.raises(CommandRefusedError, match="nada mudou"):
        await explain(road.database, sequence, numbers, why)


async def test_while_the_numbering_is_blocked_nothing_is_issued(road: Road) -> None:
    """The yes is answered with what to do, and the data stay; freed, the same button issues under the next number."""
    ana = await _staff(road)
    await ana.issue(unlike())
    sequence = int((await numbering_report(road.database))[0].split(" ")[0])
    with pytest.raises(CommandRefusedError, match="--motivo"):
        await block(road.database, sequence, " ")
    assert "bloqueada" in (await block(road.database, sequence, "a prefeitura trocou a série"))[0]
    assert (
        "    BLOQUEADA: a prefeitura trocou a série (prosa numeracao --desbloquear libera)"
        in await numbering_report(road.database)
    )
    summary = await ana.say(unlike())
    assert "numeração" in (await ana.press("Confirmar", summary)).text
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert len(await road.notes(ana)) == 1

    await block(road.database, sequence, None)
    await ana.touch("Confirmar", summary)
    await ana.files()
    before, after = [row[1] for row in await _numbered(road, ana)]
    assert after == before + 1
    with pytest.raises(CommandRefusedError, match="Não há sequência"):
        await block(road.database, 10**6, None)
