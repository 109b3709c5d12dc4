"""The database: pools, transactions, and the flag by which HTTP clients refuse to run inside one.

Owns the two spellings of a database address; it opens nothing.

Up to ``size`` connections to PostgreSQL, handed on only when their last use has ended.

What asyncpg's own pool does otherwise is in docs/adr/0022-libraries-and-servers.md. Nobody here changes a session,
so nothing is to be reset.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import asyncpg
import orjson
from sqlalchemy.engine import URL, make_url

from persistence.db.connection import Connection, DatabaseAwayError, Row, is_gone
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    Connect = Callable[[], Awaitable[asyncpg.Connection[Any]]]
    Enter = Callable[[asyncpg.Connection[Any]], Awaitable[None]]


PLAIN = "postgresql"
WITH_DRIVER = "postgresql+asyncpg"
KNOWN = {"postgres", PLAIN, WITH_DRIVER}  # "postgres" is what several hosting companies hand out


def for_asyncpg(dsn: str) -> str:
    """`dsn` as `asyncpg.connect` takes it: a plain `postgresql://` address, password included."""
    return _known(dsn).set(drivername=PLAIN).render_as_string(hide_password=False)


def for_sqlalchemy(dsn: str) -> URL:
    """`dsn` as `create_async_engine` takes it.

    SQLAlchemy hands the query to asyncpg as keyword arguments, where libpq's `sslmode` is called `ssl`.
    """
    url = _known(dsn).set(drivername=WITH_DRIVER)
    mode = url.query.get("sslmode")
    if mode is None:
        return url
    return url.difference_update_query(["sslmode"]).update_query_dict({"ssl": mode})


def _known(dsn: str) -> URL:
    url = make_url(dsn)
    if url.drivername not in KNOWN:
        raise ValueError(f"PROSA_DATABASE_URL must be a postgresql:// address, not {url.drivername}://")
    return url


IDLE_SECONDS = 300.0  # then a connection may have been forgotten by something between us and the database
CLOSE_SECONDS = 5.0  # for a polite goodbye to the database; then the socket is closed anyway
# What may leave a connection in the middle of something: a statement whose end nobody waited for, a message half said.
_SUSPECT = (
    TimeoutError,
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.DataError,
    asyncpg.PostgresConnectionError,
    asyncpg.QueryCanceledError,  # whose cancellation may come late, and meet the next statement
)


class Pool:
    """Opens a connection when none is free; one that broke, or was left in the middle of something, is dropped.

    One that says that its server is gone, or no longer the primary, speaks for all that were opened before: where they
    lead is found out anew, and none of them is handed out again.
    """

    def __init__(self, connect: Connect, size: int, *, timeout: float) -> None:
        """``timeout`` is how long ``acquire`` waits for a free connection, in seconds, unless told otherwise."""
        self._connect = connect
        self._size = size
        self._timeout = timeout
        self._places = asyncio.Semaphore(size)
        self._idle: deque[tuple[asyncpg.Connection[Any], float]] = deque()  # the one used last is on the right
        self.generation = 0  # of connections: grows when all that are open are to be replaced
        self._leaving: set[asyncio.Task[None]] = set()
        self._closed = False

    @classmethod
    async def open(cls, connect: Connect, size: int, *, timeout: float) -> Self:  # noqa: ASYNC109 - as in ``__init__``
        """Connect once, so that a wrong address is told at once. Raises what ``connect`` raises."""
        pool = cls(connect, size, timeout=timeout)
        pool._idle.append((await connect(), time.monotonic()))
        return pool

    def acquire(self, timeout: float | None = None) -> Borrowed:
        """Lend a connection to an ``async with``.

        Raises ``DatabaseAwayError`` when none is free in time, ``InterfaceError`` when closed, or what connecting does.
        """
        return Borrowed(self, self._timeout if timeout is None else timeout)

    async def fetch(self, sql: str, *arguments: Any, timeout: float | None = None) -> list[Any]:  # noqa: ASYNC109
        """Run one statement and return its rows; ``timeout`` in seconds, as in the three below."""
        async with self.acquire() as connection:
            return list(await connection.fetch(sql, *arguments, timeout=timeout))

    async def fetchrow(self, sql: str, *arguments: Any, timeout: float | None = None) -> Any:  # noqa: ASYNC109
        """Run one statement and return its first row, ``None`` without rows."""
        async with self.acquire() as connection:
            return await connection.fetchrow(sql, *arguments, timeout=timeout)

    async def fetchval(self, sql: str, *arguments: Any, timeout: float | None = None) -> Any:  # noqa: ASYNC109
        """Run one statement and return the first column of its first row, ``None`` without rows."""
        async with self.acquire() as connection:
            return await connection.fetchval(sql, *arguments, timeout=timeout)

    async def execute(self, sql: str, *arguments: Any, timeout: float | None = None) -> str:  # noqa: ASYNC109
        """Run one statement, or several without arguments, and return PostgreSQL's word for what was done."""
        async with self.acquire() as connection:
            return str(await connection.execute(sql, *arguments, timeout=timeout))

    async def close(self) -> None:
        """Wait until everything that was lent is back, and close it all."""
        self._closed = True
        for _ in range(self._size):
            await self._places.acquire()
        await asyncio.gather(*(_leave(connection) for connection, _ in self._idle))
        self._idle.clear()
        for _ in range(self._size):
            self._places.release()  # whoever still waits is told that it is closed

    async def take(self, timeout: float) -> asyncpg.Connection[Any]:  # noqa: ASYNC109
        """Return a connection for ``Borrowed``, which gives it back. Raises as ``acquire`` says."""
        if self._places.locked():
            try:
                async with asyncio.timeout(timeout):
                    await self._places.acquire()
            except TimeoutError as error:
                raise DatabaseAwayError("all connections to the database are busy") from error
        else:
            await self._places.acquire()
        try:
            return self._waiting() or await self._connect()
        except BaseException:
            self._places.release()
            raise

    def _waiting(self) -> asyncpg.Connection[Any] | None:
        if self._closed:
            raise asyncpg.InterfaceError("the pool is closed; nothing was asked of the database")
        fresh = time.monotonic() - IDLE_SECONDS
        while self._idle and self._idle[0][1] < fresh:
            self._idle.popleft()[0].terminate()
        while self._idle:
            connection = self._idle.pop()[0]
            if not connection.is_closed():
                return connection
            connection.terminate()  # lets asyncpg clean up after a connection that the other side cut
        return None

    def give_back(self, connection: asyncpg.Connection[Any], error: BaseException | None, generation: int) -> None:
        """Keep it for the next user, or close it; ``error`` ended its use, ``generation`` is that of its taking."""
        if is_gone(error) and generation == self.generation:
            self._replace_all()
        old = generation != self.generation
        suspect = error is not None and (not isinstance(error, Exception) or isinstance(error, _SUSPECT))
        if connection.is_closed():
            connection.terminate()  # as above
        elif old or suspect or connection.is_in_transaction():
            leaving = asyncio.create_task(_leave(connection), name="pool:leave")
            self._leaving.add(leaving)
            leaving.add_done_callback(self._left)
            return
        else:
            self._idle.append((connection, time.monotonic()))
        self._places.release()

    def _replace_all(self) -> None:
        self.generation += 1
        while self._idle:
            self._idle.pop()[0].terminate()

    def _left(self, leaving: asyncio.Task[None]) -> None:
        self._leaving.discard(leaving)
        self._places.release()  # only now: a burst of timeouts must not open more connections than we may


