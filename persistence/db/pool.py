"""Up to ``size`` connections to PostgreSQL, handed on only when their last use has ended.

What asyncpg's own pool does otherwise is in docs/adr/0012-database-and-redis-access.md. Nobody here changes a session,
so nothing is to be reset.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import asyncpg

from persistence.db.outage import DatabaseAwayError, is_gone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    Connect = Callable[[], Awaitable[asyncpg.Connection[Any]]]

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
