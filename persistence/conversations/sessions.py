"""Live sessions in Redis, with a sliding TTL; a cache of the snapshots that may be flushed at any moment.

Commands to Redis within a time, over redis-py's pool; while Redis cannot be reached it is not asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import structlog
from pydantic import TypeAdapter, ValidationError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as AwayError
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as LateError

from persistence.conversations.snapshots import strict
from state_machine.invoice.session import Sessao

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


log = structlog.get_logger(__name__)

REWRITE_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)  # seconds; a file of live sessions is written within one

_SESSAO, _STORED = TypeAdapter(Sessao), strict(Sessao)


class LiveSessions:
    """``prosa:sessao:{conversa}`` → the session that waits for the user. Redis away means a miss, never an error."""

    def __init__(self, line: RedisLine, ttl_seconds: int) -> None:
        self._line = line
        self._ttl = ttl_seconds

    async def get(self, conversa: str) -> Sessao | None:
        """Return the live session, or ``None``: then the snapshot is asked."""
        try:
            data = await self._line.ask("GET", _key(conversa))
            sessao: Sessao | None = _STORED.validate_json(b"[" + data + b"]")[0] if data else None
        except RedisError as error:
            log.warning("redis_unavailable", operation="get", error=type(error).__name__)
            return None
        except ValidationError:  # its snapshot says as much, and more
            log.warning("live_session_unreadable")
            return None
        if sessao and sessao.conversa != conversa:  # whatever brought it here: nobody's numbers reach anybody else
            log.error("live_session_foreign")
            return None
        return sessao

    async def put(self, sessao: Sessao) -> None:
        """Store a session that waits for the user; forget one that no longer does."""
        try:
            if sessao.espera_usuario:
                data = _SESSAO.dump_json(sessao, exclude_defaults=True)  # most fields of most drafts are empty
                await self._line.ask("SET", _key(sessao.conversa), data, "EX", self._ttl)
            else:
                await self._line.ask("DEL", _key(sessao.conversa))
        except RedisError as error:
            log.warning("redis_unavailable", operation="put", error=type(error).__name__)

    async def drop(self, conversa: str) -> None:
        """Forget the conversation's live session."""
        try:
            await self._line.ask("DEL", _key(conversa))
        except RedisError as error:
            log.warning("redis_unavailable", operation="drop", error=type(error).__name__)

    async def erase(self, conversas: Collection[str]) -> bool:
        """Forget these people's sessions, and have Redis write its file anew: until then it holds what was deleted.

        False when Redis did not take the order; what it holds then ends by its own time.
        """
        try:
            for conversa in conversas:
                await self._line.ask("DEL", _key(conversa))
            on_disk = b"aof_enabled:1" in await self._line.ask("INFO", "persistence")
            await self._rewrite(*(("BGREWRITEAOF",) if on_disk else ("BGSAVE", "SCHEDULE")))
        except RedisError as error:
            log.warning("redis_unavailable", operation="erase", error=type(error).__name__)
            return False
        return True

    async def _rewrite(self, *order: str) -> None:
        """Give the order until Redis takes it: a rewriting under way may have begun before the deletion."""
        for pause in REWRITE_PAUSES:
            try:
                await self._line.ask(*order)
            except ResponseError as error:
                if "in progress" not in str(error):
                    raise
                await asyncio.sleep(pause)
            else:
                return
        raise LateError("Redis was writing its file all the time")


def _key(conversa: str) -> str:
    return f"prosa:sessao:{conversa}"
