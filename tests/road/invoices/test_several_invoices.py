from __future__ import annotations

from typing import TYPE_CHECKING

from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.road_people import Road


async def test_several_invoices_in_a_row(road: Road) -> None:
    """Each invoice starts afresh; three messages each, and the offer behind them."""
    ana = await road.person()
    for number, valor in enumerate((100, 200, 300), 1):
        await ana.issue(f"nota de {valor} pra 12.345.678/0001-95, consultoria de marketing")
        assert len(ana.answers) == 3 * number
    values = [note.payload["servico"][0]["valor"]["servico"] for note in await road.notes(ana)]
    assert values == [100, 200, 300]


async def test_a_second_invoice_while_the_first_is_at_the_authority(road: Road) -> None:
    """The user need not wait: both are issued, each with its own data and its own answer."""
    road.world.plugnotas.faults.set("aprovado_sem_numero")  # stays at the authority until the fault is cleared
    ana = await road.person()
    await ana.say("nota de 100 pra 12.345.678/0001-95, primeira consultoria")
    await ana.touch("Confirmar")
    await road.reached(ana, "processando")
    assert "em emissão" in (await ana.say("já foi?")).text
    second = await ana.say("nota de 200 pra 99.000.002/0001-48, segunda consultoria")
    assert "R$ 200,00" in second.text
    assert "segunda consultoria" in second.text
    await ana.touch("Confirmar", of=second)
    road.world.plugnotas.faults.clear()
    await ana.files()
    await ana.files()
    await road.settled()
    assert [row["estado"] for row in await road.sessions(ana)] == ["aprovado", "aprovado"]
    values = {note.payload["servico"][0]["valor"]["servico"] for note in await road.notes(ana)}
    assert values == {100, 200}


async def test_what_was_sent_cannot_be_called_back_by_chat(road: Road) -> None:
    """A cancellation that comes too late says so once, and the invoice arrives all the same."""
    road.world.plugnotas.faults.set("aprovado_sem_numero")  # stays at the authority until the fault is cleared
    ana = await road.person()
    summary = await ana.say(FULL)
    await ana.touch("Confirmar", of=summary)
    await road.reached(ana, "processando")
    assert "já foi enviada" in (await ana.press("Cancelar", of=summary)).text
    await ana.touch("Cancelar", of=summary)
    road.world.plugnotas.faults.clear()
    await ana.files()
    await road.settled()
    assert sum("já foi enviada" in answer for answer in ana.answers) == 1
    assert (await road.session(ana))["estado"] == "aprovado"


async def test_the_same_invoice_twice_is_two_invoices_when_asked_twice(road: Road) -> None:
    """Two confirmations of two summaries are two invoices; keys never collide."""
    ana = await road.person()
    await ana.issue()
    await ana.issue()
    keys = [note.id_integracao for note in await road.notes(ana)]
    assert len(keys) == len(set(keys)) == 2
