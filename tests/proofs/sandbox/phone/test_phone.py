from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from proofs.sandbox.phone.app import FILE_LIMIT, create_phone_app
from proofs.sandbox.phone.model import Button, Row
from proofs.sandbox.phone.ports import DemoUser
from tests.proofs.sandbox.phone.phone_fakes import (
    ANA,
    RUI,
    FakeChat,
    FakeInside,
    FakeSwitches,
    field,
    note,
    tell_story,
    told_view,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import ClientResponse

FIRST_LOAD = 60 * 1024  # bytes: the design's limit for page, styles, modules and icon together, compressed


@dataclass(frozen=True, slots=True)
class Page:
    """The page's server and everything behind it."""

    client: TestClient[Any, Any]
    chat: FakeChat
    inside: FakeInside
    switches: FakeSwitches

    @property
    def origin(self) -> str:
        """What a browser on the page sends as Origin."""
        return str(self.client.make_url("")).rstrip("/")

    async def post(self, path: str, body: Any, **headers: str) -> ClientResponse:
        """Post JSON as the page does."""
        return await self.client.post(path, json=body, headers={"Origin": self.origin, **headers})


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    chat, inside, switches = FakeChat(), FakeInside(), FakeSwitches()
    async with TestClient(TestServer(create_phone_app(chat, inside, switches))) as client:
        yield Page(client, chat, inside, switches)


async def read_event(response: ClientResponse) -> tuple[str, Any]:
    """Return the next event of a stream, comments skipped."""
    lines: list[str] = []
    while True:
        line = (await response.content.readline()).decode().rstrip("\n")
        if line:
            lines.append(line)
        elif any(line.startswith("event: ") for line in lines):
            break
    return lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))


async def next_named(response: ClientResponse, name: str) -> Any:
    while True:
        found, data = await read_event(response)
        if found == name:
            return data


async def test_the_page_offers_every_user_and_chooses_the_one_in_the_address(page: Page) -> None:
    """`?user=` chooses who speaks; without it, or with a stranger, the first one does."""
    for query, chosen in (("", ANA), (f"?user={RUI.wa_id}", RUI), ("?user=nobody", ANA)):
        html = await (await page.client.get(f"/{query}")).text()
        assert re.findall(r'<option value="(\d+)"', html) == [ANA.wa_id, RUI.wa_id]
        assert re.findall(r'<option value="(\d+)"[^>]* selected>', html) == [chosen.wa_id]


