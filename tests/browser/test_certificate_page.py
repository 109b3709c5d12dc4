"""Chromium at the page of the one-time link: phone and desk, both themes, axe, without scripts, from chat to chat."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Page, expect

from proofs.demo.world import COMPANY, SENHA, USERS
from tests.browser.console_desk import THEMES, violations
from tests.patience import PATIENCE
from tests.road.people.conftest import signed_here

if TYPE_CHECKING:
    from playwright.async_api import Browser, FilePayload

    from proofs.demo.world import Demo

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("signed_here")]
__all__ = ["signed_here"]
WIDTHS = (320, 390, 1280)
ANA = USERS[0].wa_id


@dataclass
class Sender:
    """Ana before the page; the browser must have nothing to complain of."""

    page: Page
    demo: Demo
    tmp_path: Path
    complaints: list[str] = field(default_factory=list)

    async def ask(self) -> str:
        """Ask for the link in the chat, and return it."""
        newest = [bubble.id for bubble in self.demo.world.meta.bubbles(ANA)][-1:]
        await self.demo.world.meta.user_text(ANA, "certificado")
        said = await self.demo.world.meta.wait_for(
            ANA, lambda b: "/certificado/" in b.text, PATIENCE, after=newest[0] if newest else None
        )
        found = re.search(rf"{re.escape(self.demo.address)}/certificado/\S+", said.text)
        assert found is not None
        return found[0]

    async def send(self, senha: str) -> None:
        """Fill the form with the made-up file that the demo offers, and send it."""
        offered = await self.page.request.get(f"{self.demo.address}/certificados/{COMPANY.cnpj}.pfx")
        file: FilePayload = {"name": "ana.pfx", "mimeType": "application/x-pkcs12", "buffer": await offered.body()}
        await self.page.get_by_label("Arquivo do certificado A1").set_input_files(files=file)
        await self.page.get_by_label("Senha do certificado").fill(senha)
        await self.page.get_by_role("button", name="Enviar").click()

    async def check(self, name: str) -> None:
        """At no width anything overflows, and in no theme axe finds anything."""
        for width in WIDTHS:
            for theme in THEMES:
                await self.page.set_viewport_size({"width": width, "height": 780})
                await self.page.emulate_media(color_scheme=theme)
                assert await self.page.evaluate("document.documentElement.scrollWidth") <= width
                assert [v["id"] for v in await violations(self.page)] == [], (name, width, theme)
                folder = Path(os.environ.get("PROSA_LOOK", str(self.tmp_path)))
                await self.page.screenshot(path=folder / f"{name}-{theme}-{width}.png", full_page=True)


async def test_from_the_chat_to_the_chat(browser: Browser, demo: Demo, tmp_path: Path) -> None:
    """Asked for, a wrong password, the right one, told in the chat; the link is over. No other address is asked."""
    profile = await browser.new_context(locale="pt-BR")
    page = await profile.new_page()
    ana = Sender(page, demo, tmp_path)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: ana.complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: ana.complaints.append(str(error)))
    link = await ana.ask()
    await page.goto(link)
    await expect(page.get_by_text("ANA DESIGN ME")).to_be_visible()
    await expect(page.get_by_text("11.•••.•••/0001-81")).to_be_visible()
    await ana.check("enviar")
    await ana.send("errada")
    await expect(page.get_by_role("alert")).to_contain_text("A senha não abre este arquivo.")
    await ana.check("recusado")
    await ana.send(SENHA)
    await expect(page.get_by_role("heading", name="Certificado guardado")).to_be_visible()
    await ana.check("guardado")
    told = await demo.world.meta.wait_for(ANA, lambda b: "Recebi e conferi o certificado" in b.text, PATIENCE)
    assert "a senha não foi guardada" in told.text
    assert (await page.goto(link)).status == 404  # type: ignore[union-attr]
    await expect(page.get_by_role("heading", name="Este link não vale mais")).to_be_visible()
    await ana.check("terminou")
    assert {url.partition("/certificado")[0] for url in asked} == {demo.address}
    assert [said for said in ana.complaints if "status of 4" not in said] == []
    await profile.close()


async def test_it_works_without_scripts(browser: Browser, demo: Demo, tmp_path: Path) -> None:
    """The form needs none; an empty one is not even sent."""
    profile = await browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})
    page = await profile.new_page()
    ana = Sender(page, demo, tmp_path)
    await page.goto(await ana.ask())
    await page.get_by_role("button", name="Enviar").click()
    await expect(page.get_by_role("heading", name="Enviar o certificado da empresa")).to_be_visible()
    await ana.send(SENHA)
    await expect(page.get_by_role("heading", name="Certificado guardado")).to_be_visible()
    await profile.close()
