from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.road.road_people import FULL, PADARIA

if TYPE_CHECKING:
    from tests.road.road_people import Road

LOCATION = {"type": "location", "location": {"latitude": -23.5, "longitude": -46.6}}
NEW_TYPE = {"type": "hologram", "hologram": {"depth": 3}}


@pytest.mark.parametrize(("kind", "mime"), [("audio", "audio/ogg"), ("image", "image/jpeg"), ("document", "text/csv")])
async def test_a_file_without_words_is_answered_kindly(road: Road, kind: str, mime: str) -> None:
    """A voice note, a photo or a file gets a request for text, before and within an invoice, and loses nothing."""
    ana = await road.person()
    await road.world.meta.user_media(ana.who, b"data", mime, kind=kind)
    assert "escreve" in (await ana.expect()).text
    await ana.say("nota de 1500")
    await road.world.meta.user_media(ana.who, b"data", mime, kind=kind)
    assert "escreve" in (await ana.expect()).text
    assert "R$ 1.500,00" in (await ana.say(f"{PADARIA}, consultoria")).text


async def test_the_caption_under_a_photo_counts_as_words(road: Road) -> None:
    """Words under a picture are read like any others."""
    ana = await road.person()
    await road.world.meta.user_media(ana.who, b"\xff\xd8", "image/jpeg", kind="image", caption=FULL)
    await ana.expect("PADARIA DO ZÉ LTDA")


@pytest.mark.parametrize(
    "message",
    [
        {"type": "sticker", "sticker": {"id": "1", "mime_type": "image/webp"}},
        {"type": "reaction", "reaction": {"message_id": "wamid.X", "emoji": "👍"}},
        {"type": "system", "system": {"body": "mudou de número", "type": "user_changed_number"}},
        {"type": "revoke", "revoke": {"original_message_id": "wamid.X"}},
    ],
    ids=lambda message: message["type"],
)
async def test_what_expects_no_answer_gets_none(road: Road, message: dict[str, Any]) -> None:
    """Stickers, reactions and notices are stored, cost nothing and confirm nothing."""
    ana = await road.person()
    await ana.say(FULL)
    await road.world.meta.user_message(ana.who, message)
    await road.settled()
    assert len(ana.answers) == 1
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"


@pytest.mark.parametrize(("message", "said"), [(LOCATION, "Recebi o local"), (NEW_TYPE, "não consigo ler")])
async def test_a_message_of_another_type_is_answered(road: Road, message: dict[str, Any], said: str) -> None:
    """What we can't read, even of a type that Meta invents tomorrow, is never met with silence."""
    ana = await road.person()
    await road.world.meta.user_message(ana.who, message)
    assert said in (await ana.expect()).text


def card(name: str, title: str) -> dict[str, Any]:
    """Return somebody's card, as WhatsApp sends it."""
    shown = {"name": {"formatted_name": name}, "org": {"company": name, "title": title}, "emails": [{"email": MAIL}]}
    return {"type": "contacts", "contacts": [{**shown, "phones": [{"phone": "+55 11 98888-1234", "type": "CELL"}]}]}


MAIL = "contato@padaria.example"


async def test_a_card_answers_who_the_customer_is(road: Road) -> None:
    """Its document, name and e-mail are those of the invoice, as if they had been typed; its telephone is no price."""
    ana = await road.person()
    await ana.say("nota de 1500, consultoria de marketing")
    await road.world.meta.user_message(ana.who, card("Padaria do Zé Ltda", f"CNPJ {PADARIA}"))
    assert "R$ 1.500,00" in (await ana.expect(PADARIA)).text
    session = await road.session(ana)
    assert (session["estado"], session["missing_fields"]) == ("aguardando_confirmacao", [])
    told = {name: session["rascunho"][name]["valor"] for name in ("documento", "valor", "descricao", "email")}
    assert told == {
        "documento": "12345678000195",
        "valor": "1500.00",
        "descricao": "consultoria de marketing",
        "email": MAIL,
    }


@pytest.mark.parametrize(("name", "title"), [("Sim", f"CNPJ {PADARIA}"), ("Sim", "Confirmar"), ("Cancelar", "cpf")])
async def test_a_card_over_a_summary_decides_nothing(road: Road, name: str, title: str) -> None:
    """Whatever its owner is called, the invoice is neither issued nor given up."""
    ana = await road.person()
    await ana.say(FULL)
    await road.world.meta.user_message(ana.who, card(name, title))
    await ana.expect()
    await road.settled()
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert await road.notes(ana) == []


async def test_an_edited_message_changes_nothing_by_itself(road: Road) -> None:
    """An edit is noticed and asked for as a new message; the summary that was shown stays what it was."""
    ana = await road.person()
    await ana.say(FULL)
    edit = {"type": "edit", "edit": {"original_message_id": "wamid.X", "message": {"type": "text"}}}
    await road.world.meta.user_message(ana.who, edit)
    assert "editou" in (await ana.expect()).text
    session = await road.session(ana)
    assert (session["estado"], session["valor"]) == ("aguardando_confirmacao", 1500)


async def test_a_file_and_words_at_once_are_both_answered_in_order(road: Road) -> None:
    """A photo between two texts does not stop the texts from being read."""
    ana = await road.person()
    meta = road.world.meta
    items = [
        meta.said(ana.who, "nota de 1500"),
        meta.said(ana.who, {"type": "image", "image": {"id": "1", "mime_type": "image/jpeg"}}),
        meta.said(ana.who, f"{PADARIA}, consultoria"),
    ]
    await meta.deliver_batch(items)
    await ana.expect("▢")
    await ana.expect("foto")
    await ana.expect("R$ 1.500,00")


async def test_a_tap_before_the_words_that_it_followed_issues_nothing_else(road: Road) -> None:
    """One webhook holds them in the other order: the correction was written first, and the tap is for what it saw."""
    ana = await road.person()
    button = next(button for button in (await ana.say(FULL)).buttons if button.title == "Confirmar")
    reply = {"type": "button_reply", "button_reply": {"id": button.id, "title": button.title}}
    words = road.world.meta.said(ana.who, "o valor é 260")
    tap = road.world.meta.said(ana.who, {"type": "interactive", "interactive": reply})
    tap.message["timestamp"] = str(int(words.message["timestamp"]) + 3)
    await road.world.meta.deliver_batch([tap, words])
    await ana.expect("R$ 260,00")
    await road.settled()
    session = await road.session(ana)
    assert (session["estado"], session["valor"]) == ("aguardando_confirmacao", 260)
    assert await road.notes(ana) == []


async def test_a_place_is_no_field_of_a_note(road: Road) -> None:
    """It is answered as what it is, and its name and numbers stay out of the invoice that is open."""
    shared = {"latitude": -23.5, "longitude": -46.6, "name": "Bar 900", "address": "Rua A, 900"}
    ana = await road.person()
    await ana.say("nota de 1500")
    await road.world.meta.user_message(ana.who, {"type": "location", "location": shared})
    assert "não o uso na nota" in (await ana.expect()).text
    assert "R$ 1.500,00" in (await ana.say(f"{PADARIA}, consultoria")).text
