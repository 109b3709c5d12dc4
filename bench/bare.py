"""What PostgreSQL and the disk take by themselves: one row, one commit, every now and then, and nothing of ours."""

from __future__ import annotations

import asyncio
import time

import asyncpg

from bench.figure import percentile

_TABLE = "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload jsonb)"
_INSERT = "INSERT INTO bare (payload) VALUES ($1::text::jsonb)"
_PAYLOAD = '{"text": "%s"}' % ("x" * 400)  # about as long as a message


async def bare_inserts(database: str, *, seconds: float, pause: float) -> tuple[float, float]:
    """Insert and commit with ``pause`` seconds between; returns p50 and p99 in ms."""
    connection = await asyncpg.connect(database)
    try:
        await connection.execute(_TABLE)
        statement = await connection.prepare(_INSERT)
        taken: list[float] = []
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            await statement.fetch(_PAYLOAD)
            taken.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(pause)
        return percentile(taken, 0.5), percentile(taken, 0.99)
    finally:
        await connection.close()
