"""What another system proposes becomes a conversation with its approver, and what is decided there shows in the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.proposals.erp import approver, erp_of
from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.proposals.erp import Erp
    from tests.road.road_people import Person, Road


@pytest.fixture
async def ana(road: Road) -> Person:
    return await approver(road)


@pytest.fixture
async def erp(road: Road, ana: Person) -> Erp:
    return await erp_of(road)


async def _swept(road: Road) -> None:
    await road.house.schedule.run_job("proposals")


async def test_a_proposal_is_approved_by_its_button(road: Road, erp: Erp, ana: Person) -> None:
    """Its summary says where it came from; a yes in words shows it again, the button issues the note."""
    proposta = await erp.proposes()
    summary = await ana.expect("Um sistema da sua empresa propôs esta nota")
    assert f"Pedida por: sistema da empresa (proposta {proposta})" in summary.text
    assert "R$ 1.500,00" in summary.text
    assert [button.title for button in summary.buttons] == ["Confirmar", "Corrigir", "Cancelar"]
    assert "só falta você confirmar" in (await ana.say("sim")).text
    assert (await erp.get(proposta))["estado"] == "enviada"
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await ana.files()
    await road.settled()
    (note,) = await road.notes(ana)
    assert note.valor == 1500
    assert (await erp.get(proposta))["alterada_por"] == "autoridade"


async def test_a_correction_shows_as_a_new_version(road: Road, erp: Erp, ana: Person) -> None:
    """The old summary's button does not issue; the note is what the approver saw last."""
    proposta = await erp.proposes()
    old = await ana.expect("propôs esta nota")
    assert "R$ 1.800,00" in (await ana.say("na verdade é 1.800")).text
    shown = await erp.get(proposta)
    assert (shown["valor"], shown["versao"], shown["alterada_por"]) == ("1800.00", 3, "aprovador")
    assert (await ana.press("Confirmar", of=old)).buttons
    assert (await erp.get(proposta))["estado"] == "enviada"
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await ana.files()
    await road.settled()
    assert [note.valor for note in await road.notes(ana)] == [1800]


async def test_a_refusal_shows(road: Road, erp: Erp, ana: Person) -> None:
    """And nothing is issued; who takes it up again after all is asked once more, and the caller sees that too."""
    proposta = await erp.proposes()
    await ana.expect("propôs esta nota")
    cancelled = await ana.press("Cancelar")
    refused = await erp.becomes(proposta, "recusada")
    assert refused["alterada_por"] == "aprovador"
    await ana.press(cancelled.buttons[0].title)
    assert (await erp.get(proposta))["estado"] == "enviada"
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await ana.files()
    await road.settled()


async def test_it_waits_behind_the_open_invoice(road: Road, erp: Erp, ana: Person) -> None:
    """What the approver is at comes first; then one proposal after the other, in the order in which they were sent."""
    await ana.say(FULL)
    first, second = await erp.proposes(valor="10.00"), await erp.proposes(valor="20.00")
    await road.settled()
    await _swept(road)
    await road.settled()
    assert len([text for text in ana.answers if "propôs" in text]) == 0
    await ana.press("Cancelar")
    await _swept(road)
    assert "R$ 10,00" in (await ana.expect("propôs esta nota")).text
    await _swept(road)
    await ana.press("Cancelar")
    await erp.becomes(first, "recusada")
    assert (await erp.get(second))["estado"] == "enviada"
    await _swept(road)
    assert "R$ 20,00" in (await ana.expect("propôs esta nota")).text
    await ana.press("Cancelar")
    await erp.becomes(second, "recusada")


async def test_what_is_missing_is_asked(road: Road, erp: Erp, ana: Person) -> None:
    """With what it is about; the answer leads to the summary, and shows in the API."""
    proposta = await erp.proposes(documento=None, descricao=None)
    asked = await ana.expect("Um sistema da sua empresa propôs uma nota de R$ 1.500,00, e falta um dado.")
    assert "CNPJ ou CPF" in asked.text
    await ana.say("12.345.678/0001-95")
    summary = await ana.say("serviço: consultoria de marketing")
    assert f"(proposta {proposta})" in summary.text
    assert (await erp.get(proposta))["descricao"] == "consultoria de marketing"
    await ana.press("Cancelar")
    await erp.becomes(proposta, "recusada")


async def test_who_lost_the_right_approves_nothing(road: Road, erp: Erp, ana: Person) -> None:
    """Neither what is shown already nor what comes after: no note of any company comes of it."""
    shown = await erp.proposes()
    await ana.expect("propôs esta nota")
    later = await erp.proposes()
    await road.settled()
    other = await road.database.pool.fetchval(
        "INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)"
        " VALUES ('99000003000192', 'Outra', '1', '3550308', 'mei', '01.01') RETURNING id"
    )
    await road.database.pool.execute("UPDATE usuario SET empresa_id = $1 WHERE telefone = $2", other, ana.who)
    await ana.touch("Confirmar")
    await erp.becomes(shown, "recusada")
    await _swept(road)
    gone = await erp.becomes(later, "cancelada")
    assert "não emite mais" in gone["motivo"]
    await road.settled()
    assert await road.notes(ana) == []
