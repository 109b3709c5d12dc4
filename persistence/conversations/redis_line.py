"""One connection to Redis that all callers share: commands leave as they come, answers come back in their order.

redis-py opens it (address, TLS, password, database); a question through redis-py takes twice the CPU of this, for a
pool, policies and streams that a cache of ours does not need (docs/adr/0012-database-and-redis-access.md).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

import hiredis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as AwayError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as LateError

if TYPE_CHECKING:
    from redis.asyncio import Redis

REST_SECONDS = 1.0  # after a connection that could not be opened; until then nobody waits for another try
_MORE = object()  # what the parser says when an answer is not whole yet


class RedisLine:
    """Asks the Redis that ``redis`` points at; ``seconds`` bounds each question, and opening the connection.

    A connection on which an answer is late, or is none, is dropped with all who wait on it: whoever comes next gets a
    new one, so that no answer can ever be taken for another question's.
    """

    def __init__(self, redis: Redis, seconds: float) -> None:
        self._redis = redis
        self._seconds = seconds
        self._wire: _Wire | None = None
        self._opening: asyncio.Task[_Wire] | None = None
        self._rests_until = 0.0
        self._closed = False

    async def ask(self, *words: str | bytes | int) -> Any:
        """Return Redis's answer to a command. Raises ``RedisError``: away, late, or its own objection."""
        command: Any = words  # hiredis takes any number of words, though its types say one
        wire = self._wire
        if wire is None or wire.lost:
            wire = await self._connected()
        answer = wire.send(hiredis.pack_command(command))
        late = asyncio.get_running_loop().call_later(self._seconds, wire.late, answer)
        try:
            return await answer
        finally:
            late.cancel()

    async def close(self) -> None:
        """Close the connection; nobody gets another one."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._wire is not None:
            self._wire.drop(AwayError("the line to Redis is closed"))

    async def _connected(self) -> _Wire:
        if self._closed:
            raise AwayError("the line to Redis is closed")
        if self._opening is None:
            if asyncio.get_running_loop().time() < self._rests_until:
                raise AwayError("Redis was away a moment ago, and was not asked")
            self._opening = asyncio.create_task(self._open(), name="redis:open")
            self._opening.add_done_callback(self._opened)
        opening = self._opening
        try:
            return await asyncio.shield(opening)  # the others wait for it too
        except asyncio.CancelledError:
            if opening.cancelled():  # by ``close``: nobody cancelled us
                raise AwayError("the line to Redis is closed") from None
            raise

    async def _open(self) -> _Wire:
        pool: Any = self._redis.connection_pool  # without types
        connection: Any = pool.make_connection()
        connection.retry = Retry(NoBackoff(), 0)
        try:
            async with asyncio.timeout(self._seconds):  # redis-py bounds each part of the greeting by itself
                await connection.connect()
        except BaseException as error:
            await connection.disconnect(nowait=True)
            if isinstance(error, TimeoutError):
                raise LateError("Redis did not greet us in time") from None
            raise
        writer, connection._writer = connection._writer, None  # noqa: SLF001 - ours now; tests watch over its name
        if writer is None:
            raise AwayError("Redis hung up at once")
        return _Wire(writer)

    def _opened(self, opening: asyncio.Task[_Wire]) -> None:
        self._opening = None
        if opening.cancelled():
            return
        if opening.exception() is None:
            self._wire = opening.result()
        else:
            self._rests_until = opening.get_loop().time() + REST_SECONDS


class _Wire(asyncio.Protocol):
    """An open connection, taken over from redis-py once that has greeted the server."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.lost = False
        self._writer = writer  # it would close the connection if nobody held it
        self._reader = hiredis.Reader(replyError=ResponseError, notEnoughData=_MORE)
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._transport: Any = writer.transport
        self._transport.set_protocol(self)

    def send(self, command: bytes) -> asyncio.Future[Any]:
        """Send a command; its answer comes later. Raises ``AwayError`` when the connection is no more."""
        if self.lost:
            raise AwayError("Redis hung up at once")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._transport.write(command)
        return answer

    def late(self, answer: asyncio.Future[Any]) -> None:
        """Give up unless this answer is there: it may have come with the timer, when we were held up ourselves."""
        if not answer.done():
            self.drop(LateError("Redis did not answer in time"))

    def drop(self, reason: Exception) -> None:
        """Tell all who wait, and close the connection."""
        self.lost = True
        self._transport.abort()
        waiting, self._waiting = self._waiting, deque()
        for answer in waiting:
            if not answer.done():
                answer.set_exception(reason)

    def data_received(self, data: bytes) -> None:
        """Hand out the answers that are whole, each to who has waited longest, even if they wait no more."""
        self._reader.feed(data)
        try:
            while (said := self._reader.gets()) is not _MORE:
                if not isinstance(said, hiredis.PushNotification):
                    self._hand_out(said)
        except (hiredis.ProtocolError, IndexError):  # or an answer that nobody had asked for
            self.drop(AwayError("Redis said what cannot be understood"))

    def _hand_out(self, said: Any) -> None:
        answer = self._waiting.popleft()
        if answer.done():
            return
        if isinstance(said, Exception):
            answer.set_exception(said)
        else:
            answer.set_result(said)

    def connection_lost(self, _: Exception | None) -> None:
        """Tell all who wait."""
        self.drop(AwayError("Redis hung up"))
