"""Forwarded, edited, deleted and late messages over the whole road: what may inform, and what decides nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from proofs.sandbox.meta.model import edited, forwarded, revoked
from tests.road.road_people import FULL, PADARIA, until

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road

SUMMARY = "R$ 1.500,00"


async def _sent(road: Road, person: Person, text: str) -> str:
    """Write, wait for the answer, and return the message's wamid."""
    wamid = await person.tell(text)
    await person.expect()
    await road.settled()
    return wamid


def _at(road: Road, message: dict[str, Any], *, ago: float) -> dict[str, Any]:
    """The message as if written ``ago`` seconds before now, and delivered only now."""
    written = road.world.meta.clock() - timedelta(seconds=ago)
    return {**message, "timestamp": str(int(written.timestamp()))}


def _text(body: str) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}}


async def _amounts(road: Road, person: Person) -> list[str]:
    return [str(note.valor) for note in await road.notes(person)]


# --- forwarded ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["sim", "pode mandar", "não", "cancela", "tá errado"])
@pytest.mark.parametrize("often", [False, True])
async def test_forwarded_words_decide_nothing(road: Road, words: str, often: bool) -> None:
    """Neither a yes nor a no of somebody else's answers the summary; it is said, and the buttons come again."""
    ana = await road.person()
    await ana.say(FULL)
    await road.settled()
    await road.world.meta.user_forward(ana.who, words, often=often)
    again = await ana.expect("encaminhada")
    assert [button.title for button in again.buttons] == ["Confirmar", "Corrigir", "Cancelar"]
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert await road.notes(ana) == []


@pytest.mark.parametrize("own", ["padaria ok", "obrigado"])
async def test_a_forwarded_yes_beside_own_words_confirms_nothing(road: Road, own: str) -> None:
    """Read together, each message's words count for themselves: the own ones were no yes."""
    ana = await road.person()
    await ana.say(FULL)
    await road.settled()
    meta = road.world.meta
    await meta.deliver_batch([meta.said(ana.who, forwarded("sim")), meta.said(ana.who, own)])
    await ana.expect()
    await road.settled()
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert await road.notes(ana) == []


async def test_an_own_yes_beside_forwarded_words_confirms(road: Road) -> None:
    """Whatever else was forwarded with it, unless it gives data: those get a summary of their own."""
    ana = await road.person()
    await ana.say(FULL)
    await road.settled()
    meta = road.world.meta
    await meta.deliver_batch([meta.said(ana.who, forwarded("não, espera")), meta.said(ana.who, "sim")])
    await ana.files()
    assert await _amounts(road, ana) == ["1500.00"]


async def test_a_forwarded_order_is_data(road: Road) -> None:
    """A customer's order that is forwarded fills the draft, beside own words or alone; the own yes issues it."""
    ana = await road.person()
    meta = road.world.meta
    items = [
        meta.said(ana.who, "faz essa nota pra mim"),
        meta.said(ana.who, forwarded(f"1500, {PADARIA}, consultoria")),
    ]
    await meta.deliver_batch(items)
    await ana.expect(SUMMARY)
    await meta.deliver_batch([meta.said(ana.who, forwarded("na verdade 1.700")), meta.said(ana.who, "sim")])
    await ana.expect("R$ 1.700,00")
    assert await road.notes(ana) == []
    await road.settled()
    await ana.tell("sim")
    await ana.files()
    assert await _amounts(road, ana) == ["1700.00"]


async def test_forwarded_words_cancel_no_issued_note(road: Road) -> None:
    """They neither begin a cancellation nor drop one; forwarded, a reason is still a reason."""
    ana = await road.person()
    await ana.issue()
    await road.settled()
    [note] = await road.notes(ana)
    meta = road.world.meta
    await meta.user_forward(ana.who, f"cancela a nota {note.numero}")
    await ana.expect("Não há nota aberta")
    assert await road.database.pool.fetchval(_CANCELLATIONS, road.conversation(ana)) is None
    await ana.say(f"cancela a nota {note.numero}")
    await meta.user_forward(ana.who, "deixa pra lá")
    await ana.expect("motivo")
    assert await road.database.pool.fetchval(_CANCELLATIONS, road.conversation(ana)) == "aguardando_motivo"
    await meta.user_forward(ana.who, "o valor da nota veio errado, refaz por favor")
    await ana.expect("Motivo: o valor da nota veio errado")


_CANCELLATIONS = "SELECT estado FROM cancelamento WHERE conversa = $1 ORDER BY id DESC LIMIT 1"


# --- edited -------------------------------------------------------------------------------------------------------


