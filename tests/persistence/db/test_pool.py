from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest
import pytest_asyncio

from persistence.db import engine as module
from persistence.db.connection import DatabaseAwayError, is_gone, is_outage, ran_out_of_time
from persistence.db.engine import Pool
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

PID = "SELECT pg_backend_pid()"


@pytest_asyncio.fixture(loop_scope="module")
async def pool(owner_url: str) -> AsyncIterator[Pool]:
    async def connect() -> Any:
        return await asyncpg.connect(owner_url, command_timeout=PATIENCE)

    opened = await Pool.open(connect, 2, timeout=PATIENCE)
    yield opened
    await opened.close()


async def _until(pool: Pool, query: str, pid: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await pool.fetchval(query, pid):  # noqa: ASYNC110 - the database has no event for it
            await asyncio.sleep(0.01)


async def test_a_connection_is_used_again(pool: Pool) -> None:
    """One after the other needs one connection; two at once need two."""
    first = {await pool.fetchval(PID) for _ in range(5)}
    async with pool.acquire() as one, pool.acquire() as two:
        both = {await one.fetchval(PID), await two.fetchval(PID)}
    assert len(first) == 1
    assert len(both) == 2
    assert await pool.fetchrow("SELECT 1 AS a, 'x' AS b") == (1, "x")
    assert [row["n"] for row in await pool.fetch("SELECT generate_series(1, 3) AS n")] == [1, 2, 3]
    assert await pool.execute("SELECT 1") == "SELECT 1"


async def test_who_finds_all_taken_waits_for_one_or_gives_up(pool: Pool) -> None:
    """Never more than its size; the wait ends when one comes back, or with a clear error."""
    async with pool.acquire() as first, pool.acquire() as second:
        with pytest.raises(DatabaseAwayError, match="busy") as busy:
            async with pool.acquire(timeout=0.01):
                pass
        assert is_outage(busy.value)
        assert not ran_out_of_time(busy.value)
        waiting = asyncio.create_task(pool.fetchval(PID))
        await asyncio.sleep(0)
        pids = {await first.fetchval(PID), await second.fetchval(PID)}
        assert not waiting.done()
    async with asyncio.timeout(PATIENCE):
        assert await waiting in pids


async def test_a_connection_that_the_server_cut_is_replaced(pool: Pool, owner_url: str) -> None:
    """After a restart the next user meets a live connection, not the corpse of the old one."""
    pid = await pool.fetchval(PID)
    other = await asyncpg.connect(owner_url)
    async with pool.acquire() as connection:
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _: gone.set())
        await other.execute("SELECT pg_terminate_backend($1)", pid)
        async with asyncio.timeout(PATIENCE):
            await gone.wait()
    assert await pool.fetchval(PID) != pid
    await other.close()


async def test_a_statement_nobody_waits_for_is_cancelled_and_its_connection_dropped(pool: Pool) -> None:
    """A cancelled caller leaves no lock, and the next one does not wait behind its statement."""
    await pool.execute("CREATE TABLE IF NOT EXISTS held (id int)")
    taken: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def slow() -> None:
        async with pool.acquire() as connection:
            taken.set_result(await connection.fetchval(PID))
            await connection.execute("LOCK held; SELECT pg_sleep(60)")

    task = asyncio.create_task(slow())
    pid = await taken
    await _until(pool, "SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'", pid)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(PATIENCE), pool.acquire() as connection, connection.transaction():
        await connection.execute("LOCK held")
    await _until(pool, "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $1", pid)
    await pool.execute("DROP TABLE held")


async def test_a_value_that_cannot_be_written_spoils_no_other_statement(pool: Pool) -> None:
    """The driver leaves such a connection half-way through a message; nobody gets it again."""
    pid = await pool.fetchval(PID)
    with pytest.raises(asyncpg.DataError):
        await pool.fetchval("SELECT $1::int", "no number")
    assert await pool.fetchval(PID) != pid


async def test_an_open_transaction_is_not_handed_on(pool: Pool) -> None:
    """Whoever forgets to end one keeps its locks no longer than its connection."""
    async with pool.acquire() as connection:
        await connection.execute("BEGIN")
        pid = await connection.fetchval(PID)
    assert await pool.fetchval(PID) != pid


