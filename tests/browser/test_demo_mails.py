"""The demo's mail server: what a list sends is read on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.async_api import expect

from operations.batches import Upload, confirm, upload
from tests.browser.test_demo_page import FULL, visit
from tests.made_batches import QUEM, company

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from proofs.demo.world import Demo


async def test_a_list_arrives_in_the_demo(browser: Browser, demo: Demo) -> None:
    """A row with words shows them; one without carries the customer's note, issued a moment ago, with PDF and XML."""
    database = demo.house.database
    async with visit(browser, demo, "desktop") as ana:
        await ana.say(FULL, "PADARIA DO ZÉ LTDA")
        await ana.press("Confirmar", "autorizada")
        await ana.documents()
        content = (
            "email;nome;mensagem;documento\nze@example.com;Zé;;12.345.678/0001-95\nbia@example.com;Bia;Oi, {nome}!;"
        )
        batch, _ = await upload(
            database,
            await company(database),
            Upload(nome_arquivo="a.csv", conteudo=content.encode(), assunto="Notas"),
            QUEM,
        )
        await confirm(database, batch.id, revisao=batch.revisao, quem=QUEM)
        mails = ana.page.get_by_test_id("mail")
        await expect(mails).to_have_count(2)
        await expect(mails.filter(has_text="ze@example.com")).to_contain_text(".pdf")
        words = mails.filter(has_text="bia@example.com")
        await words.locator("summary").click()
        await expect(words.get_by_text("Oi, Bia!")).to_be_visible()