async def test_an_edit_after_the_summary_voids_it(road: Road) -> None:
    """The new summary has the new amount; the old button shows it and issues nothing; the new one issues it."""
    ana = await road.person()
    wamid = await ana.tell(FULL)
    summary = await ana.expect(SUMMARY)
    await road.settled()
    await road.world.meta.user_edit(ana.who, wamid, FULL.replace("1500", "1800"))
    again = await ana.expect("R$ 1.800,00")
    assert "Mudei o valor de R$ 1.500,00 para R$ 1.800,00" in again.text
    assert "R$ 1.800,00" in (await ana.press("Confirmar", of=summary)).text
    assert await road.notes(ana) == []
    await ana.touch("Confirmar", of=again)
    await ana.files()
    assert await _amounts(road, ana) == ["1800.00"]


async def test_an_edit_that_waits_behind_the_tap_goes_before_it(road: Road) -> None:
    """Both arrive together, the tap first: it was for a summary that the person had already changed."""
    ana = await road.person()
    wamid = await ana.tell(FULL)
    summary = await ana.expect(SUMMARY)
    await road.settled()
    button = summary.buttons[0]
    reply = {"type": "button_reply", "button_reply": {"id": button.id, "title": button.title}}
    meta = road.world.meta
    items = [
        meta.said(ana.who, {"type": "interactive", "interactive": reply}),
        meta.said(ana.who, edited(wamid, FULL.replace("1500", "1800"))),
    ]
    await meta.deliver_batch(items)
    await ana.expect("R$ 1.800,00")
    await road.settled()
    assert await road.notes(ana) == []
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"


async def test_a_value_that_the_edit_takes_away_is_asked_for(road: Road) -> None:
    """What only the earlier text said is no longer in the data."""
    ana = await road.person()
    wamid = await ana.tell(FULL)
    summary = await ana.expect(SUMMARY)
    await road.world.meta.user_edit(ana.who, wamid, f"faz uma nota pra {PADARIA}, consultoria de marketing")
    await ana.expect("valor")
    await ana.press("Confirmar", of=summary)
    assert await road.notes(ana) == []
    assert "R$ 1.900,00" in (await ana.say("1900")).text


async def test_an_edit_does_not_undo_a_later_correction(road: Road) -> None:
    """The chat reads in the order of writing: what was said after the edited message stays, and that is told."""
    ana = await road.person()
    first = _at(road, _text(FULL), ago=60)
    wamid = await road.world.meta.user_message(ana.who, first)
    await ana.expect(SUMMARY)
    await road.settled()
    assert "R$ 1.200,00" in (await ana.say("na verdade é 1.200")).text
    await road.settled()
    again_words = FULL.replace("1500", "1800").replace("marketing", "vendas")
    await road.world.meta.user_edit(ana.who, wamid, again_words)
    again = await ana.expect("Não usei “1800”")
    assert "Valor: *R$ 1.200,00*" in again.text
    assert "Serviço: consultoria de vendas" in again.text


async def test_the_later_of_two_edits_stays_whatever_order_they_come_in(road: Road) -> None:
    """An edit that arrives after a later one of the same message changes nothing."""
    ana = await road.person()
    wamid = await _sent(road, ana, FULL)
    meta = road.world.meta
    await meta.user_message(ana.who, edited(wamid, FULL.replace("1500", "1900")))
    await ana.expect("R$ 1.900,00")
    await road.settled()
    await meta.user_message(ana.who, _at(road, edited(wamid, FULL.replace("1500", "1800")), ago=30))
    await road.settled()
    assert (await road.session(ana))["valor"] == 1900


async def test_an_edit_that_overtakes_its_message_counts_instead_of_it(road: Road) -> None:
    """The edited words are read; the message itself, when it comes at last, is out of date and silent."""
    ana = await road.person()
    meta = road.world.meta
    original = meta.said(ana.who, _at(road, _text(FULL), ago=30))
    await meta.user_edit(ana.who, original.message["id"], FULL.replace("1500", "1800"))
    await ana.expect("R$ 1.800,00")
    await road.settled()
    await meta.deliver_batch([original])
    await road.settled()
    assert (await road.session(ana))["valor"] == 1800
    assert len(ana.answers) == 1


async def test_an_edit_before_anybody_read_the_message_is_one_turn(road: Road) -> None:
    """The message is read as it is now, once; an edited yes is still none."""
    ana = await road.person()
    meta = road.world.meta
    said = meta.said(ana.who, FULL)
    await meta.deliver_batch([said, meta.said(ana.who, edited(said.message["id"], FULL.replace("1500", "1800")))])
    await ana.expect("R$ 1.800,00")
    await road.settled()
    assert len(ana.answers) == 1
    said = meta.said(ana.who, "não")
    await meta.deliver_batch([said, meta.said(ana.who, edited(said.message["id"], "sim"))])
    await ana.expect("encaminhada, editada ou longa demais")
    assert await road.notes(ana) == []


