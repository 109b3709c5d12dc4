"""The API over HTTP on a real database: two companies, a key of each and one of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest_asyncio
from aiohttp import ClientSession, TCPConnector, web
from aiohttp.test_utils import TestServer

from gateway.http.guarded import is_postable
from operations.api import make_key
from operations.company import add_company
from operations.month import kept_documents
from persistence.crypto import Vault
from persistence.db.engine import Database
from persistence.queue.inbox import Inbox
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Ambiente, Canal
from tests.stored_work import clear
from webhooks.api.app import create_api, mount
from webhooks.api.batches import BUDGET
from webhooks.api.call import ApiDeps, Bounds
from webhooks.bodies import Bodies
from webhooks.month import Months
from webhooks.whatsapp_payload import networks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OURS = replace(COMPANY, cnpj="99.000.002/0001-48", usuarios=())
THEIRS = replace(COMPANY, cnpj="99.000.003/0001-92", usuarios=())


@dataclass(frozen=True)
class Answer:
    """A response whose body was read."""

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def codigo(self) -> str:
        """What a caller decides by; the body must be a problem document."""
        assert self.headers["Content-Type"].partition(";")[0] == "application/problem+json"
        assert self.body["status"] == self.status
        assert self.body["type"].endswith(self.body["codigo"])
        assert self.body["title"]
        assert self.body["detail"]
        return str(self.body["codigo"])


@dataclass
class Erp:
    """Another system: it knows its keys and the address."""

    database: Database
    session: ClientSession
    base: str
    ours: str
    theirs: str
    both: str

    async def ask(self, method: str, path: str, *, chave: str | None = None, **options: Any) -> Answer:
        """Send a request under /api/v1 with the first company's key, or another one, and return the answer."""
        headers = {"Authorization": f"Bearer {self.ours if chave is None else chave}", **options.pop("headers", {})}
        sent = self.session.request(method, f"{self.base}/api/v1{path}", headers=headers, **options)
        async with sent as answer:
            body = await answer.json(content_type=None) if method != "HEAD" else None
            return Answer(answer.status, dict(answer.headers), body)

    async def post(self, path: str, body: Any, key: str | None = "k-1", **options: Any) -> Answer:
        """Send a JSON body under an idempotency key; ``bytes`` go as they are."""
        headers = {"Content-Type": "application/json", **({} if key is None else {"Idempotency-Key": key})}
        headers |= options.pop("headers", {})
        content = {"data": body} if isinstance(body, bytes) else {"json": body}
        return await self.ask("POST", path, headers=headers, **content, **options)

    async def count(self, table: str = "clientes") -> int:
        """Return how many rows a table has."""
        return int(await self.database.pool.fetchval(f"SELECT count(*) FROM {table}"))  # noqa: S608 - ours

    async def stored(self) -> tuple[int, int]:
        """Return how many clients and proposals there are."""
        return await self.count(), await self.count("propostas")

    async def client(self, key: str = "cliente", chave: str | None = None) -> int:
        """Make a client and return its id."""
        made = await self.post("/clientes", {"nome": "Ana", "email": "ana@exemplo.com.br"}, key, chave=chave)
        assert made.status == 201
        return int(made.body["id"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def erp(opened: Database, request: Any) -> AsyncIterator[Erp]:
    said = getattr(request, "param", True)
    strict, bounds = (True, said) if isinstance(said, Bounds) else (bool(said), Bounds())
    await clear(opened)
    await opened.pool.execute("DELETE FROM api_chave")
    for form in (OURS, THEIRS):
        await add_company(opened, form, Canal("plugnotas"))
    keys = [
        (await make_key(opened, cnpjs, [], Ambiente.PRODUCAO, tudo=True))[0]
        for cnpjs in ([OURS.cnpj], [THEIRS.cnpj], [OURS.cnpj, THEIRS.cnpj])
    ]
    app = web.Application()
    lists = Bodies(large_budget=BUDGET)
    inbox = Inbox(opened, 0)
    deps = ApiDeps(
        opened,
        Bodies(),
        inbox,
        Ambiente.PRODUCAO,
        lists,
        Months(opened, kept_documents(opened, {"nacional"})),
        strict=strict,
        mails=True,
        bounds=bounds,
        cofre=Vault(() if said == "keyless" else (bytes(32),)),
        postable=partial(is_postable, permitted=networks("127.0.0.0/8")),
    )
    mount(app, create_api(deps))
    connector = TCPConnector(limit=0)
    async with TestServer(app) as server, ClientSession(connector=connector) as session:
        yield Erp(opened, session, str(server.make_url("")).rstrip("/"), *keys)
