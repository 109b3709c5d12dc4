from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from yarl import URL

from persistence.access.accounts import Papel
from proofs.scripts.route_table import COMMAND, refreshed
from tests.patience import PATIENCE
from webhooks.console.access.visit import HEADERS
from webhooks.console.app import ROTAS, create_console
from webhooks.month import FILE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.webhooks.console.conftest import Browser, Office
    from webhooks.console.access.visit import Rota

DOCS = Path(__file__).resolve().parents[4] / "docs" / "console.md"
UNSAFE = [rota for rota in ROTAS if rota.metodo == "POST"]
STREAM = "/eventos"
SOMETHING = "00000000-0000-4000-8000-000000000000"


def _name(rota: Rota) -> str:
    return f"{rota.metodo} {rota.caminho or '/'}"


NAMES = [_name(rota) for rota in ROTAS]


def _path(caminho: str) -> str:
    """A path of this route that leads to nothing that exists."""
    caminho = caminho.replace(FILE, "2026-11.csv")
    return "/console" + re.sub(r"\{numero[^}]*\}", "999999999", re.sub(r"\{(?!numero)[^}]*\}", SOMETHING, caminho))


@pytest.fixture(scope="module")
async def everybody(office: Office) -> AsyncIterator[dict[Papel, Browser]]:
    """One person of each role, logged in."""
    async with (
        office.at_work(Papel.LEITURA) as leitura,
        office.at_work(Papel.SUPORTE) as suporte,
        office.at_work(Papel.SUPERVISOR) as supervisor,
        office.at_work(Papel.ADMIN) as admin,
    ):
        yield dict(zip(Papel, (leitura, suporte, supervisor, admin), strict=True))


@pytest.mark.parametrize("papel", Papel)
@pytest.mark.parametrize("rota", [r for r in ROTAS if r.caminho not in {"/sair", STREAM}], ids=_name)
async def test_a_route_admits_its_role_and_those_above(
    everybody: dict[Papel, Browser], rota: Rota, papel: Papel
) -> None:
    """Every route refuses every role below its own, and no other."""
    who = everybody[papel]
    if rota.metodo == "GET":
        status, page = await who.get(_path(rota.caminho), allow_redirects=False)
    else:
        status, page, _ = await who.post(_path(rota.caminho), {}, form="/console/senha")
    refused = rota.papel is not None and not papel.alcanca(rota.papel)
    assert (status == 403) is refused, page
    assert status < 500
    assert "Não reconheci este formulário" not in page


@pytest.mark.parametrize("rota", [r for r in ROTAS if r.papel is not None], ids=_name)
async def test_nobody_passes_without_a_login(office: Office, rota: Rota) -> None:
    """Without a session every page leads to the login, and every action is refused."""
    async with office.browser() as nobody:
        if rota.metodo == "GET":
            async with nobody.session.get(nobody.base + _path(rota.caminho), allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"].partition("?")[0]) == (303, "/console/entrar")
        else:
            assert (await nobody.post(_path(rota.caminho), {}, form="/console/entrar"))[0] == 401


@pytest.mark.parametrize("rota", UNSAFE, ids=_name)
async def test_a_form_of_another_site_does_nothing(everybody: dict[Papel, Browser], rota: Rota) -> None:
    """Every unsafe route refuses a form without the page's token, and one that another origin sends."""
    admin = everybody[Papel.ADMIN]
    status, page, _ = await admin.post(_path(rota.caminho), {"csrf": "0" * 32})
    assert (status, "Não reconheci este formulário" in page) == (403, True)
    admin.session.headers["Origin"] = "https://mal.example"
    try:
        assert (await admin.post(_path(rota.caminho), {}, form="/console/senha"))[0] == 403
    finally:
        del admin.session.headers["Origin"]


@pytest.mark.parametrize("rota", [r for r in ROTAS if r.caminho != "/sair"], ids=_name)
async def test_every_answer_is_hardened(everybody: dict[Papel, Browser], rota: Rota) -> None:
    """Pages, refusals, redirects and streams carry the same headers, and none may be cached."""
    admin = everybody[Papel.ADMIN]
    async with admin.session.request(rota.metodo, admin.base + _path(rota.caminho), allow_redirects=False) as answer:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert answer.headers["Cache-Control"] == "no-store"
        assert "unsafe" not in answer.headers["Content-Security-Policy"]


async def test_the_policy_itself(everybody: dict[Papel, Browser]) -> None:
    """Nothing but our own files: no inline script or style, no frame, no form to elsewhere."""
    assert HEADERS["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/console/nada", 404, "Não encontrei"),
        ("/console/duas%0Alinhas", 404, "Não encontrei"),
        ("/console/sair", 405, "Isso não se faz por aqui"),
    ],
)
async def test_an_address_that_leads_nowhere_says_so_in_words(
    everybody: dict[Papel, Browser], path: str, status: int, words: str
) -> None:
    """A mistyped address, and one that only takes forms, gets a page in Portuguese with the same headers."""
    admin = everybody[Papel.ADMIN]
    async with admin.session.get(f"{admin.base}{path}") as answer:
        assert answer.status == status
        assert words in await answer.text()
        assert answer.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]


