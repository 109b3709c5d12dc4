"""Live sessions in Redis, with a sliding TTL; a cache of the snapshots that may be flushed at any moment."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog
from pydantic import TypeAdapter
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as LateError

from persistence.versions import AnotherVersionError, Strict
from state_machine.machine.session import Sessao

if TYPE_CHECKING:
    from collections.abc import Collection

    from persistence.conversations.redis_line import RedisLine

log = structlog.get_logger(__name__)

REWRITE_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)  # seconds; a file of live sessions is written within one

_SESSAO, _STORED = TypeAdapter(Sessao), Strict(Sessao)


class LiveSessions:
    """``prosa:sessao:{conversa}`` → the session that waits for the user. Redis away means a miss, never an error."""

    def __init__(self, line: RedisLine, ttl_seconds: int) -> None:
        self._line = line
        self._ttl = ttl_seconds

    async def get(self, conversa: str) -> Sessao | None:
        """Return the live session, or ``None``: then the snapshot is asked."""
        try:
            data = await self._line.ask("GET", _key(conversa))
            sessao: Sessao | None = _STORED.load_json(data) if data else None
        except RedisError as error:
            log.warning("redis_unavailable", operation="get", error=type(error).__name__)
            return None
        except AnotherVersionError:  # its snapshot says as much, and more
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
