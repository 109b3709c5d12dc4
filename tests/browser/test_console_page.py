"""Chromium walks the console of `prosa demo`: the flows, both themes, three widths, axe, the keyboard, scripts off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

from proofs.demo.world import USERS
from tests.browser.console_desk import (
    THEMES,
    WIDTHS,
    at_work,
    concluded,
    say,
    some_refusal,
    some_session,
    stuck,
    until,
    warnings,
)
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser

    from proofs.demo.world import Demo


@pytest.mark.parametrize("widths", [WIDTHS[:1], WIDTHS[:0:-1]], ids=["phone", "wide"])
async def test_a_stuck_invoice_is_found_understood_and_moved(
    browser: Browser, demo: Demo, widths: tuple[int, ...], tmp_path: Path
) -> None:
    """Log in, find by phone, understand, ask the gateway, resend, take over and hand back, reveal, see the audit."""
    sessao_id = await stuck(demo)
    async with at_work(browser, demo, *widths, themes=THEMES) as sara:
        page = sara.page
        await expect(page.get_by_test_id("linha").filter(has_text="resposta perdida").first).to_be_visible()
        await sara.check()
        if 1440 in widths:  # the menu is one line on a small laptop too
            await page.set_viewport_size({"width": 1280, "height": 900})
            menu = await page.locator("header.top").bounding_box()
            assert menu is not None
            assert menu["height"] < 70
        await page.get_by_test_id("busca").fill("(11) 98765-4321")
        await page.keyboard.press("Enter")
        await expect(page).not_to_have_title("Precisam de olhos · Fila · Prosa")
        if "/busca" in page.url:  # somebody with one invoice only is opened at once
            await page.locator(f"a[href='/console/sessoes/{sessao_id}']").click()
        await expect(page.get_by_test_id("por-que")).to_contain_text("A resposta do gateway se perdeu")
        await expect(page.get_by_test_id("telefone")).to_have_text("+55 11 •••••-4321")
        await sara.check()
        await sara.shots("sessao", tmp_path)
        await page.get_by_test_id("acao-consultar").click()
        await expect(page.get_by_test_id("consequencia")).to_contain_text("Não emite outra nota")
        await sara.check()
        await sara.confirm("pessoa perguntou")
        await until(demo, "SELECT estado = 'aprovado' FROM session_snapshot WHERE sessao_id = $1", sessao_id)
        await sara.open(f"/sessoes/{sessao_id}")
        await expect(page.get_by_test_id("por-que")).to_contain_text("foi autorizada")
        await sara.send_again(sessao_id)
        await sara.open(f"/sessoes/{sessao_id}")
        await sara.act("assumir", "explicar a demora")
        await sara.check()
        words = f"Demorou, mas saiu: {sessao_id}. Tudo certo por aí?"
        await sara.write(words)
        await demo.world.meta.wait_for(USERS[0].wa_id, lambda b: words in b.text, PATIENCE)
        await sara.shots("assumida", tmp_path)
        await page.get_by_test_id("devolver").click()
        await expect(page.get_by_test_id("feito")).to_have_text("A Prosa voltou a atender.")
        await until(demo, "SELECT atendente_id IS NULL FROM conversas WHERE wa_id = $1", USERS[0].wa_id)
        await sara.open(f"/sessoes/{sessao_id}")
        await page.get_by_test_id("mostrar").click()
        await page.get_by_label("Por quê?").fill("conferir o número")
        await page.get_by_role("button", name="Mostrar por").click()
        await expect(page.get_by_test_id("revelado")).to_be_visible()
        await expect(page.get_by_test_id("telefone")).to_have_text("+5511987654321")
        await sara.check()
        await sara.open(f"/auditoria?alvo={sessao_id}")
        for acao in ("consultar", "reenviar", "assumir", "escrever", "devolver", "mostrou dados"):
            row = page.get_by_test_id("linha").filter(has_text=sara.who.nome).filter(has_text=acao)
            await expect(row).to_have_count(1)
        await sara.check()
    demo.world.plugnotas.faults.clear()


@pytest.mark.timeout(600)  # twenty pages in six looks
async def test_every_page_fits_and_is_accessible(browser: Browser, demo: Demo, tmp_path: Path) -> None:
    """At every width, in both themes, no page overflows, complains, or breaks a rule of WCAG that axe knows."""
    await say(demo, "oi, quero uma nota", "não está ligado", user=2)
    sessao_id, refused = await some_session(demo), await some_refusal(demo)
    await warnings(demo)
    async with at_work(browser, demo, *WIDTHS[::-1], themes=THEMES) as sara:
        lists = ("", "?ver=todas", "?ver=desconhecidas", "?ver=quarentena", "?ver=todas&estado=erro")
        pages = ("/busca", "/falhas", "/painel", "/saude", "/empresas", "/empresas/1", "/auditoria", "/senha", "/nada")
        for path in (*lists, *pages, f"/sessoes/{sessao_id}/snapshot", f"/sessoes/{sessao_id}/acoes/anotar"):
            await sara.open(path)
            await sara.check()
            if name := {"?ver=todas": "fila", "/painel": "painel", "/saude": "saude"}.get(path):
                await sara.shots(name, tmp_path)
        await sara.open("/empresas/1")
        await sara.page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
        await sara.check()
        await sara.shots("empresa", tmp_path)
        await sara.page.get_by_test_id("busca").fill("Ana Design")
        await sara.page.keyboard.press("Enter")
        await expect(sara.page.locator("[data-rows] [data-id]").first).to_be_visible()
        await sara.check()
        await sara.shots("busca", tmp_path)
        await sara.page.get_by_test_id("busca").fill("529.982.247-25")
        await sara.page.keyboard.press("Enter")
        await expect(sara.page.get_by_role("heading", name="Não encontrei nada")).to_be_visible()
        assert "/console/busca?b=" in sara.page.url
        await sara.check()
        await sara.open("/falhas")
        await sara.page.get_by_test_id("abrir-grupo").first.click()
        await expect(sara.page.get_by_test_id("plano").filter(has_text=refused)).to_be_visible()
        await sara.shots("grupo", tmp_path)
        await sara.check()
        await sara.keep_view("?ver=todas&estado=rejeitado", "Recusadas-que-ninguém-olhou-esta-semana")
        await sara.page.get_by_test_id("filtros").click()
        await sara.check()
        await sara.look_up(f"+{USERS[1].wa_id}")
        await sara.check()
        nothing_there = "status of 404"  # the page that does not exist
        sara.complaints[:] = [said for said in sara.complaints if nothing_there not in said]


async def test_on_a_phone_nothing_is_hidden_and_the_conversation_comes_first(browser: Browser, demo: Demo) -> None:
    """At 360 px every section and every cell is on the screen, and what was said stands above the facts."""
    sessao_id = await some_refusal(demo)
    outside = (
        "[...document.querySelectorAll('.sections a, td, th')].filter((e) => e.checkVisibility() && "
        "getComputedStyle(e).clipPath === 'none' && !e.closest('thead') && "
        "(e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0)).map((e) => e.innerText)"
    )
    async with at_work(browser, demo, 360) as sara:
        page = sara.page
        for path in ("/falhas", "/auditoria", "/saude", "/empresas", "/empresas/1", f"/sessoes/{sessao_id}/snapshot"):
            await sara.open(path)
            assert await page.evaluate(outside) == [], path
        await sara.open("/falhas")
        await page.get_by_test_id("abrir-grupo").first.click()
        await expect(page.get_by_test_id("plano").first).to_be_visible()
        assert await page.evaluate(outside) == []
        await sara.open(f"/sessoes/{sessao_id}")
        said, facts = page.get_by_test_id("linha-do-tempo"), page.get_by_role("complementary")
        upper, lower = await said.bounding_box(), await facts.bounding_box()
        assert upper is not None
        assert lower is not None
        assert upper["y"] < lower["y"]
        await page.get_by_role("link", name="O que fazer").click()
        await expect(page.get_by_test_id("acoes")).to_be_in_viewport()


async def test_the_keyboard_is_enough(browser: Browser, demo: Demo) -> None:
    """From the queue to a taken action without a mouse: j, Enter, Tab, Enter; g and a letter; ? and /."""
    sessao_id = await stuck(demo)
    async with at_work(browser, demo) as sara:
        page, keys = sara.page, sara.page.keyboard
        await sara.hit("?")
        await expect(page.get_by_role("dialog")).to_be_visible()
        await keys.press("Escape")
        await sara.hit("j")
        await expect(page.locator("[data-rows] .lead").first).to_be_focused()
        await keys.press("Enter")
        await expect(page.get_by_test_id("por-que")).to_be_visible()
        await sara.hit("/")
        await expect(page.get_by_test_id("busca")).to_be_focused()
        await keys.type(sessao_id)
        await keys.press("Enter")
        await expect(page.get_by_test_id("por-que")).to_contain_text("se perdeu")
        await sara.hit("j", "j")
        await expect(page.locator(".fold > summary").first).to_be_focused()
        await sara.hit("j")
        await expect(page.locator(".by-out .item").first).to_be_focused()  # what is folded is passed by
        await sara.hit("k", "Enter", "j")
        await expect(page.locator(".fold .item").first).to_be_focused()
        await page.get_by_test_id("acao-consultar").focus()
        await keys.press("Enter")
        await page.get_by_test_id("motivo").focus()
        await keys.type("pelo teclado")
        await keys.press("Enter")
        await expect(page.get_by_test_id("feito")).to_be_visible()
        await sara.hit("g", "p")
        await expect(page.get_by_role("heading", name="Painel")).to_be_visible()
        await sara.hit("g", "f")
        await expect(page.get_by_role("heading", name="Fila")).to_be_visible()
    demo.world.plugnotas.faults.clear()


async def test_scripts_are_a_comfort_only(browser: Browser, demo: Demo) -> None:
    """With scripts off the same flow works, by links and forms."""
    sessao_id = await some_session(demo)
    async with at_work(browser, demo, scripts=False) as sara:
        await sara.page.get_by_test_id("busca").fill(sessao_id)
        await sara.page.keyboard.press("Enter")
        await sara.act("anotar", "", "sem scripts")
        await expect(sara.page.get_by_test_id("linha-do-tempo")).to_contain_text("sem scripts")


async def test_news_come_by_themselves_and_move_nothing(browser: Browser, demo: Demo) -> None:
    """A new invoice is announced above the list; the rows that are shown stay where they are."""
    await some_session(demo)
    async with at_work(browser, demo) as sara:
        async with sara.page.expect_response(lambda answer: "/eventos" in answer.url):
            await sara.open("?ver=todas")
        first = sara.page.locator("[data-rows] [data-id]").first
        before = await first.get_attribute("data-id")
        await say(demo, "nota de 77 pra 99.000.002/0001-48, aula de café", "CAFÉ DA ESQUINA", user=1)
        await expect(sara.page.locator("[data-news]")).to_be_visible()
        assert await first.get_attribute("data-id") == before
        await sara.page.get_by_role("link", name="Há novidades").click()
        await expect(first).to_contain_text("R$ 77,00")
        await demo.world.meta.user_text("5511900001233", "oi, quero uma nota")
        await until(demo, "SELECT count(*) FROM conversas WHERE wa_id = '5511900001233'")
        async with sara.page.expect_response(lambda answer: "/eventos" in answer.url):
            await sara.open("?ver=desconhecidas")
        before = await first.get_attribute("data-id")
        await demo.world.meta.user_text("5511900001234", "oi, quero uma nota")
        await expect(sara.page.locator("[data-news]")).to_be_visible()
        assert await first.get_attribute("data-id") == before
        async with sara.page.expect_response(lambda answer: "/eventos" in answer.url):
            await sara.open("/falhas")
        await concluded(demo, "rejeitado")
        await expect(sara.page.locator("[data-news]")).to_be_visible()
        async with sara.page.expect_response(lambda answer: "/eventos" in answer.url):
            await sara.open("/painel")
        refused = sara.page.get_by_test_id("semana").locator("b").nth(2)
        before = await refused.inner_text()
        await concluded(demo, "rejeitado")
        await expect(refused).not_to_have_text(before)
        async with sara.page.expect_response(lambda answer: "/eventos" in answer.url):
            await sara.open("/empresas")
        joined = "INSERT INTO usuario (empresa_id, telefone) SELECT min(id), '5511900001235' FROM empresa"
        await demo.house.database.pool.execute(joined)
        await demo.world.meta.user_text("5511900001236", "oi, quero uma nota")
        await expect(sara.page.locator("[data-news]")).to_be_visible()


async def test_the_first_page_is_light(browser: Browser, demo: Demo) -> None:
    """All that the queue loads at first, compressed, is at most 60 KB."""
    async with at_work(browser, demo) as sara:
        sizes = await sara.page.evaluate(
            "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
            ".map((e) => e.encodedBodySize).reduce((a, b) => a + b, 0)"
        )
        assert 1000 < sizes <= 60_000
