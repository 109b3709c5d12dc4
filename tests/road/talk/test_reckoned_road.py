"""An amount that words make of the one in the summary, on the whole road."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.road.road_people import PADARIA

if TYPE_CHECKING:
    from tests.road.road_people import Road


async def test_a_reckoned_amount_is_shown_with_its_sum_and_chosen_with_a_press(road: Road) -> None:
    """Beside the amount that stands; the press issues the reckoned one, and a yes in words neither."""
    ana = await road.person()
    await ana.say(f"nota de R$ 150,00 pra {PADARIA}, consultoria de marketing")
    summary = await ana.say("faltou um zero")
    assert "Valor: *R$ 150,00* ou *R$ 1.500,00* (10 × R$ 150,00)" in summary.text
    assert [button.title for button in summary.buttons] == ["Emitir R$ 150,00", "Emitir R$ 1.500,00", "Corrigir"]
    await ana.say("sim")
    assert await road.notes(ana) == []
    await ana.touch("Emitir R$ 1.500,00")
    await ana.files()
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1500


async def test_net_a_choice_in_words_and_the_amount_from_before(road: Road) -> None:
    """The net amount is shown as such, "de antes" brings an amount back, and "o primeiro" chooses: none issues."""
    ana = await road.person()
    net = await ana.say(f"nota pra {PADARIA}, consultoria de marketing, bruto 1200 liquido 1070, a nota é do líquido")
    assert "Valor: *R$ 1.070,00* (líquido de R$ 1.200,00, confere?)" in net.text
    await ana.say("o valor é 1200")
    assert "Mudei o valor de R$ 1.200,00 para R$ 1.070,00" in (await ana.say("volta pro de antes")).text
    assert "Valor: *R$ 1.070,00* ou *R$ 10.700,00*" in (await ana.say("faltou um zero")).text
    assert "Valor: *R$ 1.070,00*\n" in (await ana.say("o primeiro")).text
    parts = await ana.say("cachê 800 + couvert 200")
    assert "*R$ 1.070,00* ou *R$ 1.000,00* (R$ 800,00 + R$ 200,00)" in parts.text
    assert "Valor: *R$ 1.000,00*" in (await ana.say("o menor")).text
    assert await road.notes(ana) == []
