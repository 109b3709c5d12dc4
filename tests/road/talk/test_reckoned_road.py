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
