"""Whatever stands in headers and bodies, a webhook's answer is one of those that docs/webhooks.md names."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest
from aiohttp.test_utils import TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.plugnotas.note import hinted_keys
from persistence.db.engine import Database
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from telemetry.metrics import Metrics
from tests.patience import PATIENCE
from webhooks.app import create_app
from webhooks.deps import WebhookDeps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SECRET, WORD = b"app-secret", "unguessable"
ANSWERS = {200, 400, 401, 413, 415}

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def _shaped(inner: Any) -> Any:
    """Bodies that begin as Meta's or the gateway's do, with anything in the places that are read."""
    message = st.fixed_dictionaries({}, optional={"id": inner, "from": inner, "type": inner, "text": inner})
    value = st.fixed_dictionaries(
        {},
        optional={
            "metadata": st.fixed_dictionaries({"phone_number_id": inner}) | inner,
            "messages": st.lists(message, max_size=3) | inner,
            "statuses": st.lists(message, max_size=3) | inner,
            "contacts": inner,
        },
    )
    change = st.fixed_dictionaries({"field": st.just("messages") | inner, "value": value | inner})
    entry = st.fixed_dictionaries({"changes": st.lists(change, max_size=2) | inner})
    note = st.fixed_dictionaries({"idIntegracao": inner}, optional={"id": inner, "protocol": inner})
    return (
        st.fixed_dictionaries({"entry": st.lists(entry, max_size=2) | inner})
        | st.lists(note, max_size=3)
        | st.fixed_dictionaries({"data": st.lists(note, max_size=3)})
    )


def _encoded(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # lone surrogates, integers beyond 64 bits
        return repr(value).encode("utf-8", "backslashreplace")


BODIES = st.binary(max_size=200) | (_json | _shaped(_json)).map(_encoded)
NAMES = st.sampled_from(
    ["X-Hub-Signature-256", "X-Prosa-Secret", "Content-Type", "Content-Encoding", "X-Forwarded-For", "Accept"]
)
VALUES = st.binary(max_size=80).map(lambda raw: bytes(byte for byte in raw if byte >= 0x20 and byte != 0x7F).strip())


@pytest.fixture(scope="module")
async def client(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an entrance that stores for real."""

    async def redis_answers() -> None:
        """A Redis that is there."""

    database = await Database.open(database_url)
    wired = WebhookDeps(
        inbox=Inbox(database, debounce_seconds=0),
        backlog=Backlog(database),
        database=database,
        metrics=Metrics(),
        whatsapp_secrets=(SECRET,),
        whatsapp_verify_token=b"verify-me",
        gateway_paths=(WORD.encode(),),
        gateway_headers=(WORD.encode(),),
        read_hints=hinted_keys,
        ping_redis=redis_answers,
    )
    async with (
        TestServer(create_app(wired)) as server,
        httpx.AsyncClient(base_url=str(server.make_url("/")), timeout=PATIENCE) as client,
    ):
        yield client
    await database.close()


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=BODIES, extra=st.dictionaries(NAMES, VALUES, max_size=3), known=st.booleans(), whatsapp=st.booleans())
async def test_no_headers_and_no_body_give_a_500(
    client: httpx.AsyncClient, raw: bytes, extra: dict[str, bytes], known: bool, whatsapp: bool
) -> None:
    """Signed or not, at either door: taken, or refused by a name."""
    signature = "sha256=" + hmac.new(SECRET, raw, hashlib.sha256).hexdigest()
    own = {"X-Hub-Signature-256": signature.encode(), "X-Prosa-Secret": WORD.encode()}
    headers = {name.encode(): value for name, value in (extra | own if known else extra).items()}
    path = "/webhooks/whatsapp" if whatsapp else f"/webhooks/gateway/{WORD}"
    answer = await client.post(path, content=raw, headers=headers)
    assert answer.status_code in ANSWERS
    if known and "Content-Encoding" not in extra:
        assert answer.status_code == 200
    if not known and whatsapp:
        assert answer.status_code == 401
