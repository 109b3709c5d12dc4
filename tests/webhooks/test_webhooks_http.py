from __future__ import annotations

import asyncio
import gzip
import hashlib
import hmac
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from structlog.testing import capture_logs

from bot.loops.worker import LaneWorker
from gateway.plugnotas.note import hinted_keys
from persistence.db.engine import Database
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from persistence.queue.lanes import Lanes
from telemetry.metrics import Metrics
from tests.held_port import held_port
from tests.owner import as_owner
from tests.patience import PATIENCE
from tests.road.tampering import ODD, UNREADABLE, beside
from webhooks.app import close_doors, create_app, create_probe_app
from webhooks.deps import WebhookDeps
from webhooks.whatsapp import MAX_BODY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from persistence.queue.lanes import InboxRow, Lease

SECRET, OLD_SECRET = b"app-secret", b"old-app-secret"
TOKEN = "verify-me"
GATEWAY = "unguessable"
HEADERS = {"X-Prosa-Secret": "header-secret"}
METRICS = "let-me-see"
SCRAPER = {"Authorization": f"Bearer {METRICS}"}
PHONE = "106540352242922"


AT_WORK = (
    "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend' AND datname = current_database())"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    async with asyncio.timeout(PATIENCE):
        while await opened.pool.fetchval(AT_WORK):  # noqa: ASYNC110 - a cut-off write may still be on its way in
            await asyncio.sleep(0.01)
    await as_owner(opened.pool, "TRUNCATE inbox, lanes")
    return opened


async def redis_answers() -> None:
    """A Redis that is there."""


def deps(database: Database, **other: Any) -> WebhookDeps:
    settings: dict[str, Any] = {
        "inbox": Inbox(database, debounce_seconds=0),
        "backlog": Backlog(database),
        "database": database,
        "metrics": Metrics(),
        "whatsapp_secrets": (SECRET, OLD_SECRET),
        "whatsapp_verify_token": TOKEN.encode(),
        "gateway_paths": (GATEWAY.encode(),),
        "gateway_headers": (HEADERS["X-Prosa-Secret"].encode(),),
        "read_hints": hinted_keys,
        "ping_redis": redis_answers,
        "metrics_token": METRICS.encode(),
    }
    return WebhookDeps(**{**settings, **other})


@asynccontextmanager
async def serving(wired: WebhookDeps) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        TestServer(create_app(wired)) as server,
        httpx.AsyncClient(base_url=str(server.make_url("/")), timeout=PATIENCE) as client,
    ):
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(deps(database)) as client:
        yield client


def sign(raw: bytes, secret: bytes = SECRET) -> str:
    return "sha256=" + hmac.new(secret, raw, hashlib.sha256).hexdigest()


async def post(client: httpx.AsyncClient, raw: bytes, signature: str | None = None) -> httpx.Response:
    return await client.post("/webhooks/whatsapp", content=raw, headers={"X-Hub-Signature-256": signature or sign(raw)})


def text(user: str, number: int) -> dict[str, Any]:
    return {"from": user, "id": f"wamid.{user}.{number}", "type": "text", "text": {"body": f"{number}"}}


def notification(*messages: dict[str, Any], statuses: Sequence[dict[str, Any]] = ()) -> bytes:
    value = {"metadata": {"phone_number_id": PHONE}, "messages": messages, "statuses": statuses}
    return orjson.dumps({"entry": [{"id": "WABA", "changes": [{"field": "messages", "value": value}]}]})


async def count(database: Database) -> int:
    return int(await database.pool.fetchval("SELECT count(*) FROM inbox"))


async def test_meta_verifies_the_address(client: httpx.AsyncClient) -> None:
    """Whoever knows the verify token gets the challenge back, word for word; anybody else gets 403."""
    query = {"hub.mode": "subscribe", "hub.challenge": "<b>158</b>", "hub.verify_token": TOKEN}
    answer = await client.get("/webhooks/whatsapp", params=query)
    assert (answer.status_code, answer.text) == (200, "<b>158</b>")
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    for wrong in ({"hub.verify_token": "x"}, {"hub.verify_token": "é"}, {"hub.mode": "unsubscribe"}):
        assert (await client.get("/webhooks/whatsapp", params=query | wrong)).status_code == 403
    assert (await client.get("/webhooks/whatsapp")).status_code == 403


