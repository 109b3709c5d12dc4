"""Somebody of the staff before a browser at the demo's console, and the people who write meanwhile."""

from __future__ import annotations

import itertools
import os
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyotp
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from bot.master_key import vault_of
from persistence.access.accounts import Papel
from proofs.demo.world import USERS
from proofs.sandbox.meta.model import Bubble
from tests.browser.test_demo_page import FULL
from tests.patience import PATIENCE
from webhooks.console.access.accounts import Enrolment, enrol
from webhooks.console.deps import new_secret

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, ConsoleMessage, Page

    from proofs.demo.world import Demo

AXE = Axe()
WIDTHS = (360, 768, 1440)
HEIGHT = 900
ASSETS = Path(__file__).resolve().parents[2] / "docs" / "assets"
SENHA = "uma-senha-bem-comprida"
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
SHOTS = {
    "console-sessao-light-1440.png",
    "console-sessao-dark-360.png",
    "console-fila-dark-1440.png",
    "console-grupo-light-1440.png",
    "console-saude-dark-1440.png",
}
_names = itertools.count()
_amounts = itertools.count(3001)  # no two invoices are alike, and none looks like a year


@dataclass
class Desk:
    """Somebody of the staff before their browser; the browser must have nothing to complain of."""

    page: Page
    demo: Demo
    who: Enrolment
    looks: tuple[tuple[int, Theme], ...]
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

    async def hit(self, *keys: str) -> None:
        """Press keys that the page's script hears: it runs only after what is seen, so the page loads first."""
        await self.page.wait_for_load_state()
        for key in keys:
            await self.page.keyboard.press(key)

    async def act(self, acao: str, motivo: str, texto: str = "") -> None:
        """Take an action from the case's menu."""
        await self.page.get_by_test_id(f"acao-{acao}").click()
        await self.confirm(motivo, texto)

    async def write(self, words: str) -> None:
        """Write to the person in the composer; the words appear in the timeline."""
        await self.page.get_by_test_id("mensagem").fill(words)
        await self.page.get_by_test_id("enviar").click()
        await expect(self.page.get_by_test_id("linha-do-tempo")).to_contain_text(words)
        await expect(self.page.get_by_test_id("mensagem")).to_have_value("")

    async def confirm(self, motivo: str, texto: str = "") -> None:
        """Read the consequence, say why, press."""
        await expect(self.page.get_by_test_id("consequencia")).to_be_visible()
        if texto:
            await self.page.get_by_test_id("texto").fill(texto)
        if motivo:
            await self.page.get_by_test_id("motivo").fill(motivo)
        await self.page.get_by_test_id("confirmar").click()
        await expect(self.page.get_by_test_id("feito")).to_be_visible()

    async def send_again(self, sessao_id: str) -> None:
        """Send the summary of a session again, which never arrived; wait until it is on the phone."""
        await undelivered(self.demo, sessao_id)
        await self.open(f"/sessoes/{sessao_id}")
        newest = self.demo.world.meta.bubbles(USERS[0].wa_id)[-1].id
        await self.page.get_by_test_id("reenviar").click()
        await expect(self.page.get_by_test_id("consequencia")).to_contain_text("Não emite nada")
        await self.check()
        await self.confirm("não chegou")
        await self.demo.world.meta.wait_for(USERS[0].wa_id, lambda b: "Confere" in b.text, PATIENCE, after=newest)

    async def keep_view(self, path: str, name: str) -> None:
        """Open a filtered list and save it as a tab."""
        await self.open(path)
        await self.page.get_by_label("Nome da aba").fill(name)
        await self.page.get_by_test_id("salvar-vista").click()
        await expect(self.page.get_by_test_id("vista").filter(has_text=name)).to_have_attribute("aria-current", "page")

    async def look_up(self, who: str) -> None:
        """Ask what is held about a person."""
        await self.open("/pessoas")
        await self.page.get_by_test_id("quem").fill(who)
        await self.page.get_by_role("button", name="Ver o que está guardado").click()
        await expect(self.page.get_by_role("heading", name="O que está guardado")).to_be_visible()

    async def seen(self) -> AsyncIterator[tuple[int, Theme]]:
        """Show the page in each of the widths and themes, then in the first of them again."""
        for width, theme in self.looks:
            await self._look(width, theme)
            yield width, theme
        await self._look(*self.looks[0])

    async def _look(self, width: int, theme: Theme) -> None:
        await self.page.set_viewport_size({"width": width, "height": HEIGHT})
        await self.page.emulate_media(color_scheme=theme)

    async def check(self) -> None:
        """At no width anything overflows, and in no theme axe finds anything."""
        async for width, _ in self.seen():
            assert await self.page.evaluate("document.documentElement.scrollWidth") <= width, self.page.url
            broken = [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in await violations(self.page)]
            assert broken == [], self.page.url

    async def shots(self, name: str, tmp_path: Path) -> None:
        """Keep pictures: for the docs when asked, else only as proof that there is something to see."""
        async for width, theme in self.seen():
            picture = f"console-{name}-{theme}-{width}.png"
            wanted = os.environ.get("PROSA_SCREENSHOTS") == "1" and picture in SHOTS
            target = (ASSETS if wanted else tmp_path) / picture
            await self.page.screenshot(path=target)
            assert target.stat().st_size > 8_000