async def test_a_name_with_markup_stays_text(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the simulators call somebody is escaped in the page."""
    monkeypatch.setattr(page.chat, "users", lambda: [DemoUser("55", "<script>x</script>", '"><b>')])
    html = await (await page.client.get("/")).text()
    assert "<script>x" not in html
    assert "&lt;script&gt;x" in html
    assert '"><b>' not in html


@pytest.mark.parametrize("path", ["/", "/api/state?user=5511987654321", "/static/main.js", "/nowhere"])
async def test_every_answer_is_locked_down(page: Page, path: str) -> None:
    """Pages, JSON, modules and errors carry the strict policy, nosniff and no-referrer."""
    headers = (await page.client.get(path)).headers
    assert headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


async def test_the_page_holds_no_inline_script_or_style(page: Page) -> None:
    """The strict policy costs nothing: there is nothing inline to block."""
    html = await (await page.client.get("/")).text()
    assert re.findall(r"<script(?![^>]* src=)", html) == []
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=", html) == []


async def test_the_first_load_is_small_and_complete(page: Page) -> None:
    """The page and everything that it names weigh at most 60 KB on the wire, and none of it is missing."""
    response = await page.client.get("/")
    wanted = set(re.findall(r'(?:src|href)="static/([^"]+)"', await response.text()))
    sizes = {"/": int(response.headers["Content-Length"])}
    while missing := wanted - sizes.keys():
        name = missing.pop()
        response = await page.client.get(f"/static/{name}")
        assert response.status == 200, name
        sizes[name] = int(response.headers["Content-Length"])
        wanted |= set(re.findall(r'from "\./([^"]+)"', await response.text()))
    assert {"main.js", "theme.js", "base.css", "prosa.svg"} <= sizes.keys()
    assert sum(sizes.values()) <= FIRST_LOAD


@pytest.mark.parametrize("name", ["nope.js", "..%2Fphone.py", "%2e%2e%2fphone.py"])
async def test_only_the_pages_own_assets_are_served(page: Page, name: str) -> None:
    """A path that leaves the folder, or names nothing in it, is not found."""
    assert (await page.client.get(f"/static/{name}")).status == 404


async def test_the_state_holds_conversation_and_inside(page: Page) -> None:
    """`GET /api/state` is all that the page shows, empty parts of bubbles left out."""
    page.chat.add(ANA.wa_id, "out", "oi", status="read")
    page.chat.add(ANA.wa_id, "in", "Confere?", buttons=(Button("c:1", "Confirmar"),), rows=(Row("r", "Uma"),))
    page.inside.views[ANA.wa_id] = told_view("coleta", [("", "coleta", "Mensagem", "manual")], campos=[field("valor")])
    page.switches.notes = [note("k-1", "7", "CONCLUIDO", "1.00", "ZÉ")]
    state = await (await page.client.get(f"/api/state?user={ANA.wa_id}")).json()
    first, second = state["bubbles"]
    assert (first["direction"], first["text"], first["status"]) == ("out", "oi", "read")
    assert "buttons" not in first
    assert second["buttons"] == [{"id": "c:1", "title": "Confirmar"}]
    assert second["rows"][0]["title"] == "Uma"
    assert "status" not in second
    assert state["typing"] is False
    assert state["inside"]["sessao"]["estado"] == "coleta"
    assert state["ledger"][0]["numero"] == "7"
    assert set(state["switches"]) == {"lento", "rejeitar", "culpa_nossa", "perder_resposta", "sem_webhook"}


async def test_a_stranger_has_no_state_and_sends_nothing(page: Page) -> None:
    """Only the offered numbers may be used, for reading and for writing."""
    assert (await page.client.get("/api/state?user=1")).status == 404
    assert (await page.client.get("/events?user=1")).status == 404
    refused = await page.post("/api/messages", {"user": "1", "text": "oi"})
    assert refused.status == 404
    assert (await refused.json())["erro"]


async def test_a_message_reaches_the_chat_trimmed(page: Page) -> None:
    """`POST /api/messages` sends the text of the chosen number."""
    assert (await page.post("/api/messages", {"user": ANA.wa_id, "text": "  nota de 1500 \n"})).status == 200
    assert [bubble.text for bubble in page.chat.bubbles(ANA.wa_id)] == ["nota de 1500"]
    assert page.chat.bubbles(RUI.wa_id) == []


async def test_a_tap_names_the_message_it_was_under(page: Page) -> None:
    """Buttons and rows travel with their id, title and the wamid of their message."""
    tap = {"user": ANA.wa_id, "id": "c:1:2", "title": "Confirmar", "context": "wamid.X"}
    assert (await page.post("/api/press", tap)).status == 200
    assert (await page.post("/api/choose", {**tap, "id": "r1", "title": "Padaria"})).status == 200
    assert page.chat.taps == [("button", "c:1:2", "Confirmar", "wamid.X"), ("row", "r1", "Padaria", "wamid.X")]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/messages", {"user": ANA.wa_id, "text": "   "}),
        ("/api/messages", {"user": ANA.wa_id, "text": "x" * 4097}),
        ("/api/messages", {"user": ANA.wa_id, "text": "oi", "more": 1}),
        ("/api/messages", ["oi"]),
        ("/api/press", {"user": ANA.wa_id, "id": "c", "title": "Confirmar"}),
        ("/api/switches", {"switches": {"outra": True}}),
        ("/api/switches", {"switches": {"lento": "talvez"}}),
    ],
)
async def test_what_does_not_fit_is_refused_in_words(page: Page, path: str, body: Any) -> None:
    """A request of another shape gets 422 and a sentence, and changes nothing."""
    response = await page.post(path, body)
    assert response.status == 422
    assert (await response.json())["erro"] == "Não entendi esse pedido."
    assert page.chat.bubbles(ANA.wa_id) == []
    assert not any(page.switches.on.values())


@pytest.mark.parametrize("origin", ["http://evil.example", "null", None])
@pytest.mark.parametrize("path", ["/api/messages", "/api/press", "/api/choose", "/api/files", "/api/switches"])
async def test_a_post_from_elsewhere_is_refused(page: Page, path: str, origin: str | None) -> None:
    """Another site, a sandboxed frame and a request without Origin cannot speak for the person."""
    headers = {"Origin": origin} if origin else {}
    response = await page.client.post(path, json={"switches": {"lento": True}}, headers=headers)
    assert response.status == 403
    assert not any(page.switches.on.values())


async def test_a_large_body_is_refused(page: Page) -> None:
    """JSON beyond its small limit is not read to the end."""
    response = await page.post("/api/messages", {"user": ANA.wa_id, "text": "x" * 40_000})
    assert response.status == 413
    assert page.chat.bubbles(ANA.wa_id) == []


async def test_a_wrong_method_is_told_so(page: Page) -> None:
    """Errors are JSON in pt-BR too."""
    response = await page.client.get("/api/messages")
    assert response.status == 405
    assert (await response.json())["erro"]


async def test_a_file_arrives_whole_under_a_bare_name(page: Page) -> None:
    """`POST /api/files` takes the raw body; a path in the name is dropped."""
    response = await page.client.post(
        f"/api/files?user={ANA.wa_id}&name=../../pedido.pdf",
        data=b"%PDF" + b"x" * 100_000,
        headers={"Origin": page.origin, "Content-Type": "application/pdf"},
    )
    assert response.status == 200
    ((wa_id, name, mime, content),) = page.chat.files
    assert (wa_id, name, mime, len(content)) == (ANA.wa_id, "pedido.pdf", "application/pdf", 100_004)


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"", 422), (b"x" * (FILE_LIMIT + 1), 413)],
)
async def test_an_unusable_file_is_refused_in_words(page: Page, content: bytes, status: int) -> None:
    """Empty or too large: a sentence, and nothing is sent."""
    response = await page.client.post(
        f"/api/files?user={ANA.wa_id}&name=a",
        data=content,
        headers={"Origin": page.origin, "Content-Type": "image/png"},
    )
    assert response.status == status
    assert (await response.json())["erro"]
    assert page.chat.files == []


async def test_switches_turn_one_by_one_and_answer_how_they_stand(page: Page) -> None:
    """Only the named switches move."""
    await page.post("/api/switches", {"switches": {"lento": True}})
    answer = await (await page.post("/api/switches", {"switches": {"rejeitar": True, "lento": False}})).json()
    assert [name for name, on in answer.items() if on] == ["rejeitar"]
    assert page.switches.on == answer


async def test_pdf_and_xml_open_in_the_browser(page: Page) -> None:
    """Documents are served inline with their own type; an XML that travelled as text is XML again."""
    for name, kind in (("pdf-1", "application/pdf"), ("xml-1", "application/xml")):
        response = await page.client.get(f"/documents/{name}")
        assert response.status == 200
        assert response.content_type == kind
        assert response.headers["Content-Disposition"].startswith("inline; filename*=UTF-8''NFSe-1042.")
        assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'unsafe-inline'")
        assert await response.read() == page.chat.documents[name].content


async def test_any_other_document_is_only_downloaded(page: Page) -> None:
    """A file that could act in our origin is handed over as bytes; an unknown one is not found."""
    response = await page.client.get("/documents/html-1")
    assert response.content_type == "application/octet-stream"
    assert response.headers["Content-Disposition"].startswith("attachment;")
    assert (await page.client.get("/documents/none")).status == 404


async def test_the_stream_begins_whole_and_goes_on_with_what_changes(page: Page) -> None:
    """Events: state, then bubbles, ticks and typing as they happen, and the inside once after them."""
    bubble = page.chat.add(ANA.wa_id, "out", "oi", status="sent")
    async with page.client.get(f"/events?user={ANA.wa_id}") as stream:
        assert stream.content_type == "text/event-stream"
        name, state = await read_event(stream)
        assert (name, len(state["bubbles"]), state["inside"]["sessao"]) == ("state", 1, None)

        page.inside.views[ANA.wa_id] = told_view("coleta", [("", "coleta", "Mensagem", "manual")])
        page.chat.tick(ANA.wa_id, bubble, "read")
        page.chat.type(ANA.wa_id, on=True)
        page.chat.add(ANA.wa_id, "in", "Bom dia!")
        events = [await read_event(stream) for _ in range(4)]
        assert [name for name, _ in events] == ["bubble", "typing", "bubble", "inside"]
        assert events[0][1]["status"] == "read"
        assert events[1][1] == {"on": True}
        assert events[2][1]["text"] == "Bom dia!"
        assert events[3][1]["inside"]["sessao"]["estado"] == "coleta"


async def test_the_stream_notices_what_changes_without_a_message(page: Page) -> None:
    """A webhook, a timer or a switch moves the inside of an idle page."""
    async with page.client.get(f"/events?user={ANA.wa_id}") as stream:
        await next_named(stream, "state")
        page.switches.notes.append(note("k-1", "1", "CONCLUIDO", "10.00", "ZÉ"))
        assert [row["numero"] for row in (await next_named(stream, "inside"))["ledger"]] == ["1"]
        page.switches.on["lento"] = True
        assert (await next_named(stream, "inside"))["switches"]["lento"] is True


async def test_a_stream_hears_only_its_own_user(page: Page) -> None:
    """Somebody else's messages do not arrive."""
    async with page.client.get(f"/events?user={ANA.wa_id}") as stream:
        await next_named(stream, "state")
        page.chat.add(RUI.wa_id, "in", "para o Rui")
        page.chat.add(ANA.wa_id, "in", "para a Ana")
        assert (await next_named(stream, "bubble"))["text"] == "para a Ana"


async def test_open_streams_do_not_hold_the_server() -> None:
    """Shutting down ends the streams and forgets their subscriptions, although pages are still listening."""
    chat = FakeChat()
    client = TestClient(TestServer(create_phone_app(chat, FakeInside(), FakeSwitches())))
    await client.start_server()
    stream = await client.get(f"/events?user={ANA.wa_id}")
    await next_named(stream, "state")
    assert len(chat.listeners[ANA.wa_id]) == 1
    await client.server.close()
    assert await stream.content.read() == b""
    assert chat.listeners[ANA.wa_id] == []
    await client.close()


async def test_the_told_story_is_served(page: Page) -> None:
    """The story used for looking at the page has the shape that the page reads."""
    tell_story(page.chat, page.inside, page.switches)
    state = await (await page.client.get(f"/api/state?user={ANA.wa_id}")).json()
    assert any(bubble.get("attachment") for bubble in state["bubbles"])
    assert any(bubble.get("rows") for bubble in state["bubbles"])
    assert {row["status"] for row in state["inside"]["campos"]} == {"null", "extracted", "validated", "invalid"}
