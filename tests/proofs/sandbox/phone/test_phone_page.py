from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from playwright.async_api import async_playwright, expect

from proofs.sandbox.phone.app import create_phone_app
from proofs.sandbox.phone.model import Attachment, Button, Row
from tests.held_port import held_port
from tests.patience import PATIENCE
from tests.proofs.sandbox.phone.phone_fakes import (
    ANA,
    RUI,
    FakeChat,
    FakeInside,
    FakeSwitches,
    note,
    tell_story,
    told_view,
)
from tests.proofs.sandbox.phone.phone_fakes import field as known

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, Page, ViewportSize

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}

expect.set_options(timeout=PATIENCE * 1000)


@pytest.fixture(autouse=True, scope="module")
def _chromium_is_here() -> None:
    """A page that no browser has seen is not tested: nothing is skipped."""
    if CHROMIUM is None:
        pytest.fail("These tests need Debian's package chromium: apt-get install chromium")


@dataclass
class Stage:
    """The page in a browser, what stands behind it, and what the browser complained of."""

    browser: Browser
    port: int
    chat: FakeChat = field(default_factory=FakeChat)
    inside: FakeInside = field(default_factory=FakeInside)
    switches: FakeSwitches = field(default_factory=FakeSwitches)
    complaints: list[str] = field(default_factory=list)
    runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.port}/"

    async def serve(self) -> None:
        """Listen; a second time on the same port."""
        self.runner = web.AppRunner(create_phone_app(self.chat, self.inside, self.switches), access_log=None)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", self.port, reuse_port=True).start()

    async def close(self) -> None:
        """Be away."""
        if self.runner is not None:
            await self.runner.cleanup()

    @asynccontextmanager
    async def visit(self, size: ViewportSize, **context: Any) -> AsyncIterator[Page]:
        """Open the page in a fresh profile and wait until it is live."""
        profile = await self.browser.new_context(viewport=size, locale="pt-BR", **context)
        page = await profile.new_page()
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        await page.goto(self.url)
        await expect(page.get_by_test_id("live")).to_have_text("ao vivo")
        try:
            yield page
        finally:
            await profile.close()


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
async def stage(browser: Browser) -> AsyncIterator[Stage]:
    with held_port() as port:
        stage = Stage(browser, port)
        await stage.serve()
        yield stage
        await stage.close()
    assert stage.complaints == []


async def test_enter_sends_and_a_sample_only_fills_the_composer(stage: Stage) -> None:
    """A chip puts its words into the composer; Enter sends them, Shift+Enter is a new line, emptiness stays."""
    async with stage.visit(DESKTOP) as page:
        composer = page.get_by_test_id("composer")
        await composer.press("Enter")
        await page.get_by_test_id("samples").get_by_role("button").first.click()
        await expect(composer).to_be_focused()
        await expect(composer).to_have_value("faz uma nota de 1500 pra 12.345.678/0001-95, consultoria de marketing")
        assert stage.chat.bubbles(ANA.wa_id) == []
        await composer.press("Enter")
        await expect(composer).to_have_value("")
        await composer.press_sequentially("uma")
        await composer.press("Shift+Enter")
        await composer.press_sequentially("duas")
        await page.get_by_test_id("send").click()
        bubbles = page.locator("[data-testid=bubble][data-direction=out]")
        await expect(bubbles).to_have_count(2)
        assert [bubble.text[:8] for bubble in stage.chat.bubbles(ANA.wa_id)] == ["faz uma ", "uma\nduas"]


async def test_ticks_move_and_typing_comes_and_goes(stage: Stage) -> None:
    """The tick of one bubble follows its status; typing shows until the answer stands."""
    async with stage.visit(DESKTOP) as page:
        bubble = stage.chat.add(ANA.wa_id, "out", "oi", status="sent")
        tick = page.get_by_test_id("tick")
        await expect(tick).to_have_attribute("data-status", "sent")
        stage.chat.tick(ANA.wa_id, bubble, "read")
        await expect(tick).to_have_attribute("data-status", "read")
        stage.chat.type(ANA.wa_id, on=True)
        await expect(page.get_by_test_id("typing")).to_be_visible()
        await expect(page.get_by_test_id("presence")).to_have_text("digitando…")
        stage.chat.add(ANA.wa_id, "in", "Bom dia!")
        await expect(page.get_by_test_id("typing")).to_be_hidden()
        await expect(page.get_by_test_id("bubble")).to_have_count(2)


