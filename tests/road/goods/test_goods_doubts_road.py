"""Another order, a button and words about other items never change or lose what an order of goods says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.goods.test_goods_road import CPF, PADARIA, _person, opened, road, sefaz

if TYPE_CHECKING:
    from tests.road.road_people import Road

__all__ = ["opened", "road", "sefaz"]
TWO = f"nota de 2 brigadeiros pra padaria, cnpj {PADARIA}"


async def test_another_order_of_goods_is_asked_about_and_not_merged(road: Road) -> None:
    """Its items are of no invoice until a button says of which."""
    person = await _person(road)
    await person.say(TWO)
    asked = await person.say("faz uma de 3 bolos de pote pra maria")
    assert [button.title for button in asked.buttons] == ["Corrigir esta", "É outra"], asked.text
    shown = await person.press("É outra", asked)
    assert ("2 Brigadeiro" in shown.text, "Bolo" in shown.text.split("Confere?")[-1]) == (True, False), shown.text
    assert "*R$ 9,00*" in shown.text
    await person.press("Cancelar", shown)
    other = await person.press("Fazer a outra", shown)
    assert "3 Bolo de pote" in other.text, other.text
    assert "Brigadeiro" not in other.text


async def test_another_order_that_corrects_is_read(road: Road) -> None:
    """The button says that the words are this invoice's."""
    person = await _person(road)
    await person.say(TWO)
    asked = await person.say("faz uma de 3 bolos de pote pra maria")
    shown = await person.press("Corrigir esta", asked)
    assert "3 Bolo de pote" in shown.text, shown.text


@pytest.mark.parametrize(
    ("words", "line", "new"),
    [
        ("na verdade 4 brigadeiros", "4 Brigadeiro", "apontador"),
        ("brigadeiro a 5 reais", "2 Brigadeiro × R$ 5,00", "lapiseira"),
    ],
)
async def test_what_is_no_product_yet_is_not_lost_over_other_items(road: Road, words: str, line: str, new: str) -> None:
    """No summary without it is shown."""
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros e 3 {new} a 3,50 pra padaria, cnpj {PADARIA}")
    asked = await person.say(words)
    assert f"3 {new}" in asked.text, asked.text
    assert not [b for b in asked.buttons if b.title == "Confirmar"]
    await person.press(f"Cadastrar {new.title()}", asked)
    await person.tell("ncm 96081000")
    await person.expect("cadastrado")
    shown = await person.expect(f"3 {new.title()} × R$ 3,50 = R$ 10,50")
    assert line in shown.text, shown.text


@pytest.mark.parametrize(
    ("words", "line"), [("tira as borrachas", "*R$ 9,00*"), ("são 3 bolos de pote", "3 Bolo de pote × R$ 12,00")]
)
async def test_what_is_no_product_yet_is_taken_away_or_named(road: Road, words: str, line: str) -> None:
    """By its own name, or by the one of a product."""
    person = await _person(road)
    await person.say("nota de 2 brigadeiros e 3 borrachas, sem cpf, em mãos")
    shown = await person.say(words)
    assert ("2 Brigadeiro" in shown.text, line in shown.text) == (True, True), shown.text


async def test_a_price_button_is_of_its_own_note(road: Road) -> None:
    """Pressed over a later one it changes nothing."""
    person = await _person(road)
    await person.say(TWO)
    asked = await person.say("o preço do brigadeiro agora é 5")
    await person.say("cancela")
    await person.say("nota de 7 brigadeiros, sem cpf, em mãos")
    assert "não mexi em nada" in (await person.press("Só nesta nota", asked)).text
    assert "não mexi em nada" in (await person.press("No cadastro também", asked)).text


@pytest.mark.parametrize("service", ["massagem nas mãos", "tatuagem na mão", "curso de cuidados em mãos diabéticas"])
async def test_a_service_of_who_sells_keeps_its_words(road: Road, service: str) -> None:
    """Hands are what some people work on."""
    person = await _person(road)
    shown = await person.say(f"nota de 300 pra Ana Souza cpf {CPF}, {service}")
    assert f"Serviço: {service}" in shown.text, shown.text


@pytest.mark.parametrize("words", ["muda para 3 estojos a 2,50", "3 estojos a 2,50"])
async def test_what_is_no_product_is_never_passed_over_under_a_summary(road: Road, words: str) -> None:
    """A summary without a name lets one follow: "Mercado 3 Irmãos" is one, what has a price is none."""
    person = await _person(road)
    await person.say("nota de 2 brigadeiros, sem cpf, em mãos")
    asked = await person.say(words)
    assert "Confirmar" not in [button.title for button in asked.buttons], asked.text
    assert "estojo" in asked.text.lower()


async def test_a_name_with_a_number_may_follow_a_summary(road: Road) -> None:
    """It is no product that is counted."""
    person = await _person(road)
    await person.say("nota de 2 brigadeiros, sem cpf, em mãos")
    named = await person.say("Mercado 3 Irmãos")
    assert "3 irmãos" not in named.text.lower().split("confere?")[0].replace("mercado 3 irmãos", ""), named.text
    assert "2 Brigadeiro" in named.text