async def violations(page: Page) -> list[dict[str, Any]]:
    """Return what axe finds wrong with a page as it is shown now; its script is evaluated once for a document."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.axe_script)
    found: dict[str, Any] = await page.evaluate("axe.run({resultTypes: ['violations']})")
    return list(found["violations"])


@asynccontextmanager
async def at_work(
    browser: Browser, demo: Demo, *widths: int, themes: tuple[Theme, ...] = ("light",), scripts: bool = True
) -> AsyncIterator[Desk]:
    """Open a fresh profile of a fresh admin who is logged in; pages are checked at all ``widths`` in all ``themes``.

    The first width and theme are those of the walk.
    """
    looks = tuple((width, theme) for width in widths or (WIDTHS[-1],) for theme in themes)
    known = Enrolment(f"pessoa{next(_names)}", SENHA, new_secret())
    await enrol(demo.house.database, vault_of(demo.house.settings), known.nome, Papel.ADMIN, known=known)
    profile = await browser.new_context(
        viewport={"width": looks[0][0], "height": HEIGHT},
        color_scheme=looks[0][1],
        locale="pt-BR",
        java_script_enabled=scripts,
    )
    profile.set_default_timeout(PATIENCE * 1000)
    page = await profile.new_page()
    desk = Desk(page, demo, known, looks)
    page.on("console", lambda said: desk.complaints.append(_told(said)) if said.type == "error" else None)
    page.on("pageerror", lambda error: desk.complaints.append(str(error)))
    if scripts:
        await page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.violatedDirective))"
        )
    await desk.enter()
    yield desk
    assert desk.complaints == [], desk.complaints
    await profile.close()


async def say(demo: Demo, words: str, shown: str, user: int = 0) -> Bubble:
    """A person of the demo writes, and waits for the answer."""
    meta, who = demo.world.meta, USERS[user].wa_id
    known = {bubble.id for bubble in meta.bubbles(who)}
    await meta.user_text(who, words)
    return await meta.wait_for(who, lambda b: b.side == "bot" and b.id not in known and shown in b.text, PATIENCE)


async def press(demo: Demo, bubble: Bubble, title: str, user: int = 0) -> None:
    """Tap a button of one of the bot's messages."""
    button = next(button for button in bubble.buttons if button.title == title)
    await demo.world.meta.user_button(USERS[user].wa_id, button.id, button.title, bubble.id)


def _told(said: ConsoleMessage) -> str:
    return f"{said.text} {said.location['url']}"  # what failed to load is only named there


async def row(demo: Demo, query: str, *values: Any) -> Any:
    """Read one row."""
    return await demo.house.database.pool.fetchrow(query, *values)


