"""Chromium does what staff do less often: cancel, resolve a group of failures, name a view, answer an LGPD request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

from proofs.demo.world import USERS
from tests.browser.console_desk import THEMES, WIDTHS, at_work, concluded, row, some_session, until, whose
from tests.patience import PATIENCE
from webhooks.console.actions import form

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.async_api import Browser

    from proofs.demo.world import Demo
    from proofs.sandbox.meta.model import Bubble


@pytest.mark.parametrize("widths", [WIDTHS[:1], WIDTHS[:0:-1]], ids=["phone", "wide"])
async def test_a_note_is_cancelled(browser: Browser, demo: Demo, widths: tuple[int, ...]) -> None:
    """The authority gets the reason, the case says that the note is void, and the person is told."""
    sessao_id = await concluded(demo)
    newest = demo.world.meta.bubbles(USERS[0].wa_id)[-1].id
    async with at_work(browser, demo, *widths, themes=THEMES) as sara:
        page = sara.page
        await sara.open(f"/sessoes/{sessao_id}")
        await page.get_by_test_id("acao-cancelar").click()
        await expect(page.get_by_test_id("consequencia")).to_contain_text("a nota continua valendo")
        await sara.check()
        await sara.confirm("emitida em duplicidade, por engano")
        noted = "SELECT p.status = 'cancelado' FROM nfse_processada p JOIN nfse_emissao e ON e.id = p.emissao_id "
        await until(demo, noted + "WHERE e.sessao_id = $1", sessao_id)
        told = demo.world.meta.wait_for(
            USERS[0].wa_id, lambda b: b.side == "bot" and "cancelada" in b.text, PATIENCE, after=newest
        )
        await told
        await sara.open(f"/sessoes/{sessao_id}")
        await expect(page.get_by_test_id("por-que")).to_contain_text("depois cancelada")
        await expect(page.get_by_test_id("acao-cancelar")).to_have_count(0)
        await sara.check()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
async def test_a_conversation_is_taken_over_written_in_and_given_back(
    browser: Browser, demo: Demo, *, scripts: bool
) -> None:
    """One reason, one composer, several lines, and the way back: no page is loaded by hand."""
    sessao_id = await some_session(demo)
    who = await whose(demo, sessao_id)
    spoken = (f"Oi! Vi a sua mensagem, {scripts}.", f"Está tudo certo, {scripts}?")
    async with at_work(browser, demo, scripts=scripts) as sara:
        page = sara.page
        await sara.open(f"/sessoes/{sessao_id}")
        await expect(page.get_by_test_id("mensagem")).to_have_count(0)
        await sara.act("assumir", "ajudar com a nota")
        await expect(page.get_by_test_id("feito")).to_contain_text("A conversa é sua")
        for words in spoken:
            await sara.write(words)
            told = await demo.world.meta.wait_for(who, _holding(words), PATIENCE)
            assert told.text == f"*{sara.who.nome.capitalize()}, da equipe:*\n{words}"
        await page.get_by_test_id("devolver").click()
        await expect(page.get_by_test_id("feito")).to_have_text("A Prosa voltou a atender.")
        await expect(page.get_by_test_id("mensagem")).to_have_count(0)


async def test_a_case_that_waits_leaves_that_state_by_itself(
    browser: Browser, demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow command shows when it is done, here and on a colleague's page; what somebody types there stays."""
    monkeypatch.setattr(form, "OBEYED_LOOKS", 0)
    sessao_id = await concluded(demo)  # the newest of its person: what they say next stands in its timeline
    async with at_work(browser, demo) as sara, at_work(browser, demo) as bela:
        for one in (sara, bela):
            async with one.page.expect_response(lambda answer: "/eventos" in answer.url):
                await one.open(f"/sessoes/{sessao_id}")
        await sara.act("assumir", "ajudar com a nota")
        await expect(sara.page.get_by_test_id("feito")).to_contain_text("A conversa é sua e")
        await expect(bela.page.get_by_test_id("compositor")).to_contain_text("está com esta conversa")
        await expect(bela.page.get_by_role("banner")).not_to_contain_text(sara.who.nome.capitalize())
        draft = sara.page.get_by_test_id("mensagem")
        await draft.fill("Ainda estou escrevendo")
        said = f"quero saber da nota {sessao_id}"
        await demo.world.meta.user_text(await whose(demo, sessao_id), said)
        await expect(sara.page.get_by_test_id("linha-do-tempo")).to_contain_text(said)
        await expect(draft).to_have_value("Ainda estou escrevendo")
        await expect(draft).to_be_focused()
        await sara.page.get_by_test_id("devolver").click()
        await expect(bela.page.get_by_test_id("compositor")).to_contain_text("A Prosa está atendendo")


