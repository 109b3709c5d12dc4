from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from proofs.sandbox.courier import BULKY, Patience
from proofs.sandbox.faults import Fault
from proofs.sandbox.ledger import Ledger
from proofs.sandbox.meta.meta import MetaConfig, MetaSimulator

if TYPE_CHECKING:
    from pathlib import Path

ANA = "5511987654321"
BIA = "5521976543210"
QUICK = Patience(first=0.01, factor=1, cap=0.01, attempts=None, lifetime=60)
CONFIG = MetaConfig(status_delay=0, patience=QUICK)


@pytest.fixture
async def meta(listener):
    async with MetaSimulator(CONFIG, webhook_url=listener.url) as simulator:
        yield simulator


@pytest.fixture
async def graph(meta):
    account = meta.config.account
    headers = {"Authorization": f"Bearer {meta.config.access_token}"}
    async with httpx.AsyncClient(base_url=f"{meta.url}/v26.0/{account.phone_number_id}", headers=headers) as client:
        yield client


def text(to: str, body: str, **more: Any) -> dict[str, Any]:
    return {"messaging_product": "whatsapp", "to": to, "type": "text", "text": {"body": body}, **more}


def interactive(to: str, action: dict[str, Any], kind: str = "button") -> dict[str, Any]:
    content = {"type": kind, "body": {"text": "Confere?"}, "action": action}
    return {"messaging_product": "whatsapp", "to": to, "type": "interactive", "interactive": content}


def buttons(*titles: str) -> dict[str, Any]:
    return {"buttons": [{"type": "reply", "reply": {"id": f"b{i}", "title": t}} for i, t in enumerate(titles)]}


def values(listener) -> list[dict[str, Any]]:
    bodies = [json.loads(body) for body in listener.bodies]
    return [change["value"] for body in bodies for entry in body["entry"] for change in entry["changes"]]


def messages(listener) -> list[dict[str, Any]]:
    return [message for value in values(listener) for message in value.get("messages", [])]


def statuses(listener) -> list[dict[str, Any]]:
    return [status for value in values(listener) for status in value.get("statuses", [])]


async def test_a_person_speaks_and_the_bot_hears_it_signed(meta, listener) -> None:
    """A text arrives in Meta's envelope, signed over its raw bytes, with a wamid that holds the number."""
    wamid = await meta.user_text(ANA, "olá, ação", name="Ana")
    await listener.heard(1)
    expected = hmac.new(b"sandbox-app-secret", listener.bodies[0], hashlib.sha256).hexdigest()
    assert listener.headers[0]["X-Hub-Signature-256"] == f"sha256={expected}"
    (value,) = values(listener)
    assert value["contacts"][0]["profile"]["name"] == "Ana"
    assert value["messages"][0]["from"] == ANA
    assert value["messages"][0]["text"]["body"] == "olá, ação"
    assert ANA.encode() in base64.b64decode(wamid.removeprefix("wamid."))
    bubble = await meta.wait_for(ANA, lambda b: b.status == "delivered")
    assert (bubble.side, bubble.text) == ("user", "olá, ação")


async def test_the_bot_answers_and_hears_its_statuses(meta, graph, listener) -> None:
    """An accepted send shows as a bubble and its statuses carry the callback data back, in order."""
    await meta.user_text(ANA, "oi")
    answer = await graph.post("/messages", json=text(f"+{ANA}", "olá", biz_opaque_callback_data="outbox-7"))
    wamid = answer.json()["messages"][0]["id"]
    assert answer.json()["contacts"] == [{"input": f"+{ANA}", "wa_id": ANA, "user_id": meta.phones.users[ANA].user_id}]
    await listener.heard(4)
    told = statuses(listener)
    assert [status["status"] for status in told] == ["sent", "delivered", "read"]
    assert {(status["id"], status["biz_opaque_callback_data"]) for status in told} == {(wamid, "outbox-7")}
    assert [bubble.side for bubble in meta.bubbles(ANA)] == ["user", "bot"]
    assert [item["wamid"] for item in meta.outbound(ANA)] == [wamid]


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (text(ANA, "x" * 4097), 100),
        ({"to": ANA, "type": "text", "text": {"body": "x"}}, 100),
        ({"messaging_product": "whatsapp", "to": ANA, "type": "text"}, 131008),
        (interactive(ANA, buttons("um", "dois", "três", "quatro")), 131009),
        (interactive(ANA, buttons("um título longo demais")), 131009),
        (interactive(ANA, buttons("sim", "sim")), 131009),
        (interactive(ANA, {"button": "Ver", "sections": [{"rows": [{"id": "x"}]}]}, "list"), 131008),
        ({"messaging_product": "whatsapp", "to": ANA, "type": "document", "document": {"id": "1"}}, 131009),
        ({"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.X"}, 131009),
        (text(BIA, "oi"), 131047),
    ],
)
async def test_refuses_what_meta_refuses(meta, graph, payload, code) -> None:
    """Bad shapes, lengths, unknown media and a closed window get Meta's codes, and no bubble."""
    await meta.user_text(ANA, "oi")
    answer = await graph.post("/messages", json=payload)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert meta.outbound() == []