class Borrowed:
    """A connection for as long as an ``async with`` lasts."""

    __slots__ = ("_connection", "_generation", "_pool", "_timeout")

    def __init__(self, pool: Pool, timeout: float) -> None:
        self._pool = pool
        self._timeout = timeout
        self._connection: asyncpg.Connection[Any] | None = None

    async def __aenter__(self) -> asyncpg.Connection[Any]:
        self._generation = self._pool.generation
        self._connection = await self._pool.take(self._timeout)
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.give_back(connection, error, self._generation)


async def _leave(connection: asyncpg.Connection[Any]) -> None:
    """Say goodbye, once a statement that nobody waits for any more has been cancelled."""
    try:
        await connection.close(timeout=CLOSE_SECONDS)
    except Exception:  # noqa: BLE001 - the socket is closed in any case
        connection.terminate()


_in_transaction: ContextVar[bool] = ContextVar("prosa_in_transaction", default=False)

COMMAND_TIMEOUT = 30.0  # seconds; the longest statement is a sweep of some milliseconds
# Seconds for one lock. Shorter than a statement's, so that PostgreSQL says (55P03) that another's transaction is in the
# way: the statement is not to blame then (``persistence.db.connection``).
LOCK_TIMEOUT = 20
CONNECT_TIMEOUT = 5.0  # seconds; a database that is away must turn into a 503 soon
# Statements that take arrays are planned anew each time, as PostgreSQL thinks that a short array deserves its own plan:
# half of what storing one arrival costs it. Their plans are the same; the console's are not, so it is not for them.
# A plan that is kept must not be one for empty tables, as those of a new database are: where an index serves, no table
# is read whole (and where none does, PostgreSQL before 18 must not think that it is worth compiling).
_PLANNED_ONCE = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}