async def some_session(demo: Demo) -> str:
    """Return the first session there is; somebody who gave an invoice up, if there was none."""
    first = "SELECT sessao_id FROM session_snapshot ORDER BY id LIMIT 1"
    if await row(demo, first) is None:
        summary = await say(demo, "nota de 55 pra 99.000.002/0001-48, aula de café", "CAFÉ DA ESQUINA", user=1)
        await press(demo, summary, "Cancelar", user=1)
        await until(demo, "SELECT count(*) FROM session_snapshot WHERE estado = 'cancelado_usuario'")
    return str((await row(demo, first))[0])


async def whose(demo: Demo, sessao_id: str) -> str:
    """Return the phone of a session's person."""
    query = "SELECT c.wa_id FROM session_snapshot s JOIN conversas c USING (conversa) WHERE s.sessao_id = $1"
    return str((await row(demo, query, sessao_id))[0])


async def until(demo: Demo, query: str, *values: Any) -> None:
    """Ask until the first column is true."""
    end = time.monotonic() + PATIENCE
    while not (await row(demo, query, *values))[0]:
        assert time.monotonic() < end, query


async def stuck(demo: Demo) -> str:
    """Leave an invoice whose answer was lost and that nobody asks about by itself; returns its session."""
    faults, before = demo.world.plugnotas.faults, await newest_emission(demo)
    summary = await say(demo, _invoice(), "Confere")
    faults.set("perder_resposta", times=1, method="POST")
    faults.set("erro_500", method="GET")
    faults.set("sem_webhook")
    await press(demo, summary, "Confirmar")
    await until(
        demo,
        "WITH parada AS (UPDATE nfse_emissao SET proxima_acao_em = now() + interval '1 hour', "
        "criado_em = criado_em - interval '3 minutes' WHERE status = 'desconhecido' AND lease_until IS NULL "
        "AND id > $1 RETURNING id) SELECT count(*) FROM parada",
        before,
    )
    faults.clear("erro_500")
    return str((await row(demo, "SELECT sessao_id FROM nfse_emissao ORDER BY id DESC LIMIT 1"))[0])


async def undelivered(demo: Demo, sessao_id: str) -> None:
    """Let Meta have told that the summary of this session never arrived."""
    lost = "UPDATE outbox SET status = 'falhou', erro = 'sem WhatsApp', wamid = NULL "
    await row(demo, lost + "WHERE sessao_id = $1 AND resumo_de IS NOT NULL RETURNING id", sessao_id)


async def concluded(demo: Demo, estado: str = "aprovado") -> str:
    """Let somebody confirm an invoice that ends in ``estado``; returns its session."""
    faults, before = demo.world.plugnotas.faults, await newest_emission(demo)
    summary = await say(demo, _invoice(), "Confere")
    if estado == "rejeitado":
        faults.set("rejeitar", times=1)
    await press(demo, summary, "Confirmar")
    ended = "SELECT s.sessao_id FROM session_snapshot s JOIN nfse_emissao e ON e.session_id = s.id "
    ended += "WHERE e.id > $1 AND s.estado = $2"
    await until(demo, f"SELECT EXISTS ({ended})", before, estado)
    faults.clear("rejeitar")
    return str((await row(demo, ended, before, estado))[0])


async def some_refusal(demo: Demo) -> str:
    """Return the first invoice that was refused; a new one, if there was none."""
    first = await row(demo, "SELECT sessao_id FROM session_snapshot WHERE estado = 'rejeitado' ORDER BY id LIMIT 1")
    return str(first[0]) if first else await concluded(demo, "rejeitado")


async def warnings(demo: Demo) -> None:
    """Let there be something to say of certificates and of the model, which the demo has not."""
    await row(demo, "UPDATE empresa SET certificado_vence = current_date + 5")
    used = "INSERT INTO modelo_uso SELECT current_date - n, 'um-modelo', 40 + n, n % 3, 90000 + n * 4000, 9000 "
    await row(demo, used + "FROM generate_series(0, 20) n ON CONFLICT DO NOTHING")


async def newest_emission(demo: Demo) -> int:
    """Return the id of the newest emission, 0 before the first."""
    return int((await row(demo, "SELECT coalesce(max(id), 0) FROM nfse_emissao"))[0])


def _invoice() -> str:
    return FULL.replace("1500", str(next(_amounts)))
