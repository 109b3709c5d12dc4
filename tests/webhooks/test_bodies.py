"""The budget of bodies: what is waited for is counted, what is not is free, and all of it comes back."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, make_mocked_request

from tests.patience import PATIENCE
from webhooks.bodies import SMALL, Bodies, read_body
from webhooks.whatsapp_payload import networks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LIMIT = 2 * SMALL


def test_large_bodies_keep_no_small_one_out() -> None:
    """Each kind has its budget; beyond it 503, and what was taken is free again afterwards."""
    bodies, request = Bodies(small_budget=4 * 64, large_budget=2 * 64), make_mocked_request("POST", "/")
    for _ in range(2):
        with ExitStack() as taken:
            taken.enter_context(bodies.room(request, LIMIT))(63)
            with pytest.raises(web.HTTPServiceUnavailable), bodies.room(request, LIMIT):
                pass
            take = taken.enter_context(bodies.room(request, SMALL))
            take(63)
            with pytest.raises(web.HTTPServiceUnavailable):
                take(1)


@asynccontextmanager
async def reading(bodies: Bodies) -> AsyncIterator[TestServer]:
    """A server that reads bodies and tells their length."""

    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=str(len(await read_body(request, bodies, LIMIT))))

    app = web.Application()
    app.router.add_post("/", handle)
    server = TestServer(app)
    async with server:
        yield server


async def answer(server: TestServer, sent: bytes, rest: bytes = b"") -> bytes:
    """Send so much, the ``rest`` when the server has asked for it, and return the answer's first line."""
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(sent)
    try:
        async with asyncio.timeout(PATIENCE):
            if rest:
                assert b" 100 " in await reader.readline()
                await reader.readline()
                writer.write(rest)
            return await reader.readline()
    finally:
        writer.close()


def head(*lines: str) -> bytes:
    """The head of a request."""
    return "\r\n".join(["POST / HTTP/1.1", "Host: x", *lines, "", ""]).encode()


async def test_a_whole_body_needs_no_room() -> None:
    """With a budget of nothing, what comes with its headers is read, and what is held back is not waited for."""
    async with reading(Bodies(small_budget=0, large_budget=0)) as server:
        assert b" 200 " in await answer(server, head("Content-Length: 3") + b"abc")
        assert b" 503 " in await answer(server, head("Content-Length: 3") + b"ab")
        assert b" 503 " in await answer(server, head("Transfer-Encoding: chunked") + b"2\r\nab\r\n")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (head(f"Content-Length: {LIMIT + 1}"), b" 413 "),
        (head("Transfer-Encoding: chunked") + b"%x\r\n" % (LIMIT + 1) + b"x" * (LIMIT + 1), b" 413 "),
        (head("Transfer-Encoding: chunked") + b"2\r\nab\r\nlixo\r\n", b" 400 "),
        (head("Content-Encoding: gzip", "Content-Length: 3") + b"abc", b" 415 "),
        (head("Content-Length: -1"), b" 400 "),
        (head("Content-Length: 0"), b" 200 "),
    ],
)
async def test_what_is_no_body_for_us_is_refused(sent: bytes, status: bytes) -> None:
    """Too long by what it says or by what comes, compressed, or in chunks that make no sense."""
    async with reading(Bodies()) as server:
        assert status in await answer(server, sent)


async def test_a_body_that_does_not_come_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the deadline: 408, and the next one is waited for again."""
    monkeypatch.setattr("webhooks.bodies.READ_SECONDS", 0.1)
    async with reading(Bodies(small_budget=16)) as server:
        for _ in range(2):
            assert b" 408 " in await answer(server, head("Content-Length: 3") + b"ab")


async def test_what_is_announced_takes_no_room() -> None:
    """Many announce much and send a byte each; a body in two packets is still taken."""
    async with reading(Bodies(small_budget=4 * SMALL)) as server, AsyncExitStack() as stack:
        for number in range(40):
            await held(stack, server, f"10.0.0.{number}", b"x")
        assert b" 200 " in await answer(server, head("Content-Length: 3", "Expect: 100-continue") + b"ab", b"c")


async def test_one_address_has_a_share() -> None:
    """Who has sent as much as their share gets 503 for more; another address is read."""
    bodies = Bodies(small_budget=4 * SMALL, trusted=networks("127.0.0.1"))
    async with reading(bodies) as server, AsyncExitStack() as stack:
        await held(stack, server, "10.0.0.1", b"x" * (SMALL - 11))
        asked = head("Content-Length: 100", "X-Forwarded-For: 10.0.0.1", "Expect: 100-continue")
        async with asyncio.timeout(PATIENCE):
            while b" 503 " not in await answer(server, asked, b"x" * 100):
                pass  # the first one's bytes are still on their way
        other = head("Content-Length: 100", "X-Forwarded-For: 10.0.0.2", "Expect: 100-continue")
        assert b" 200 " in await answer(server, other, b"x" * 100)


async def held(stack: AsyncExitStack, server: TestServer, address: str, sent: bytes) -> None:
    """Announce a body as long as small ones are, send so much of it, and keep the connection."""
    _, writer = await asyncio.open_connection(server.host, server.port)
    stack.callback(writer.close)
    writer.write(head(f"Content-Length: {SMALL - 1}", f"X-Forwarded-For: {address}") + sent)
    await writer.drain()
