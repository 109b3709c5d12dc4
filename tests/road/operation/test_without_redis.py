from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp
import pytest

from tests.road.road_people import PADARIA, open_road

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Road


@pytest.fixture(scope="module")
async def open_for_module(database_url: str) -> AsyncIterator[Road]:
    """A road whose Redis is away from beginning to end."""
    async with open_road(database_url, "redis://127.0.0.1:1/0") as road:
        yield road


async def test_without_redis_the_road_is_open(road: Road) -> None:
    """With Redis away an invoice is issued all the same, field by field and corrected."""
    ana = await road.person()
    await ana.say("nota de 1500")
    await ana.say(f"{PADARIA}, consultoria")
    await ana.say("na verdade é 1.800")
    await ana.touch("Confirmar")
    pdf, _ = await ana.files()
    assert pdf.startswith(b"%PDF")
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1800


async def test_without_redis_webhooks_are_taken(road: Road) -> None:
    """Redis is not on the way of an acknowledgement: the process is healthy, and says what it misses."""
    async with aiohttp.ClientSession() as session, session.get(f"{road.address}/readyz") as response:
        said = await response.text()
    assert response.status == 200, said
    assert "redis" in said