async def test_an_acknowledged_message_is_stored(database: Database, client: httpx.AsyncClient) -> None:
    """200 means that the row is there, with a correlation id of its own."""
    assert (await post(client, notification(text("551", 1)))).status_code == 200
    row = await database.pool.fetchrow("SELECT chave, lane, tipo, payload, correlacao FROM inbox")
    assert row is not None
    assert (row["chave"], row["lane"], row["tipo"]) == ("wamid.551.1", f"{PHONE}:551", "mensagem")
    assert row["payload"]["mensagem"] == text("551", 1)
    assert len(row["correlacao"]) >= 8


async def test_both_secrets_of_a_rotation_are_good(database: Database, client: httpx.AsyncClient) -> None:
    """While the app secret is changed, bodies signed with the old and with the new one are taken."""
    for number, secret in enumerate((SECRET, OLD_SECRET)):
        raw = notification(text("551", number))
        assert (await post(client, raw, sign(raw, secret))).status_code == 200
    assert await count(database) == 2


@pytest.mark.parametrize("signature", ["sha256=", "sha256=é", "sha1=abc", "", sign(b"other"), sign(b"", b"wrong")])
async def test_a_bad_signature_is_refused(database: Database, client: httpx.AsyncClient, signature: str) -> None:
    """A body that Meta did not sign gets 401 and leaves no trace."""
    headers = {b"X-Hub-Signature-256": signature.encode()}
    answer = await client.post("/webhooks/whatsapp", content=notification(text("551", 1)), headers=headers)
    assert answer.status_code == 401
    assert await count(database) == 0


async def test_strangers_are_counted_and_not_logged_one_by_one(database: Database) -> None:
    """Twenty refusals at each door are two lines, and forty in the figures."""
    wired = deps(database)
    with capture_logs() as logs:
        async with serving(wired) as client:
            for _ in range(20):
                assert (await client.post("/webhooks/whatsapp", content=b"{}")).status_code == 401
                assert (await client.post("/webhooks/gateway/nobody", content=b"{}")).status_code == 401
            assert sorted(line["event"] for line in logs) == ["secret_refused", "signature_refused"]
    assert sorted(line["count"] for line in logs) == [1, 1, 19, 19]  # the rest as the application ends
    figures = wired.metrics.expose().decode()
    for origem in ("whatsapp", "gateway"):
        assert f'prosa_webhook_requests_total{{origem="{origem}",status="401"}} 20.0' in figures


async def test_an_unsigned_body_is_refused(database: Database, client: httpx.AsyncClient) -> None:
    """No signature at all: 401. So is a signature over the same JSON in other bytes."""
    raw = notification(text("551", 1))
    assert (await client.post("/webhooks/whatsapp", content=raw)).status_code == 401
    assert (await post(client, raw + b"\n", sign(raw))).status_code == 401
    assert await count(database) == 0


@pytest.mark.parametrize(
    "missing",
    [{"whatsapp_secrets": ()}, {"whatsapp_secrets": (b"",)}, {"gateway_paths": ()}, {"whatsapp_verify_token": b""}],
)
async def test_without_secrets_there_is_no_door(database: Database, missing: dict[str, Any]) -> None:
    """A missing or empty secret refuses to start, instead of admitting everybody."""
    with pytest.raises(ValueError, match="secret"):
        deps(database, **missing)


