"""Speech acts on the whole road: what decides nothing changes nothing, and no answer comes twice word for word."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.road.road_people import FULL, PADARIA, new_phone, unlike

if TYPE_CHECKING:
    from proofs.sandbox.meta.model import Bubble
    from tests.road.road_people import Road

CAFE = "99.000.002/0001-48"


def titles(bubble: Bubble) -> list[str]:
    return [button.title for button in bubble.buttons]


async def test_the_note_that_was_just_made_is_this_conversations(road: Road) -> None:
    """Somebody else of the company issued a newer one: mine is offered, and theirs names them before it is touched."""
    ana, bia = await road.person(), await road.person(new_phone())
    await ana.issue()
    await road.settled()
    [mine] = await road.notes(ana)
    await bia.issue()
    await road.settled()
    [theirs] = await road.notes(bia)
    asked = await ana.say("cancela a nota q acabei de fazer")
    assert f"NFS-e {mine.numero} " in asked.text
    assert "Feita por" not in asked.text
    await ana.say("deixa pra lá")
    other = await ana.say(f"cancelar nota {theirs.numero}")
    assert f"NFS-e {theirs.numero} " in other.text
    assert "Feita por" in other.text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("qual o prazo pra cancelar uma nota?", "cada cidade define o seu"),
        ("e se eu errar dá pra cancelar depois?", "Nota emitida não se edita"),
        ("quanto de imposto eu pago?", "O MEI paga um valor fixo"),
        ("qual a capital da frança?", "prefiro não chutar"),
    ],
)
async def test_a_question_leaves_the_summary_open(road: Road, question: str, answer: str) -> None:
    """It is answered, the draft stays, the summary's button is there and still issues."""
    ana = await road.person()
    shown = await ana.say(FULL)
    told = await ana.say(question)
    assert answer in told.text
    assert "R$ 1.500,00" in told.text
    assert titles(told) == titles(shown)
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    await ana.press("Confirmar", told)
    await road.settled()
    assert len(await road.notes(ana)) == 1


async def test_a_yes_after_a_question_issues_nothing(road: Road) -> None:
    """A thank-you like "ah, beleza" is for the answer: the summary comes again."""
    ana = await road.person()
    await ana.say(FULL)
    await ana.say("e se eu errar dá pra cancelar depois?")
    again = await ana.say("beleza")
    assert "Confirmar" in titles(again)
    await road.settled()
    assert await road.notes(ana) == []


async def test_who_waits_finds_the_summary_as_it_was(road: Road) -> None:
    """Wait, come back, yes: nothing was cancelled meanwhile, and the first button still issues."""
    ana = await road.person()
    shown = await ana.say(FULL)
    waiting = [(await ana.say("peraí")).text, (await ana.say("peraí")).text]
    assert "espero" in waiting[0]
    assert waiting[0] != waiting[1]
    back = await ana.say("voltei")
    assert "R$ 1.500,00" in back.text
    assert "Confirmar" in titles(back)
    await ana.press("Confirmar", shown)
    await road.settled()
    assert len(await road.notes(ana)) == 1


async def test_what_is_wrong_is_asked(road: Road) -> None:
    """The words "tá errado" ask for the part; the amount is corrected in the same draft, and nothing else is asked."""
    ana = await road.person()
    await ana.say(FULL)
    asked = await ana.say("tá errado")
    assert titles(asked) == ["Cliente", "Valor", "Serviço"]
    again = await ana.press("Valor", asked)
    assert "valor" in again.text
    shown = await ana.say("1.800")
    assert "R$ 1.800,00" in shown.text
    assert "PADARIA DO ZÉ LTDA" in shown.text


async def test_a_complaint_is_offered_the_very_note(road: Road) -> None:
    """The note of this conversation, with a button that begins its cancellation, and one for a person."""
    ana = await road.person()
    await ana.issue(FULL)
    await road.settled()
    [note] = await road.notes(ana)
    told = await ana.say("tava errado o valor da nota que você acabou de emitir")
    assert f"nota {note.numero}, de R$ 1.500,00" in told.text
    assert titles(told) == ["Cancelar e refazer", "Falar com alguém"]
    numbered = await ana.say(f"muda o valor da nota {note.numero}")
    assert titles(numbered)[0] == "Cancelar e refazer"
    assert "Não achei a nota 987654" in (await ana.say("substitui a nota 987654 por outra de 2.600")).text
    assert "Chamei a equipe" in (await ana.press("Falar com alguém", told)).text
    assert "Cancelo esta nota?" in (await ana.press("Cancelar e refazer", told)).text
    await ana.press("Não cancelar")
    assert "Qual é o motivo?" in (await ana.say("cancela essa, o evento foi adiado")).text
    await ana.press("Não cancelar")
    await ana.say("nota de 200 reais")
    assert "Qual é o motivo?" not in (await ana.say("cancela essa, o evento foi adiado")).text  # the open one is meant


