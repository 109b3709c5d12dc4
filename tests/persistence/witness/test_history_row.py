"""A database that was replaced, restored or rewound is known as such, and nothing else is."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
import pytest_asyncio
import sqlalchemy as sa

from operations.restored import restore
from persistence import witness as history
from persistence.conversations.sessions import RedisLine, connect
from persistence.db.engine import Database
from persistence.witness import KEY, HistoryWord, Keepers, Standing, Witness
from tests.owner import as_owner
from tests.patience import PATIENCE
from tests.stored_work import clear, emission

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from persistence.db.connection import Connection


ANOTHER = """
INSERT INTO nfse_emissao OVERRIDING SYSTEM VALUE
SELECT (jsonb_populate_record(e, jsonb_build_object('id', e.id + 1000, 'id_integracao', 'another', 'revisao', 9))).*
FROM nfse_emissao e
"""
WAITS = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%UPDATE historia%'"


@pytest_asyncio.fixture(loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    """A database without a history."""
    opened = await Database.open(database_url, size=3)
    await clear(opened)
    await as_owner(opened.pool, "TRUNCATE historia")
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="module")
async def line(redis_url: str) -> AsyncIterator[RedisLine]:
    """An empty Redis."""
    redis = connect(redis_url, 2.0)
    await redis.flushdb()
    yield RedisLine(redis, 2.0)
    await redis.aclose()


async def _look(database: Database, witness: Witness) -> Standing:
    async with database.transaction() as connection:
        return await witness.look(connection)


async def _beat(database: Database, witness: Witness) -> HistoryWord | None:
    async with database.transaction() as connection:
        return await witness.beat(connection)


async def test_an_installation_begins_without_doubt(database: Database) -> None:
    """Neither the first start nor the first one after the migration, with invoices there, stops anything."""
    assert await _look(database, Witness()) == Standing(None, None)
    await as_owner(database.pool, "TRUNCATE historia")
    await emission(database)
    assert await _look(database, Witness()) == Standing(None, None)
    assert await _beat(database, Witness()) == HistoryWord(
        0, 1, await database.pool.fetchval("SELECT max(id) FROM nfse_emissao")
    )


@pytest.mark.parametrize(
    ("changed", "doubt"),
    [
        ("servidor = '1'", "another server"),
        ("linha = linha + 1", "another timeline"),
        ("banco = '1:2'", "another database"),
        ("maior_emissao = maior_emissao + 1", "something is missing"),
    ],
)
async def test_another_server_timeline_or_copy_is_doubted_until_somebody_says_so(
    database: Database, changed: str, doubt: str
) -> None:
    """The doubt is stored, so that every process has it; the row moves on only after ``prosa restaurado``."""
    await _look(database, Witness())
    await database.pool.execute(f"UPDATE historia SET {changed}")  # noqa: S608 - rows of this module
    assert (await _look(database, Witness())).doubt == doubt
    await database.pool.execute("UPDATE historia SET maior_emissao = 0")
    assert (await _look(database, Witness())).doubt == doubt
    assert await _beat(database, Witness()) is None
    await restore(database, [])
    standing = await _look(database, Witness())
    assert standing.doubt is None
    assert standing.restored_at is not None
    assert await _beat(database, Witness()) is not None


async def test_a_rewound_database_is_known_by_what_was_seen_of_it(database: Database) -> None:
    """Same server, same tables, fewer beats or fewer emissions: who saw more says so, and who saw nothing cannot."""
    seen, other = Witness(), Witness()
    word = await _beat(database, seen)
    assert word is not None
    seen.heard(word)
    assert (await _look(database, seen)).doubt is None
    await database.pool.execute("UPDATE historia SET batida = batida - 1")
    assert (await _look(database, other)).doubt is None
    assert (await _look(database, seen)).doubt == "something is missing"
    await restore(database, [])
    assert (await _look(database, seen)).doubt is None
    now = await _beat(database, seen)
    assert now is not None
    lost = Witness()
    lost.heard(replace(now, emission=now.emission + 1))
    assert (await _look(database, lost)).doubt == "something is missing"


async def test_a_history_that_is_accepted_while_it_is_looked_at_is_not_doubted(database: Database) -> None:
    """What a process read before the operator's word is no doubt of the history after it."""
    await _look(database, Witness())
    await database.pool.execute("UPDATE historia SET linha = linha + 1")
    async with database.transaction() as operator:
        await history.accept(operator)
        looking = asyncio.create_task(_look(database, Witness()))
        async with asyncio.timeout(PATIENCE):
            while not await database.pool.fetchval(WAITS):  # noqa: ASYNC110 - the database has no event for it
                await asyncio.sleep(0.01)
    assert (await looking).doubt is None
    assert await database.pool.fetchval("SELECT suspeita FROM historia") is None