async def test_a_batch_delivered_twice_is_one_row_each_in_order(database: Database, client: httpx.AsyncClient) -> None:
    """Three users with several messages and statuses, twice at the same moment: each once, in its order, per lane."""
    users = ("551", "552", "553")
    messages = [text(user, number) for number in range(4) for user in users]
    statuses = [
        {"id": f"wamid.out.{user}", "status": status, "recipient_id": user}
        for user in users
        for status in ("sent", "delivered", "read")
    ]
    raw = notification(*messages, statuses=statuses)
    answers = await asyncio.gather(post(client, raw), post(client, raw))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert await count(database) == len(messages) + len(statuses)

    seen: dict[str, list[str]] = {}
    lanes = Lanes(database, lease_seconds=30)

    async def handle(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        async with database.transaction() as connection:
            await lanes.done(connection, lease, [row.id for row in rows])
        seen.setdefault(lease.lane, []).extend(row.chave for row in rows)
        return [row.id for row in rows]

    await LaneWorker(lanes, {"mensagem": handle, "status": handle}, Metrics()).run_once()
    for user in users:
        assert seen[f"{PHONE}:{user}"] == [f"wamid.{user}.{number}" for number in range(4)]
        steps = [f"status:wamid.out.{user}:{status}" for status in ("sent", "delivered", "read")]
        [told] = [keys for lane, keys in seen.items() if lane.startswith("entrega:") and steps[0] in keys]
        assert [key for key in told if key in steps] == steps


async def test_a_signed_body_that_nobody_can_read_is_kept(database: Database, client: httpx.AsyncClient) -> None:
    """It is acknowledged, since sending it again for seven days would not help, and stored for staff."""
    assert (await post(client, b"{not json \x00 \xff")).status_code == 200
    assert await database.pool.fetchval("SELECT tipo FROM inbox") == "ilegivel"


async def test_what_postgresql_cannot_hold_is_acknowledged_all_the_same(
    database: Database, client: httpx.AsyncClient
) -> None:
    """NUL characters, lone surrogates and bottomless nesting cost nobody's message."""
    raw = notification(text("551", 1), {**text("552", 1), "text": "MARK"}, {**text("553", 1), "text": "DEEP"})
    raw = raw.replace(b"MARK", b"\\u0000\\ud800").replace(b'"DEEP"', b"[" * 500 + b"]" * 500)
    assert (await post(client, raw)).status_code == 200
    kinds = [row["tipo"] for row in await database.pool.fetch("SELECT tipo FROM inbox ORDER BY id")]
    assert kinds == ["mensagem", "mensagem", "ilegivel"]


@pytest.mark.parametrize("odd", [*ODD, *UNREADABLE])
async def test_a_message_with_odd_json_costs_no_neighbour(
    database: Database, client: httpx.AsyncClient, odd: str
) -> None:
    """As a text, a key and a value, whatever can be parsed is stored as its kind; the neighbour always is."""
    value = {**ODD, **UNREADABLE}[odd]
    raw = notification(text("551", 1), {**text("552", 1), "MARK": "MARK"})
    raw = raw.replace(b'"MARK":"MARK"', beside(value, "novo"))
    assert (await post(client, raw)).status_code == 200
    assert (await post(client, raw)).status_code == 200
    rows = await database.pool.fetch("SELECT tipo, payload FROM inbox ORDER BY id")
    if "brackets" in odd:  # nobody could read past them
        assert [row["tipo"] for row in rows] == ["ilegivel"]
    else:
        assert [row["tipo"] for row in rows] == ["mensagem", "ilegivel" if "levels" in odd else "mensagem"]


@pytest.mark.parametrize("depth", [10, *range(246, 258), 400, 30_000])
async def test_a_hint_of_any_depth_is_kept(database: Database, client: httpx.AsyncClient, depth: int) -> None:
    """Where the body cannot be stored as JSON it is kept as text; the answer is the same."""
    raw = b'{"idIntegracao": "abc-1", "x": ' + b"[" * depth + b"]" * depth + b"}"
    assert (await client.post(f"/webhooks/gateway/{GATEWAY}", content=raw, headers=HEADERS)).status_code == 200
    assert await count(database) == 1


@pytest.mark.parametrize("odd", [odd for odd in (*ODD, *UNREADABLE) if "hundred thousand" not in odd])  # too long
async def test_a_hint_with_odd_json_is_kept(database: Database, client: httpx.AsyncClient, odd: str) -> None:
    """A hint names its note whatever stands beside it, as long as it can be parsed; it is kept in any case."""
    value = {**ODD, **UNREADABLE}[odd]
    raw = b'{"idIntegracao": "abc-1", ' + beside(value, "mensagem") + b"}"
    assert (await client.post(f"/webhooks/gateway/{GATEWAY}", content=raw, headers=HEADERS)).status_code == 200
    [row] = await database.pool.fetch("SELECT lane FROM inbox")
    assert row["lane"] == ("emissao:abc-1" if odd in ODD else "emissao:sem-chave")


async def test_a_body_of_three_mebibytes_is_taken_and_a_larger_one_is_not(
    database: Database, client: httpx.AsyncClient
) -> None:
    """Meta's largest bodies come in; beyond the limit the answer is 413 and says so."""
    largest = notification({**text("551", 1), "text": {"body": "x" * (3 * 1024 * 1024 - 1000)}})
    assert (await post(client, largest)).status_code == 200
    answer = await post(client, notification({**text("551", 2), "text": {"body": "x" * MAX_BODY}}))
    assert answer.status_code == 413
    assert answer.json()["limite_bytes"] == MAX_BODY
    assert await count(database) == 1


@pytest.fixture
def held() -> Iterator[int]:
    """A port for the proxy, its own also while the proxy is shut."""
    with held_port() as port:
        yield port


async def test_a_database_that_is_away_gets_a_503(database_url: str) -> None:
    """While the database cannot be reached no webhook is acknowledged: senders are asked to come back."""
    database = await Database.open(database_url)
    await database.close()
    async with serving(deps(database)) as client:
        answers = [
            await post(client, notification(text("551", 1))),
            await client.post(f"/webhooks/gateway/{GATEWAY}", content=b'{"id": 1}', headers=HEADERS),
        ]
        assert [answer.status_code for answer in answers] == [503, 503]
        assert all(int(answer.headers["Retry-After"]) > 0 for answer in answers)
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["database"]) == (503, "away")
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/metrics", headers=SCRAPER)).status_code == 200


