"""Chromium walks `prosa demo`'s page: the very page, house and simulators that a newcomer gets."""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
import sqlalchemy as sa
from PIL import Image
from playwright.async_api import expect

import proofs.demo.world
from bot.process.servers import Storage
from bot.settings import Settings
from persistence.tables import transicoes
from proofs.demo.world import USERS, open_demo
from proofs.history import invent
from proofs.sandbox.faults import Fault
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from playwright.async_api import Browser, Locator, Page, ViewportSize

    from proofs.demo.world import Demo

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
PICTURE = Path(__file__).resolve().parents[2] / "docs" / "assets" / "lost-answer.gif"  # of the README
WINDOWS: dict[str, ViewportSize] = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1440, "height": 900}}
THEMES = ("light", "dark")
expect.set_options(timeout=PATIENCE * 1000)
FULL = "faz uma nota de 1500 pra 12.345.678/0001-95, consultoria de marketing"

Theme = Literal["light", "dark"]


@dataclass
class Visit:
    """A person at the page: writes, presses, looks inside."""

    page: Page
    demo: Demo
    who: str
    documents_before: int
    complaints: list[str] = field(default_factory=list)

    @property
    def answers(self) -> Locator:
        """The bot's bubbles."""
        return self.page.locator("[data-testid=bubble][data-direction=in]")

    async def say(self, text: str, shown: str) -> None:
        """Write; the next bubble must show ``shown``."""
        await self._after(lambda: self._write(text), shown)

    async def press(self, title: str, shown: str) -> None:
        """Press the newest button of that name; the next bubble must show ``shown``."""
        button = self.page.get_by_test_id("button").filter(has_text=title).last
        await self._after(button.click, shown)

    async def look(self, tab: str) -> None:
        """Show a part of the page; wide windows show both."""
        button = self.page.get_by_test_id(f"tab-{tab}")
        if await button.is_visible():
            await button.click()

    async def documents(self) -> tuple[Locator, Locator]:
        """Wait for two documents more than there were; returns the last PDF and XML."""
        cards = self.page.get_by_test_id("document")
        await expect(cards).to_have_count(self.documents_before + 2)
        return cards.filter(has_text=".pdf").last, cards.filter(has_text=".xml").last

    async def _write(self, text: str) -> None:
        await self.page.get_by_test_id("composer").fill(text)
        await self.page.get_by_test_id("send").click()

    async def _after(self, act: Callable[[], Awaitable[None]], shown: str) -> None:
        await self.look("conversa")
        before = await self.answers.count()
        await act()
        await expect(self.answers.nth(before)).to_contain_text(shown)


