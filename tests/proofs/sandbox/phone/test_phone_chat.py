from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from proofs.sandbox.meta.meta import MetaSimulator
from proofs.sandbox.phone.chat import MetaChat
from proofs.sandbox.phone.model import BubbleChanged, Button, Row, TypingChanged
from proofs.sandbox.phone.ports import DemoUser
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.sandbox.phone.model import ChatEvent

ANA = DemoUser("5511987654321", "Ana", "Pode emitir.")
WHO = ANA.wa_id
TOKEN = {"Authorization": "Bearer sandbox-access-token"}


@pytest.fixture
async def meta() -> AsyncIterator[MetaSimulator]:
    async with MetaSimulator() as simulator:
        yield simulator


@pytest.fixture
def chat(meta: MetaSimulator) -> MetaChat:
    return MetaChat(meta, [ANA])


async def say(meta: MetaSimulator, **message: Any) -> str:
    """Send as the bot, over Graph's own HTTP; returns the wamid."""
    body = {"messaging_product": "whatsapp", "to": f"+{WHO}", **message}
    url = f"{meta.url}/v26.0/{meta.config.account.phone_number_id}/messages"
    async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=TOKEN) as response:
        assert response.status == 200, await response.text()
        answer = await response.json()
    return str(answer.get("messages", [{"id": ""}])[0]["id"])


async def upload(meta: MetaSimulator, content: bytes, mime: str) -> str:
    form = aiohttp.FormData({"messaging_product": "whatsapp", "type": mime})
    form.add_field("file", content, filename="upload.bin", content_type=mime)
    url = f"{meta.url}/v26.0/{meta.config.account.phone_number_id}/media"
    async with aiohttp.ClientSession() as session, session.post(url, data=form, headers=TOKEN) as response:
        assert response.status == 200, await response.text()
        return str((await response.json())["id"])


async def test_what_the_user_writes_is_an_outgoing_bubble_with_a_tick(chat: MetaChat) -> None:
    """The user's text stands on the phone at once, sent but not read."""
    await chat.send_text(WHO, "oi")
    (bubble,) = chat.bubbles(WHO)
    assert (bubble.direction, bubble.text, bubble.status) == ("out", "oi", "sent")


async def test_a_bot_message_brings_its_buttons_and_no_tick(meta: MetaSimulator, chat: MetaChat) -> None:
    """Header, footer and buttons arrive; ticks belong to the user's own messages."""
    await chat.send_text(WHO, "oi")
    reply = {"type": "reply", "reply": {"id": "c:1", "title": "Confirmar"}}
    interactive = {
        "type": "button",
        "header": {"type": "text", "text": "Nota"},
        "body": {"text": "Confere?"},
        "footer": {"text": "ANA DESIGN ME"},
        "action": {"buttons": [reply]},
    }
    wamid = await say(meta, type="interactive", interactive=interactive)
    bubble = chat.bubbles(WHO)[-1]
    assert (bubble.id, bubble.direction, bubble.status) == (wamid, "in", None)
    assert (bubble.header, bubble.text, bubble.footer) == ("Nota", "Confere?", "ANA DESIGN ME")
    assert bubble.buttons == (Button("c:1", "Confirmar"),)


async def test_a_list_brings_its_rows_with_their_sections(meta: MetaSimulator, chat: MetaChat) -> None:
    """A list message has its label and rows, flat, each with its section's title."""
    await chat.send_text(WHO, "oi")
    rows = [{"id": "r1", "title": "Padaria", "description": "a do Zé"}]
    action = {"button": "Ver clientes", "sections": [{"title": "Clientes", "rows": rows}]}
    await say(meta, type="interactive", interactive={"type": "list", "body": {"text": "Qual?"}, "action": action})
    bubble = chat.bubbles(WHO)[-1]
    assert bubble.list_label == "Ver clientes"
    assert bubble.rows == (Row("r1", "Padaria", "a do Zé", "Clientes"),)


async def test_taps_reach_the_bot_with_their_context(meta: MetaSimulator, chat: MetaChat) -> None:
    """A button and a row become replies that name the message they were under."""
    await chat.press(WHO, "c:1", "Confirmar", "wamid.A")
    await chat.choose(WHO, "r1", "Padaria", "wamid.B")
    pressed, chosen = (meta.phones.said[bubble.id] for bubble in chat.bubbles(WHO))
    assert pressed["interactive"]["button_reply"] == {"id": "c:1", "title": "Confirmar"}
    assert pressed["context"]["id"] == "wamid.A"
    assert chosen["interactive"]["list_reply"] == {"id": "r1", "title": "Padaria"}
    assert chosen["context"]["id"] == "wamid.B"


async def test_a_document_is_named_as_in_the_conversation(meta: MetaSimulator, chat: MetaChat) -> None:
    """The bytes come under the message's file name, with their size; an unused upload is not shown to anybody."""
    await chat.send_text(WHO, "oi")
    media_id = await upload(meta, b"%PDF-1.4", "application/pdf")
    assert await chat.document(media_id) is None
    await say(meta, type="document", document={"id": media_id, "filename": "NFSe-7.pdf", "caption": "Nota 7"})
    bubble = chat.bubbles(WHO)[-1]
    assert bubble.attachment is not None
    assert (bubble.text, bubble.attachment.filename, bubble.attachment.size) == ("Nota 7", "NFSe-7.pdf", 8)
    document = await chat.document(bubble.attachment.id)
    assert document is not None
    assert (document.filename, document.mime, document.content) == ("NFSe-7.pdf", "application/pdf", b"%PDF-1.4")
    assert await chat.document("404") is None


@pytest.mark.parametrize(
    ("mime", "kind"), [("image/jpeg", "image"), ("audio/ogg", "audio"), ("application/pdf", "document")]
)
async def test_a_file_goes_out_as_whatsapp_would_send_it(
    meta: MetaSimulator, chat: MetaChat, mime: str, kind: str
) -> None:
    """The kind of message follows the file's type."""
    await chat.send_file(WHO, "arquivo", mime, b"x")
    (bubble,) = chat.bubbles(WHO)
    assert meta.phones.said[bubble.id]["type"] == kind
    assert bubble.kind == kind


async def test_typing_reading_and_answering_are_told(meta: MetaSimulator, chat: MetaChat) -> None:
    """A subscriber hears the bubble, its ticks, the typing and the answer that ends it."""
    heard: list[ChatEvent] = []
    done = asyncio.Event()

    async def listen() -> None:
        async for event in chat.subscribe(WHO):
            heard.append(event)
            if isinstance(event, BubbleChanged) and event.bubble.direction == "in":
                done.set()
                return

    listening = asyncio.create_task(listen())
    await asyncio.sleep(0)
    await chat.send_text(WHO, "oi")
    url = f"{meta.url}/v26.0/{meta.config.account.phone_number_id}/messages"
    mark = {
        "messaging_product": "whatsapp",
        "status": "read",
        "message_id": chat.bubbles(WHO)[0].id,
        "typing_indicator": {"type": "text"},
    }
    async with aiohttp.ClientSession() as session, session.post(url, json=mark, headers=TOKEN) as response:
        assert response.status == 200
    assert chat.typing(WHO)
    await say(meta, type="text", text={"body": "Bom dia!"})
    async with asyncio.timeout(PATIENCE):
        await done.wait()
    await listening
    assert not chat.typing(WHO)
    typings = [event.on for event in heard if isinstance(event, TypingChanged)]
    assert typings[0] is True
    ticks = [event.bubble.status for event in heard if isinstance(event, BubbleChanged) and event.bubble.text == "oi"]
    assert (ticks[0], ticks[-1]) == ("sent", "read")
