from __future__ import annotations

from typing import TYPE_CHECKING

from operations.protocol import reprocess
from proofs.sandbox.phone.switches import VALUE_REFUSED
from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.road_people import Road


async def test_a_rejection_is_explained_and_mended_by_its_button(road: Road) -> None:
    """The reason comes in plain words, one button takes the data up, and the second try is one invoice."""
    road.world.plugnotas.faults.set("rejeitar", times=1, message=VALUE_REFUSED)
    ana = await road.person()
    await ana.say(FULL)
    refused = await ana.press("Confirmar")
    assert "não foi aceita" in refused.text
    assert "Motivo:" in refused.text
    session = await road.session(ana)
    assert (session["estado"], session["snapshot_reason"]) == ("rejeitado", "webhook_rejected")
    assert "nota anterior: o valor" in (await ana.press("Corrigir nota")).text
    assert "R$ 1.400,00" in (await ana.say("1.400")).text
    await ana.touch("Confirmar")
    await ana.files()
    [note] = await road.notes(ana)
    first, second = await road.sessions(ana)
    assert second["origem"] == first["sessao_id"]
    assert note.id_integracao == second["id_integracao"] != first["id_integracao"]


async def test_a_rejection_that_staff_mend_asks_its_person_for_nothing(road: Road) -> None:
    """A service code is nobody's typing error: no button, and the team's second attempt needs no word of theirs."""
    road.world.plugnotas.faults.set("rejeitar", times=1)
    ana = await road.person()
    await ana.say(FULL)
    refused = await ana.press("Confirmar")
    assert "nossa equipe" in refused.text
    assert refused.buttons == ()
    key = (await road.reached(ana, "rejeitado"))["id_integracao"]
    await road.settled()
    await reprocess(road.database, key)
    await ana.expect("tentando emitir de novo")
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_rejection_is_mended_by_just_sending_the_fix(road: Road) -> None:
    """Who simply writes what was wrong need not press anything, nor type the rest again."""
    ana = await road.person()
    await ana.say("nota de 700 pra 99.000.031/0001-00, consultoria em cardápio")  # its register entry: closed
    refused = await ana.press("Confirmar")
    assert "Motivo:" in refused.text
    fixed = await ana.say("99.000.002/0001-48")
    assert "CAFÉ DA ESQUINA" in fixed.text
    assert "R$ 700,00" in fixed.text
    await ana.touch("Confirmar")
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_refusal_at_the_gateways_door_can_be_mended(road: Road) -> None:
    """A person without a name is refused before anything exists; the name completes the invoice."""
    ana = await road.person()
    await ana.say("nota de 200 pro cpf 529.982.247-25, aula de canto")
    refused = await ana.press("Confirmar")
    assert "nome do cliente" in refused.text
    await ana.press("Corrigir nota")
    summary = await ana.say("Maria da Silva")
    assert "Maria da Silva" in summary.text
    await ana.touch("Confirmar")
    await ana.files()
    [note] = await road.notes(ana)
    assert note.payload["tomador"]["razaoSocial"] == "Maria da Silva"


async def test_whole_new_data_after_a_rejection_are_a_new_invoice(road: Road) -> None:
    """A full message is another invoice, not a repair of the one that was refused."""
    road.world.plugnotas.faults.set("rejeitar", times=1)
    ana = await road.person()
    await ana.say(FULL)
    await ana.press("Confirmar")
    other = await ana.say("nota de 90 pra 99.000.002/0001-48, aula de barista")
    assert "R$ 90,00" in other.text
    assert (await road.session(ana))["origem"] is None


async def test_a_rejected_invoice_is_taken_up_once(road: Road) -> None:
    """The same old button twice opens one new session."""
    road.world.plugnotas.faults.set("rejeitar", times=1, message=VALUE_REFUSED)
    ana = await road.person()
    await ana.say(FULL)
    refused = await ana.press("Confirmar")
    await ana.press("Corrigir nota", of=refused)
    await ana.say("1.400")
    await ana.touch("Confirmar")
    await ana.files()
    assert "já foi retomada" in (await ana.press("Corrigir nota", of=refused)).text
    await road.settled()
    assert len(await road.sessions(ana)) == 2
    assert len(await road.notes(ana)) == 1
