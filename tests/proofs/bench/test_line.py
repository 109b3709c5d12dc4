from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web

from bot.process.run import serving
from proofs.bench.load.line import CONNECTIONS, STATUSES, Line
from proofs.bench.machine.environment import APP_SECRET
from tests.patience import PATIENCE
from webhooks.bodies import signed_by_any
from webhooks.whatsapp_payload import read_notification

if TYPE_CHECKING:
    from persistence.queue.inbox import Arrival


class House:
    """A webhook that only writes down what arrived."""

    def __init__(self, *, closes: bool = False) -> None:
        self.arrivals: list[Arrival] = []
        self._arrived = asyncio.Condition()
        self._closes = closes

    def app(self) -> web.Application:
        """Listen where ours does."""
        app = web.Application()
        app.router.add_post("/webhooks/whatsapp", self.receive)
        return app

    async def receive(self, request: web.Request) -> web.Response:
        """Check the signature, and take it."""
        raw = await request.read()
        assert signed_by_any(raw, request.headers["X-Hub-Signature-256"], [APP_SECRET.encode()])
        self.arrivals += read_notification(raw).arrivals
        async with self._arrived:
            self._arrived.notify_all()
        answer = web.json_response({"status": "ok"})
        if self._closes:
            answer.force_close()
        return answer

    async def has(self, count: int) -> None:
        """Wait for so many arrivals."""
        async with asyncio.timeout(PATIENCE), self._arrived:
            await self._arrived.wait_for(lambda: len(self.arrivals) >= count)


async def test_a_message_of_ours_is_answered_and_its_ticks_come_as_webhooks() -> None:
    """Graph's answer names a wamid, the phone shows the message, and sent, delivered and read follow in order."""
    house = House()
    async with serving(house.app(), "127.0.0.1", 0) as address, Line() as line, aiohttp.ClientSession() as session:
        await line.connect(address)
        payload = {"to": "5511980000000", "text": {"body": "oi"}, "biz_opaque_callback_data": "7"}
        async with session.post(f"{line.url}/v1/1/messages", json=payload) as answer:
            wamid = (await answer.json())["messages"][0]["id"]
        async with session.post(f"{line.url}/v1/1/messages", json={"status": "read", "message_id": "x"}) as answer:
            assert await answer.json() == {"success": True}
        _, shown = await line.phone("5511980000000").hear(0)
        await line.text("5511980000000", "olá")
        await house.has(4)
    assert shown == payload
    assert line.sent == 1
    assert Counter(arrival.tipo for arrival in house.arrivals) == {"status": 3, "mensagem": 1}
    told = [a.payload["status"] for a in house.arrivals if a.tipo == "status"]
    assert [(status["id"], status["status"]) for status in told] == [(wamid, name) for name in STATUSES]
    assert line.refused == 0


async def test_a_connection_that_the_house_closed_is_replaced() -> None:
    """A house that closes each connection after its answer is told everything all the same, once."""
    house = House(closes=True)
    count = 2 * CONNECTIONS + 1
    async with serving(house.app(), "127.0.0.1", 0) as address, Line(()) as line:
        await line.connect(address)
        for number in range(count):
            await line.text("5511980000000", str(number))
        await house.has(count)
    assert len({arrival.chave for arrival in house.arrivals}) == count
    assert line.refused == 0
