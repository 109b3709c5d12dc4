"""What a person says over an open draft, beside a note or in short words is taken, asked about or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.talk.memory_people import MARIA, ZE, of_new_company

if TYPE_CHECKING:
    from proofs.sandbox.meta.model import Bubble
    from tests.road.road_people import Person, Road

OPEN = "nota de 1.200 pra padaria, banner"


def titles(bubble: Bubble) -> list[str]:
    return [button.title for button in bubble.buttons]


async def with_clients(road: Road) -> Person:
    """Return somebody whose company has issued to a bakery and to a man."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 150 pra {ZE}, serviço: panfleto")
    await ana.issue(f"nota de 200 pra João Silva, cpf {MARIA}, aula de inglês")
    return ana


@pytest.mark.parametrize(
    "words", ["faz uma de 100 pra maria", "mais uma de 100 pra maria", "emite uma nota pra maria de R$ 100"]
)
async def test_another_order_over_an_open_question_is_asked_about(road: Road, words: str) -> None:
    """Both amounts are named, nothing is merged, and the other order waits in a button while the first is finished."""
    ana = await with_clients(road)
    await ana.say(OPEN)
    asked = await ana.say(words)
    assert titles(asked) == ["Corrigir esta", "É outra"]
    assert ("R$ 1.200,00" in asked.text, "100" in asked.text) == (True, True)
    kept = await ana.press("É outra", asked)
    assert titles(kept) == ["Sim", "Outro cliente", "Fazer a outra"]
    shown = await ana.press("Sim", of=kept)
    assert ("R$ 1.200,00" in shown.text, "maria" in shown.text) == (True, False)
    await ana.touch("Confirmar", shown)
    await ana.files()
    await ana.touch("Fazer a outra", kept)
    await ana.expect("100")


async def test_a_changed_field_is_no_text_of_the_service(road: Road) -> None:
    """The command to change a field sets it also where it had nothing."""
    ana = await with_clients(road)
    await ana.say("nota pra padaria do zé, 300")
    shown = await ana.say("muda descrição pra logotipo")
    assert "Serviço: logotipo\n" in shown.text
    assert "R$ 350,00" in (await ana.say("troca o valor por 350")).text


async def test_shortened_words_are_read_as_the_long_ones(road: Road) -> None:
    """Customer, amount and service are kept, and a total is of the client who is named."""
    ana = await with_clients(road)
    assert "R$ 150,00 para padaria" in (await ana.say("qto faturei p padaria esse ano?")).text
    asked = await ana.say("nta d 1500 p padaria consultoria d mkt")
    assert ("PADARIA DO ZÉ LTDA" in asked.text, "consultoria de mkt" in asked.text) == (True, True)
    assert "R$ 1.500,00" in (await ana.say("isso")).text


@pytest.mark.parametrize(
    ("words", "note"), [("esqueci, a nota do joao era 250", "nota 2"), ("errei a ultima, era 400", "nota 2")]
)
async def test_a_complaint_right_after_a_note_opens_no_draft(road: Road, words: str, note: str) -> None:
    """It leads to that note, and who takes it back is left in peace."""
    ana = await with_clients(road)
    sorry = await ana.say(words)
    assert note in sorry.text
    assert titles(sorry) == ["Cancelar e refazer", "Falar com alguém"]
    assert "fica como está" in (await ana.say("não era nada, tá certa")).text


async def test_a_reason_that_tells_the_right_amount_is_read_onto_the_new_draft(road: Road) -> None:
    """Made anew, the note has what was said to be right, or asks about it: never the wrong amount without a word."""
    ana = await with_clients(road)
    await ana.say("cancela a nota 1")
    await ana.press("Cancelar a nota", await ana.say("foi erro de valor, era 380"))
    gone = await ana.expect("cancelada")
    anew = next(title for title in titles(gone) if title.startswith("Refazer"))
    assert "380" in (await ana.press(anew, gone)).text


async def test_a_list_of_notes_is_one_order_a_line(road: Road) -> None:
    """Each line has its customer, its amount and its service; the second is quoted."""
    ana = await with_clients(road)
    first = await ana.say("notas:\npadaria 300 panfletos\njoao silva 200 aula")
    assert ("Li 2 notas" in first.text, "joao silva, 200, aula" in first.text) == (True, True)
    shown = await ana.press("Sim", of=first)
    assert ("R$ 300,00" in shown.text, "Serviço: panfletos" in shown.text) == (True, True)
    await ana.say("cancela")
    three = await ana.say("padaria, 1.2k, logo novo")
    assert ("PADARIA" in three.text, "R$ 1.200,00" in three.text, "logo novo" in three.text) == (True, True, True)


async def test_what_is_known_of_a_client_is_told(road: Road) -> None:
    """Who the open note is for, whose document it is, and a date of yesterday is taken as it is asked for."""
    ana = await with_clients(road)
    await ana.say("nota de 500 pra padaria do zé, serviço: banner")
    assert "O cliente desta nota é PADARIA DO ZÉ LTDA" in (await ana.say("quem é o cliente?")).text
    assert ZE in (await ana.say("qual o cnpj da padaria?")).text
    assert "Data do serviço:" in (await ana.say("da pra emitir com data de ontem")).text


async def test_a_complaint_about_one_of_two_of_a_name_asks_which(road: Road) -> None:
    """The note of the other one is not led to."""
    ana = await with_clients(road)
    await ana.issue("nota de 90 pra João Silva, cpf 111.444.777-35, aula de canto")
    asked = await ana.say("a nota do joão silva era 250")
    assert ("nota 2" in asked.text, "nota 3" in asked.text) == (True, True), asked.text
