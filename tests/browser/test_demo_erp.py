"""The demo's ERP: what it proposes by the API is Ana's to confirm, and shows how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.async_api import expect

from tests.browser.test_demo_page import visit

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from proofs.demo.world import Demo


async def test_an_erp_proposes_an_invoice(browser: Browser, demo: Demo) -> None:
    """Her correction and her yes are seen in the ERP, by the API alone."""
    async with visit(browser, demo, "desktop") as ana:
        propose, rows = ana.page.get_by_test_id("erp-propor"), ana.page.get_by_test_id("proposal")
        await ana.say("oi", "Me manda assim")
        await ana.say("cancela", "")
        before = await ana.answers.count()
        await propose.click()
        await expect(ana.answers.nth(before)).to_contain_text("R$ 1.500,00")
        await expect(rows.first).to_have_attribute("data-estado", "enviada")
        await ana.say("na verdade é 1.800", "R$ 1.800,00")
        await expect(rows.first).to_contain_text("R$ 1.800,00")
        await ana.press("Confirmar", "autorizada · R$ 1.800,00")
        await expect(rows.first).to_have_attribute("data-estado", "emitida")
