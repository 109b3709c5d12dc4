"""What a house costs that nobody talks to, and what one invoice costs."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import asyncpg
import pytest
from pydantic import SecretStr

from bot.house import open_house
from bot.settings import Settings
from persistence.queue import backlog
from tests.patience import PATIENCE
from tests.road.road_people import open_road, until

STATEMENTS_PER_SECOND = 2.0
BEAT = "UPDATE historia"
OF_AN_INVOICE = 112  # statements, measured 101 to 107: ticks come one by one or together
BY_THE_CLOCK = (BEAT, "SELECT fila, momento", "expira_em < now()", "FROM propostas JOIN usuario", "SELECT NOT EXISTS")

Asked = list[tuple[float, str]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """When which statement was asked, on every connection opened from now on."""
    asked: Asked = []
    connect = asyncpg.connect

    async def counted(*where: Any, **how: Any) -> Any:
        connection = await connect(*where, **how)
        connection.add_query_logger(lambda said: asked.append((time.monotonic(), said.query)))
        return connection

    monkeypatch.setattr(asyncpg, "connect", counted)
    return asked


async def test_an_idle_house_asks_the_database_little(asked: Asked, database_url: str, redis_url: str) -> None:
    """Whatever loops there are: all of them together, counted between beats, when what a start asks is over."""

    def beats() -> list[float]:
        return [when for when, query in asked if BEAT in query]

    async def four() -> bool:
        return len(beats()) >= 4

    settings = Settings(
        whatsapp_phone_number_id="1",
        whatsapp_access_token=SecretStr("token-for-the-tests"),
        plugnotas_api_key=SecretStr("key-for-the-tests"),
        gateway_webhook_secret=SecretStr("webhook-for-the-tests"),
    )
    async with asyncio.timeout(PATIENCE), open_house(settings, database_url, redis_url) as house:
        rung = {*house.pumps, "lanes", "mailing"}  # the last where there is a mail server
        assert rung == set(re.findall(r"SELECT '(\w+)'", backlog._QUEUES)) - {"notices"}  # else only polled for
        stop = asyncio.Event()
        working = asyncio.create_task(house.work(stop))
        await until(four)
        stop.set()
        await working
    _, first, _, last = beats()[:4]
    between = [query.split("\n")[0][:60] for when, query in asked if first < when <= last]
    assert len(between) <= STATEMENTS_PER_SECOND * (last - first), between


async def test_an_invoice_asks_the_database_little(asked: Asked, database_url: str, redis_url: str) -> None:
    """From the message to the last tick of both files, besides what goes by the clock; the house is warm."""
    async with open_road(database_url, redis_url) as road:
        for _ in range(2):
            ana = await road.person()
            asked.clear()
            await ana.issue()
            await road.settled()
            found = [query for _, query in asked if not any(each in query for each in BY_THE_CLOCK)]
    assert len(found) <= OF_AN_INVOICE, [query[:60] for query in found]
