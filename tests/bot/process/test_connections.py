"""Who may stay when there are too many connections: whoever is being answered, and then who came last."""

from __future__ import annotations

import asyncio
import resource
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

from bot.process import run
from bot.process.run import MOST, RESERVED, Connections, affordable, bounded
from bot.process.servers import listening
from tests.patience import PATIENCE
from webhooks.whatsapp_payload import networks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Server:
    """A server whose handler answers when it is told to."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked = asyncio.Semaphore(0)
        self.go = asyncio.Event()
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self, sent: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection, and send so much."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        self._writers.append(writer)  # one that nobody holds closes its connection
        return reader, writer


@asynccontextmanager
async def serving(bound: Connections) -> AsyncIterator[Server]:
    """A server with these bounds."""
    app = web.Application()

    async def handle(_: web.Request) -> web.Response:
        server.asked.release()
        await server.go.wait()
        return web.Response(text="ok")

    app.router.add_get("/", handle)
    with listening("127.0.0.1", 0, port="PROSA_PORT") as sockets:
        server = Server(sockets[0].getsockname()[1])
        async with bounded(app, sockets, bound, shutdown_seconds=1.0):
            yield server


async def first_line(reader: asyncio.StreamReader) -> bytes:
    """What comes back, empty when the connection is closed instead."""
    async with asyncio.timeout(PATIENCE):
        try:
            return await reader.readline()
        except ConnectionError:
            return b""


async def test_the_connection_that_waits_longest_makes_room() -> None:
    """With two allowed and two silent, a third is served and the first is cut."""
    async with serving(Connections(most=2)) as server:
        server.go.set()
        oldest, _ = await server.connect()
        middle, _ = await server.connect(ASK)
        assert b" 200 " in await first_line(middle)  # now it waits again, since just now
        newest, _ = await server.connect(ASK)
        assert b" 200 " in await first_line(newest)
        assert await first_line(oldest) == b""
        again, _ = await server.connect(ASK)  # the next one to go is ``middle``, which has been answered
        assert b" 200 " in await first_line(again)


async def test_no_request_in_progress_is_cut() -> None:
    """When all are at work the next one gets 503 at once, and they get their answers."""
    async with serving(Connections(most=2)) as server:
        working = [await server.connect(ASK) for _ in range(2)]
        for _ in working:
            await server.asked.acquire()
        refused, _ = await server.connect(ASK)
        assert b" 503 " in await first_line(refused)
        server.go.set()
        assert all([b" 200 " in await first_line(reader) for reader, _ in working])
        later, _ = await server.connect(ASK)
        assert b" 200 " in await first_line(later)


async def test_one_address_does_not_take_what_others_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger beyond its share loses its own oldest; whoever speaks for many has no such share."""
    monkeypatch.setattr(run, "is_trusted", lambda address, trusted: bool(trusted))
    async with serving(Connections(most=10, per_address=1)) as server:
        server.go.set()
        mine, _ = await server.connect()
        other, _ = await server.connect(ASK)
        assert b" 200 " in await first_line(other)
        assert await first_line(mine) == b""
    async with serving(Connections(networks("127.0.0.1"), most=10, per_address=1)) as server:
        server.go.set()
        first, writer = await server.connect()
        second, _ = await server.connect(ASK)
        assert b" 200 " in await first_line(second)
        writer.write(ASK)
        assert b" 200 " in await first_line(first)


async def test_headers_that_do_not_end_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the first ones nor those after an answer, however they trickle."""
    monkeypatch.setitem(run.OPTIONS, "keepalive_timeout", 0.2)
    async with serving(Connections()) as server:
        server.go.set()
        for sent in (b"GET / HTTP/1.1\r\nX-Half:", ASK + b"GET / HTTP/1.1\r\nX-Half:"):
            reader, writer = await server.connect(sent)
            closed = asyncio.create_task(reader.read())
            async with asyncio.timeout(PATIENCE):
                while not closed.done():
                    if not writer.is_closing():
                        writer.write(b"x")
                    await asyncio.sleep(0.05)


async def test_no_answer_names_a_version_or_repeats_a_broken_request() -> None:
    """Neither an ordinary answer nor what is said to a request that is none."""
    async with serving(Connections()) as server:
        server.go.set()
        ordinary, _ = await server.connect(ASK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        broken, _ = await server.connect(b"GET / HTTP/1.1\r\nsecret line\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            said = [await ordinary.read(), await broken.read()]
    assert [each.split(b" ")[1] for each in said] == [b"200", b"400"]
    assert [each.count(b"Server: Prosa\r\n") for each in said] == [1, 1]
    assert [word for word in (b"aiohttp", b"Python", b"secret") for each in said if word in each] == []


def test_there_are_no_more_connections_than_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some are kept for what else the process opens; without a limit there is still one of ours."""
    for allowed, most in ((256, 256 - RESERVED), (65_536, MOST), (-1, MOST), (10, 1)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, allowed=allowed: (allowed, allowed))
        assert affordable() == most
