"""One client per destination, and what it refuses."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from gateway.http.client import Destination, Exchange, ForbiddenDestinationError
from gateway.http.wire import BodyTooLargeError, InvalidAddressError, MaybeSentError, NoAnswerError, NotSentError
from state_machine.protocol.retry import Breaker
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


def _self_signed(name: str, folder: Path) -> ssl.SSLContext:
    """Return a server's side of TLS under a certificate that this name signed for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    called = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    signed = made.add_extension(x509.SubjectAlternativeName([called]), critical=False).sign(key, hashes.SHA256())
    pem = folder / "server.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem.write_bytes(secret + signed.public_bytes(Encoding.PEM))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    return context


class TransactionOpenError(RuntimeError):
    """What a guard raises."""


async def test_nothing_leaves_while_a_transaction_is_open(server):
    """The guard is asked before each request, and its refusal reaches the caller with nothing sent."""

    def guard() -> None:
        raise TransactionOpenError

    server.says(200, b"ok")
    async with Destination(server.url, timeout=PATIENCE, guard=guard) as out:
        with pytest.raises(TransactionOpenError):
            await out.request("GET", "/")
    assert server.received == []


async def test_a_request_goes_nowhere_but_to_its_destination(server, closed_url, free):
    """An absolute address of another origin is refused, also another port of the same host."""
    server.says(200, b"ok")
    async with Destination(server.url, timeout=PATIENCE, guard=free, headers={"x-api-key": "secret"}) as out:
        for elsewhere in (f"{closed_url}/nfse", "http://metadata.example/", server.url.replace("http:", "https:")):
            with pytest.raises(ForbiddenDestinationError):
                await out.request("GET", elsewhere)
        assert (await out.request("GET", f"{server.url}/nfse")).status == 200
    assert len(server.received) == 1


@pytest.mark.parametrize("name", ["127.0.0.1", "gateway.example"])
async def test_a_certificate_that_nobody_vouches_for_is_refused(free, name, tmp_path):
    """Self-signed, of this address or of another: nothing is sent to it."""
    received = []

    async def take(request: web.Request) -> web.Response:
        received.append(await request.read())
        return web.Response()

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", take)
    secure = TestServer(app, scheme="https")
    await secure.start_server(ssl=_self_signed(name, tmp_path))
    try:
        url = str(secure.make_url("")).rstrip("/")
        assert url.startswith("https:")
        async with Destination(url, timeout=PATIENCE, guard=free, headers={"x-api-key": "secret"}) as out:
            with pytest.raises(NotSentError, match=r"ConnectError: .*CertificateError"):
                await out.request("POST", "/nfse", content=b"[]")
    finally:
        await secure.close()
    assert received == []


async def test_a_redirect_is_an_answer_like_any_other(server, free):
    """Following one would carry our token to a host of somebody else's choice."""
    server.says(307, b"", Location=f"{server.url}/elsewhere")
    async with Destination(server.url, timeout=PATIENCE, guard=free) as out:
        assert (await out.request("POST", "/nfse", content=b"[]")).status == 307
    assert [r.path for r in server.received] == ["/nfse"]


async def test_a_proxy_of_the_environment_is_not_used(server, closed_url, free, monkeypatch):
    """Where our requests go is decided by settings alone."""
    monkeypatch.setenv("HTTP_PROXY", closed_url)
    monkeypatch.setenv("ALL_PROXY", closed_url)
    server.says(200, b"ok")
    async with Destination(server.url, timeout=PATIENCE, guard=free) as out:
        assert (await out.request("GET", "/")).body == b"ok"


async def test_the_deadline_bounds_the_whole_call(faulty, free):
    """A server that sends a byte now and then cannot hold a call beyond its deadline."""
    url = await faulty("drip")
    started = time.monotonic()
    async with Destination(url, timeout=0.5, guard=free) as out:
        with pytest.raises(MaybeSentError, match="ReadTimeout"):
            await out.request("GET", "/")
    assert time.monotonic() - started < PATIENCE / 2  # the drip lasts half an hour


async def test_a_runaway_body_is_cut_while_it_streams(server, free):
    """The memory is bounded by the caller's limit, not by what the other side sends."""
    server.says(200, b"x" * 5_000_000)
    async with Destination(server.url, timeout=PATIENCE, guard=free) as out:
        with pytest.raises(BodyTooLargeError):
            await out.request("GET", "/", max_body=1_000_000)
        assert len((await out.request("GET", "/", max_body=5_000_000)).body) == 5_000_000


