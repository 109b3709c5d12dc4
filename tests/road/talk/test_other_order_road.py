"""Over a summary, words that name another customer's invoice are never merged into the one that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.road_people import FULL, unlike

if TYPE_CHECKING:
    from proofs.sandbox.meta.model import Bubble
    from tests.road.road_people import Person, Road

RUI = "111.444.777-35"
KEPT = {"documento": "12345678000195", "valor": "1500.00", "descricao": "consultoria de marketing"}


def titles(bubble: Bubble) -> list[str]:
    return [button.title for button in bubble.buttons]


async def stands(road: Road, who: Person) -> dict[str, str | None]:
    draft = (await road.session(who))["rascunho"]
    return {name: draft[name]["valor"] for name in KEPT}


@pytest.mark.parametrize(
    "words",
    [
        f"ok, e outra de 800 pra {RUI}",
        f"pode confirmar e faz uma de 800 pra {RUI}",
        f"nota 2: cpf {RUI} valor 800 serviço aula",
        f"outra nota\ncpf {RUI}\n800\naula",
        f"não quero mais essa, faz outra: montagem de berço 130 cpf {RUI}",
        f"certo. depois a do {RUI}",
    ],
)
async def test_it_is_asked_which_invoice_is_meant(road: Road, words: str) -> None:
    """Nothing of it is taken, nothing goes out, and the same words make another invoice after this one."""
    ana = await road.person()
    await ana.say(FULL)
    asked = await ana.say(words)
    assert titles(asked) == ["Corrigir esta", "É outra"]
    assert await stands(road, ana) == KEPT
    shown = await ana.press("É outra", asked)
    assert titles(shown) == ["Confirmar", "Cancelar", "Fazer a outra"]
    assert "12.345.678/0001-95" in shown.text
    assert await stands(road, ana) == KEPT


async def test_the_other_invoice_is_made_of_its_own_words_alone(road: Road) -> None:
    """It has no service and no e-mail of the first one."""
    ana = await road.person()
    asked = [await ana.say(unlike()), await ana.say(f"nova nota: cpf {RUI} valor 800 serviço: aula de violão")][1]
    shown = await ana.press("É outra", asked)
    await ana.touch("Confirmar", shown)
    await ana.files()
    await ana.touch("Fazer a outra", shown)
    other = await ana.expect(RUI)
    assert (RUI in other.text, "R$ 800,00" in other.text, "aula de violão" in other.text) == (True, True, True)
    assert "E-mail" not in other.text
    assert titles(other) == ["Confirmar", "Corrigir", "Cancelar"]
    assert len(await road.notes(ana)) == 1


async def test_words_that_are_for_this_invoice_correct_it(road: Road) -> None:
    """The button reads them onto the draft; words that say themselves that they correct need no button."""
    ana = await road.person()
    await ana.say(FULL)
    corrected = await ana.press("Corrigir esta", await ana.say(f"cpf {RUI}, 800 reais"))
    assert (RUI in corrected.text, "R$ 800,00" in corrected.text) == (True, True)
    again = await ana.say("o cnpj certo é 12.345.678/0001-95 e o valor 900")
    assert ("12.345.678/0001-95" in again.text, "R$ 900,00" in again.text) == (True, True)


async def test_a_clear_yes_goes_through_and_the_other_order_is_kept(road: Road) -> None:
    """The first is issued as it was shown; the second waits in a button."""
    ana = await road.person()
    await ana.say(unlike())
    shown = await stands(road, ana)
    kept = await ana.say(f"pode emitir. e depois uma de 800 reais pro cpf {RUI}, aula de violão")
    assert titles(kept) == ["Fazer a outra"]
    await ana.files()
    assert await stands(road, ana) == shown
    await ana.touch("Fazer a outra", kept)
    other = await ana.expect(RUI)
    assert (RUI in other.text, "R$ 800,00" in other.text) == (True, True)
