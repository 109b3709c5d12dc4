"""What strangers can do to a real process of ours without knowing a secret: little, and not for long."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import orjson
import psutil
import pytest

from tests.patience import PATIENCE
from tests.road.road_process import Prosa

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

HEADER_SECONDS = 15.0  # the promise of docs/install.md
GROWTH = 64 * 1024 * 1024  # bytes
BODY = 3 * 1024 * 1024
SECRET = "the-app-secret-of-these-tests"
PHONE = "106540352242922"

pytestmark = pytest.mark.timeout(500)  # a process is started, and a deadline of 15 s is waited for


@asynccontextmanager
async def web(database_url: str, redis_url: str, place: Path, *wrap: str) -> AsyncIterator[tuple[Prosa, str]]:
    """``prosa web`` as a process of its own, and its address."""
    env = {
        "PROSA_DATABASE_URL": database_url,
        "PROSA_REDIS_URL": redis_url,
        "PROSA_PORT": "0",
        "PROSA_WHATSAPP_PHONE_NUMBER_ID": PHONE,
        "PROSA_WHATSAPP_ACCESS_TOKEN": "an-access-token-of-these-tests",
        "PROSA_WHATSAPP_APP_SECRET": SECRET,
        "PROSA_WHATSAPP_VERIFY_TOKEN": "a-verify-token-of-these-tests",
        "PROSA_PLUGNOTAS_API_KEY": "an-api-key-of-these-tests",
        "PROSA_GATEWAY_WEBHOOK_SECRET": "a-gateway-secret-of-these-tests",
        "PROSA_METRICS_TOKEN": "a-metrics-token-of-these-tests",
    }
    prosa = Prosa(("web",), env, place, wrap=wrap)
    try:
        yield prosa, await prosa.start()
    finally:
        await prosa.kill()


async def knock(address: str, sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection and send so much of a request."""
    url = urlsplit(address)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(sent)
    return reader, writer


async def answered(reader: asyncio.StreamReader) -> int:
    """Return the status of an answer."""
    return int((await reader.readline()).split()[1])


async def closed(reader: asyncio.StreamReader) -> None:
    """Wait until the other side hangs up."""
    try:
        while await reader.read(65536):
            pass
    except ConnectionError:
        pass


def withheld(number: int) -> bytes:
    """A notification with a signature that is well-formed and wrong, but for its last byte."""
    head = (
        "POST /webhooks/whatsapp HTTP/1.1\r\nHost: prosa\r\nContent-Type: application/json\r\n"
        f"X-Hub-Signature-256: sha256={number:064x}\r\nContent-Length: {BODY}\r\n\r\n"
    )
    return head.encode() + b"x" * (BODY - 1)


def notification(number: int) -> tuple[bytes, dict[str, str]]:
    """A real one, with its headers."""
    message = {"from": "551", "id": f"wamid.551.{number}", "type": "text", "text": {"body": "oi"}}
    value = {"metadata": {"phone_number_id": PHONE}, "messages": [message]}
    raw = orjson.dumps({"entry": [{"id": "W", "changes": [{"field": "messages", "value": value}]}]})
    return raw, {"X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), raw, hashlib.sha256).hexdigest()}


async def test_withheld_bodies_take_no_memory_and_keep_nobody_out(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """150 bodies of 3 MiB without their last byte cost less than 64 MB; a real webhook gets its 200 meanwhile."""
    async with web(database_url, redis_url, tmp_path) as (prosa, address), AsyncExitStack() as stack:
        assert prosa.process is not None
        process = psutil.Process(prosa.process.pid)
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=address, timeout=PATIENCE))
        raw, headers = notification(0)
        assert (await client.post("/webhooks/whatsapp", content=raw, headers=headers)).status_code == 200
        before = most = process.memory_info().rss
        statuses: list[int] = []

        async def attack(number: int) -> None:
            reader, writer = await knock(address, b"")
            try:
                writer.write(withheld(number))
                statuses.append(await answered(reader))
            except ConnectionError:  # refused, and cut while it was still sending
                statuses.append(0)
            finally:
                writer.close()

        attackers = [asyncio.create_task(attack(number)) for number in range(150)]
        real = 0
        while not all(attacker.done() for attacker in attackers):
            real += 1
            raw, headers = notification(real)
            assert (await client.post("/webhooks/whatsapp", content=raw, headers=headers)).status_code == 200
            most = max(most, process.memory_info().rss)
            await asyncio.sleep(0.05)
        await asyncio.gather(*attackers)
        assert most - before < GROWTH
        assert real > 1
        assert set(statuses) <= {0, 408, 503}
        assert 408 in statuses  # some were waited for: it is the budget that kept the rest out
        assert 503 in statuses


@pytest.mark.parametrize("header", [None, "sha256=", "sha1=" + "0" * 64, "sha256=" + "g" * 64, "0" * 64])
async def test_a_body_that_cannot_be_authentic_is_refused_unread(
    database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory, header: str | None
) -> None:
    """Without a signature, or with one of another shape, the 401 comes although not one byte of the body did."""
    async with web(database_url, redis_url, tmp_path_factory.mktemp("web")) as (_, address):
        signature = "" if header is None else f"X-Hub-Signature-256: {header}\r\n"
        head = f"POST /webhooks/whatsapp HTTP/1.1\r\nHost: prosa\r\n{signature}Content-Length: {BODY}\r\n\r\n"
        reader, writer = await knock(address, head.encode())
        async with asyncio.timeout(5):  # half of the time that a body is waited for
            assert await answered(reader) == 401
        writer.close()


async def test_half_sent_headers_are_dropped_within_the_deadline(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """1,500 connections that never finish their headers are gone after 15 s; who asks meanwhile is answered."""
    async with web(database_url, redis_url, tmp_path) as (prosa, address):
        assert prosa.process is not None
        half = b"GET /healthz HTTP/1.1\r\nHost: prosa\r\nX-Half:"
        opened = [await knock(address, half) for _ in range(1500)]
        async with httpx.AsyncClient(base_url=address, timeout=PATIENCE) as client:
            assert (await client.get("/healthz")).status_code == 200
        async with asyncio.timeout(HEADER_SECONDS + PATIENCE):
            await asyncio.gather(*(closed(reader) for reader, _ in opened))
        for _, writer in opened:
            writer.close()


async def test_silent_connections_do_not_silence_the_probes(database_url: str, redis_url: str, tmp_path: Path) -> None:
    """With 256 descriptors and 300 connections that say nothing, /healthz and a real webhook get their 200."""
    few = ("sh", "-c", 'ulimit -n 256 && exec "$@"', "sh")
    async with web(database_url, redis_url, tmp_path, *few) as (_, address):
        silent = [await knock(address, b"") for _ in range(300)]
        for number in range(5):  # a new connection each time
            async with httpx.AsyncClient(base_url=address, timeout=5) as client:
                assert (await client.get("/healthz")).status_code == 200
                raw, headers = notification(number)
                assert (await client.post("/webhooks/whatsapp", content=raw, headers=headers)).status_code == 200
        for _, writer in silent:
            writer.close()
