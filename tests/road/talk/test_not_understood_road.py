"""What Prosa cannot do, or did not understand, on the whole road: it is said, and nothing is issued behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.road.road_people import Road

FULL = "nota de 1500 pra 12.345.678/0001-95, consultoria de marketing"


@pytest.mark.parametrize("asked", ["retém o ISS de 5%", "coloca na observação: pedido 4471", "sim, mas retém o ISS"])
async def test_a_fiscal_instruction_withholds_the_button(road: Road, asked: str) -> None:
    """It is named as what cannot be done; the button shown before issues no more, that of the next summary does."""
    ana = await road.person()
    shown = await ana.say(FULL)
    told = await ana.say(asked)
    assert "Ainda não sei" in told.text
    assert not told.buttons
    again = await ana.press("Confirmar", shown)
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert "Confirmar" in [button.title for button in again.buttons]
    await ana.press("Confirmar", again)
    await road.settled()
    [note] = await road.notes(ana)
    assert note.numero


async def test_an_instruction_among_the_data_is_told_too(road: Road) -> None:
    """The data are kept, no button comes before they say to go on, and then each summary says what is missing."""
    ana = await road.person()
    told = await ana.say(f"{FULL}. retém o ISS de 5%")
    assert "Ainda não sei reter" in told.text
    assert not told.buttons
    session = await road.session(ana)
    assert (session["descricao"], session["estado"]) == ("consultoria de marketing", "aguardando_confirmacao")
    summary = await ana.say("sim")
    assert "Confirmar" in [button.title for button in summary.buttons]
    assert "Sai *sem retenção* do ISS." in summary.text
    await road.house.redis.flushall()  # the journal knows it, too
    assert "sem retenção" in (await ana.say("o valor é 1600")).text


@pytest.mark.parametrize(
    "said",
    ["tava errado o valor da nota que você acabou de emitir", "quanto faturei esse mês?", "qual o prazo pra cancelar?"],
)
async def test_what_was_not_understood_is_not_reassured(road: Road, said: str) -> None:
    """After an invoice, words about it get no "all is well", and change nothing."""
    ana = await road.person()
    await ana.issue()
    await road.settled()
    before = await road.session(ana)
    answer = (await ana.say(said)).text
    assert "tudo em dia" not in answer
    assert "pront" not in answer
    assert (await road.session(ana))["sessao_id"] == before["sessao_id"]


async def test_abuse_is_no_service(road: Road) -> None:
    """Asked for the service, an insult is not kept as one; what is kept is said with its value."""
    ana = await road.person()
    await ana.say("nota de 1500 pra 12.345.678/0001-95")
    answer = await ana.say("vai tomar banho")
    assert (await road.session(ana))["descricao"] is None
    assert "banho" not in answer.text
    kept = await ana.say("oi")
    assert "serviço" in kept.text


async def test_what_was_saved_is_echoed(road: Road) -> None:
    """A field is named with its value, so that a wrong one is seen before the summary."""
    ana = await road.person()
    assert "R$ 1.500,00" in (await ana.say("nota de 1.500 reais")).text
    assert "consultoria de marketing" in (await ana.say("consultoria de marketing")).text


async def test_an_unknown_wish_is_answered_with_what_can_be_done(road: Road) -> None:
    """Three buttons, each of which does what it says."""
    ana = await road.person()
    await ana.issue()
    await road.settled()
    told = await ana.say("ok")
    while not told.buttons:  # the files of the note come meanwhile
        told = await ana.say("ok")
    titles = [button.title for button in told.buttons]
    assert titles[-2:] == ["Minhas notas", "Falar com uma pessoa"]
    assert "por aqui" in (await ana.press("Minhas notas", told)).text
