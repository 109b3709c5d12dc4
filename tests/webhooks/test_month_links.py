"""The link of the chat to a month's ZIP, over HTTP."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import TYPE_CHECKING

import pytest_asyncio
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from operations.month import LINKS, kept_documents, link_token
from persistence.db.engine import Database
from state_machine.values.local_time import MesOuAno
from tests import stored_work
from webhooks.month import Months, create_links

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


async def test_whoever_holds_it_gets_the_zip(database: Database) -> None:
    """Nobody else, nothing else, and no page says why."""
    await stored_work.clear(database)
    _, company = await stored_work.issued(database, "1")
    app = web.Application()
    app.add_subapp(LINKS, create_links(Months(database, kept_documents(database, ()), [b"secret"])))
    async with TestServer(app) as server, ClientSession() as session:
        token = link_token(b"secret", company, MesOuAno(2026, 11))
        async with session.get(server.make_url(f"{LINKS}/{token}")) as answer:
            assert (answer.status, answer.headers["Referrer-Policy"]) == (200, "no-referrer")
            found = zipfile.ZipFile(BytesIO(await answer.read())).namelist()
        async with session.head(server.make_url(f"{LINKS}/{token}")) as answer:
            assert (answer.status, await answer.read()) == (200, b"")
        forged = link_token(b"another", company, MesOuAno(2026, 11))
        gone = link_token(b"secret", company + 1_000, MesOuAno(2026, 11))
        for wrong in (forged, token[:-1], "x", gone):
            async with session.get(server.make_url(f"{LINKS}/{wrong}")) as answer:
                assert (answer.status, "sete dias" in await answer.text()) == (404, True), wrong
    assert any(name.endswith("/NFSe-1.xml") for name in found)