class NetworkInsideTransactionError(ProsaError, RuntimeError):
    """The network was about to be used while a transaction is open: a programming error of ours."""

    code = "network_inside_transaction"


def refuse_in_transaction() -> None:
    """Raise ``NetworkInsideTransactionError`` when the current task holds an open transaction."""
    if _in_transaction.get():
        raise NetworkInsideTransactionError("network call inside a database transaction; move it before or after")


def _dumps(value: object) -> str:
    return orjson.dumps(value).decode()


class Database:
    """One PostgreSQL in two pools: one for turns, and one for what leads to them, which must not wait for turns.

    That is arrival, lanes, who writes, and the claims of messages: short statements, planned once.
    """

    def __init__(self, turns: Pool, pool: Pool) -> None:
        self._turns = turns
        self.pool = pool

    @classmethod
    async def open(cls, dsn: str, *, size: int = 8, enter: Enter | None = None) -> Database:
        """Connect to ``postgresql://…``; ``size`` connections at most in each of the two pools.

        ``enter`` takes each new connection in, or raises (``persistence.db.migrate``).
        """
        turns = await _pool(dsn, size, Row, {}, enter)
        try:
            return cls(turns, await _pool(dsn, size, asyncpg.Record, _PLANNED_ONCE, enter))
        except BaseException:
            await turns.close()
            raise

    def transaction(self) -> Opened:
        """Open one transaction: committed at the end, rolled back on any exception."""
        return Opened(self._turns, atomic=True)

    def alone(self) -> Opened:
        """Run single statements, each committed by itself: one round trip instead of the three of a transaction."""
        return Opened(self._turns, atomic=False)

    async def ping(self) -> None:
        """Raise whatever the driver raises when the database does not answer."""
        await self.pool.fetchval("SELECT 1", timeout=CONNECT_TIMEOUT)

    async def close(self) -> None:
        """Give all connections back."""
        await self._turns.close()
        await self.pool.close()


class Opened:
    """A connection for as long as an ``async with`` lasts; meanwhile its task must not use the network."""

    __slots__ = ("_atomic", "_borrowed", "_connection", "_flag")

    def __init__(self, pool: Pool, *, atomic: bool) -> None:
        self._atomic = atomic
        self._borrowed = pool.acquire()

    async def __aenter__(self) -> Connection:
        driver = await self._borrowed.__aenter__()
        self._flag = _in_transaction.set(True)
        self._connection = Connection(driver, atomic=self._atomic)
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        cause = error
        try:
            if cause is None:
                await self._connection.finish()
        except BaseException as failed:
            cause = failed
            raise
        finally:
            await self._end(cause)

    async def _end(self, cause: BaseException | None) -> None:
        """Undo what failed, and give the connection back."""
        try:
            if cause is not None and self._atomic:
                with suppress(Exception):  # the connection died too: nothing is left to undo
                    await self._connection.abandon()
        except BaseException as interrupted:
            cause = interrupted
            raise
        finally:
            _in_transaction.reset(self._flag)
            await self._borrowed.__aexit__(None, cause, None)


async def _pool(dsn: str, size: int, record: type[Any], server_settings: dict[str, str], enter: Enter | None) -> Pool:
    address = for_asyncpg(dsn)

    async def connect() -> Any:
        try:
            connection = await asyncpg.connect(
                address,
                command_timeout=COMMAND_TIMEOUT,
                timeout=CONNECT_TIMEOUT,
                record_class=record,
                server_settings={"lock_timeout": f"{LOCK_TIMEOUT}s", **server_settings},
            )
        except TimeoutError as error:
            raise DatabaseAwayError("the database did not take a connection in time") from error
        try:
            await connection.set_type_codec("jsonb", encoder=_dumps, decoder=orjson.loads, schema="pg_catalog")
            if enter is not None:
                await enter(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    return await Pool.open(connect, size, timeout=COMMAND_TIMEOUT)
