from __future__ import annotations

from typing import TYPE_CHECKING

from tests.road.road_people import FULL, PADARIA

if TYPE_CHECKING:
    from tests.road.road_people import Road


async def test_a_correction_before_the_summary_is_acknowledged(road: Road) -> None:
    """The new amount is repeated before the next question."""
    ana = await road.person()
    await ana.say("1.500 reais")
    assert (await ana.say("na verdade é 1.800")).text.startswith("Anotei: valor R$ 1.800,00.")


async def test_a_zero_over_the_summary_leaves_the_amount_and_says_so(road: Road) -> None:
    """Neither dropped silently nor taken: the summary comes again with the reason, and the old one confirms nothing."""
    ana = await road.person()
    old = await ana.say(FULL)
    for words in ("-500", "0", "0"):
        answer = await ana.say(words)
        assert f"Não usei “{words}”" in answer.text
        assert "Continua R$ 1.500,00" in answer.text
    assert "ainda não emiti" in (await ana.press("Confirmar", of=old)).text
    await road.settled()
    assert await road.notes(ana) == []
    await ana.touch("Confirmar")
    await ana.files()
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1500


async def test_the_same_doubt_is_not_asked_twice_in_the_same_words(road: Road) -> None:
    """A wrong check digit shows the number as read, then in other words; noise and a no get their own answers."""
    ana = await road.person()
    asked = [(await ana.say(words)).text for words in ("cnpj 12.345.678/0001-99", "12.345.678/0001-99", "não")]
    assert all("“12.345.678/0001-99”" in text for text in asked[:2])
    assert "_cancela_" in asked[2]
    assert len(set(asked)) == 3


async def test_a_no_after_a_wrong_amount_is_no_echo(road: Road) -> None:
    """The amount was taken back; a no says that the new one is not at hand."""
    ana = await road.person()
    await ana.say(FULL)
    asked = await ana.say("esse valor tá errado")
    answer = await ana.say("não")
    assert answer.text != asked.text
    assert "Quando tiver, me manda o valor" in answer.text
    assert (await road.session(ana))["estado"] == "dados_incompletos"


async def test_a_corrected_service_is_shown_in_the_heading(road: Road) -> None:
    """The new text stands where the change is told."""
    ana = await road.person()
    await ana.say(FULL)
    answer = await ana.say("o serviço é mentoria de vendas")
    assert answer.text.startswith("*Troquei o serviço para mentoria de vendas.*")


async def test_two_invoices_in_one_message_are_made_one_by_one(road: Road) -> None:
    """The answer says so and what the first one needs."""
    ana = await road.person()
    answer = await ana.say(f"duas notas: 500 pra {PADARIA} e 700 pra 99.000.002/0001-48, consultoria")
    assert "uma de cada vez" in answer.text
    assert "Depois disso" not in answer.text


async def test_an_uncertain_amount_over_the_summary_is_quoted(road: Road) -> None:
    """The summary shows what was read beside the amount that stood."""
    ana = await road.person()
    await ana.say(FULL)
    assert "*R$ 1,50* ou *R$ 1.500,00*" in (await ana.say("1.50")).text
    assert "*R$ 600,00* ou *R$ 120,00*" in (await ana.say("5x de 120")).text
