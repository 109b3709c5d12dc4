from __future__ import annotations

import copy
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.whatsapp_payload import KNOWN_TYPES, TICK_LANES, read_notification

PHONE = "106540352242922"
WA = "5516992318222"
BSUID = "BR.1502576394655843"
WHO = {"from": WA, "from_user_id": BSUID, "timestamp": "1749416383"}
CONTEXT = {"context": {"from": "15550783881", "id": "wamid.PREV"}}
ERROR = {"code": 131051, "title": "Message type unknown", "message": "Message type unknown"}

# Every message of the Cloud API that we know, in Meta's own shape.
MESSAGES: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": {"body": "oi"}},
    "button_reply": {
        "type": "interactive",
        "interactive": {"type": "button_reply", "button_reply": {"id": "confirmar", "title": "Confirmar"}},
        **CONTEXT,
    },
    "list_reply": {
        "type": "interactive",
        "interactive": {"type": "list_reply", "list_reply": {"id": "x", "title": "X", "description": "Y"}},
        **CONTEXT,
    },
    "nfm_reply": {
        "type": "interactive",
        "interactive": {"type": "nfm_reply", "nfm_reply": {"name": "flow", "body": "Sent", "response_json": "{}"}},
    },
    "button": {"type": "button", "button": {"payload": "Parar", "text": "Parar"}},
    "audio": {
        "type": "audio",
        "audio": {"mime_type": "audio/ogg; codecs=opus", "id": "1", "voice": True},
    },
    "image": {"type": "image", "image": {"caption": "pedido", "mime_type": "image/jpeg", "sha256": "x", "id": "2"}},
    "document": {"type": "document", "document": {"filename": "f.pdf", "mime_type": "application/pdf", "id": "3"}},
    "video": {"type": "video", "video": {"mime_type": "video/mp4", "sha256": "x", "id": "4"}},
    "sticker": {"type": "sticker", "sticker": {"mime_type": "image/webp", "id": "5", "animated": False}},
    "reaction": {"type": "reaction", "reaction": {"message_id": "wamid.X", "emoji": "👍"}},
    "reaction removed": {"type": "reaction", "reaction": {"message_id": "wamid.X"}},
    "location": {"type": "location", "location": {"latitude": -21.17, "longitude": -47.81}},
    "contacts": {"type": "contacts", "contacts": [{"name": {"formatted_name": "Lúcia"}, "phones": []}]},
    "unsupported": {"type": "unsupported", "unsupported": {"type": "poll_creation"}, "errors": [ERROR]},
    "edit": {"type": "edit", "edit": {"original_message_id": "wamid.A", "message": {"type": "text"}}},
    "revoke": {"type": "revoke", "revoke": {"original_message_id": "wamid.A"}},
    "system": {"type": "system", "system": {"type": "customer_identity_changed", "body": "…"}},
    "interactive without content": {"type": "interactive"},
    "not invented yet": {"type": "hologram", "hologram": {"depth": 3}},
    "without a type": {},
}


def message(name: str = "text", wamid: str = "wamid.1", **other: Any) -> dict[str, Any]:
    return {**WHO, "id": wamid, **MESSAGES[name], **other}


def status(wamid: str = "wamid.OUT", name: str = "delivered", **other: Any) -> dict[str, Any]:
    return {"id": wamid, "status": name, "timestamp": "1750857384", "recipient_id": WA, **other}


def value(*messages: Any, statuses: list[Any] | None = None, **other: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "15550783881", "phone_number_id": PHONE},
    }
    if messages:
        found["messages"] = list(messages)
        found["contacts"] = [{"profile": {"name": "Ana"}, "wa_id": WA, "user_id": BSUID}]
    if statuses:
        found["statuses"] = statuses
    return {**found, **other}


def body(*values: Any, field: str = "messages") -> bytes:
    changes = [{"field": field, "value": found} for found in values]
    return orjson.dumps({"object": "whatsapp_business_account", "entry": [{"id": "WABA", "changes": changes}]})


@pytest.mark.parametrize("name", MESSAGES)
def test_every_kind_of_message_is_an_arrival(name: str) -> None:
    """Each message type, known or not, becomes a ``mensagem`` with what Meta sent, in its conversation's lane."""
    sent = message(name)
    (arrival,) = read_notification(body(value(sent))).arrivals
    assert (arrival.tipo, arrival.chave, arrival.lane) == ("mensagem", "wamid.1", f"{PHONE}:{BSUID}")
    assert arrival.imediato == (name != "text")
    assert arrival.payload == {
        "phone_number_id": PHONE,
        "display_phone_number": "15550783881",
        "contato": {"profile": {"name": "Ana"}, "wa_id": WA, "user_id": BSUID},
        "mensagem": sent,
    }