@pytest.fixture(scope="module")
async def demo(database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo as the command opens it, with a city that decides faster."""
    settings = Settings(home=tmp_path_factory.mktemp("demo"), port=0, debounce_seconds=0.2, repeat_window_seconds=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proofs.demo.world, "PROCESSING_SECONDS", 0.3)
        async with open_demo(settings, Storage(database_url, redis_url, embedded=False)) as demo:
            yield demo


@asynccontextmanager
async def visit(
    browser: Browser, demo: Demo, window: str, theme: Theme = "light", user: int = 0
) -> AsyncIterator[Visit]:
    """Open the page in a fresh profile; afterwards the browser must have had nothing to complain of."""
    demo.world.plugnotas.faults.clear()
    profile = await browser.new_context(
        viewport=WINDOWS[window], color_scheme=theme, locale="pt-BR", timezone_id="America/Sao_Paulo"
    )
    page = await profile.new_page()
    history = demo.world.meta.bubbles(USERS[user].wa_id)
    visitor = Visit(page, demo, USERS[user].wa_id, sum(bubble.attachment is not None for bubble in history))
    page.on("console", lambda said: visitor.complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
    await page.add_init_script(
        "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.violatedDirective, e.blockedURI))"
    )
    await page.goto(demo.address)
    await page.get_by_test_id("user").select_option(visitor.who)
    await expect(page.get_by_test_id("live")).to_have_text("ao vivo")
    await expect(page.get_by_test_id("bubble")).to_have_count(len(history))
    yield visitor
    assert visitor.complaints == [], visitor.complaints
    assert await page.evaluate("document.documentElement.scrollWidth") == WINDOWS[window]["width"]
    await profile.close()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("window", WINDOWS)
async def test_a_full_message_and_a_confirmation(browser: Browser, demo: Demo, window: str, theme: Theme) -> None:
    """One message, one press: the PDF and the XML open, and the inside shows the state and the gateway's book."""
    async with visit(browser, demo, window, theme) as ana:
        await ana.say(FULL, "PADARIA DO ZÉ LTDA")
        await ana.look("dentro")
        await expect(ana.page.get_by_test_id("state")).to_have_attribute("data-state", "aguardando_confirmacao")
        await ana.press("Confirmar", "autorizada · R$ 1.500,00 · PADARIA DO ZÉ LTDA")
        pdf, xml = await ana.documents()
        paper = await ana.page.request.get(f"{demo.address}/{(await pdf.get_attribute('href') or '').lstrip('/')}")
        assert (await paper.body()).startswith(b"%PDF")
        async with ana.page.context.expect_page() as opened:
            await xml.click()
        document = await opened.value
        await expect(document.get_by_text("nNFSe").first).to_be_visible()
        await document.close()
        await ana.look("dentro")
        await expect(ana.page.get_by_test_id("state")).to_have_attribute("data-state", "aprovado")
        await expect(ana.page.get_by_test_id("fato-motivo")).to_have_text("autorizada")
        await expect(ana.page.get_by_test_id("ledger-row").last).to_contain_text("autorizada")
        await expect(ana.page.get_by_test_id("ledger-row").last).to_contain_text("ANA DESIGN ME · PlugNotas")
        await expect(ana.page.get_by_test_id("placar")).not_to_contain_text("a mais")


@pytest.mark.parametrize("window", WINDOWS)
async def test_field_by_field_with_a_correction(browser: Browser, demo: Demo, window: str) -> None:
    """Each answer asks only for what is missing; a correction shows from what to what, and is what is issued."""
    async with visit(browser, demo, window, user=1) as bruno:
        await bruno.say("oi", "manda ")
        await bruno.say("1.500 reais", "✓ R$")
        await bruno.say("12.345.678/0001-95", "serviço")
        await bruno.say("consultoria de marketing", "PADARIA DO ZÉ LTDA")
        await bruno.say("na verdade é 1.800", "Mudei o valor de R$ 1.500,00 para R$ 1.800,00.")
        await bruno.look("dentro")
        valor = bruno.page.locator("[data-testid=field][data-campo=valor]")
        await expect(valor).to_have_attribute("data-status", "validated")
        await expect(valor).to_contain_text("R$ 1.800,00")
        await bruno.press("Confirmar", "autorizada · R$ 1.800,00")
        await bruno.documents()


@pytest.mark.parametrize("window", WINDOWS)
async def test_a_rejection_is_seen_and_fixed(browser: Browser, demo: Demo, window: str) -> None:
    """With the switch on, the city refuses once: the reason is shown, one press takes the data up, and it is issued."""
    async with visit(browser, demo, window) as ana:
        await ana.look("dentro")
        switch = ana.page.get_by_test_id("switch-rejeitar")
        await switch.click()
        await expect(switch).to_have_attribute("aria-checked", "true")
        await ana.say(FULL, "PADARIA DO ZÉ LTDA")
        await ana.press("Confirmar", "Motivo:")
        await ana.look("dentro")
        await expect(ana.page.get_by_test_id("state")).to_have_attribute("data-state", "rejeitado")
        await expect(switch).to_have_attribute("aria-checked", "false")
        await ana.press("Corrigir nota", "na nota anterior: o valor")
        await ana.say("1.400", "R$ 1.400,00")
        await ana.press("Confirmar", "autorizada · R$ 1.400,00")
        await ana.documents()


async def test_a_stranger_is_welcomed(browser: Browser, demo: Demo) -> None:
    """The third person of the demo belongs to no company: a kind answer, and nothing inside."""
    async with visit(browser, demo, "desktop", user=2) as carla:
        await carla.say("oi, quero uma nota", "não está ligado a nenhuma empresa")
        await expect(carla.page.get_by_test_id("state")).to_have_text("nenhuma sessão ainda")


async def test_the_keyboard_is_enough(browser: Browser, demo: Demo) -> None:
    """An invoice can be issued without a mouse: Enter sends, Enter on the button confirms."""
    async with visit(browser, demo, "desktop", user=1) as bruno:
        before = await bruno.answers.count()
        await bruno.page.get_by_test_id("composer").focus()
        await bruno.page.keyboard.type("nota de 90 pra 99.000.002/0001-48, aula de barista")
        await bruno.page.keyboard.press("Enter")
        await expect(bruno.answers.nth(before)).to_contain_text("CAFÉ DA ESQUINA")
        await bruno.page.get_by_test_id("button").filter(has_text="Confirmar").last.focus()
        await bruno.page.keyboard.press("Enter")
        await bruno.documents()


@asynccontextmanager
async def filmed(page: Page) -> AsyncIterator[None]:
    """With ``PROSA_SCREENSHOTS=1`` make the README's moving picture of what the page shows meanwhile."""
    if os.environ.get("PROSA_SCREENSHOTS") != "1":
        yield
        return
    frames: list[Image.Image] = []

    async def roll() -> None:
        while True:
            shot = Image.open(io.BytesIO(await page.screenshot()))
            frames.append(shot.resize((1080, 675)).quantize(64, dither=Image.Dither.NONE))

    await page.evaluate("scrollTo(0, 0)")
    async with asyncio.TaskGroup() as group:
        camera = group.create_task(roll())
        yield
        await asyncio.sleep(2)  # for the eyes of who looks at it
        camera.cancel()
    told = [frames[0], *(frame for before, frame in pairwise(frames) if frame != before)]
    told[0].save(PICTURE, save_all=True, append_images=told[1:], duration=[900] * (len(told) - 1) + [4000], loop=0)


async def test_a_lost_answer_is_told_as_it_happened(browser: Browser, demo: Demo) -> None:
    """The diary shows the POST, the lost answer, that no webhook came, what was found, and that there is one note.

    It says so in words: no stored name is on the page.
    """
    async with visit(browser, demo, "desktop", user=1) as bruno:
        before = len(demo.world.plugnotas.notes)
        await bruno.say("nota de 777 pra 12.345.678/0001-95, consultoria de marketing", "PADARIA DO ZÉ LTDA")
        await bruno.look("dentro")
        for switch in ("perder_resposta", "sem_webhook"):
            await bruno.page.locator(f"[data-switch={switch}]").click()
            async with asyncio.timeout(PATIENCE):
                while demo.world.plugnotas.faults.setting(Fault(switch)) is None:  # noqa: ASYNC110 - no event
                    await asyncio.sleep(0.02)
        calls = bruno.page.get_by_test_id("call")
        async with filmed(bruno.page):
            await bruno.press("Confirmar", "autorizada · R$ 777,00")
            await bruno.look("dentro")
            await expect(calls.filter(has_text="nenhuma 2ª nota")).to_contain_text("1 envio ao todo")
        told = [await calls.nth(number).get_attribute("data-call") for number in range(await calls.count())]
        # the newest stand first; behind them are those of an earlier invoice of this phone
        assert next(call for call in told if call and call.startswith("submit")) == "submit Unknown", told
        assert "copies 1" in told
        assert "find Found" in told
        await expect(calls.filter(has_text="POST enviado → resposta perdida")).to_have_count(1)
        await expect(calls.filter(has_text="nenhum aviso → perguntei ao gateway → achei a nota")).to_have_count(1)
        await bruno.page.get_by_text("Mais do que está guardado").click()
        shown = (await bruno.page.locator("#dentro").inner_text()).replace("PlugNotas", "")  # a name of its own
        assert re.findall(r"\b[a-z]+(?:_[a-z]+)+\b|\bconcluido\b|\bcodigo\b|\b[A-Z][a-z]+[A-Z][a-z]+\b", shown) == []
        assert len(demo.world.plugnotas.notes) == before + 1
        assert "/console" in (await bruno.page.get_by_test_id("console").get_attribute("href") or "")


async def test_an_invented_past_confirms_nothing_at_this_gateway(browser: Browser, demo: Demo) -> None:
    """The score beside the gateway's notes counts the confirmations that this gateway was asked to carry out."""
    async with visit(browser, demo, "desktop", user=1) as bruno:
        await bruno.look("dentro")
        score = bruno.page.get_by_test_id("placar")
        before = await score.inner_text()
        await invent(demo.house.database, 100)
        async with demo.house.database.transaction() as connection:
            assert await connection.scalar(sa.select(sa.func.count()).select_from(transicoes)) > 100
        await bruno.page.reload()
        await expect(bruno.page.get_by_test_id("live")).to_have_text("ao vivo")
        await expect(score).to_have_text(before)


async def test_a_refused_note_that_is_tried_again_is_no_note_too_many(browser: Browser, demo: Demo) -> None:
    """One confirmation, one refusal and one note raise no alarm; a second note does."""
    async with visit(browser, demo, "desktop") as ana:
        alarm = await ana.page.evaluate(
            """async () => {
                const { ledger } = await import("/static/parts.js");
                const note = (id, situacao) => ({ id_integracao: id, situacao, valor: "1.00" });
                const alarms = (notes) => ledger({ contadores: { confirmacoes: 1 }, emissoes: [] }, notes)[0].outerHTML;
                const told = [note("a", "REJEITADO"), note("b", "CONCLUIDO")];
                return [told, [...told, note("c", "CONCLUIDO")]].map((notes) => alarms(notes).includes("nota a mais"));
            }"""
        )
        assert alarm == [False, True]


async def test_what_was_found_refused_is_told_as_refused(browser: Browser, demo: Demo) -> None:
    """Nobody reads that a note was found right before its refusal."""
    async with visit(browser, demo, "desktop") as ana:
        told = await ana.page.evaluate(
            """async () => {
                const { journal } = await import("/static/parts.js");
                const chamadas = [{ em: "2026-11-26T09:00:00Z", operacao: "find", resultado: "Rejected" }];
                return journal({ transicoes: [], emissoes: [{ id_integracao: "a", chamadas }] }, [])[0].textContent;
            }"""
        )
        assert "perguntei ao gateway → achei: recusada" in told