async def test_a_group_of_failures_is_resolved_and_comes_back(browser: Browser, demo: Demo) -> None:
    """From the list to the rehearsal, a reason, the mark; and the next failure of the kind says that it is back."""
    sessao_id = await concluded(demo, "rejeitado")
    async with at_work(browser, demo) as sara:
        page = sara.page
        await sara.open("/falhas")
        await page.get_by_test_id("abrir-grupo").first.click()
        await expect(page.get_by_test_id("plano").filter(has_text=sessao_id)).to_be_visible()
        await page.get_by_test_id("motivo-resolver").fill("o código do serviço foi acertado")
        await page.get_by_test_id("resolver").click()
        await expect(page.get_by_test_id("resolvido")).to_contain_text("o código do serviço foi acertado")
        await expect(page.get_by_test_id("plano")).to_have_count(0)
        await sara.check()
        await sara.open("/falhas")
        await expect(page.get_by_test_id("grupo")).to_contain_text(f"resolvido por {sara.who.nome}")
        await sara.check()
        again = await concluded(demo, "rejeitado")
        await sara.open("/falhas")
        await expect(page.get_by_test_id("grupo")).to_contain_text("voltou")
        await page.get_by_test_id("abrir-grupo").first.click()
        await expect(page.get_by_test_id("plano")).to_have_count(1)
        await expect(page.get_by_test_id("plano")).to_contain_text(again)
        await sara.check()


async def test_a_view_is_named_used_and_deleted_without_scripts(browser: Browser, demo: Demo) -> None:
    """Filters become a tab that leads back to them, by forms and links alone."""
    await some_session(demo)
    async with at_work(browser, demo, 360, scripts=False) as sara:
        page, tab = sara.page, sara.page.get_by_test_id("vista")
        await sara.open("?ver=todas")
        await page.get_by_test_id("filtros").click()
        await page.get_by_label("Estado").select_option("cancelado_usuario")
        await page.get_by_role("button", name="Filtrar").click()
        await page.get_by_label("Nome da aba").fill("Desistências")
        await page.get_by_test_id("salvar-vista").click()
        await expect(tab).to_have_attribute("aria-current", "page")
        await page.get_by_test_id("aba-atencao").click()
        await expect(page).to_have_title("Precisam de olhos · Fila · Prosa")
        await tab.click()
        await expect(page).to_have_title("Desistências · Fila · Prosa")
        await page.get_by_test_id("filtros").click()
        await expect(page.get_by_label("Estado")).to_have_value("cancelado_usuario")
        await page.get_by_test_id("apagar-vista").click()
        await expect(tab).to_have_count(0)


async def test_a_person_gets_a_copy_and_is_erased(browser: Browser, demo: Demo) -> None:
    """An admin sees what is held, downloads it with a reason, and erases; the person's number is gone after that."""
    await some_session(demo)
    bruno = USERS[1].wa_id
    told = (
        "SELECT count(*) = 0 FROM outbox o JOIN conversas c USING (conversa) WHERE c.wa_id = $1 AND o.status <> 'lido'"
    )
    await until(demo, told, bruno)  # a tick under way stands in the way of an erasure
    async with at_work(browser, demo) as sara:
        page = sara.page
        await sara.look_up(f"+{bruno}")
        await sara.check()
        await page.get_by_label("Por que copiar?").fill("pedido do titular")
        async with page.expect_download() as caught:
            await page.get_by_role("button", name="Baixar a cópia").click()
        download = await caught.value
        assert download.suggested_filename == "dados-da-pessoa.json"
        assert bruno in json.dumps(json.loads(_content(await download.path())))
        await page.get_by_label("Por que apagar?").fill("pedido do titular")
        await page.get_by_test_id("apagar").click()
        await expect(page.get_by_test_id("feito")).to_contain_text("Apagado")
        await sara.check()
        assert (await row(demo, "SELECT count(*) FROM conversas WHERE wa_id = $1", bruno))[0] == 0
        await sara.open("/auditoria")
        for acao in ("exportar pessoa", "apagar pessoa"):
            line = page.get_by_test_id("linha").filter(has_text=sara.who.nome)
            await expect(line.filter(has_text=acao)).to_have_count(1)


def _content(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _holding(words: str) -> Callable[[Bubble], bool]:
    return lambda bubble: words in bubble.text
