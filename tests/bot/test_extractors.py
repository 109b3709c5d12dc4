from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest_asyncio

from bot.wiring.outside import MeteredExtractor
from extractor.contract import Context
from extractor.hybrid import HybridExtractor
from extractor.model.openai_client import ModelClient
from extractor.model.prompt import NOTHING
from persistence import outside
from persistence.db.engine import Database
from proofs.sandbox.model import ModelSimulator, Reply
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HOJE = Context(hoje=date(2026, 11, 21))
UNREAD = "500 reais, aquele lance maneiro lá que você me indicou"
ANSWER = {**NOTHING, "ato": "informar", "descricao": "lance maneiro"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def server() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator() as simulator:
        simulator.usage = (200, 40)
        yield simulator


@pytest_asyncio.fixture(loop_scope="module")
async def hybrid(server: ModelSimulator) -> AsyncIterator[HybridExtractor]:
    async with HybridExtractor(
        ModelClient(api_key="k", base_url=f"{server.url}/v1", model="m", deadline=5)
    ) as extractor:
        yield extractor


async def _days(database: Database, days: int = 7) -> list[tuple[Any, ...]]:
    async with database.transaction() as connection:
        return [tuple(row)[1:] for row in await outside.model_use_per_day(connection, days)]


async def test_what_readings_take_adds_up_by_day(
    database: Database, server: ModelSimulator, hybrid: HybridExtractor
) -> None:
    """Two questions of a day are one row of its model; a reading by rules adds nothing."""
    counted = MeteredExtractor(hybrid, database, "um-modelo")
    server.say(ANSWER, Reply(status=500), ANSWER)
    first = await counted.extract(UNREAD, HOJE)
    assert [c.trecho for c in first.candidates if c.origem == "modelo"] == ["lance maneiro"]
    await counted.extract(UNREAD, HOJE)
    await counted.extract("ajuda", HOJE)
    assert await _days(database) == [("um-modelo", 3, 1, 400, 80)]
    await database.pool.execute("UPDATE modelo_uso SET dia = dia - 7")
    assert await _days(database) == []
    assert await _days(database, 8) == [("um-modelo", 3, 1, 400, 80)]


async def test_a_count_costs_no_turn(database: Database, server: ModelSimulator, hybrid: HybridExtractor) -> None:
    """When the count can't be stored, the words were read all the same."""
    await as_owner(database.pool, "ALTER TABLE modelo_uso RENAME TO fora")
    server.say(ANSWER)
    reading = await MeteredExtractor(hybrid, database, "um-modelo").extract(UNREAD, HOJE)
    await as_owner(database.pool, "ALTER TABLE fora RENAME TO modelo_uso")
    assert reading.modelo_usado
