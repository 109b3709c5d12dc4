"""Commands to Redis within a time, over redis-py's pool; while Redis cannot be reached it is not asked."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as AwayError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as LateError

CONNECTIONS = 256  # more than a process has turns; one more is refused as if Redis were away
REST_SECONDS = 1.0  # after a connection that could not be opened: nobody waits for another try until then


def connect(url: str, seconds: float) -> Redis:
    """Return redis-py's client: it tries once, and connects within ``seconds``; ``RedisLine`` bounds the commands."""
    return Redis.from_url(
        url,
        protocol=2,  # with 3 redis-py expects notices, and lends a connection on which an answer is left
        max_connections=CONNECTIONS,
        socket_timeout=None,  # it would make a task for each command
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
    )


class RedisLine:
    """Asks the Redis that ``redis`` points at; ``seconds`` bounds each question, its connection included.

    A connection whose question was given up is closed, so that its answer is never taken for another question's.
    """

    def __init__(self, redis: Redis, seconds: float) -> None:
        self._pool: Any = redis.connection_pool  # without types
        self._seconds = seconds
        self._rests_until = 0.0

    async def ask(self, *words: str | bytes | int) -> Any:
        """Return Redis's answer to a command. Raises ``RedisError``: away, late, or its own objection."""
        if asyncio.get_running_loop().time() < self._rests_until:
            raise AwayError("Redis was away a moment ago, and was not asked")
        reached = False
        try:
            async with asyncio.timeout(self._seconds):
                connection = await self._pool.get_connection()
                reached = True
                try:
                    await connection.send_command(*words)
                    return await connection.read_response()
                finally:
                    await self._pool.release(connection)
        except (TimeoutError, RedisError) as error:
            if not reached:
                self._rests_until = asyncio.get_running_loop().time() + REST_SECONDS
            if isinstance(error, RedisError):
                raise
            raise LateError("Redis did not answer in time") from error
