"""The database: pools, transactions, and the flag by which HTTP clients refuse to run inside one."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import asyncpg
import orjson

from persistence.db.connection import Connection, Row
from persistence.db.dsn import for_asyncpg
from persistence.db.outage import DatabaseAwayError
from persistence.db.pool import Pool
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from types import TracebackType

_in_transaction: ContextVar[bool] = ContextVar("prosa_in_transaction", default=False)

COMMAND_TIMEOUT = 30.0  # seconds; the longest statement is a sweep of some milliseconds
# Seconds for one lock. Shorter than a statement's, so that PostgreSQL says (55P03) that another's transaction is in the
# way: the statement is not to blame then (``persistence.db.outage``).
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
    async def open(cls, dsn: str, *, size: int = 8) -> Database:
        """Connect to ``postgresql://…``; ``size`` connections at most in each of the two pools."""
        turns = await _pool(dsn, size, Row, {})
        try:
            return cls(turns, await _pool(dsn, size, asyncpg.Record, _PLANNED_ONCE))
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


async def _pool(dsn: str, size: int, record: type[Any], server_settings: dict[str, str]) -> Pool:
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
        except BaseException:
            connection.terminate()
            raise
        return connection

    return await Pool.open(connect, size, timeout=COMMAND_TIMEOUT)
