"""A small TCP proxy that makes a network bad: slow, cut, silent, or forgetful of answers."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

CHUNK = 65536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends RST instead of FIN


class TcpProxy:
    """Stands before ``url``; the same URL through it is ``self.url``.

    ``latency``: seconds that each piece takes in each direction. ``silent``: connections open, and nothing passes any
    more (half-open). ``held``: what the server says waits here until it is let go. ``forget``: how many connections are
    cut when the server's answer to bytes that hold ``mark`` is on its way back: the server has done it, and the client
    never hears. ``when_forgotten`` is called at that moment, before anything is cut.
    """

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self.url = ""
        self.latency = 0.0
        self._speaking = asyncio.Event()
        self._speaking.set()
        self._answering = asyncio.Event()
        self._answering.set()
        self.mark = b""
        self.forget = 0
        self.forgotten = 0
        self.when_forgotten: Callable[[], None] = lambda: None
        self.forgot = asyncio.Event()  # set each time; to be cleared by who waits for the next
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        login = self._target.netloc.rpartition("@")[0]
        netloc = f"{login}@127.0.0.1:{port}" if login else f"127.0.0.1:{port}"
        self.url = self._target._replace(netloc=netloc).geturl()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.reset()

    @property
    def silent(self) -> bool:
        """Whether nothing passes."""
        return not self._speaking.is_set()

    @silent.setter
    def silent(self, silent: bool) -> None:
        if silent:
            self._speaking.clear()
        else:
            self._speaking.set()

    @property
    def held(self) -> bool:
        """Whether the server's answers wait here."""
        return not self._answering.is_set()

    @held.setter
    def held(self, held: bool) -> None:
        if held:
            self._answering.clear()
        else:
            self._answering.set()

    def reset(self) -> None:
        """Cut every connection with RST."""
        for writer in tuple(self._writers):
            _cut(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection(self._target.hostname, self._target.port)
        except OSError:
            _cut(writer)
            return
        both = (writer, there[1])
        self._writers.update(both)
        doomed = asyncio.Event()
        try:
            await asyncio.gather(
                self._carry(reader, there[1], doomed, outward=True),
                self._carry(there[0], writer, doomed, outward=False),
            )
        finally:
            for each in both:
                _cut(each)
                self._writers.discard(each)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, doomed: asyncio.Event, *, outward: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                if outward and self.forget and self.mark in data:
                    self.forget -= 1
                    doomed.set()
                elif not outward and doomed.is_set():
                    self.forgotten += 1
                    self.forgot.set()
                    self.when_forgotten()
                    break
                if self.latency:
                    await asyncio.sleep(self.latency)
                await self._speaking.wait()
                if not outward:
                    await self._answering.wait()
                writer.write(data)
                await writer.drain()
        _cut(writer)


def _cut(writer: asyncio.StreamWriter) -> None:
    sock: socket.socket | None = writer.get_extra_info("socket")
    with suppress(OSError):
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.close()