async def test_cancelling_the_caller_is_not_taken_for_a_deadline(free):
    """A worker that shuts down sees its cancellation, not an outcome."""
    taken = asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        taken.set()
        await reader.read()  # until the caller hangs up
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, Destination(url, timeout=PATIENCE, guard=free) as out, asyncio.timeout(PATIENCE):
        task = asyncio.create_task(out.request("GET", "/"))
        await taken.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_every_exchange_is_observed_in_the_callers_task(server, closed_url, free):
    """Records get status, body and time of an answer, and the name of the failure where there was none."""
    seen = []

    def observe(exchange: Exchange) -> None:
        seen.append((asyncio.current_task(), exchange))

    server.says(409, {"error": {}})
    async with Destination(server.url, timeout=PATIENCE, guard=free, observe=observe) as out:
        await out.request("GET", "/a")
    async with Destination(closed_url, timeout=PATIENCE, guard=free, observe=observe) as out:
        with pytest.raises(NotSentError, match="ConnectError"):
            await out.request("GET", "/b")
    (task_a, a), (task_b, b) = seen
    assert task_a is task_b is asyncio.current_task()
    assert (a.path, a.status, a.body, a.error) == ("/a", 409, b'{"error": {}}', None)
    assert (b.path, b.status, b.error) == ("/b", None, "ConnectError")
    assert a.seconds > 0


async def test_no_address_is_logged(server, free, caplog):
    """Paths hold documents and ids, so the HTTP libraries stay silent even at DEBUG."""
    caplog.set_level(logging.DEBUG)
    server.says(200, b"ok")
    async with Destination(server.url, timeout=PATIENCE, guard=free) as out:
        await out.request("GET", "/nfse/consultar/zap/12345678909")
    assert "12345678909" not in "".join(r.getMessage() for r in caplog.records if r.name.startswith("http"))


@pytest.mark.parametrize(
    "url", ["ftp://x", "x", "", "http://", "https://user:pw@x", "https://x/?a=1", "file:///etc/passwd"]
)
def test_a_destination_that_is_none_is_refused_at_the_start(url, free):
    """A wrong address in the settings stops the start, not the first invoice."""
    with pytest.raises(ValueError, match="destination"):
        Destination(url, timeout=PATIENCE, guard=free)


@pytest.mark.parametrize("value", ["key\n", " key", "k\u00e9y", "a\r\nx: y"])
def test_a_badly_pasted_secret_is_refused_at_the_start_without_being_shown(value, free):
    """The error names the header and keeps its value to itself."""
    with pytest.raises(ValueError, match="x-api-key") as caught:
        Destination("https://x.example", timeout=PATIENCE, guard=free, headers={"x-api-key": value})
    assert value not in str(caught.value)


async def test_we_say_who_we_are(server, free):
    """Meta's media host refuses a request without a name, and no simulator would tell."""
    server.says(200, b"ok")
    async with Destination(server.url, timeout=PATIENCE, guard=free) as out:
        await out.request("GET", "/")
    assert server.received[0].headers["User-Agent"] == "prosa"


async def test_a_name_that_nobody_resolves_in_time_is_certainly_not_sent(free, monkeypatch):
    """Waiting for a name server sends nothing, so it must end before the deadline that would hide that."""

    async def hang(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", hang)
    async with Destination("http://slow.example", timeout=1, guard=free) as out:
        with pytest.raises(NotSentError, match="ConnectTimeout"):
            await out.request("POST", "/nfse", content=b"[]")


async def test_an_answer_whose_end_nothing_marks_is_no_answer(faulty, free):
    """Half a PDF would be kept for good."""
    async with Destination(await faulty("unmarked"), timeout=PATIENCE, guard=free) as out:
        with pytest.raises(MaybeSentError, match="RemoteProtocolError"):
            await out.request("GET", "/nfse/pdf/1")


async def test_an_address_with_an_impossible_port_is_an_invalid_one(server, free):
    """Addresses of media come from the other side."""
    async with Destination(server.url, timeout=PATIENCE, guard=free) as out:
        with pytest.raises(InvalidAddressError):
            await out.request("GET", "https://lookaside.example:99999/x")


async def test_our_own_bottleneck_says_nothing_of_the_service(faulty, free, monkeypatch):
    """Of two calls one finds no connection: the breaker hears of the other's failure alone."""
    monkeypatch.setattr("gateway.http.client.MAX_CONNECTIONS", 1)
    breaker = Breaker(clock=time.monotonic, threshold=2)
    async with Destination(await faulty("hang"), timeout=2, guard=free) as out:
        calls = [out.request("GET", "/", breaker=breaker) for _ in range(2)]
        failures = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(failure) for failure in failures} == {NotSentError, MaybeSentError}
        reasons = {failure.reason for failure in failures if isinstance(failure, NoAnswerError)}
        assert reasons == {"PoolTimeout", "ReadTimeout"}
        assert not breaker.open
        with pytest.raises(MaybeSentError, match="ReadTimeout"):
            await out.request("GET", "/", breaker=breaker)
    assert breaker.open


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_a_request_is_sent_once_also_on_a_connection_that_was_kept(free, method):
    """A kept connection that breaks after the request may have delivered it: whoever called decides what follows."""
    asked = []

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answers in (True, False):
            head = await reader.readuntil(b"\r\n\r\n")
            asked.append(head.split(b" ", 1)[0])
            if answers:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(once, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, Destination(url, timeout=PATIENCE, guard=free) as out:
        assert (await out.request(method, "/")).status == 200
        with pytest.raises(MaybeSentError, match="RemoteProtocolError"):
            await out.request(method, "/")
    assert asked == [method.encode()] * 2
