from __future__ import annotations

import gc
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING

import asyncpg
import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.db import connection as module
from persistence.db.connection import RowCountError, is_objection, is_outage
from persistence.db.engine import Database

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

things = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text),
    sa.Column("price", sa.Numeric(12, 2)),
    sa.Column("data", JSONB),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(owner_url: str) -> AsyncIterator[Database]:
    database = await Database.open(owner_url)
    await database.pool.execute(
        "CREATE TABLE things (id serial PRIMARY KEY, name text, price numeric(12,2), data jsonb);"
        "CREATE TABLE others (id serial PRIMARY KEY, name text)"
    )
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await opened.pool.execute("TRUNCATE things, others")
    return opened


async def test_values_come_back_as_they_went_in(database: Database) -> None:
    """Text, money, JSON and nothing; by name, as an attribute and by position."""
    async with database.transaction() as connection:
        values = {"name": "ção", "price": Decimal("1.10"), "data": {"a": [1, "é"]}}
        row_id = (await connection.execute(things.insert().returning(things.c.id), values)).scalar_one()
        await connection.execute(things.insert(), {"name": None, "price": None, "data": None})
        row = (await connection.execute(sa.select(things).where(things.c.id == row_id))).one()
        empty = (await connection.execute(sa.select(things).where(things.c.data.is_(None)))).one()
    assert (row.name, row["price"], row[3]) == ("ção", Decimal("1.10"), {"a": [1, "é"]})
    assert (empty.name, empty.price, empty.data) == (None, None, None)
    with pytest.raises(AttributeError):
        _ = row.colour


async def test_what_a_statement_touched_is_counted(database: Database) -> None:
    """With and without RETURNING, of Core and of text, one by one and many at once."""
    async with database.alone() as connection:
        added = await connection.execute(things.insert(), [{"name": n} for n in "abc"])
        assert added.rowcount == 3
        assert (await connection.execute(things.update().values(price=1))).rowcount == 3
        some = sa.text("WITH x AS (SELECT 'a' AS name) UPDATE things t SET price = 2 FROM x WHERE t.name = x.name")
        assert (await connection.execute(some)).rowcount == 1
        gone = await connection.exec_driver_sql("DELETE FROM things WHERE name = $1 RETURNING name", ("b",))
        assert (gone.rowcount, gone.scalars()) == (1, ["b"])
        assert (await connection.exec_driver_sql("DELETE FROM things WHERE false")).rowcount == 0


async def test_one_means_one(database: Database) -> None:
    """None and several are said, never the first of several."""
    async with database.alone() as connection:
        nobody = await connection.execute(sa.select(things))
        assert (nobody.first(), nobody.one_or_none(), nobody.scalar_one_or_none(), nobody.all()) == (
            None,
            None,
            None,
            [],
        )
        with pytest.raises(RowCountError):
            nobody.scalar_one()
        await connection.execute(things.insert(), [{"name": "a"}, {"name": "b"}])
        both = await connection.execute(sa.select(things.c.name).order_by(things.c.id))
        assert [row.name for row in both] == ["a", "b"]
        for only in (both.one, both.one_or_none, both.scalar_one, both.scalar_one_or_none):
            with pytest.raises(RowCountError):
                only()


async def test_lists_fixed_values_and_given_ones_meet_in_one_statement(database: Database) -> None:
    """A list in the statement, a value of its own and one that is given each time; a missing one is an error."""
    statement = sa.select(things.c.name).where(
        things.c.name.in_(["a", "b"]), things.c.price > 1, things.c.name != sa.bindparam("not_this")
    )
    async with database.alone() as connection:
        await connection.execute(things.insert(), [{"name": n, "price": p} for n, p in (("a", 2), ("b", 2), ("c", 9))])
        assert (await connection.execute(statement, {"not_this": "a"})).scalars() == ["b"]
        assert (await connection.execute(statement, {"not_this": "b"})).scalars() == ["a"]
        with pytest.raises(KeyError):
            await connection.execute(statement)
        given = sa.select(things).where(things.c.name.in_(sa.bindparam("names", expanding=True)))
        with pytest.raises(TypeError):
            await connection.execute(given, {"names": ["a"]})


async def test_what_is_given_takes_the_place_of_what_the_statement_holds(database: Database) -> None:
    """A statement with values of its own may be given others, and others again the next time."""
    statement = sa.select(things.c.name).where(things.c.name == sa.bindparam("_name", "a"), things.c.price > 1)
    async with database.alone() as connection:
        await connection.execute(things.insert(), [{"name": n, "price": 2} for n in "ab"])
        assert (await connection.execute(statement)).scalars() == ["a"]
        assert (await connection.execute(statement, {"_name": "b"})).scalars() == ["b"]
        assert (await connection.execute(statement)).scalars() == ["a"]


async def test_an_exception_takes_everything_back_and_a_refusal_is_asyncpgs(database: Database) -> None:
    """Nothing of a transaction that failed stays."""
    with pytest.raises(asyncpg.UniqueViolationError):
        async with database.transaction() as connection:
            await connection.execute(things.insert(), [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}])
    assert await database.pool.fetchval("SELECT count(*) FROM things") == 0


async def test_what_failed_is_told_although_the_connection_died_with_it(database: Database) -> None:
    """Not that there was nothing left to roll back: a cancelled lane, or a bug, must be seen as that."""

    async def dies() -> None:
        async with database.transaction() as connection:
            with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                await connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await dies()