def test_messages_of_one_body_stand_as_they_were_written() -> None:
    """Over changes, and whatever their type; what does not tell when stays behind what it stood behind."""
    strange: tuple[Any, ...] = (None, "ontem", [], "9" * 5000, 1e400)
    untold = [message("text", f"x{number}", timestamp=when) for number, when in enumerate(strange)]
    first = value(message("button_reply", "c", timestamp="300"), message("text", "a", timestamp=100))
    last = value(*untold, message("text", "b", timestamp="200"))
    found = [arrival.chave for arrival in read_notification(body(first, last)).arrivals]
    assert found == ["a", "x0", "x1", "x2", "x3", "x4", "b", "c"]
    untold = [message("text", name, timestamp="") for name in "cab"]
    assert [arrival.chave for arrival in read_notification(body(value(*untold))).arrivals] == ["c", "a", "b"]


@pytest.mark.parametrize(
    "message",
    [
        {**MESSAGES["text"], "group_id": "Y2FwaV9ncm91cA"},
        {**MESSAGES["button_reply"], "group_id": "Y2FwaV9ncm91cA"},
        {"type": "request_welcome"},
        {"type": "interactive", "interactive": {"type": "call_permission_reply", "call_permission_reply": {}}},
    ],
)
def test_what_nobody_said_to_us_is_no_message(message: dict[str, Any]) -> None:
    """Words in a group are others' too, and consent to nothing; buttons of Meta are no words. None is kept as said."""
    unspoken = {**WHO, "id": "wamid.G", **message}
    [arrival] = read_notification(body(value(unspoken))).arrivals
    assert arrival.tipo == "aviso_meta"
    assert "oi" not in json.dumps(arrival.payload).split('"')
    beside = read_notification(body(value(unspoken, {**WHO, "id": "wamid.A", **MESSAGES["text"]}))).arrivals
    assert [each.tipo for each in beside] == ["aviso_meta", "mensagem"]


def test_a_changed_id_is_told_to_the_conversation_of_the_former_one() -> None:
    """Meta's notice names nobody as its sender; one that tells only half of the change is kept for people."""
    told = {"type": "user_changed_user_id", "user_id": "BR.2", "previous_user_id": "BR.1"}
    sent = {"id": "wamid.S", "timestamp": "1", "type": "system", "system": told}
    (arrival,) = read_notification(body(value(sent, contacts=None))).arrivals
    assert (arrival.tipo, arrival.chave, arrival.lane) == ("mudou_de_id", "wamid.S", f"{PHONE}:BR.1")
    assert arrival.payload == {"conversa": f"{PHONE}:BR.2", "de": "BR.1", "para": "BR.2"}
    assert arrival.imediato
    (half,) = read_notification(body(value({**sent, "system": {**told, "user_id": None}}))).arrivals
    assert half.tipo == "ilegivel"


@pytest.mark.parametrize("kind", ["user_changed_number", "customer_changed_number"])
def test_a_number_that_was_given_up_is_told_in_its_own_conversation(kind: str) -> None:
    """With the number alone; a notice that names the new id too is followed, one from nobody is an ordinary message."""
    told = {"type": kind, "wa_id": "12195555358", "body": "…"}
    sent = {**message("system"), "system": told}
    (arrival,) = read_notification(body(value(sent, contacts=None))).arrivals
    lane = read_notification(body(value(message(), contacts=None))).arrivals[0].lane
    assert (arrival.tipo, arrival.lane, arrival.payload) == ("deixou_numero", lane, {"telefone": WA})
    followed = {**sent, "system": {**told, "user_id": "BR.2", "previous_user_id": "BR.1"}}
    assert [each.tipo for each in read_notification(body(value(followed))).arrivals] == ["mudou_de_id"]
    hidden = {"id": "w", "type": "system", "from_user_id": "BR.1", "system": told}
    assert [each.tipo for each in read_notification(body(value(hidden))).arrivals] == ["mensagem"]


def test_types_that_we_do_not_know_are_counted_as_such() -> None:
    """The figures name Meta's types and one ``outro``: nobody outside can invent a label."""
    found = read_notification(body(value(*(message(name, f"wamid.{name}") for name in MESSAGES))))
    names = list(found.message_types())
    assert len(names) == len(MESSAGES)
    assert names.count("outro") == 2
    assert set(names) - {"outro"} <= KNOWN_TYPES