async def test_a_database_that_refuses_connections_gets_a_503(database_url: str, held: int) -> None:
    """When the server is gone and its port is shut, the answer is 503 too; when it is back, so are the 200s."""
    proxy = Proxy(database_url, held)
    await proxy.start()
    database = await Database.open(proxy.url)
    try:
        async with serving(deps(database)) as client:
            assert (await post(client, notification(text("559", 1)))).status_code == 200
            await proxy.stop()
            assert (await post(client, notification(text("559", 2)))).status_code == 503
            await proxy.start()
            assert (await post(client, notification(text("559", 2)))).status_code == 200
    finally:
        await database.close()
        await proxy.stop()


async def test_a_database_that_hangs_gets_a_503(database: Database) -> None:
    """A database that takes the statement and does not answer in time is away: no coroutine waits for ever."""
    inbox = Inbox(database, debounce_seconds=0, put_seconds=1.0)  # enough for the write that follows, on a busy machine
    async with serving(deps(database, inbox=inbox)) as client, database.pool.acquire() as rival:
        async with rival.transaction():
            await rival.execute("LOCK TABLE inbox")
            assert (await post(client, notification(text("551", 1)))).status_code == 503
        assert (await post(client, notification(text("551", 1)))).status_code == 200
    assert await count(database) == 1


async def test_the_gateway_is_heard_with_path_and_header(database: Database, client: httpx.AsyncClient) -> None:
    """A hint is stored whole, in the lane of the emission that it names, once."""
    note = {"id": "ext-1", "idIntegracao": "abc-1", "protocol": "p", "status": "CONCLUIDO", "x": [1]}
    raw = orjson.dumps(note)
    for _ in range(2):
        answer = await client.post(f"/webhooks/gateway/{GATEWAY}", content=raw, headers=HEADERS)
        assert answer.status_code == 200
    (row,) = await database.pool.fetch("SELECT chave, lane, tipo, payload FROM inbox")
    assert (row["lane"], row["tipo"]) == ("emissao:abc-1", "gateway")
    assert row["chave"] == f"gateway:{hashlib.sha256(raw).hexdigest()}"
    hints = [{"id_externo": "ext-1", "id_integracao": "abc-1", "protocolo": "p"}]
    assert row["payload"] == {"corpo": note, "hints": hints}


async def test_a_body_that_names_several_notes_wakes_each(database: Database, client: httpx.AsyncClient) -> None:
    """Each note of a collective webhook gets its own row in its own lane."""
    raw = orjson.dumps([{"id": "1", "idIntegracao": "a-1"}, {"id": "2", "idIntegracao": "b-1"}])
    assert (await client.post(f"/webhooks/gateway/{GATEWAY}", content=raw, headers=HEADERS)).status_code == 200
    rows = await database.pool.fetch("SELECT lane FROM inbox ORDER BY id")
    assert [row["lane"] for row in rows] == ["emissao:a-1", "emissao:b-1"]