async def test_a_value_that_is_no_json_is_an_objection_and_no_outage(database: Database) -> None:
    """An outage would be tried again for ever."""
    async with database.transaction() as connection:
        with pytest.raises(asyncpg.DataError) as refused:
            await connection.execute(things.insert(), {"data": {"a": object()}})
    assert is_objection(refused.value)
    assert not is_outage(refused.value)


async def test_a_statement_is_compiled_once_and_forgotten_with_its_owner(database: Database) -> None:
    """Those made at import stay; one made for a single question leaves nothing behind."""
    statement = sa.select(things).where(things.c.name == sa.bindparam("name"))
    async with database.alone() as connection:
        await connection.execute(statement, {"name": "a"})
        compiled = module._STATEMENTS[statement]
        first = dict(compiled)
        await connection.execute(statement, {"name": "b"})
        assert compiled == first
        gc.collect()
        before = len(module._STATEMENTS)
        for n in range(20):
            await connection.execute(sa.select(things).where(things.c.id == n))
        gc.collect()
        assert len(module._STATEMENTS) <= before


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1", True),
        ("SELECT * FROM a FOR UPDATE", True),
        ("VALUES (1)", True),
        ("WITH x AS (UPDATE a SET b = 1 RETURNING id) SELECT count(*) FROM x", True),
        ("WITH x AS (SELECT 1) UPDATE a SET b = 'RETURNING ('", False),
        ("UPDATE a SET b = (SELECT 1)", False),
        ("UPDATE a SET b = 1 RETURNING id", True),
        ("INSERT INTO a SELECT 1", False),
        ("DELETE FROM a", False),
    ],
)
async def test_whether_a_statement_gives_rows_is_read_from_its_outermost_verb(sql: str, rows: bool) -> None:
    """A wrong guess would lose either the rows or the count."""
    assert module._gives_rows(sql) is rows


others = sa.Table("others", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.Text))


async def test_writes_nobody_waits_for_go_out_as_one_statement(database: Database) -> None:
    """One transaction id for all of them, and no second one: they committed themselves."""
    async with database.transaction() as connection:
        connection.later(things.insert(), {"name": "a", "price": None, "data": {"x": 1}}, rows=1)
        connection.later(others.insert(), {"name": "b"})
    rows = await database.pool.fetch(
        "SELECT name, xmin::text FROM things UNION ALL SELECT name, xmin::text FROM others"
    )
    assert [row["name"] for row in rows] == ["a", "b"]
    assert len({row["xmin"] for row in rows}) == 1


async def test_what_is_executed_afterwards_sees_what_was_to_be_written_later(database: Database) -> None:
    """Later means before the next statement, so that a program reads what it wrote; and in its order."""
    async with database.transaction() as connection:
        for name in "abc":
            connection.later(things.insert(), {"name": name})
        seen = (await connection.execute(sa.select(things.c.name).order_by(things.c.id))).scalars()
    async with database.alone() as connection:
        connection.later(things.insert(), {"name": "d"})
        connection.later(things.insert(), {"name": "e"})
    assert seen == ["a", "b", "c"]
    assert await database.pool.fetchval("SELECT string_agg(name, '' ORDER BY id) FROM things") == "abcde"


@pytest.mark.parametrize("read_first", [True, False])
async def test_a_write_that_finds_other_rows_than_it_must_undoes_all(database: Database, read_first: bool) -> None:
    """Whether or not a transaction had begun, nothing of it stands, and the caller hears its own error."""
    await database.pool.execute("INSERT INTO things (name) VALUES ('kept'), ('kept')")
    change = things.update().where(things.c.name == sa.bindparam("b_name")).values(price=1)
    for name, rows in (("nobody", 1), ("kept", 1), ("kept", 3)):
        with pytest.raises(LookupError, match="mine"):  # noqa: PT012 - the end of the transaction raises
            async with database.transaction() as connection:
                if read_first:
                    await connection.scalar(sa.select(sa.func.count()).select_from(things))
                connection.later(others.insert(), {"name": "lost"})
                connection.later(change, {"b_name": name}, rows=rows, otherwise=LookupError("mine"))
    assert await database.pool.fetchval("SELECT count(*) FROM others WHERE name = 'lost'") == 0
    assert await database.pool.fetchval("SELECT count(price) FROM things") == 0
    async with database.transaction() as connection:
        connection.later(change, {"b_name": "kept"}, rows=2, otherwise=LookupError("mine"))
    assert await database.pool.fetchval("SELECT count(price) FROM things") == 2


async def test_what_was_to_be_written_later_is_dropped_with_the_transaction(database: Database) -> None:
    """An exception before the end leaves no trace, with or without a statement before it."""
    for read_first in (True, False):
        with pytest.raises(ValueError, match="ours"):  # noqa: PT012 - the end of the transaction raises
            async with database.transaction() as connection:
                if read_first:
                    await connection.execute(things.insert(), {"name": "undone"})
                connection.later(things.insert(), {"name": "never"})
                raise ValueError("ours")
    assert await database.pool.fetchval("SELECT count(*) FROM things") == 0


async def test_a_transaction_without_statements_asks_nothing(database: Database) -> None:
    """What has nothing to write costs no round trip, and what fails at the end says what failed."""
    async with database.transaction():
        pass
    with pytest.raises(asyncpg.UniqueViolationError):  # noqa: PT012 - the end of the transaction raises
        async with database.transaction() as connection:
            connection.later(things.insert(), {"id": 1, "name": "a"})
            connection.later(others.insert(), {"name": "b"})
            connection.later(things.insert(), {"id": 1, "name": "c"})
    assert await database.pool.fetchval("SELECT count(*) FROM things") == 0