@pytest.mark.parametrize("begun", [None, "nota de 200 reais", unlike()], ids=["nothing", "a draft", "a summary"])
async def test_a_number_that_a_person_says_wins(road: Road, begun: str | None) -> None:
    """Of two notes the older one is meant, in whatever words; what is open takes nothing of them."""
    ana = await road.person()
    await ana.issue(FULL)
    await ana.issue(unlike())
    await road.settled()
    first = min(await road.notes(ana), key=lambda note: int(note.numero or 0))
    if begun:
        await ana.say(begun)
    before = (await road.session(ana))["rascunho"]
    for words in (
        "a nota {n} saiu errada",
        "o valor da nota {n} ta errado",
        "a nota {n} ta com valor errado",
        "a nota {n} saiu com valor errado era 550",
        "errei a nota {n}, era 550 e nao 500",
        "a nota {n} foi pro cliente errado",
        "quero substituir a nota {n}",
    ):
        told = await ana.say(words.format(n=first.numero))
        assert re.search(rf"nota {first.numero}\b", told.text.replace("*", "")), (words, told.text)
        assert (await road.session(ana))["rascunho"] == before
    assert "Não achei a nota 987654" in (await ana.say("a nota 987654 saiu errada")).text
    thanks = await ana.say("recebi o pix, e agora?")
    assert "Cancelar e refazer" not in titles(thanks)


async def test_a_wrong_note_is_replaced_without_telling_it_all_again(road: Road) -> None:
    """Cancelled first, with a button of its own; then its data come back, with what the complaint said to be wrong."""
    ana = await road.person()
    await ana.issue(FULL)
    await road.settled()
    [wrong] = await road.notes(ana)
    told = await ana.say("tava errado o valor da nota, era 1800")
    await ana.press("Cancelar e refazer", told)
    await ana.press("Cancelar a nota")
    cancelled = await ana.expect(f"Nota {wrong.numero} cancelada")
    await road.settled()
    assert await road.notes(ana) == []
    await ana.say("nota de 200 reais")
    left = await ana.press("Refazer", cancelled)  # does its work beside another draft, which can be taken up again
    assert titles(left) == ["Retomar esta nota"]
    assert "R$ 1.800,00" in (await ana.expect("PADARIA DO ZÉ LTDA")).text
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    [note] = await road.notes(ana)
    assert (int(note.valor), note.payload["tomador"]) == (1800, wrong.payload["tomador"])


async def test_two_orders_in_one_message_begin_with_the_first(road: Road) -> None:
    """The first is collected with its data, the second is quoted to be sent later."""
    ana = await road.person()
    told = await ana.say(f"duas notas: 500 pra {PADARIA} e 700 pra {CAFE}")
    assert "Li 2 notas" in told.text
    assert f"700 pra {CAFE}" in told.text
    session = await road.session(ana)
    assert (session["cnpj"], str(session["valor"])) == ("12345678000195", "500.00")


async def test_of_two_whole_orders_the_first_ones_summary_stands_above_its_button(road: Road) -> None:
    """Nobody confirms what was never shown: document, amount, service and issuer are in the message itself."""
    ana = await road.person()
    told = await ana.say(f"faz 2 notas: 150 unha em gel cnpj {PADARIA}, e 200 cílios cnpj {CAFE}")
    assert "Li 2 notas" in told.text
    assert not [
        part for part in ("12.345.678/0001-95", "R$ 150,00", "unha em gel", "Emitente") if part not in told.text
    ]
    assert told.buttons[0].title == "Confirmar"
    await ana.touch("Confirmar", told)
    await ana.files()
    await road.settled()
    [note] = await road.notes(ana)
    assert int(note.valor) == 150


async def test_files_are_asked_for_by_kind_and_by_mail(road: Road) -> None:
    """The XML is the XML; for an e-mail there is an honest no, and both files here."""
    ana = await road.person()
    await ana.issue()
    await road.settled()
    xml = await ana.say("preciso do xml")
    assert xml.attachment is not None
    assert xml.attachment.filename.endswith(".xml")
    assert "não há servidor de e-mail" in (await ana.say("manda pro email da cliente")).text
    files = [await ana.expect(), await ana.expect()]
    assert all(bubble.attachment for bubble in files)


@pytest.mark.parametrize("said", ["gera a guia do DAS", "paga esse boleto", "me faz um pix"])
async def test_what_is_not_for_us_is_no_service(road: Road, said: str) -> None:
    """Asked for the service, nothing of it is stored as one."""
    ana = await road.person()
    await ana.say(f"nota de 1500 pra {PADARIA}")
    assert "não faço" in (await ana.say(said)).text
    assert (await road.session(ana))["descricao"] is None


async def test_nobody_reads_the_same_words_twice_running(road: Road) -> None:
    """Talk, abuse, thanks, questions and noise: each answer differs from the one before."""
    ana = await road.person()
    for words in ("oi", "oi", "oi", "ajuda", "ajuda", "vai se foder", "vai se foder", "vai se foder"):
        await ana.say(words)
    await ana.say(FULL)
    for words in ("hm", "hm", "hm", "todo mês", "todo mês", "obrigada", "obrigada", "obrigada", "peraí", "peraí"):
        await ana.say(words)
    assert all(before != after for before, after in pairwise(ana.answers))


@pytest.mark.parametrize("go_on", ["pode sem isso mesmo", "sim"])
async def test_after_an_instruction_the_person_says_how_to_go_on(road: Road, go_on: str) -> None:
    """No button until then; afterwards the summary comes with a new one, which issues."""
    ana = await road.person()
    await ana.say(FULL)
    assert not titles(await ana.say("o cliente é do exterior"))
    shown = await ana.say(go_on)
    await ana.press("Confirmar", shown)
    await road.settled()
    assert len(await road.notes(ana)) == 1