@pytest.mark.parametrize(
    ("sender", "contacts", "user"),
    [
        ({"from": WA, "from_user_id": BSUID}, [], BSUID),
        ({"from": WA}, [{"wa_id": WA, "user_id": BSUID}], BSUID),
        ({"from": WA}, [{"wa_id": "551188", "user_id": "BR.2"}, {"wa_id": WA, "user_id": BSUID}], BSUID),
        ({"from": WA}, [{"wa_id": WA}], WA),
        ({"from": WA}, None, WA),
        ({"from_user_id": BSUID}, [{"user_id": BSUID, "profile": {"username": "ana"}}], BSUID),
        ({}, [{"user_id": BSUID}], BSUID),
        ({}, [{"wa_id": WA}], WA),
    ],
)
def test_a_conversation_is_named_by_bsuid_or_number(
    sender: dict[str, str], contacts: list[dict[str, Any]] | None, user: str
) -> None:
    """The BSUID when Meta gives one, wherever it stands, else the wa_id."""
    sent = {"id": "wamid.1", "type": "text", "text": {"body": "oi"}, **sender}
    (arrival,) = read_notification(body(value(sent, contacts=contacts))).arrivals
    assert arrival.lane == f"{PHONE}:{user}"


def test_everything_in_a_batch_is_found_in_order() -> None:
    """All entries, changes, messages and statuses, not only the first of each; a wamid that is repeated counts once."""
    first = value(message(wamid="wamid.1"), message(wamid="wamid.2"), statuses=[status("wamid.OUT", "sent")])
    second = value(message(wamid="wamid.3"), message(wamid="wamid.1"))
    batch = orjson.loads(body(first, second))
    batch["entry"].append({"id": "WABA2", "changes": [{"field": "messages", "value": value(statuses=[status()])}]})
    found = read_notification(orjson.dumps(batch)).arrivals
    keys = ["wamid.1", "wamid.2", "status:wamid.OUT:sent", "wamid.3", "status:wamid.OUT:delivered"]
    assert [arrival.chave for arrival in found] == keys


def test_a_persons_statuses_wait_in_one_lane() -> None:
    """A status is an arrival of its own for each step of a message, apart from the conversation, always in one lane."""
    read = status(name="read", recipient_user_id=BSUID, pricing={"billable": True})
    one, two = read_notification(body(value(statuses=[status(), read]))).arrivals
    [again] = read_notification(body(value(statuses=[status(name="delivered")]))).arrivals
    lanes = {f"entrega:{PHONE}:{number}" for number in range(TICK_LANES)}
    assert (one.tipo, one.lane, one.imediato) == ("status", again.lane, True)
    assert two.chave == "status:wamid.OUT:read"
    assert {one.lane, two.lane} <= lanes
    assert two.payload["status"] == read


@pytest.mark.parametrize(
    "bad",
    [
        "a string",
        None,
        7,
        [],
        {},
        {"id": "", "type": "text", "from": WA},
        {"id": "wamid.9", "type": {"not": "text"}, "from": WA},
        {"id": {"nested": 1}, "type": "text", "from": WA},
    ],
)
def test_a_malformed_message_does_not_touch_its_siblings(bad: object) -> None:
    """What is no message is kept as ``ilegivel`` in a lane of its own; the messages around it arrive as always."""
    found = read_notification(body(value(message(wamid="wamid.1"), bad, message(wamid="wamid.2")))).arrivals
    assert [arrival.tipo for arrival in found] == ["mensagem", "ilegivel", "mensagem"]
    odd = found[1]
    assert odd.chave.startswith("ilegivel:")
    assert odd.lane not in {found[0].lane, found[2].lane}
    assert odd.payload["bruto"] == bad


def test_ids_may_be_numbers_and_must_be_whole() -> None:
    """An id sent as a number is its text; a truth value or half a character is none, and costs nobody an answer."""
    numbered = message() | {"id": 17, "from_user_id": None, "from": 5511}
    (arrival,) = read_notification(body(value(numbered, contacts=None))).arrivals
    assert (arrival.chave, arrival.lane) == ("17", f"{PHONE}:5511")
    for odd in (True, "MARK"):
        raw = body(value(message(from_user_id=odd), statuses=[status(recipient_user_id=odd)]))
        found = read_notification(raw.replace(b"MARK", b"\\ud83d")).arrivals
        assert [arrival.tipo for arrival in found] == ["ilegivel", "ilegivel"]


def test_a_message_from_nobody_is_illegible() -> None:
    """Without BSUID and number there is no conversation to put it in."""
    (arrival,) = read_notification(body(value({"id": "wamid.1", "type": "text"}, contacts=None))).arrivals
    assert arrival.tipo == "ilegivel"


