"""The page by which the reader of a mail says no to more, over real HTTP: looking changes nothing, one click does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from persistence.db.engine import Database
from tests.made_batches import company, confirmed
from webhooks.public.app import create_unsubscribe, mount_unsubscribe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_STATES = "SELECT email, estado, problemas FROM lote_linhas ORDER BY id"


class Reader:
    """Somebody who got a mail, and their mail program."""

    def __init__(self, database: Database, session: ClientSession, base: str) -> None:
        self.database, self._session, self._base = database, session, base

    async def token(self, email: str) -> str:
        """Return what stands in the link of the mail to this address."""
        return str(await self.database.pool.fetchval("SELECT token FROM lote_linhas WHERE email = $1", email))

    async def ask(self, token: str, method: str = "GET", data: bytes | None = None) -> tuple[int, str]:
        """Return status and text of the page."""
        url = f"{self._base}/descadastro/{token}"
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if data else {}
        async with self._session.request(method, url, data=data, headers=headers, allow_redirects=False) as answer:
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert "Set-Cookie" not in answer.headers
            return answer.status, await answer.text()

    async def suppressed(self) -> list[str]:
        """Return the addresses that get no more mails."""
        return [str(row["email"]) for row in await self.database.pool.fetch("SELECT email FROM email_suprimido")]


@pytest_asyncio.fixture(loop_scope="module")
async def reader(database_url: str) -> AsyncIterator[Reader]:
    database = await Database.open(database_url)
    await company(database)
    await database.pool.execute("DELETE FROM lotes")
    await database.pool.execute("DELETE FROM email_suprimido")
    app = web.Application()
    mount_unsubscribe(app, create_unsubscribe(database, secure=True))
    async with TestServer(app) as server, ClientSession() as session:
        yield Reader(database, session, str(server.make_url("")).rstrip("/"))
    await database.close()


async def test_one_click_stops_the_mails(reader: Reader) -> None:
    """What a mail program posts (RFC 8058) suppresses that address alone; again it says the same."""
    await confirmed(reader.database, "lista.csv", "ana@test.com.br", "bia@test.com.br")
    token = await reader.token("ana@test.com.br")
    for _ in range(2):
        status, text = await reader.ask(token, "POST", b"List-Unsubscribe=One-Click")
        assert (status, "não manda mais" in text) == (200, True)
        assert "ana@test.com.br" not in text
    assert await reader.suppressed() == ["ana@test.com.br"]


async def test_looking_changes_nothing(reader: Reader) -> None:
    """Programs that look at every link of a mail find a question; its button is a form without fields."""
    await confirmed(reader.database, "lista.csv", "ana@test.com.br")
    token = await reader.token("ana@test.com.br")
    for method in ("GET", "HEAD", "GET"):
        status, text = await reader.ask(token, method)
        assert status == 200
    assert '<form method="post">' in text
    assert await reader.suppressed() == []
    assert (await reader.ask(token, "POST"))[0] == 200
    assert await reader.suppressed() == ["ana@test.com.br"]


async def test_a_link_of_no_mail_changes_nothing(reader: Reader) -> None:
    """A token that nobody got, or that is no text, answers 404."""
    for token in ("A" * 32, "%00", "%C3%A9", "x" * 300):
        assert (await reader.ask(token))[0] == (await reader.ask(token, "POST"))[0] == 404
    assert await reader.suppressed() == []