@pytest.mark.parametrize("answered", [True, False])
async def test_an_edit_of_what_is_confirmed_is_told_to_be_too_late(road: Road, answered: bool) -> None:
    """The note stands as it was confirmed; the person hears so, and how to cancel it. No second one is begun."""
    ana = await road.person()
    wamid = await _sent(road, ana, FULL)
    await ana.touch("Confirmar")
    if answered:
        await ana.files()
        await road.settled()
    else:
        await road.reached(ana, "processando")
    await road.world.meta.user_edit(ana.who, wamid, FULL.replace("1500", "1800"))
    told = await until(lambda: _said(ana, "texto de antes"))
    assert "_cancela a nota de R$ 1.500,00_" in told
    await road.settled()
    assert len(await road.sessions(ana)) == 1
    assert await _amounts(road, ana) == ["1500.00"]


async def _said(person: Person, words: str) -> str | None:
    return next((answer for answer in person.answers if words in answer), None)


async def test_an_edit_of_an_older_invoice_leaves_the_open_one_alone(road: Road) -> None:
    """Its words went into a note that is issued: the draft keeps its data, and a yes in words shows it first."""
    ana = await road.person()
    wamid = await _sent(road, ana, FULL)
    await ana.touch("Confirmar")
    await ana.files()
    await ana.say(f"nota de 300 pra {PADARIA}, aula de violão")
    await road.settled()
    await road.world.meta.user_edit(ana.who, wamid, FULL.replace("1500", "1800"))
    await ana.expect("já foi emitida com o texto de antes")
    assert (await road.session(ana))["valor"] == 300
    await road.settled()
    await ana.tell("sim")
    await ana.expect("R$ 300,00")
    assert await _amounts(road, ana) == ["1500.00"]


async def test_an_edit_of_an_invoice_that_was_given_up_is_answered(road: Road) -> None:
    """Nothing was issued, and nothing is begun by an edit of its words."""
    ana = await road.person()
    wamid = await _sent(road, ana, FULL)
    await ana.press("Cancelar")
    await road.settled()
    await road.world.meta.user_edit(ana.who, wamid, FULL.replace("1500", "1800"))
    await ana.expect("não foi emitida")
    assert len(await road.sessions(ana)) == 1


async def test_an_edit_without_its_words_voids_the_summary_and_asks(road: Road) -> None:
    """Meta may tell only that something was edited: what, only the person knows."""
    ana = await road.person()
    summary = await ana.say(FULL)
    await road.settled()
    await road.world.meta.user_edit(ana.who, "wamid.X", None)
    await ana.expect("editou")
    assert "dados mudaram" in (await ana.press("Confirmar", of=summary)).text
    assert await road.notes(ana) == []


async def test_an_edited_yes_confirms_nothing(road: Road) -> None:
    """A "não" that is edited into a "sim" is no confirmation of a document."""
    ana = await road.person()
    await ana.say(FULL)
    await road.settled()
    wamid = await _sent(road, ana, "hum, não sei")
    await road.world.meta.user_edit(ana.who, wamid, "sim")
    await ana.expect("editou")
    await road.settled()
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert await road.notes(ana) == []


async def test_an_edited_reason_of_a_cancellation_is_shown_again(road: Road) -> None:
    """The button of the summary with the old reason cancels nothing."""
    ana = await road.person()
    await ana.issue()
    await road.settled()
    [note] = await road.notes(ana)
    await ana.say(f"cancela a nota {note.numero}")
    wamid = await ana.tell("valor errado, vou emitir outra")
    old = await ana.expect("Motivo: valor errado")
    await road.world.meta.user_edit(ana.who, wamid, "cliente errado, vou emitir outra")
    await ana.expect("Motivo: cliente errado")
    await ana.press("Cancelar a nota", of=old)
    assert await road.database.pool.fetchval(_CANCELLATIONS, road.conversation(ana)) == "aguardando_confirmacao"


# --- deleted ------------------------------------------------------------------------------------------------------


async def test_a_deleted_message_puts_its_data_in_doubt(road: Road) -> None:
    """What it gave is asked for again, the rest stays, and the old button issues nothing."""
    ana = await road.person()
    await ana.say(f"nota pra {PADARIA}, consultoria")
    wamid = await ana.tell("1500")
    summary = await ana.expect(SUMMARY)
    await road.settled()
    await road.world.meta.user_revoke(ana.who, wamid)
    await ana.expect("apagou a mensagem")
    await ana.press("Confirmar", of=summary)
    assert (await road.session(ana))["estado"] == "dados_incompletos"
    assert await road.notes(ana) == []
    again = await ana.say("1400")
    assert "R$ 1.400,00" in again.text
    assert "Serviço: consultoria" in again.text