async def test_formatting_is_drawn_and_markup_stays_text(stage: Stage) -> None:
    """WhatsApp's marks become elements where they pair; whatever looks like HTML is only read."""
    text = (
        "*Valor:* R$ 1.500,00 _(mil e *quinhentos*)_ ~antes~ `x*y*z`\n```a * b```\n2*3*4 snake_case_name * só *\n"
        '<img src=x onerror="alert(1)"><b>oi</b>'
    )
    async with stage.visit(DESKTOP) as page:
        stage.chat.add(ANA.wa_id, "in", text)
        words = page.get_by_test_id("bubble").locator(".words")
        assert await words.locator("strong").all_text_contents() == ["Valor:", "quinhentos"]
        assert await words.locator("em").all_text_contents() == ["(mil e quinhentos)"]
        assert await words.locator("s").all_text_contents() == ["antes"]
        assert await words.locator("code").all_text_contents() == ["x*y*z", "a * b"]
        await expect(words).to_contain_text("2*3*4 snake_case_name * só *")
        await expect(words).to_contain_text('<img src=x onerror="alert(1)"><b>oi</b>')
        assert await words.locator("img, b").count() == 0


async def test_buttons_and_lists_answer_for_their_message(stage: Stage) -> None:
    """A button posts itself; a list opens a dialog that Escape closes and a row answers."""
    async with stage.visit(DESKTOP) as page:
        first = stage.chat.add(ANA.wa_id, "in", "Confere?", buttons=(Button("c:1", "Confirmar"),))
        rows = (Row("r1", "Padaria", "a do Zé", "Clientes"), Row("r2", "Outra"))
        second = stage.chat.add(ANA.wa_id, "in", "Qual?", list_label="Ver clientes", rows=rows)
        await page.get_by_test_id("button").click()
        opener = page.get_by_test_id("list")
        await opener.click()
        sheet = page.get_by_role("dialog", name="Ver clientes")
        await expect(sheet.get_by_test_id("row").first).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(sheet).to_be_hidden()
        await expect(opener).to_be_focused()
        await opener.click()
        await page.get_by_test_id("row").nth(1).click()
        await expect(page.locator("[data-testid=bubble][data-direction=out]")).to_have_count(2)
        assert stage.chat.taps == [
            ("button", "c:1", "Confirmar", first.id),
            ("row", "r2", "Outra", second.id),
        ]


async def test_documents_open_in_another_tab(stage: Stage) -> None:
    """The card names the file and opens its own address; the browser shows the XML."""
    async with stage.visit(DESKTOP) as page:
        stage.chat.add(ANA.wa_id, "in", "", attachment=Attachment("xml-1", "NFSe-1042.xml", "text/plain", 6200))
        card = page.get_by_test_id("document")
        await expect(card).to_contain_text("NFSe-1042.xml")
        async with page.context.expect_page() as opened:
            await card.click()
        document = await opened.value
        assert document.url == f"{stage.url}documents/xml-1"
        await expect(document.locator("#folder0").get_by_text("1042")).to_be_visible()


async def test_a_picture_stands_in_the_conversation(stage: Stage) -> None:
    """As on a phone; it opens at full width as other files do."""
    async with stage.visit(DESKTOP) as page:
        stage.chat.add(ANA.wa_id, "in", "", attachment=Attachment("pdf-1", "mes.png", "image/png", 6200))
        await expect(page.get_by_test_id("document").locator("img")).to_have_attribute("src", "documents/pdf-1")


async def test_the_inside_follows_the_conversation(stage: Stage) -> None:
    """State, lit path, fields, journal and the gateway's book show what the house and the gateway know."""
    path = [("", "coleta", "Mensagem", "manual"), ("coleta", "aguardando_confirmacao", "Mensagem", "data_complete")]
    async with stage.visit(DESKTOP) as page:
        await expect(page.get_by_test_id("state")).to_have_text("nenhuma sessão ainda")
        stage.inside.views[ANA.wa_id] = told_view(
            "aguardando_confirmacao",
            path,
            campos=[known("valor", "validated", "1500.00", "de 1500"), known("email")],
            contadores={"confirmacoes": 1},
            emissoes=[{"id_integracao": "k-1", "status": "concluido", "valor": "1500.00", "numero": "1042"}],
        )
        stage.switches.notes = [note("k-1", "1042", "CONCLUIDO", "1500.00", "PADARIA DO ZÉ LTDA")]
        await expect(page.get_by_test_id("state")).to_have_attribute("data-state", "aguardando_confirmacao")
        await expect(page.locator("[data-arc='coleta>aguardando_confirmacao']")).to_have_class("arc lit")
        await expect(page.locator("[data-arc='coleta>expirado']")).to_have_class("arc idle")
        await expect(page.locator("g[data-state=aguardando_confirmacao]")).to_have_class(
            "node aguardando_confirmacao visited current"
        )
        valor = page.locator("[data-testid=field][data-campo=valor]")
        await expect(valor).to_have_attribute("data-status", "validated")
        await expect(valor).to_contain_text("R$ 1.500,00")
        await expect(valor).to_contain_text("de 1500")
        await expect(page.locator("[data-testid=field][data-campo=email]")).to_have_attribute("data-status", "null")
        await expect(page.get_by_test_id("transition")).to_have_count(2)
        await expect(page.get_by_test_id("ledger-row")).to_contain_text("nº 1042")
        await expect(page.get_by_test_id("placar")).to_have_text("1 confirmação → 1 nota")
        stage.switches.notes = [*stage.switches.notes, note("k-2", "1043", "CONCLUIDO", "1500.00", "PADARIA")]
        await expect(page.get_by_test_id("placar")).to_contain_text("há nota a mais")


