"""A way from the house to a simulator on which the bodies of answers can be changed, byte by byte."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HOPS = {"content-length", "transfer-encoding", "connection", "date", "server"}

# What stands in for a text; each is one JSON text or number as it travels.
ODD = {
    "NUL": b'"a\\u0000b"',
    "a lone high surrogate": b'"a\\ud83d"',
    "a lone low surrogate": b'"\\udc00b"',
    "a raw surrogate": b'"a\xed\xa0\x80b"',
    "an endless integer": b"9" * 6000,
    "a number that no decimal holds": b"1e99999999999999999999",
    "a number that no decimal compares": b"1e1000000",
    "a fraction of many digits": b"0." + b"3" * 500,
}
# What makes a whole body unreadable, as the value of one key.
UNREADABLE = {
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "a hundred thousand brackets": b"[" * 100_000 + b"]" * 100_000,
    "more levels than can be stored": b"[" * 400 + b"]" * 400,
}


def beside(value: bytes, *names: str) -> bytes:
    """Return JSON members of which ``value`` is the value, and where it is a text a key too; each name twice."""
    members = [b'"%s": "?", "%s": %s' % (name.encode(), name.encode(), value) for name in names]
    if value.startswith(b'"'):
        members.append(b"%s: {%s: [%s]}" % (value, value, value))
    return b", ".join(members)


@dataclass
class Tamper:
    """``members`` are put at the end of the last JSON object of each answer to a path that has ``where`` in it."""

    target: str
    members: bytes = b""
    where: str = ""
    struck: int = 0

    def __call__(self, path: str, body: bytes) -> bytes:
        """Return what the house is to see."""
        head, brace, tail = body.rpartition(b"}")
        if not self.members or self.where not in path or not brace:
            return body
        self.struck += 1
        return head + b", " + self.members + brace + tail

    def stop(self) -> None:
        """Let the answers be."""
        self.members = b""


@asynccontextmanager
async def tampered(target: str) -> AsyncIterator[tuple[str, Tamper]]:
    """Stand before ``target``; yields the address to use instead of it, and what changes the answers."""
    url = URL(target)
    tamper = Tamper(str(url.origin()))
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        TestServer(_app(session, tamper), host="127.0.0.1") as server,
    ):
        yield str(server.make_url(url.path)).rstrip("/"), tamper


def _app(session: aiohttp.ClientSession, tamper: Tamper) -> web.Application:
    async def forward(request: web.Request) -> web.Response:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in {*HOPS, "host"}}
        url = tamper.target + request.raw_path
        async with session.request(request.method, url, data=await request.read(), headers=headers) as answer:
            body = await answer.read()
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOPS}
        if "json" in kept.get("Content-Type", ""):
            body = tamper(request.path, body)
        return web.Response(status=answer.status, body=body, headers=kept)

    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{tail:.*}", forward)
    return app