def test_notices_of_meta_are_kept() -> None:
    """Other fields, and errors beside the messages, are stored as ``aviso_meta``; the same notice twice is one."""
    notice = body({"event": "PENDING", "phone_number": "1"}, field="account_update")
    (arrival,) = read_notification(notice).arrivals
    assert (arrival.tipo, arrival.lane, arrival.payload["field"]) == ("aviso_meta", "meta", "account_update")
    assert read_notification(notice).arrivals[0].chave == arrival.chave
    both = read_notification(body(value(message("interactive without content"), errors=[{"code": 131000}]))).arrivals
    assert [found.tipo for found in both] == ["mensagem", "aviso_meta"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'"x"',
        b"{}",
        b'{"entry": []}',
        b"[" * 5000,
        b'{"entry": [{"changes": []}]}',
    ],
)
def test_a_body_that_says_nothing_is_kept_whole(raw: bytes) -> None:
    """A signed body that is no notification becomes one ``ilegivel`` with its text, the same each time it comes."""
    (arrival,) = read_notification(raw).arrivals
    assert arrival.tipo == "ilegivel"
    assert arrival.payload["bruto"] == raw.decode("utf-8", "replace")
    assert read_notification(raw).arrivals[0].chave == arrival.chave


def test_escapes_that_strict_parsers_refuse_are_read() -> None:
    """A lone surrogate in one message makes neither it nor the body unreadable."""
    raw = body(value(message(text={"body": "MARK"}))).replace(b"MARK", b"\\ud83d")
    (arrival,) = read_notification(raw).arrivals
    assert arrival.tipo == "mensagem"


def test_what_is_nested_too_deeply_is_kept_as_text_and_the_rest_arrives() -> None:
    """A message that cannot be stored as JSON leaves its siblings alone; the whole body is kept as text beside them."""
    raw = body(value(message(wamid="wamid.1"), message(wamid="wamid.2", text="MARK")))
    raw = raw.replace(b'"MARK"', b"[" * 600 + b"]" * 600)
    found = read_notification(raw).storable(raw).arrivals
    assert [arrival.tipo for arrival in found] == ["mensagem", "ilegivel"]


def test_overlong_ids_are_shortened() -> None:
    """Ids longer than an index row would refuse the whole batch: they are replaced by their digest."""
    (arrival,) = read_notification(body(value(message(wamid="w" * 5000, from_user_id="u" * 5000)))).arrivals
    assert len(arrival.chave) < 200
    assert len(arrival.lane) < 200


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    where=st.sampled_from(["entry", "changes", "value", "metadata", "contacts", "messages", "statuses"]), junk=anything
)
def test_nothing_makes_the_reader_fail(where: str, junk: object) -> None:
    """Whatever stands at any level of a notification, it is read without an exception and leaves a trace."""
    whole = orjson.loads(body(value(message(), statuses=[status()])))
    bad = copy.deepcopy(whole)
    entry, change = bad["entry"][0], bad["entry"][0]["changes"][0]
    {"entry": bad, "changes": entry, "value": change}.get(where, change["value"])[where] = junk
    found = read_notification(json.dumps(bad).encode()).arrivals
    assert found
    assert len({arrival.chave for arrival in found}) == len(found)


@pytest.mark.parametrize(
    "document",
    [
        {"filename": "ANA 11222333000181.PFX", "mime_type": "application/octet-stream", "id": "7", "sha256": "abc"},
        {"filename": "a1.p12", "mime_type": "application/pdf", "id": "7", "caption": "senha Segredo#91"},
        {"filename": "backup", "mime_type": "Application/X-PKCS12; a=b", "id": "7", "url": "https://lookaside/7"},
    ],
)
def test_of_a_certificate_only_that_it_came_is_kept(document: dict[str, str]) -> None:
    """Neither by what it is fetched with, nor its name, nor what stood under it; another document stays whole."""
    pdf = {"filename": "pfx.pdf", "mime_type": "application/pdf", "id": "8", "caption": "o pedido"}
    messages = [{**WHO, "id": f"wamid.{n}", "type": "document", "document": d} for n, d in enumerate((document, pdf))]
    value = {"metadata": {"phone_number_id": PHONE}, "messages": messages}
    body = {"entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]}
    first, second = read_notification(json.dumps(body).encode()).arrivals
    spared = {"filename": "certificado.pfx", "mime_type": "application/x-pkcs12"}
    assert first.payload["mensagem"]["document"] == spared
    assert second.payload["mensagem"]["document"] == pdf