async def test_switches_turn_and_reset(stage: Stage) -> None:
    """A switch turns with the keyboard, shows when the gateway turned it off, and all go off together."""
    async with stage.visit(DESKTOP) as page:
        reject = page.get_by_role("switch", name="Rejeitar a próxima", exact=True)
        async with page.expect_response("**/api/switches"):  # the page shows it before the gateway knows
            await reject.press("Space")
        await expect(reject).to_have_attribute("aria-checked", "true")
        assert stage.switches.on["rejeitar"] is True
        stage.switches.on["rejeitar"] = False
        await expect(reject).to_have_attribute("aria-checked", "false")
        await page.get_by_test_id("switch-lento").click()
        await page.get_by_test_id("switch-sem_webhook").click()
        await page.get_by_test_id("switches-reset").click()
        await expect(page.get_by_test_id("switch-lento")).to_have_attribute("aria-checked", "false")
        await expect(page.get_by_test_id("switches-reset")).to_be_disabled()
        assert not any(stage.switches.on.values())


async def test_another_user_has_another_conversation(stage: Stage) -> None:
    """Changing who speaks changes bubbles, inside and address; a reload keeps the choice."""
    stage.chat.add(ANA.wa_id, "in", "para a Ana")
    stage.chat.add(RUI.wa_id, "in", "para o Rui")
    async with stage.visit(DESKTOP) as page:
        await expect(page.get_by_test_id("bubble")).to_contain_text("para a Ana")
        await page.get_by_test_id("user").select_option(RUI.wa_id)
        await expect(page.get_by_test_id("bubble")).to_contain_text("para o Rui")
        await page.reload()
        await expect(page.get_by_test_id("bubble")).to_contain_text("para o Rui")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_phone_sized_window_has_two_tabs(stage: Stage, theme: Any) -> None:
    """Narrow windows show one part at a time, reachable by tap and arrow keys, without sideways scrolling."""
    tell_story(stage.chat, stage.inside, stage.switches)
    async with stage.visit(PHONE, color_scheme=theme) as page:
        await expect(page.locator("#conversa")).to_be_visible()
        await expect(page.locator("#dentro")).to_be_hidden()
        await page.get_by_test_id("tab-conversa").focus()
        await page.keyboard.press("ArrowRight")
        await expect(page.locator("#dentro")).to_be_visible()
        await expect(page.locator("#conversa")).to_be_hidden()
        await expect(page.get_by_test_id("state")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


async def test_the_theme_is_remembered(stage: Stage) -> None:
    """The toggle leaves the system's theme and stays after a reload."""
    async with stage.visit(DESKTOP, color_scheme="light") as page:
        paper = "getComputedStyle(document.body).backgroundColor"
        before = await page.evaluate(paper)
        await page.get_by_test_id("theme").click()
        after = await page.evaluate(paper)
        assert before != after
        await page.reload()
        assert await page.evaluate(paper) == after


async def test_the_page_comes_back_after_the_server_did(stage: Stage) -> None:
    """While the server is away the page says so and keeps what was typed; afterwards it shows what it missed."""
    async with stage.visit(DESKTOP) as page:
        await stage.close()
        await expect(page.get_by_test_id("live")).to_have_text("reconectando…")
        await page.get_by_test_id("composer").fill("oi")
        await page.get_by_test_id("send").click()
        await expect(page.get_by_test_id("snag")).to_be_visible()
        await expect(page.get_by_test_id("composer")).to_have_value("oi")
        stage.chat.add(ANA.wa_id, "in", "perdida")
        await stage.serve()
        await expect(page.get_by_test_id("live")).to_have_text("ao vivo")
        await expect(page.get_by_test_id("bubble")).to_contain_text("perdida")
    stage.complaints.clear()  # the browser reports refused connections as errors


async def test_without_a_stream_the_page_asks_again_and_again(stage: Stage) -> None:
    """Where something in between swallows the stream, polling shows the same."""
    async with asyncio.timeout(PATIENCE):
        profile = await stage.browser.new_context(viewport=DESKTOP)
        page = await profile.new_page()
        await page.route("**/events?*", lambda route: route.abort())
        await page.goto(stage.url)
        stage.chat.add(ANA.wa_id, "in", "por outro caminho")
        await expect(page.get_by_test_id("bubble")).to_contain_text("por outro caminho")
        await expect(page.get_by_test_id("live")).to_have_text("reconectando…")
        await profile.close()