async def test_a_body_is_stored_once_however_many_notes_it_names(database: Database, client: httpx.AsyncClient) -> None:
    """The first note's row holds it whole, each further one the part that names its note: twice its size in all."""
    notes = [{"id": f"ext-{number}", "idIntegracao": f"n-{number}", "x": "y" * 400} for number in range(100)]
    raw = orjson.dumps({"data": notes, "evento": "lote"})
    assert (await client.post(f"/webhooks/gateway/{GATEWAY}", content=raw, headers=HEADERS)).status_code == 200
    rows = await database.pool.fetch("SELECT payload FROM inbox ORDER BY id")
    assert [row["payload"]["corpo"] for row in rows] == [orjson.loads(raw), *notes[1:]]
    assert [row["payload"]["hints"][0]["id_integracao"] for row in rows] == [note["idIntegracao"] for note in notes]
    assert sum(len(orjson.dumps(row["payload"]["corpo"])) for row in rows) < 2 * len(raw)


async def test_a_gateways_body_beyond_64_kib_is_not_read(database: Database, client: httpx.AsyncClient) -> None:
    """413 names the limit; so it does for a body that does not tell its length beforehand."""

    async def in_pieces() -> AsyncIterator[bytes]:
        for _ in range(70):
            yield b" " * 1024

    for content in (b" " * (64 * 1024 + 1), in_pieces()):
        answer = await client.post(f"/webhooks/gateway/{GATEWAY}", content=content, headers=HEADERS)
        assert (answer.status_code, answer.json()["limite_bytes"]) == (413, 64 * 1024)
    assert await count(database) == 0


async def test_a_compressed_body_is_not_taken(database: Database, client: httpx.AsyncClient) -> None:
    """Nobody who may write to us compresses, and what grows while it is read has no bound: 415."""
    raw = notification(text("551", 1))
    headers = {"X-Hub-Signature-256": sign(raw), "Content-Encoding": "gzip"}
    answer = await client.post("/webhooks/whatsapp", content=gzip.compress(raw), headers=headers)
    assert answer.status_code == 415
    assert await count(database) == 0


async def test_path_and_header_have_secrets_of_their_own(database: Database) -> None:
    """The header's secret opens no path and the path's no header; two of each are good while they are rotated."""
    wired = deps(database, gateway_paths=(b"new-path", b"old-path"), gateway_headers=(b"new-head", b"old-head"))
    async with serving(wired) as client:
        for path in ("new-path", "old-path", "new-head"):
            for head in ("new-head", "old-head", "new-path"):
                answer = await client.get(f"/webhooks/gateway/{path}", headers={"X-Prosa-Secret": head})
                assert answer.status_code == (200 if path.endswith("path") and head.endswith("head") else 401)


async def test_without_a_gateway_its_door_opens_to_nobody(database: Database) -> None:
    """Where no company uses PlugNotas there is no secret, and none is a good one."""
    async with serving(deps(database, gateway_paths=(), gateway_headers=())) as client:
        for head in ({}, {"X-Prosa-Secret": ""}, HEADERS):
            assert (await client.post("/webhooks/gateway/x", json={"id": "a1"}, headers=head)).status_code == 401
    assert await count(database) == 0


@pytest.mark.parametrize("raw", [b"<html>", b'{"teste": true}', b"\x00\xff"])
async def test_a_gateway_body_without_a_note_is_kept(database: Database, client: httpx.AsyncClient, raw: bytes) -> None:
    """What names no note is acknowledged and kept as it came."""
    assert (await client.post(f"/webhooks/gateway/{GATEWAY}", content=raw, headers=HEADERS)).status_code == 200
    assert await database.pool.fetchval("SELECT payload -> 'hints' FROM inbox") == []


async def test_a_ping_of_the_gateway_is_answered(database: Database, client: httpx.AsyncClient) -> None:
    """Checks of the address, by GET or with an empty body, get 200 and store nothing."""
    assert (await client.get(f"/webhooks/gateway/{GATEWAY}", headers=HEADERS)).status_code == 200
    assert (await client.post(f"/webhooks/gateway/{GATEWAY}", headers=HEADERS)).status_code == 200
    assert await count(database) == 0


