"""Chromium walks the console of `prosa demo`: the flows, both themes, three widths, axe, the keyboard, scripts off."""

from __future__ import annotations

import os
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyotp
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import async_playwright, expect
from test_demo_page import CHROMIUM, FLAGS, FULL

import bot.demo
from bot.demo import USERS, open_demo
from bot.keys import vault_of
from bot.settings import Settings
from bot.storage import Storage
from console.accounts import Enrolment, enrol
from console.credentials import new_secret
from persistence.staff import Papel
from sandbox.meta_model import Bubble  # noqa: TC001 - the tests' own eyes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, Page

    from bot.demo import Demo

WIDTHS = (360, 768, 1440)
THEMES = ("light", "dark")
ASSETS = Path(__file__).resolve().parents[2] / "docs" / "assets"
SENHA = "uma-senha-bem-comprida"
PATIENCE = 15_000  # milliseconds
Theme = Literal["light", "dark"]
_names = iter(range(1000))


@dataclass
class Desk:
    """Somebody of the staff before their browser; the browser must have nothing to complain of."""

    page: Page
    demo: Demo
    who: Enrolment
    complaints: list[str] = field(default_factory=list)

    async def open(self, path: str) -> None:
        """Go to a page of the console."""
        await self.page.goto(f"{self.demo.address}/console{path}")

    async def enter(self) -> None:
        """Log in with name, password and code."""
        await self.open("/entrar")
        await self.page.get_by_label("Nome").fill(self.who.nome)
        await self.page.get_by_label("Senha").fill(self.who.senha)
        await self.page.get_by_label("Código de 6 dígitos").fill(pyotp.TOTP(self.who.segredo).now())
        await self.page.get_by_role("button", name="Entrar").click()
        await expect(self.page.get_by_role("heading", name="Fila")).to_be_visible()

    async def act(self, acao: str, motivo: str, texto: str = "") -> None:
        """Take an action from the case's menu."""
        await self.page.get_by_test_id(f"acao-{acao}").click()
        await self.confirm(motivo, texto)

    async def confirm(self, motivo: str, texto: str = "") -> None:
        """Read the consequence, say why, press."""
        await expect(self.page.get_by_test_id("consequencia")).to_be_visible()
        if texto:
            await self.page.get_by_test_id("texto").fill(texto)
        await self.page.get_by_test_id("motivo").fill(motivo)
        await self.page.get_by_test_id("confirmar").click()
        await expect(self.page.get_by_test_id("feito")).to_be_visible()

    async def check(self) -> None:
        """Nothing overflows, and axe finds nothing."""
        width = self.page.viewport_size["width"]
        assert await self.page.evaluate("document.documentElement.scrollWidth") <= width, self.page.url
        found = await Axe().run(self.page)
        broken = [(v["id"], [node["html"][:120] for node in v["nodes"][:3]]) for v in found.response["violations"]]
        assert broken == [], self.page.url


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.fail("This test walks the console and needs Chromium: install the package `chromium` (.ci/run does).")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture(scope="module")
async def demo(database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo as the command opens it, with a city that decides faster."""
    settings = Settings(home=tmp_path_factory.mktemp("demo"), port=0, debounce_seconds=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bot.demo, "PROCESSING_SECONDS", 0.3)
        async with open_demo(settings, Storage(database_url, redis_url, embedded=False)) as demo:
            yield demo


@asynccontextmanager
async def at_work(
    browser: Browser, demo: Demo, width: int = 1440, theme: Theme = "light", *, scripts: bool = True
) -> AsyncIterator[Desk]:
    """Open a fresh profile of a fresh admin who is logged in."""
    known = Enrolment(f"pessoa{next(_names)}", SENHA, new_secret())
    await enrol(demo.house.database, vault_of(demo.house.settings), known.nome, Papel.ADMIN, known=known)
    profile = await browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=theme,
        locale="pt-BR",
        java_script_enabled=scripts,
    )
    profile.set_default_timeout(PATIENCE)
    page = await profile.new_page()
    desk = Desk(page, demo, known)
    page.on("console", lambda said: desk.complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: desk.complaints.append(str(error)))
    if scripts:
        await page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.violatedDirective))"
        )
    await desk.enter()
    yield desk
    assert desk.complaints == []
    await profile.close()


async def _say(demo: Demo, words: str, shown: str, user: int = 0) -> Bubble:
    """A person of the demo writes, and waits for the answer."""
    meta, who = demo.world.meta, USERS[user].wa_id
    known = {bubble.id for bubble in meta.bubbles(who)}
    await meta.user_text(who, words)
    return await meta.wait_for(who, lambda b: b.side == "bot" and b.id not in known and shown in b.text, 10.0)


async def _press(demo: Demo, bubble: Bubble, title: str, user: int = 0) -> None:
    button = next(button for button in bubble.buttons if button.title == title)
    await demo.world.meta.user_button(USERS[user].wa_id, button.id, button.title, bubble.id)


async def _row(demo: Demo, query: str, *values: Any) -> Any:
    return await demo.house.database.pool.fetchrow(query, *values)


async def _some_session(demo: Demo) -> str:
    """Return the first session there is; somebody who gave an invoice up, if there was none."""
    first = "SELECT sessao_id FROM session_snapshot ORDER BY id LIMIT 1"
    if await _row(demo, first) is None:
        summary = await _say(demo, "nota de 55 pra 99.000.002/0001-48, aula de café", "CAFÉ DA ESQUINA", user=1)
        await _press(demo, summary, "Cancelar", user=1)
        await _until(demo, "SELECT count(*) FROM session_snapshot WHERE estado = 'cancelado_usuario'")
    return str((await _row(demo, first))[0])


async def _until(demo: Demo, query: str, *values: Any) -> None:
    end = time.monotonic() + 10
    while not (await _row(demo, query, *values))[0]:
        assert time.monotonic() < end, query


async def _stuck(demo: Demo) -> str:
    """Leave an invoice whose answer was lost and that nobody asks about by itself; returns its session."""
    faults = demo.world.plugnotas.faults
    summary = await _say(demo, FULL.replace("1500", str(1000 + time.monotonic_ns() % 9000)), "Confere")
    faults.set("perder_resposta", times=1, method="POST")
    faults.set("erro_500", method="GET")
    faults.set("sem_webhook")
    await _press(demo, summary, "Confirmar")
    await _until(
        demo,
        "WITH parada AS (UPDATE nfse_emissao SET proxima_acao_em = now() + interval '1 hour', "
        "criado_em = criado_em - interval '3 minutes' WHERE status = 'desconhecido' AND lease_until IS NULL "
        "RETURNING id) SELECT count(*) FROM parada",
    )
    faults.clear("erro_500")
    return str((await _row(demo, "SELECT sessao_id FROM nfse_emissao ORDER BY id DESC LIMIT 1"))[0])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
async def test_a_stuck_invoice_is_found_understood_and_moved(
    browser: Browser, demo: Demo, width: int, theme: Theme, tmp_path: Path
) -> None:
    """Log in, find by phone, understand, ask the gateway, take over and hand back, reveal, see the audit."""
    sessao_id = await _stuck(demo)
    async with at_work(browser, demo, width, theme) as sara:
        page = sara.page
        await expect(page.locator(f"[data-id='{sessao_id}']")).to_contain_text("resposta perdida")
        await sara.check()
        await page.get_by_test_id("busca").fill("(11) 98765-4321")
        await page.keyboard.press("Enter")
        await expect(page).not_to_have_title("Precisam de olhos · Fila · Prosa")
        if "/busca" in page.url:  # somebody with one invoice only is opened at once
            await page.locator(f"a[href='/console/sessoes/{sessao_id}']").click()
        await expect(page.get_by_test_id("por-que")).to_contain_text("A resposta do gateway se perdeu")
        await expect(page.get_by_test_id("telefone")).to_have_text("+55 11 •••••-4321")
        await sara.check()
        await _shot(page, f"console-sessao-{theme}-{width}.png", tmp_path)
        await page.get_by_test_id("acao-consultar").click()
        await expect(page.get_by_test_id("consequencia")).to_contain_text("Não emite outra nota")
        await sara.check()
        await sara.confirm("pessoa perguntou")
        await _until(demo, "SELECT estado = 'aprovado' FROM session_snapshot WHERE sessao_id = $1", sessao_id)
        await sara.open(f"/sessoes/{sessao_id}")
        await expect(page.get_by_test_id("por-que")).to_contain_text("foi autorizada")
        await sara.act("assumir", "explicar a demora")
        await _until(demo, "SELECT atendente_id IS NOT NULL FROM conversas WHERE wa_id = $1", USERS[0].wa_id)
        await sara.open(f"/sessoes/{sessao_id}")
        await sara.act("escrever", "explicar", "Demorou, mas saiu. Tudo certo por aí?")
        await demo.world.meta.wait_for(USERS[0].wa_id, lambda b: "Demorou, mas saiu." in b.text, 10.0)
        await sara.open(f"/sessoes/{sessao_id}")
        await sara.act("devolver", "resolvido")
        await _until(demo, "SELECT atendente_id IS NULL FROM conversas WHERE wa_id = $1", USERS[0].wa_id)
        await sara.open(f"/sessoes/{sessao_id}")
        await page.get_by_test_id("mostrar").click()
        await page.get_by_label("Por quê?").fill("conferir o número")
        await page.get_by_role("button", name="Mostrar por").click()
        await expect(page.get_by_test_id("revelado")).to_be_visible()
        await expect(page.get_by_test_id("telefone")).to_have_text("+5511987654321")
        await sara.check()
        await sara.open(f"/auditoria?alvo={sessao_id}")
        for acao in ("consultar", "assumir", "escrever", "devolver", "mostrou dados"):
            row = page.get_by_test_id("linha").filter(has_text=sara.who.nome).filter(has_text=acao)
            await expect(row).to_have_count(1)
        await sara.check()
    demo.world.plugnotas.faults.clear()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
async def test_every_page_fits_and_is_accessible(
    browser: Browser, demo: Demo, width: int, theme: Theme, tmp_path: Path
) -> None:
    """At every width, in both themes, no page overflows, complains, or breaks a rule of WCAG that axe knows."""
    await _say(demo, "oi, quero uma nota", "não está ligado", user=2) if width == WIDTHS[
        0
    ] and theme == "light" else None
    sessao_id = await _some_session(demo)
    async with at_work(browser, demo, width, theme) as sara:
        lists = ("", "?ver=todas", "?ver=desconhecidas", "?ver=quarentena", "?ver=todas&estado=erro")
        pages = ("/busca", "/busca?q=nada", "/falhas", "/painel", "/saude", "/auditoria", "/senha", "/nada")
        for path in (*lists, *pages, f"/sessoes/{sessao_id}/snapshot", f"/sessoes/{sessao_id}/acoes/anotar"):
            await sara.open(path)
            await sara.check()
            if path in {"?ver=todas", "/painel"}:
                name = {"?ver=todas": "fila", "/painel": "painel"}[path]
                await _shot(sara.page, f"console-{name}-{theme}-{width}.png", tmp_path)
        sara.complaints[:] = [said for said in sara.complaints if "404" not in said]  # the page that does not exist


async def test_the_keyboard_is_enough(browser: Browser, demo: Demo) -> None:
    """From the queue to a taken action without a mouse: j, Enter, Tab, Enter; g and a letter; ? and /."""
    sessao_id = await _stuck(demo)
    async with at_work(browser, demo) as sara:
        page, keys = sara.page, sara.page.keyboard
        await keys.press("?")
        await expect(page.get_by_role("dialog")).to_be_visible()
        await keys.press("Escape")
        await keys.press("j")
        await expect(page.locator("[data-rows] .lead").first).to_be_focused()
        await keys.press("Enter")
        await expect(page.get_by_test_id("por-que")).to_be_visible()
        await keys.press("/")
        await expect(page.get_by_test_id("busca")).to_be_focused()
        await keys.type(sessao_id)
        await keys.press("Enter")
        await expect(page.get_by_test_id("por-que")).to_contain_text("se perdeu")
        await page.get_by_test_id("acao-consultar").focus()
        await keys.press("Enter")
        await page.get_by_test_id("motivo").focus()
        await keys.type("pelo teclado")
        await keys.press("Enter")
        await expect(page.get_by_test_id("feito")).to_be_visible()
        await keys.press("g")
        await keys.press("p")
        await expect(page.get_by_role("heading", name="Painel")).to_be_visible()
        await keys.press("g")
        await keys.press("f")
        await expect(page.get_by_role("heading", name="Fila")).to_be_visible()
    demo.world.plugnotas.faults.clear()


async def test_scripts_are_a_comfort_only(browser: Browser, demo: Demo) -> None:
    """With scripts off the same flow works, by links and forms."""
    sessao_id = await _some_session(demo)
    async with at_work(browser, demo, scripts=False) as sara:
        await sara.page.get_by_test_id("busca").fill(sessao_id)
        await sara.page.keyboard.press("Enter")
        await sara.act("anotar", "registro", "sem scripts")
        await expect(sara.page.get_by_test_id("linha-do-tempo")).to_contain_text("sem scripts")


async def test_news_come_by_themselves_and_move_nothing(browser: Browser, demo: Demo) -> None:
    """A new invoice is announced above the list; the rows that are shown stay where they are."""
    await _some_session(demo)
    async with at_work(browser, demo) as sara:
        async with sara.page.expect_response(lambda answer: "/eventos" in answer.url):
            await sara.open("?ver=todas")
        first = sara.page.locator("[data-rows] [data-id]").first
        before = await first.get_attribute("data-id")
        await _say(demo, "nota de 77 pra 99.000.002/0001-48, aula de café", "CAFÉ DA ESQUINA", user=1)
        await expect(sara.page.locator("[data-news]")).to_be_visible()
        assert await first.get_attribute("data-id") == before
        await sara.page.get_by_role("link", name="Há novidades").click()
        await expect(first).to_contain_text("R$ 77,00")


async def test_the_first_page_is_light(browser: Browser, demo: Demo) -> None:
    """All that the queue loads at first, compressed, is at most 60 KB."""
    async with at_work(browser, demo) as sara:
        sizes = await sara.page.evaluate(
            "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
            ".map((e) => e.encodedBodySize).reduce((a, b) => a + b, 0)"
        )
        assert 1000 < sizes <= 60_000


async def _shot(page: Page, name: str, tmp_path: Path) -> None:
    """Keep a picture: for the docs when asked, else only as proof that there is something to see."""
    wanted = os.environ.get("PROSA_SCREENSHOTS") == "1" and name in SHOTS
    target = (ASSETS if wanted else tmp_path) / name
    await page.screenshot(path=target)
    assert target.stat().st_size > 8_000


SHOTS = {"console-sessao-light-1440.png", "console-sessao-dark-360.png", "console-fila-dark-1440.png"}