def test_no_webhook_is_led_past_the_console(office: Office) -> None:
    """The console has no middleware: one in any part, and aiohttp wraps each handler of all, on each request."""
    nothing: Any = None
    assert not create_console(nothing, nothing, nothing, office.cofre, secure=True).middlewares


async def test_a_form_for_a_page_that_takes_none_says_so_in_words(everybody: dict[Papel, Browser]) -> None:
    """The front page itself too, which no other address stands behind."""
    admin = everybody[Papel.ADMIN]
    status, page, _ = await admin.post("/console", {}, form="/console/senha")
    assert status == 405
    assert "Isso não se faz por aqui" in page


async def test_a_form_that_is_too_big_is_not_read(everybody: dict[Papel, Browser]) -> None:
    """Beyond 64 KiB nothing of a form is looked at."""
    admin = everybody[Papel.ADMIN]
    assert (await admin.post("/console/senha", {"csrf": "x", "nova": "x" * 70_000}))[0] == 413


def test_the_documentation_has_the_table_of_today() -> None:
    """Whoever changes a route or its role runs the generator."""
    page = DOCS.read_text()
    assert refreshed(page) == page, COMMAND


@pytest.mark.parametrize(
    "path",
    [
        "?ver=todas&atendente=%00",
        "?%00=1",
        "/busca?q=a%00b",
        "/entrar?volta=%00",
        "/auditoria?quem=%00",
        "/sessoes/%00",
        "/contatos/a%00",
        f"/quarentena/{'9' * 5000}",
        f"/sessoes/{SOMETHING}/acoes/reenviar?mensagem={'9' * 30}",
        f"/sessoes/{SOMETHING}/snapshot?de={'9' * 5000}",
        f"?empresa={'9' * 30}",
    ],
)
async def test_an_impossible_address_is_said_to_be_one(everybody: dict[Papel, Browser], path: str) -> None:
    """NUL, which no text holds, and numbers that the database cannot hold give 400 in words, and no 500."""
    admin = everybody[Papel.ADMIN]
    async with admin.session.get(URL(f"{admin.base}/console{path}", encoded=True)) as answer:
        assert answer.status == 400
        assert "Não entendi o endereço" in await answer.text()


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/console/entrar", {"nome": "ana\0", "senha": "x", "codigo": "1"}),
        (f"/console/sessoes/{SOMETHING}/acoes/anotar", {"motivo": "m", "texto": "a\0b"}),
        (f"/console/sessoes/{SOMETHING}/acoes/reenviar", {"motivo": "m", "mensagem": "9" * 19}),
        ("/console/vistas", {"nome": "v", "empresa": "9" * 30}),
    ],
)
async def test_an_impossible_field_is_said_to_be_one(
    everybody: dict[Papel, Browser], path: str, fields: dict[str, str]
) -> None:
    """In a form it is the same, before anything is done."""
    admin = everybody[Papel.ADMIN]
    status, page, _ = await admin.post(path, fields, form="/console/senha")
    assert (status, "Não entendi o endereço" in page) == (400, True)


async def test_a_form_that_does_not_come_is_not_waited_for_long(office: Office, monkeypatch: Any) -> None:
    """A form whose end is withheld gets 408 at the deadline of every body."""
    monkeypatch.setattr("webhooks.bodies.READ_SECONDS", 0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", URL(office.base).port)
    writer.write(b"POST /console/entrar HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nnome=")
    async with asyncio.timeout(PATIENCE):
        assert b" 408 " in await reader.readline()
    writer.close()