@pytest.mark.parametrize(
    ("path", "headers"),
    [("wrong", HEADERS), (GATEWAY, {}), (GATEWAY, {"X-Prosa-Secret": "wrong"}), ("%C3%A9", HEADERS)],
)
async def test_strangers_at_the_gateways_door_are_refused(
    database: Database, client: httpx.AsyncClient, path: str, headers: dict[str, str]
) -> None:
    """Path and header must both be right; otherwise 401, by GET and by POST, and nothing is stored."""
    assert (await client.post(f"/webhooks/gateway/{path}", content=b'{"id": 1}', headers=headers)).status_code == 401
    assert (await client.get(f"/webhooks/gateway/{path}", headers=headers)).status_code == 401
    assert await count(database) == 0


async def test_closed_doors_ask_senders_to_come_back(database: Database) -> None:
    """During shutdown new requests get 503, and probes are told that the house is not ready."""
    wired = deps(database)
    app = create_app(wired)
    async with TestServer(app) as server, httpx.AsyncClient(base_url=str(server.make_url("/"))) as client:
        assert (await client.get("/readyz")).status_code == 200
        await close_doors(app)
        answer = await post(client, notification(text("551", 1)))
        assert (answer.status_code, answer.headers["Connection"]) == (503, "close")
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/healthz")).status_code == 200
    assert await count(database) == 0


async def test_redis_away_is_degraded_and_still_ready(database: Database) -> None:
    """Without Redis the house goes on from the database, and says so."""

    async def away() -> None:
        raise ConnectionError

    async with serving(deps(database, ping_redis=away)) as client:
        answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["redis"]) == (200, "degraded")


async def test_figures_are_named_and_counted(client: httpx.AsyncClient) -> None:
    """What came in can be read at /metrics, under documented names."""
    await post(client, notification(text("551", 1), text("551", 1)))
    figures = (await client.get("/metrics", headers=SCRAPER)).text
    assert 'prosa_messages_total{type="text"} 1.0' in figures
    assert 'prosa_arrivals_stored_total{origem="whatsapp"} 1.0' in figures
    assert 'prosa_webhook_requests_total{origem="whatsapp",status="200"} 1.0' in figures
    assert "prosa_inbox_open 1.0" in figures
    assert all(described.name in figures and described.help for described in Metrics().table())


@pytest.mark.parametrize("wrong", [{}, {"Authorization": "Bearer other"}, {"Authorization": "let-me"}])
async def test_figures_need_the_token(client: httpx.AsyncClient, wrong: dict[str, str]) -> None:
    """From this machine too, since a proxy on it speaks for strangers; the refusal names the setting."""
    answer = await client.get("/metrics", headers=wrong)
    assert answer.status_code == 403
    assert "PROSA_METRICS_TOKEN" in answer.json()["erro"]
    assert "prosa_" not in answer.text
    assert (await client.get("/metrics", headers=SCRAPER)).status_code == 200


async def test_without_a_token_the_figures_are_told_on_a_probe_port_only(database: Database) -> None:
    """There by an internal address and without a proxy; the entrance refuses, and says which setting to set."""
    wired = deps(database, metrics_token=None)
    async with serving(wired) as client:
        answer = await client.get("/metrics", headers={"Authorization": "Bearer"})
        assert answer.status_code == 403
        assert "Defina PROSA_METRICS_TOKEN" in answer.json()["erro"]
    async with (
        TestServer(create_probe_app(wired)) as server,
        httpx.AsyncClient(base_url=str(server.make_url("/"))) as client,
    ):
        assert (await client.get("/metrics")).status_code == 200
        proxied = {"X-Forwarded-For": "203.0.113.9"}
        assert (await client.get("/metrics", headers=proxied)).status_code == 403


class Proxy:
    """A TCP way to PostgreSQL that can be shut."""

    def __init__(self, url: str, port: int) -> None:
        self._target = httpx.URL(url)
        self._server: asyncio.Server | None = None
        self._pipes: set[asyncio.Task[None]] = set()
        self._port = port

    @property
    def url(self) -> str:
        """The database's address by this way."""
        return str(self._target.copy_with(host="127.0.0.1", port=self._port))

    async def start(self) -> None:
        """Open."""
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", self._port, reuse_port=True)

    async def stop(self) -> None:
        """Shut the port and cut what is open."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        for pipe in self._pipes:
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._target.host, self._target.port)
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            pipe = asyncio.create_task(self._pipe(source, sink))
            self._pipes.add(pipe)
            pipe.add_done_callback(self._pipes.discard)

    async def _pipe(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.close()
