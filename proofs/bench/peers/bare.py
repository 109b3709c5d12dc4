"""What PostgreSQL and the disk take by themselves: one row, one commit, every now and then, and nothing of ours."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from asyncpg.prepared_stmt import PreparedStatement

_TABLE = "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload jsonb)"
_INSERT = "INSERT INTO bare (payload) VALUES ($1::text::jsonb)"
_PAYLOAD = '{"text": "%s"}' % ("x" * 400)  # about as long as a message


@asynccontextmanager
async def bare(database: str) -> AsyncIterator[Bare]:
    """Connect to an empty database and make the table."""
    connection = await asyncpg.connect(database)
    try:
        await connection.execute(_TABLE)
        yield Bare(await connection.prepare(_INSERT))
    finally:
        await connection.close()


class Bare:
    """Inserts and commits; ``taken_ms`` is what each of them took, in milliseconds."""

    def __init__(self, statement: PreparedStatement[Any]) -> None:
        self._statement = statement
        self.taken_ms: list[float] = []

    async def press(self, seconds: float, *, pause: float) -> None:
        """Go on for ``seconds``, with ``pause`` seconds between."""
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            await self._statement.fetch(_PAYLOAD)
            self.taken_ms.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(pause)