async def test_what_is_rolled_back_was_never_seen(database: Database) -> None:
    """An order's own transaction sees its invoice; when it fails, the database lacks nothing."""
    witness = Witness()
    await emission(database)
    assert await _beat(database, witness) is not None
    with suppress(ConnectionError):
        async with database.transaction() as connection:
            await connection.execute(sa.text(ANOTHER))
            assert (await witness.look(connection)).doubt is None
            raise ConnectionError
    assert (await _look(database, witness)).doubt is None


async def test_what_is_learnt_while_the_server_answers_is_no_gap(database: Database) -> None:
    """A look compares with what was known when it asked: its answer is older than what others hear meanwhile."""
    witness = Witness()
    word = await _beat(database, witness) or HistoryWord()

    class Slow:
        """A connection whose first answer comes after somebody else's beat."""

        def __init__(self, connection: Any) -> None:
            self._connection = connection

        async def execute(self, *arguments: Any) -> Any:
            answer = await self._connection.execute(*arguments)
            witness.heard(replace(word, beat=word.beat + 1))
            return answer

    async with database.transaction() as connection:
        assert (await witness.look(cast("Connection", Slow(connection)))).doubt is None
    assert (await _look(database, witness)).doubt == "something is missing"


async def test_a_copy_from_before_the_last_restore_is_known(database: Database) -> None:
    """What an operator accepted is a history of its own: a later copy of the one before does not pass for it."""
    await restore(database, [])
    word = await _beat(database, Witness())
    assert word is not None
    await database.pool.execute("UPDATE historia SET restaurado_em = NULL, batida = 1000")
    told = Witness()
    told.heard(word)
    assert (await _look(database, told)).doubt == "something is missing"


async def test_redis_and_the_file_remember_each_alone(database: Database, line: RedisLine, tmp_path: Path) -> None:
    """Either may lose everything; both empty is nothing known, which stops nothing."""
    file = tmp_path / "historia.json"
    keepers = Keepers(line, file)
    assert await keepers.recall() == HistoryWord()
    await keepers.keep(HistoryWord(5, 7, 9))
    assert await Keepers(line).recall() == HistoryWord(5, 7, 9)
    for slow, newest in ((HistoryWord(5, 6, 10), HistoryWord(5, 7, 9)), (HistoryWord(6, 1, 1), HistoryWord(6, 1, 1))):
        await Keepers(line).keep(slow)
        assert await Keepers(line).recall() == newest
    await line.ask("SET", KEY, "cut")
    await Keepers(line).keep(HistoryWord(5, 7, 9))
    assert await Keepers(line).recall() == HistoryWord(5, 7, 9)
    await line.ask("FLUSHDB")
    assert await Keepers(line).recall() == HistoryWord()
    assert await keepers.recall() == HistoryWord(5, 7, 9)
    file.write_text('{"cut')
    assert await keepers.recall() == HistoryWord()
    unwritable = Keepers(line, tmp_path / "none" / "historia.json")
    await unwritable.keep(HistoryWord(1, 1, 1))
    assert await unwritable.recall() == HistoryWord(1, 1, 1)


def test_words_are_joined_within_one_history() -> None:
    """The later accepted history counts alone; of one history, the most of each."""
    assert HistoryWord(0, 9, 3).joined(HistoryWord(0, 2, 8)) == HistoryWord(0, 9, 8)
    assert HistoryWord(0, 9, 3).joined(HistoryWord(1, 2, 1)) == HistoryWord(1, 2, 1)
    assert HistoryWord(1, 0, 0).knows_more(HistoryWord(0, 9, 9))
    assert not HistoryWord(0, 9, 9).knows_more(HistoryWord(1, 0, 0))
