"""What we conclude from Meta's answers, over real HTTP."""

from __future__ import annotations

import json

import pytest

from gateway.whatsapp.client import WhatsApp
from gateway.whatsapp.errors import (
    Ambiguous,
    Broken,
    Dropped,
    Halted,
    RetryLater,
    RetryPair,
    Sent,
    WindowClosed,
    classify,
    pair_wait,
)
from gateway.whatsapp.limits import MensagemInvalida
from gateway.whatsapp.messages import Texto
from tests.patience import PATIENCE

OK = {
    "messaging_product": "whatsapp",
    "contacts": [{"input": "+5511987654321", "wa_id": "551187654321"}],
    "messages": [{"id": "wamid.A"}],
}


def error(code: int | str, **more: object) -> dict[str, object]:
    return {"error": {"message": f"(#{code}) x", "type": "OAuthException", "code": code, **more}}


def open_client(url: str, free, **options) -> WhatsApp:
    return WhatsApp(f"{url}/v26.0", "106540352242922", "token", guard=free, **options)


SENDS = [
    ("taken", 200, OK, {}, Sent("wamid.A", "551187654321")),
    ("taken, BSUID", 200, {**OK, "contacts": [{"user_id": "BR.1"}]}, {}, Sent("wamid.A")),
    ("taken without contacts", 200, {"messages": [{"id": "wamid.A"}]}, {}, Sent("wamid.A")),
    ("200 without id", 200, {"messages": []}, {}, Ambiguous),
    ("200 HTML", 200, "<html/>", {}, Ambiguous),
    ("200 truncated", 200, b'{"messages":[{"id":"wa', {}, Ambiguous),
    ("500 HTML", 500, "<html/>", {}, Ambiguous),
    ("502 empty", 502, b"", {}, Ambiguous),
    ("503 from Graph", 503, error(131016), {}, RetryLater(None, 131016)),
    ("500 unknown code", 500, error(987654), {}, RetryLater(None, 987654)),
    ("400 transient", 400, error(987654, is_transient=True), {}, RetryLater(None, 987654)),
    ("400 unknown code", 400, error(987654), {}, Broken(987654, "(#987654) x")),
    ("401 unknown code", 401, error(987654), {}, Halted(987654)),
    ("429 bare", 429, b"", {"Retry_After": "9"}, RetryLater(9.0, 0)),
    ("throughput", 400, error(130429), {"Retry_After": "2"}, RetryLater(2.0, 130429)),
    ("code as text", 400, error("130429"), {}, RetryLater(None, 130429)),
    ("maintenance", 500, error(131057), {}, RetryLater(60.0, 131057)),
    ("pair rate", 400, error(131056), {}, RetryPair(16.0)),
    ("window closed", 400, error(131047), {}, WindowClosed()),
    ("undeliverable", 400, error(131026), {}, Dropped),
    ("opted out", 400, error(131050), {}, Dropped),
    ("bad parameter", 400, error(100, error_data={"details": "Body too long"}), {}, Broken(100, "Body too long")),
    ("template missing", 404, error(132001), {}, Broken),
    ("bad token", 401, error(190), {}, Halted(190)),
    ("bad token with 400", 400, error(190), {}, Halted(190)),
    ("permission", 403, error(200), {}, Halted(200)),
    ("payment", 400, error(131042), {}, Halted(131042)),
    ("403 HTML", 403, "<html/>", {}, Halted(0)),
    ("404 of a proxy", 404, "<html/>", {}, Broken),
    ("redirect", 302, b"", {"Location": "https://elsewhere.example/"}, Broken),
]


@pytest.mark.parametrize("case", SENDS, ids=lambda case: case[0])
async def test_every_answer_of_meta_has_one_meaning(server, free, case):
    """The code decides, then HTTP; only a clear refusal may be sent again."""
    _, status, body, headers, expected = case
    server.says(status, body, **headers)
    async with open_client(server.url, free) as whatsapp:
        result = await whatsapp.send(Texto("Oi"), "5511987654321", "outbox-1", tentativa=2)
    assert isinstance(result, expected) if isinstance(expected, type) else result == expected
    (request,) = server.received
    assert (request.path, request.headers["Authorization"]) == ("/v26.0/106540352242922/messages", "Bearer token")
    assert json.loads(request.body)["biz_opaque_callback_data"] == "outbox-1"


@pytest.mark.parametrize("fault", ["hang", "reset", "close", "truncate", "gibberish"])
async def test_a_send_whose_answer_is_lost_is_ambiguous(faulty, free, fault):
    """Meta has no idempotency key, so a lost answer waits for the status webhook."""
    async with open_client(await faulty(fault), free, send_timeout=1.0 if fault == "hang" else PATIENCE) as whatsapp:
        assert isinstance(await whatsapp.send(Texto("Oi"), "5511987654321", "outbox-1"), Ambiguous)
        assert await whatsapp.mark_read_and_typing("wamid.IN") is False


async def test_a_refused_connection_may_be_sent_again(closed_url, free):
    """Nothing left the machine."""
    async with open_client(closed_url, free) as whatsapp:
        assert await whatsapp.send(Texto("Oi"), "5511987654321", "outbox-1") == RetryLater(None, 0)


async def test_a_message_over_the_limits_never_leaves(server, free):
    """Our bug is raised here, not found by Meta."""
    async with open_client(server.url, free) as whatsapp:
        with pytest.raises(MensagemInvalida):
            await whatsapp.send(Texto(""), "5511987654321", "outbox-1")
    assert server.received == []


async def test_read_mark_and_typing_are_one_call(server, free):
    """Ticks and "typing…" cost one request, and a refusal of them is no error."""
    server.says(200, {"success": True})
    server.says(400, error(100))
    async with open_client(server.url, free) as whatsapp:
        assert await whatsapp.mark_read_and_typing("wamid.IN") is True
        assert await whatsapp.mark_read_and_typing("wamid.IN") is False
    assert json.loads(server.received[0].body) == {
        "messaging_product": "whatsapp",
        "status": "read",
        "message_id": "wamid.IN",
        "typing_indicator": {"type": "text"},
    }


def test_the_pair_wait_grows_as_meta_asks_and_stops_at_an_hour():
    """4^X seconds, X from 0."""
    assert [pair_wait(x) for x in (0, 1, 2, 3, 4, 5, 6, 60)] == [1, 4, 16, 64, 256, 1024, 3600, 3600]


def test_an_error_of_a_status_webhook_is_judged_by_the_same_table():
    """Failures that come later mean what they would have meant at once, and name nobody."""
    assert classify({"code": 131047, "title": "Re-engagement message"}) == WindowClosed()
    late = classify({"code": 135000, "title": "x", "error_data": {"details": "to 5511987654321 failed"}})
    assert late == Broken(135000, "to *** failed")
