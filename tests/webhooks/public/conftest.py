"""The public pages on a real database, a company with one person, and links for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest_asyncio
from aiohttp import ClientSession, FormData, web
from aiohttp.test_utils import TestServer

from operations.certificate import CertificateLinks
from operations.company import CompanyForm, add_company
from persistence.crypto import KEY_BYTES, Vault
from persistence.db.engine import Database
from persistence.people import certificate_links
from persistence.people.certificate_links import place
from persistence.queue.inbox import Inbox
from tests.made_certificates import COMPANY, SENHA, pfx
from tests.stored_work import clear
from webhooks.bodies import Bodies
from webhooks.public.app import create_public, mount

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COFRE = Vault((bytes([7]) * KEY_BYTES,))
PHONE = "5511987654321"
CHAT = f"1:{PHONE}"


@dataclass
class Visitor:
    """Somebody with a browser who holds links of the company."""

    database: Database
    session: ClientSession
    base: str

    async def new_token(self) -> str:
        """Return the token of a new link."""
        async with self.database.transaction() as connection:
            made = await certificate_links.make(connection, COFRE, telefone=f"+{PHONE}", conversa=CHAT)
        assert made is not None
        return COFRE.open(made.selado, place(made.id))

    async def ask(self, token: str, method: str = "GET", **options: Any) -> tuple[int, str, dict[str, str]]:
        """Return status, text and headers of the page."""
        async with self.session.request(method, f"{self.base}/certificado/{token}", **options) as answer:
            return answer.status, await answer.text(), dict(answer.headers)

    async def send(
        self, token: str, arquivo: bytes | None = None, senha: str | None = SENHA, **chosen: str
    ) -> tuple[int, str]:
        """Send the form as a browser does; without a file that of the company."""
        form = FormData(default_to_multipart=True)
        form.add_field("arquivo", pfx() if arquivo is None else arquivo, filename="ana.pfx")
        if senha is not None:
            form.add_field("senha", senha)
        for name, value in chosen.items():
            form.add_field(name, value)
        status, text, _ = await self.ask(token, "POST", data=form)
        return status, text

    async def tries(self) -> int:
        """Return how many tries the newest link has counted."""
        newest = "SELECT tentativas FROM certificado_link ORDER BY criado_em DESC LIMIT 1"
        return int(await self.database.pool.fetchval(newest))

    async def kept(self) -> int:
        """Return how many certificates are kept."""
        return int(await self.database.pool.fetchval("SELECT count(*) FROM empresa_certificado"))

    async def told(self) -> int:
        """Return how often the conversation was told."""
        return int(await self.database.pool.fetchval("SELECT count(*) FROM inbox WHERE tipo = 'certificado'"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def visitor(opened: Database, request: Any) -> AsyncIterator[Visitor]:
    await clear(opened)
    await opened.pool.execute("DELETE FROM inbox")
    await add_company(
        opened,
        CompanyForm(
            cnpj=COMPANY,
            razao_social="ANA DESIGN ME",
            inscricao_municipal="12345678",
            municipio="3550308",
            usuarios=(PHONE,),
        ),
    )
    inbox = Inbox(opened, 0)
    app = web.Application()
    unchecked = getattr(request, "param", False)
    mount(app, create_public(CertificateLinks(opened, inbox, COFRE, unchecked=unchecked), Bodies(), secure=True))
    async with TestServer(app) as server, ClientSession() as session:
        yield Visitor(opened, session, str(server.make_url("")).rstrip("/"))
    await inbox.close()
