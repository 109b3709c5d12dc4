"""Real servers on 127.0.0.1 that answer what a test tells them, also in ways that no HTTP library would."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.plugnotas.payload import IntegrationKey
from state_machine.documents import DocumentoServico, Prestador, Tomador
from tests.held_port import held_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator


@dataclass
class Received:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Scripted:
    """A server that gives the scripted answers in order and repeats the last one."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answers: list[tuple[int, Any, dict[str, str]]] = field(default_factory=list)

    def says(self, status: int, body: Any = b"", **headers: str) -> None:
        """Append an answer; ``body`` is bytes, text or anything JSON."""
        self.answers.append((status, body, {name.replace("_", "-"): value for name, value in headers.items()}))

    async def answer(self, request: web.Request) -> web.Response:
        """Note the request and give the next answer."""
        self.received.append(Received(request.method, request.path_qs, dict(request.headers), await request.read()))
        status, body, headers = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(body, bytes):
            return web.Response(status=status, body=body, headers=headers)
        if isinstance(body, str):
            return web.Response(status=status, text=body, headers=headers)
        return web.json_response(body, status=status, headers=headers)


@pytest.fixture
async def server() -> AsyncIterator[Scripted]:
    """A scripted HTTP server."""
    scripted = Scripted()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{tail:.*}", scripted.answer)
    async with TestServer(app, host="127.0.0.1") as running:
        scripted.url = str(running.make_url("")).rstrip("/")
        yield scripted


@asynccontextmanager
async def _raw(behaviour: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[str]:
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        head = await reader.readuntil(b"\r\n\r\n")
        length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
        try:
            await behaviour(writer)
        finally:
            writer.close()

    running = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}"
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        running.close()


async def hang(_: asyncio.StreamWriter) -> None:
    """Take the request and never answer."""
    await asyncio.Event().wait()


async def reset(writer: asyncio.StreamWriter) -> None:
    """Take the request, then reset the connection."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def close(_: asyncio.StreamWriter) -> None:
    """Take the request, then close without a word."""


async def truncate(writer: asyncio.StreamWriter) -> None:
    """Promise more body than comes."""
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 400\r\n\r\n{"documents":[{"id')
    await writer.drain()


async def drip(writer: asyncio.StreamWriter) -> None:
    """Send a byte now and then, so that no single read ever times out."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    for _ in range(100_000):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)  # the fault itself, not a wait for a condition


async def gibberish(writer: asyncio.StreamWriter) -> None:
    """Answer something that is not HTTP."""
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    await writer.drain()


async def unmarked(writer: asyncio.StreamWriter) -> None:
    """Answer without saying how long it is, and break off."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/pdf\r\n\r\n%PDF-1.7 half")
    await writer.drain()


SOCKET_FAULTS = {f.__name__: f for f in (hang, reset, close, truncate, drip, gibberish, unmarked)}


@pytest.fixture
async def faulty() -> AsyncIterator[Callable[[str], Awaitable[str]]]:
    """A factory of TCP servers: each takes a whole request, then misbehaves as the named function of this module."""
    async with AsyncExitStack() as stack:

        async def start(fault: str) -> str:
            return await stack.enter_async_context(_raw(SOCKET_FAULTS[fault]))

        yield start


@pytest.fixture
def closed_url() -> Iterator[str]:
    """The address of a port on which nobody listens."""
    with held_port() as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def free() -> Callable[[], None]:
    """The guard of a task in which no transaction is open."""
    return lambda: None


@pytest.fixture
def intent() -> DocumentoServico:
    """A confirmed invoice of a company in Simples, national layout."""
    prestador = Prestador(
        cnpj="11222333000181",
        razao_social="ANA DESIGN ME",
        inscricao_municipal="12345",
        municipio_ibge="3550308",
        regime="simples",
        codigo_servico="171901",
        cnae="7410202",
        aliquota=None,
    )
    return DocumentoServico(
        id_integracao="zap-0001-1",
        prestador=prestador,
        tomador=Tomador("12345678000195", "PADARIA DO ZÉ LTDA", "ze@padaria.example"),
        valor=Decimal("1500.00"),
        descricao="Consultoria de marketing",
        competencia=date(2026, 11, 21),
    )


@pytest.fixture
def key() -> IntegrationKey:
    """The natural key of ``intent``."""
    return IntegrationKey("11222333000181", "zap-0001-1")
