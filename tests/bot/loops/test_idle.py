"""What a house costs that nobody talks to."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import asyncpg
from pydantic import SecretStr

from bot.house import open_house
from bot.settings import Settings
from tests.patience import PATIENCE
from tests.road.road_people import until

if TYPE_CHECKING:
    import pytest

STATEMENTS_PER_SECOND = 2.0
BEAT = "UPDATE historia"


async def test_an_idle_house_asks_the_database_little(
    database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever loops there are: all of them together, counted between beats, when what a start asks is over."""
    asked: list[tuple[float, str]] = []
    connect = asyncpg.connect

    async def counted(*where: Any, **how: Any) -> Any:
        connection = await connect(*where, **how)
        connection.add_query_logger(lambda said: asked.append((time.monotonic(), said.query)))
        return connection

    async def beats() -> list[float]:
        return [when for when, query in asked if BEAT in query]

    async def four() -> bool:
        return len(await beats()) >= 4

    monkeypatch.setattr(asyncpg, "connect", counted)
    settings = Settings(
        whatsapp_phone_number_id="1",
        whatsapp_access_token=SecretStr("token-for-the-tests"),
        plugnotas_api_key=SecretStr("key-for-the-tests"),
        gateway_webhook_secret=SecretStr("webhook-for-the-tests"),
    )
    async with asyncio.timeout(PATIENCE), open_house(settings, database_url, redis_url) as house:
        stop = asyncio.Event()
        working = asyncio.create_task(house.work(stop))
        await until(four)
        stop.set()
        await working
    _, first, _, last = (await beats())[:4]
    between = [query.split("\n")[0][:60] for when, query in asked if first < when <= last]
    assert len(between) <= STATEMENTS_PER_SECOND * (last - first), between
