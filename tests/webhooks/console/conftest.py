"""The console on a real database, and people who are logged in to it with their own browsers' cookies."""

from __future__ import annotations

import itertools
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyotp
import pytest
from aiohttp import ClientSession, CookieJar, TCPConnector, web
from aiohttp.test_utils import TestServer
from argon2 import PasswordHasher

from gateway.registry import REGISTRY
from operations.company import CompanyForm, add_company
from persistence.access.accounts import Papel
from persistence.crypto import Vault
from persistence.db.engine import Database
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from tests.narrowing import group
from tests.road.road_people import FULL, open_road
from webhooks.console.access.accounts import Enrolment, enrol
from webhooks.console.app import create_console, mount
from webhooks.console.deps import new_secret
from webhooks.whatsapp_payload import networks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Road

COFRE = Vault((bytes(range(32)),))
SENHA = "uma-senha-bem-comprida"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(SENHA)  # the hash says what its check costs
CHANNELS = {**REGISTRY, "nacional": replace(REGISTRY["nacional"], term=lambda: "em produção, até quando se sabe")}
COMPANIES = ("11.222.333/0001-81", "12.345.678/0001-95")
_names = itertools.count(1)
_CSRF = r'name="csrf" value="([0-9a-f]+)"'
_KEY = re.compile(r'name="chave" value="([^"]+)"')


@dataclass
class Browser:
    """One browser: keeps cookies, sends forms as a page would."""

    session: ClientSession
    base: str
    who: Enrolment

    async def get(self, path: str, **options: Any) -> tuple[int, str]:
        """Open a page."""
        async with self.session.get(f"{self.base}{path}", **options) as answer:
            return answer.status, await answer.text()

    async def post(self, path: str, fields: dict[str, str], *, form: str | None = None) -> tuple[int, str, str]:
        """Open the page with the form (``form``, else any page), and send it; returns status, text, where it led."""
        page = (await self.get(form or "/console/entrar"))[1] if "csrf" not in fields else ""
        own = {"csrf": group(_CSRF, page)} if page else {}
        if key := _KEY.search(page):
            own["chave"] = key[1]
        url = f"{self.base}{path}"
        async with self.session.post(url, data={**own, **fields}, allow_redirects=False) as answer:
            return answer.status, await answer.text(), answer.headers.get("Location", "")

    async def search(self, typed: str) -> tuple[str, str]:
        """Send the search box; returns the page where it led, and that page's address."""
        form = group(_CSRF, (await self.get("/console/busca"))[1])
        async with self.session.post(f"{self.base}/console/busca", data={"csrf": form, "q": typed}) as answer:
            assert answer.status == 200
            return await answer.text(), answer.url.path_qs

    async def enter(self, **changes: str) -> tuple[int, str, str]:
        """Log in with the code of now."""
        fields = {"nome": self.who.nome, "senha": self.who.senha, "codigo": pyotp.TOTP(self.who.segredo).now()}
        return await self.post("/console/entrar", {**fields, **changes}, form="/console/entrar")


@dataclass
class Office:
    """The console, its database, and whoever works at it."""

    database: Database
    base: str
    companies: tuple[int, ...]
    cofre: Vault = COFRE

    async def account(self, papel: Papel = Papel.SUPORTE, companies: tuple[str, ...] = ()) -> Enrolment:
        """Return a new account that has chosen its password."""
        known = Enrolment(f"pessoa{next(_names)}", SENHA, new_secret())
        await enrol(self.database, COFRE, known.nome, papel, companies, known=known)
        await self.database.pool.execute("UPDATE staff SET senha_hash = $2 WHERE nome = $1", known.nome, CHEAP)
        return known

    def stranger(self, session: ClientSession, base: str, who: Enrolment) -> Browser:
        """Return a browser at another console."""
        return Browser(session, base, who)

    @asynccontextmanager
    async def browser(self, who: Enrolment | None = None, *, at: str = "127.0.0.1") -> AsyncIterator[Browser]:
        """Open a browser that has not logged in yet; ``at``: its own address, one of this machine's 127.0.0.0/8."""
        connector = TCPConnector(local_addr=(at, 0))
        async with ClientSession(connector=connector, cookie_jar=CookieJar(unsafe=True)) as session:
            yield Browser(session, self.base, who or await self.account())

    @asynccontextmanager
    async def at_work(self, papel: Papel = Papel.SUPORTE, companies: tuple[str, ...] = ()) -> AsyncIterator[Browser]:
        """Open a browser of somebody who is logged in."""
        async with self.browser(await self.account(papel, companies)) as browser:
            assert (await browser.enter())[0] == 303
            yield browser


@pytest.fixture(scope="module")
async def office(database_url: str) -> AsyncIterator[Office]:
    database = await Database.open(database_url)
    inbox = Inbox(database, 0.0)
    ids = []
    for number, cnpj in enumerate(COMPANIES):
        form = CompanyForm(
            cnpj=cnpj,
            razao_social=f"EMPRESA {number} LTDA",
            inscricao_municipal="123",
            municipio="3550308",
            usuarios=(f"551198765432{number}",),
        )
        ids.append(await add_company(database, form))
    app = web.Application()
    proxies = networks("127.0.0.1")  # a browser here may say where it is
    mount(
        app, create_console(database, inbox, Backlog(database), COFRE, secure=False, channels=CHANNELS, proxies=proxies)
    )
    async with TestServer(app) as server:
        yield Office(database, str(server.make_url("")).rstrip("/"), tuple(ids))
    await inbox.close()
    await database.close()


@dataclass
class Desk:
    """A whole house on a simulated world, and the console beside it."""

    road: Road
    office: Office

    async def refused(self, valor: str) -> str:
        """Somebody's invoice of ``valor`` reais that the city refuses; returns its session's id."""
        ana, faults = await self.road.person(), self.road.world.plugnotas.faults
        faults.set("rejeitar", times=1)
        await ana.say(FULL.replace("1500", valor))
        await ana.touch("Confirmar")
        await ana.expect("não foi aceita")
        await self.road.settled()
        faults.clear()
        return str((await self.road.session(ana))["sessao_id"])


@pytest.fixture(scope="module")
async def desk(database_url: str, redis_url: str) -> AsyncIterator[Desk]:
    async with open_road(database_url, redis_url) as road:
        await road.person()  # the demo's company
        form = CompanyForm(
            cnpj=COMPANIES[1],
            razao_social="OUTRA LTDA",
            inscricao_municipal="123",
            municipio="3550308",
            usuarios=("5511955554444",),
        )
        other = await add_company(road.database, form)
        app = web.Application()
        mount(
            app,
            create_console(road.database, road.house.inbox, road.house.backlog, COFRE, secure=False, channels=CHANNELS),
        )
        async with TestServer(app) as server:
            yield Desk(road, Office(road.database, str(server.make_url("")).rstrip("/"), (1, other)))
