"""A bot that only listens: what the simulators' webhooks meet in these tests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from tests.patience import PATIENCE


@dataclass
class Listener:
    """Stores every webhook; answers with ``status`` and, before that, each status of ``script`` once."""

    port: int = 0
    status: int = 200
    script: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    runner: web.AppRunner | None = None
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hook"

    async def open(self) -> None:
        """Listen; a second time on the same port."""
        app = web.Application()
        app.router.add_post("/{path:.*}", self.take)  # the routes of any bot
        app.router.add_get("/hook", self.handshake)
        self.runner = web.AppRunner(app, access_log=None)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", self.port).start()
        self.port = self.runner.addresses[0][1]

    async def close(self) -> None:
        """Be away."""
        if self.runner is not None:
            await self.runner.cleanup()
            self.runner = None

    async def take(self, request: web.Request) -> web.Response:
        """Store a webhook."""
        self.bodies.append(await request.read())
        self.headers.append(dict(request.headers))
        async with self.news:
            self.news.notify_all()
        return web.Response(status=self.script.pop(0) if self.script else self.status)

    async def handshake(self, request: web.Request) -> web.Response:
        """Echo Meta's challenge."""
        known = request.query.get("hub.verify_token") == "sandbox-verify-token"
        return web.Response(text=request.query["hub.challenge"]) if known else web.Response(status=403)

    async def heard(self, count: int) -> None:
        """Return once ``count`` webhooks came; raises ``TimeoutError``."""
        async with asyncio.timeout(PATIENCE), self.news:
            await self.news.wait_for(lambda: len(self.bodies) >= count)


@pytest.fixture
async def listener():
    bot = Listener()
    await bot.open()
    yield bot
    await bot.close()