async def test_a_server_that_is_no_longer_the_primary_costs_one_refusal(owner_url: str) -> None:
    """After a fail-over the open connections lead to a server that only reads: the first refusal replaces them all."""

    async def connect() -> Any:
        return await asyncpg.connect(owner_url, command_timeout=PATIENCE)

    pool = await Pool.open(connect, 8, timeout=PATIENCE)
    await pool.execute("CREATE TABLE IF NOT EXISTS written (n int)")
    lent = [pool.acquire() for _ in range(8)]
    for one in lent:
        connection = await one.__aenter__()
        await connection.execute("SET default_transaction_read_only = on")  # as on the old primary; new ones may write
    for one in lent[1:]:
        await one.__aexit__(None, None, None)
    refused: list[Exception] = []
    for number in range(40):
        try:
            await pool.execute("INSERT INTO written VALUES ($1)", number)
        except asyncpg.ReadOnlySQLTransactionError as error:
            refused.append(error)
    assert len(refused) == 1
    assert is_outage(refused[0])
    assert is_gone(refused[0])
    await lent[0].__aexit__(None, None, None)  # lent before, and not handed on
    async with pool.acquire() as one, pool.acquire() as two:
        await one.execute("INSERT INTO written VALUES (0)")
        await two.execute("INSERT INTO written VALUES (0)")
    assert await pool.fetchval("SELECT count(*) FROM written") == 41
    await pool.execute("DROP TABLE written")
    await pool.close()


async def test_a_statement_that_was_cancelled_costs_its_connection_alone(pool: Pool) -> None:
    """A statement's own time-out says nothing about the server: the others stay."""
    async with pool.acquire() as one, pool.acquire() as two:
        pids = await one.fetchval(PID), await two.fetchval(PID)
    slow: list[int] = []

    async def too_slow() -> None:
        async with pool.acquire() as connection:
            slow.append(await connection.fetchval(PID))
            await connection.execute("SET statement_timeout = '20ms'")
            await connection.execute("SELECT pg_sleep(10)")

    with pytest.raises(asyncpg.QueryCanceledError) as cancelled:
        await too_slow()
    assert ran_out_of_time(cancelled.value)
    assert not is_gone(cancelled.value)
    assert await pool.fetchval(PID) in set(pids) - set(slow)


async def test_an_error_of_the_database_costs_no_connection(pool: Pool) -> None:
    """A statement that PostgreSQL refuses leaves the connection as good as before."""
    pid = await pool.fetchval(PID)
    with pytest.raises(asyncpg.UndefinedTableError):
        await pool.fetch("SELECT * FROM nowhere")
    with pytest.raises(ValueError, match="ours"):
        async with pool.acquire() as connection, connection.transaction():
            raise ValueError("ours")
    assert await pool.fetchval(PID) == pid


async def test_a_connection_that_slept_too_long_is_not_trusted(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something between us and the database may have forgotten it, and its user would wait for nothing."""
    pid = await pool.fetchval(PID)
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.0)
    assert await pool.fetchval(PID) != pid


async def test_a_database_that_is_away_takes_no_place(owner_url: str) -> None:
    """Failing to connect says so each time, and as many can try again afterwards."""
    away = [False]

    async def connect() -> Any:
        if away[0]:
            raise ConnectionRefusedError
        return await asyncpg.connect(owner_url)

    pool = await Pool.open(connect, 1, timeout=0.01)
    async with pool.acquire() as connection:
        await connection.close()
    away[0] = True
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            await pool.fetchval(PID)
    away[0] = False
    assert await pool.fetchval(PID)
    await pool.close()


async def test_closing_waits_for_what_is_lent_and_lends_no_more(owner_url: str) -> None:
    """Work under way ends well; later work is refused as an outage, so that it is kept."""

    async def connect() -> Any:
        return await asyncpg.connect(owner_url)

    pool = await Pool.open(connect, 1, timeout=PATIENCE)
    async with pool.acquire() as connection:
        closing = asyncio.create_task(pool.close())
        await asyncio.sleep(0)
        late = asyncio.create_task(pool.fetchval(PID))
        await asyncio.sleep(0)
        assert not closing.done()
        assert await connection.fetchval("SELECT 1") == 1
    async with asyncio.timeout(PATIENCE):
        await closing
        with pytest.raises(asyncpg.InterfaceError, match="closed") as refused:
            await late
    assert is_outage(refused.value)
    assert connection.is_closed()