async def test_refuses_a_wrong_token(meta, graph) -> None:
    """A bad token is 401 with code 190."""
    answer = await graph.post("/messages", json=text(ANA, "x"), headers={"Authorization": "Bearer no"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, 190)


async def test_buttons_and_lists_come_back_as_replies(meta, graph, listener) -> None:
    """The phone shows buttons and rows; tapping one tells the bot its id and which message it stood under."""
    await meta.user_text(ANA, "oi")
    await graph.post("/messages", json=interactive(ANA, buttons("Confirmar", "Corrigir")))
    rows = {"button": "Ver", "sections": [{"rows": [{"id": "r1", "title": "Nota 1"}]}]}
    await graph.post("/messages", json=interactive(ANA, rows, "list"))
    card, listing = [bubble for bubble in meta.bubbles(ANA) if bubble.side == "bot"]
    assert [button.title for button in card.buttons] == ["Confirmar", "Corrigir"]
    assert listing.rows[0].id == "r1"
    tap = await meta.user_button(ANA, "b0", "Confirmar", card.id)
    await meta.user_list_reply(ANA, "r1", "Nota 1", context_wamid=listing.id)
    await meta.wait_for(ANA, lambda b: b.side == "user" and b.status == "delivered", after=tap)
    first, second = messages(listener)[-2:]
    assert first["interactive"]["button_reply"] == {"id": "b0", "title": "Confirmar"}
    assert first["context"]["id"] == card.id
    assert second["interactive"]["list_reply"]["id"] == "r1"


async def test_read_and_typing_show_on_the_phone(meta, graph) -> None:
    """One call marks everything up to the message as read and shows typing, until the answer comes."""
    await meta.user_text(ANA, "um")
    wamid = await meta.user_text(ANA, "dois")
    await meta.courier.drained()
    feed = meta.subscribe(ANA)
    mark = {
        "messaging_product": "whatsapp",
        "status": "read",
        "message_id": wamid,
        "typing_indicator": {"type": "text"},
    }
    assert (await graph.post("/messages", json=mark)).json() == {"success": True}
    assert [bubble.status for bubble in meta.bubbles(ANA)] == ["read", "read"]
    assert meta.phones.is_typing(ANA)
    await graph.post("/messages", json=text(ANA, "pronto"))
    assert not meta.phones.is_typing(ANA)
    seen = [(await anext(feed)).kind for _ in range(6)]
    assert seen == ["tick", "tick", "read", "typing", "bubble", "typing"]
    feed.close()


async def test_documents_go_up_and_open(meta, graph) -> None:
    """An uploaded PDF is found by id, needs the token, is shown on the phone; XML only passes as text/plain."""
    await meta.user_text(ANA, "oi")
    form = {"messaging_product": "whatsapp", "type": "application/pdf"}
    up = await graph.post("/media", data=form, files={"file": ("n.pdf", b"%PDF-1.4", "application/pdf")})
    media_id = up.json()["id"]
    info = (await graph.get(f"{meta.url}/v26.0/{media_id}")).json()
    assert info["sha256"] == hashlib.sha256(b"%PDF-1.4").hexdigest()
    assert (await graph.get(info["url"])).content == b"%PDF-1.4"
    document = {"id": media_id, "filename": "NFSe-1.pdf", "caption": "Nota 1"}
    sent = {"messaging_product": "whatsapp", "to": ANA, "type": "document", "document": document}
    assert (await graph.post("/messages", json=sent)).status_code == 200
    bubble = meta.bubbles(ANA)[-1]
    async with httpx.AsyncClient() as browser:
        assert (await browser.get(info["url"])).status_code == 401
        opened = await browser.get(bubble.attachment.url)
    assert (opened.content, opened.headers["content-type"]) == (b"%PDF-1.4", "application/pdf")
    xml = await graph.post("/media", data=form, files={"file": ("n.xml", b"<a/>", "application/xml")})
    assert xml.json()["error"]["code"] == 100
    plain = await graph.post("/media", data=form, files={"file": ("n.xml", b"<a/>", "text/plain")})
    assert plain.status_code == 200


async def test_retries_in_order_until_the_bot_is_back(meta, listener) -> None:
    """While the bot is away or says 503, messages wait, and come in the order they were written."""
    await listener.close()
    await meta.user_text(ANA, "um")
    await meta.user_text(ANA, "dois")
    listener.script = [503, 503]
    await listener.open()
    await meta.courier.drained()
    assert [message["text"]["body"] for message in messages(listener)] == ["um", "um", "um", "dois"]


async def test_a_refused_message_does_not_hold_the_others(meta, listener) -> None:
    """A message the bot answers with 500 is retried while the next one passes."""
    listener.script = [500]
    await meta.user_text(ANA, "veneno")
    await meta.user_text(ANA, "depois")
    await meta.courier.drained()
    assert sorted(message["text"]["body"] for message in messages(listener)) == ["depois", "veneno", "veneno"]


async def test_a_restart_remembers_conversations_and_delivers_the_rest(listener, tmp_path: Path) -> None:
    """Everything said, and what was not yet delivered, survives the simulator's process."""
    path = tmp_path / "meta.jsonl"
    async with MetaSimulator(CONFIG, ledger=Ledger(path, forget=BULKY), home=tmp_path / "media") as first:
        await first.user_text(ANA, "ainda estou aqui", name="Ana")
        photo = await first.user_media(ANA, b"jpeg", "image/jpeg", kind="image")
    again = MetaSimulator(CONFIG, ledger=Ledger(path, forget=BULKY), home=tmp_path / "media", webhook_url=listener.url)
    async with again:
        await again.wait_for(ANA, lambda b: b.id == photo and b.status == "delivered")
        assert [bubble.text for bubble in again.bubbles(ANA)] == ["ainda estou aqui", ""]
        assert [message["type"] for message in messages(listener)] == ["text", "image"]
        attachment = again.bubbles(ANA)[1].attachment
        assert attachment is not None
        async with httpx.AsyncClient() as browser:
            assert (await browser.get(attachment.url)).content == b"jpeg"


@pytest.mark.parametrize(("spread", "entries", "changes"), [("together", 1, 1), ("changes", 1, 3), ("entries", 3, 3)])
async def test_batches_many_users_and_statuses_in_one_post(meta, graph, listener, spread, entries, changes) -> None:
    """One POST carries messages of several people and a status, in any of Meta's groupings, several times over."""
    await meta.user_text(ANA, "oi")
    wamid = (await graph.post("/messages", json=text(ANA, "olá"))).json()["messages"][0]["id"]
    await meta.courier.drained()
    await listener.heard(4)
    items = [meta.said(ANA, "a"), meta.said(BIA, "b", name="Bia"), meta.told(wamid, "read")]
    await meta.deliver_batch(items, times=2, spread=spread)
    await listener.heard(6)
    assert listener.bodies[-1] == listener.bodies[-2]
    body = json.loads(listener.bodies[-1])
    assert (len(body["entry"]), sum(len(entry["changes"]) for entry in body["entry"])) == (entries, changes)
    assert [m["text"]["body"] for m in messages(listener)[-2:]] == ["a", "b"]


async def test_somebody_without_a_number(meta, graph, listener) -> None:
    """A username user comes without wa_id and from, and is answered by BSUID."""
    await meta.user_text("BR.1502576394655843", "oi", name="Caio")
    await listener.heard(1)
    (value,) = values(listener)
    assert "wa_id" not in value["contacts"][0]
    assert "from" not in value["messages"][0]
    assert value["messages"][0]["from_user_id"] == "BR.1502576394655843"
    payload = text("", "olá") | {"recipient": "BR.1502576394655843"}
    del payload["to"]
    answer = (await graph.post("/messages", json=payload)).json()
    assert answer["contacts"] == [{"input": "BR.1502576394655843", "user_id": "BR.1502576394655843"}]


async def test_an_answer_lost_after_acceptance(meta, graph, listener) -> None:
    """The bot sees a broken connection, yet the message is on the phone and its status tells the callback data."""
    await meta.user_text(ANA, "oi")
    meta.faults.set(Fault.LOSE_ANSWER, times=1)
    with pytest.raises(httpx.TransportError):
        await graph.post("/messages", json=text(ANA, "olá", biz_opaque_callback_data="outbox-9"))
    assert len(meta.outbound(ANA)) == 1
    await listener.heard(2)
    assert statuses(listener)[0]["biz_opaque_callback_data"] == "outbox-9"


async def test_webhooks_duplicated_and_lost(meta, graph, listener) -> None:
    """A duplicated message comes as often as asked; ``sem_webhook`` drops statuses, never a person's words."""
    meta.faults.set(Fault.WEBHOOK_DUPLICATED, copies=3, times=1)
    meta.faults.set(Fault.NO_WEBHOOK)
    await meta.user_text(ANA, "oi")
    await graph.post("/messages", json=text(ANA, "olá"))
    await listener.heard(3)
    await meta.courier.drained()
    assert len({message["id"] for message in messages(listener)}) == 1
    assert statuses(listener) == []


async def test_shuffled_webhooks_all_arrive(meta, listener) -> None:
    """Shuffling changes the order of arrival and loses nothing."""
    meta.faults.set(Fault.WEBHOOK_SHUFFLED, seconds=0.05)
    sent = [await meta.user_text(ANA, str(number)) for number in range(12)]
    await meta.courier.drained()
    heard = [message["id"] for message in messages(listener)]
    assert sorted(heard) == sorted(sent)
    assert heard != sent


async def test_the_window_closes_after_24_hours(listener) -> None:
    """A day after the person's last word only a template passes."""
    now = [datetime(2026, 11, 20, 12, 0, tzinfo=UTC)]
    meta = MetaSimulator(CONFIG, ledger=Ledger(clock=lambda: now[0]), webhook_url=listener.url)
    async with meta, httpx.AsyncClient() as client:
        await meta.user_text(ANA, "oi")
        url = f"{meta.url}/v26.0/{CONFIG.account.phone_number_id}/messages"
        headers = {"Authorization": f"Bearer {CONFIG.access_token}"}
        codes = []
        for hours in (23, 2):
            now[0] += timedelta(hours=hours)
            codes.append((await client.post(url, json=text(ANA, "x"), headers=headers)).status_code)
        template = {"name": "nota_pronta", "language": {"code": "pt_BR"}}
        late = {"messaging_product": "whatsapp", "to": ANA, "type": "template", "template": template}
        codes.append((await client.post(url, json=late, headers=headers)).status_code)
    assert codes == [200, 400, 200]


async def test_answers_a_number_with_and_without_its_ninth_digit(meta, graph) -> None:
    """A send to the other spelling of a Brazilian mobile reaches the same person, whose wa_id comes back."""
    await meta.user_text("551187654321", "oi")
    answer = (await graph.post("/messages", json=text("+5511987654321", "olá"))).json()
    assert answer["contacts"][0]["wa_id"] == "551187654321"
    assert len(meta.outbound("551187654321")) == 1


async def test_pair_rate_only_when_enabled(listener) -> None:
    """With the pair limit on, a second message at once to the same person gets 131056."""
    config = MetaConfig(pair_interval=6, statuses=())
    async with MetaSimulator(config, webhook_url=listener.url) as meta, httpx.AsyncClient() as client:
        await meta.user_text(ANA, "oi")
        url = f"{meta.url}/v26.0/{config.account.phone_number_id}/messages"
        headers = {"Authorization": f"Bearer {config.access_token}"}
        answers = [await client.post(url, json=text(ANA, "x"), headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 400]
    assert answers[1].json()["error"]["code"] == 131056


async def test_admin_pages_speak_for_a_person(meta, listener) -> None:
    """Another process can speak as a person and read the conversation over HTTP."""
    async with httpx.AsyncClient(base_url=meta.url) as admin:
        wamid = (await admin.post("/_sandbox/user", json={"who": ANA, "text": "oi", "name": "Ana"})).json()["wamid"]
        await meta.courier.drained()
        seen = (await admin.get(f"/_sandbox/conversations/{ANA}")).json()
        ledger = (await admin.get("/_sandbox/ledger?kind=inbound")).json()
        faults = (await admin.post("/_sandbox/faults", json={"lento": {"seconds": 0.01}, "html_200": 0.5})).json()
        refused = await admin.post("/_sandbox/faults", json={"nada": True})
    assert [bubble["id"] for bubble in seen["bubbles"]] == [wamid]
    assert ledger[0]["message"]["id"] == wamid
    assert set(faults["on"]) == {"lento", "html_200"}
    assert refused.status_code == 400


async def test_handshake(meta) -> None:
    """Meta's GET verification accepts a bot that echoes the challenge."""
    assert await meta.verify_webhook()


async def test_forwarded_edited_and_deleted_messages_come_as_meta_tells_them(meta, listener) -> None:
    """The phone shows what became of them; the bot hears a forwarded flag, an edit and a revocation."""
    wamid = await meta.user_text(ANA, "nota de 1500")
    await meta.user_forward(ANA, "sim", often=True)
    await meta.user_edit(ANA, wamid, "nota de 1800")
    await meta.user_revoke(ANA, wamid)
    await meta.user_edit(ANA, wamid, None)
    await listener.heard(5)
    _, theirs, edit, gone, silent = messages(listener)
    assert theirs["context"] == {"forwarded": True, "frequently_forwarded": True}
    assert edit["edit"]["original_message_id"] == gone["revoke"]["original_message_id"] == wamid
    assert edit["edit"]["message"]["text"]["body"] == "nota de 1800"
    assert silent["unsupported"] == {"type": "edit"}
    assert [bubble.text for bubble in meta.bubbles(ANA)][:2] == ["Mensagem apagada", "sim"]