async def test_a_deleted_message_that_said_nothing_changes_nothing(road: Road) -> None:
    """Small talk, or words that a later correction replaced, may go without a word; the summary stays good."""
    ana = await road.person()
    talk = await _sent(road, ana, "bom dia")
    await ana.say(f"nota pra {PADARIA}, consultoria")
    replaced = await _sent(road, ana, "1500")
    summary = await ana.say("na verdade é 1.600")
    await road.settled()
    for wamid in (talk, replaced, "wamid.never-seen"):
        await road.world.meta.user_revoke(ana.who, wamid)
    await road.settled()
    await ana.touch("Confirmar", of=summary)
    await ana.files()
    assert await _amounts(road, ana) == ["1600.00"]


async def test_deleting_a_message_undoes_no_issued_note(road: Road) -> None:
    """Who thinks so is told, and how to cancel it."""
    ana = await road.person()
    wamid = await _sent(road, ana, FULL)
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    await road.world.meta.user_revoke(ana.who, wamid)
    assert "_cancela a nota de R$ 1.500,00_" in (await ana.expect("não desfaz")).text


async def test_a_message_deleted_before_it_was_read_is_not_read(road: Road) -> None:
    """In one batch, or with the deletion overtaking the message."""
    ana = await road.person()
    meta = road.world.meta
    said = meta.said(ana.who, FULL)
    await meta.deliver_batch([said, meta.said(ana.who, revoked(said.message["id"]))])
    await road.settled()
    late = meta.said(ana.who, _at(road, _text(FULL), ago=30))
    await meta.user_revoke(ana.who, late.message["id"])
    await road.settled()
    await meta.deliver_batch([late])
    await road.settled()
    assert await road.sessions(ana) == []
    assert ana.answers == []


# --- late ---------------------------------------------------------------------------------------------------------


async def test_a_late_message_does_not_override_a_newer_correction(road: Road) -> None:
    """Written before the correction, it is shown and not applied; the present summary stands."""
    ana = await road.person()
    await road.world.meta.user_message(ana.who, _at(road, _text(FULL), ago=90))
    await ana.expect(SUMMARY)
    await ana.say("na verdade é 1.800")
    await road.settled()
    late = _at(road, _text("na verdade é 1.200"), ago=60)
    await road.world.meta.user_message(ana.who, late)
    told = await ana.expect("Não usei “1.200”")
    assert "Continua R$ 1.800,00" in told.text
    assert "Valor: *R$ 1.800,00*" in told.text
    await ana.touch("Confirmar", of=told)
    await ana.files()
    assert await _amounts(road, ana) == ["1800.00"]


async def test_a_late_message_still_fills_what_is_empty(road: Road) -> None:
    """Only what was said later stays; a field of which nothing is known takes the older words."""
    ana = await road.person()
    await ana.say("nota de 1500, consultoria")
    await road.settled()
    await road.world.meta.user_message(ana.who, _at(road, _text(f"1200 reais pra {PADARIA}"), ago=60))
    told = await ana.expect("Não usei “1200")
    assert "Valor: *R$ 1.500,00*" in told.text
    assert "12.345.678/0001-95" in told.text


async def test_messages_of_one_turn_are_read_in_the_order_of_writing(road: Road) -> None:
    """Together in one batch, the wrong way round: the correction is the later one."""
    ana = await road.person()
    meta = road.world.meta
    await meta.user_message(ana.who, _at(road, _text(FULL), ago=90))
    await ana.expect(SUMMARY)
    await road.settled()
    late = meta.said(ana.who, _at(road, _text("na verdade é 1.200"), ago=20))
    await meta.deliver_batch([meta.said(ana.who, _at(road, _text("errei, o valor é 1.800"), ago=1)), late])
    await ana.expect("Valor: *R$ 1.800,00*")


async def test_a_fact_that_was_repeated_is_as_new_as_its_repetition(road: Road) -> None:
    """Said again after the late message was written, it stays."""
    ana = await road.person()
    await road.world.meta.user_message(ana.who, _at(road, _text(FULL), ago=90))
    await ana.expect(SUMMARY)
    await ana.say("o valor é 1500")
    await road.settled()
    await road.world.meta.user_message(ana.who, _at(road, _text("na verdade é 1.200"), ago=60))
    assert "Valor: *R$ 1.500,00*" in (await ana.expect("Não usei")).text
