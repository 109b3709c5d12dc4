"""The line to Redis: every answer reaches who asked for it, whatever becomes of others, of the network, of Redis."""

from __future__ import annotations

import asyncio
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from redis.exceptions import ConnectionError as AwayError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as LateError

from persistence.conversations import sessions
from persistence.conversations.sessions import LiveSessions, RedisLine, connect
from state_machine.invoice.draft import Lido, Rascunho
from state_machine.invoice.session import Sessao
from tests.faults.tcp_proxy import TcpProxy
from tests.held_port import held_port
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SOON = 0.2  # seconds after which a test's own line gives up


@pytest_asyncio.fixture
async def proxy(redis_url: str) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(redis_url) as proxy:
        yield proxy


@pytest_asyncio.fixture
async def line(proxy: TcpProxy) -> AsyncIterator[RedisLine]:
    async with connect(proxy.url, PATIENCE) as redis:
        yield RedisLine(redis, PATIENCE)


async def test_everybody_gets_their_own_answer(line: RedisLine) -> None:
    """Two hundred at once, on a few connections, with answers of all sizes."""

    async def one(number: int) -> None:
        said = str(number) * (number % 50 * 100 + 1)
        await line.ask("SET", f"k{number}", said, "EX", 60)
        assert await line.ask("GET", f"k{number}") == said.encode()
        assert await line.ask("DEL", f"k{number}") == 1
        assert await line.ask("GET", f"k{number}") is None

    await asyncio.gather(*(one(number) for number in range(200)))


async def test_it_logs_in_and_takes_the_database_of_the_address(line: RedisLine, redis_url: str) -> None:
    info = dict(word.split("=", 1) for word in (await line.ask("CLIENT", "INFO")).decode().split())
    assert info["db"] == redis_url.rpartition("/")[2]


async def test_a_caller_that_gives_up_shifts_no_answer(line: RedisLine) -> None:
    await line.ask("SET", "whose", "mine", "EX", 60)
    gone = asyncio.create_task(line.ask("ECHO", "somebody else's"))
    await asyncio.sleep(0)
    gone.cancel()
    assert await line.ask("GET", "whose") == b"mine"


async def test_an_objection_is_raised_and_nothing_else_suffers(line: RedisLine) -> None:
    answers: tuple[Any, Any] = await asyncio.gather(line.ask("NONSENSE"), line.ask("ECHO", "x"), return_exceptions=True)
    objected, answered = answers
    assert isinstance(objected, ResponseError)
    assert answered == b"x"


async def test_what_is_late_is_given_up_with_its_connection(line: RedisLine, proxy: TcpProxy) -> None:
    """An answer that comes after all must not be the next question's."""
    await asyncio.gather(*(line.ask("SET", "a", "old", "EX", 60) for _ in range(3)))
    proxy.silent = True
    line._seconds = SOON
    late = await asyncio.gather(*(line.ask("GET", "a") for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in late] == [LateError] * 3
    proxy.silent = False
    line._seconds = PATIENCE
    assert await line.ask("ECHO", "new") == b"new"


async def test_a_greeting_is_bounded_as_a_whole(proxy: TcpProxy) -> None:
    """Each part of it is in time; all together they are not."""
    proxy.latency = SOON / 3
    async with connect(proxy.url, SOON) as redis:
        line = RedisLine(redis, SOON)
        with pytest.raises(LateError):
            await line.ask("PING")
        with pytest.raises(AwayError, match="was not asked"):
            await line.ask("PING")


async def test_a_cut_connection_is_told_and_opened_again(line: RedisLine, proxy: TcpProxy) -> None:
    await line.ask("PING")
    proxy.silent = True
    waiting = asyncio.create_task(line.ask("PING"))
    await asyncio.sleep(0)
    proxy.reset()
    with pytest.raises(AwayError):
        await waiting
    proxy.silent = False
    assert await line.ask("ECHO", "again") == b"again"


async def test_who_is_away_is_not_asked_by_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first try fails for all who wait for it; for a moment nobody tries again; then it is back."""
    monkeypatch.setattr(sessions, "REST_SECONDS", PATIENCE)
    with held_port() as port:
        redis = connect(f"redis://127.0.0.1:{port}", PATIENCE)
        line = RedisLine(redis, PATIENCE)
        first = await asyncio.gather(*(line.ask("PING") for _ in range(5)), return_exceptions=True)
        assert {type(error) for error in first} == {AwayError}
        with pytest.raises(AwayError, match="was not asked"):
            await line.ask("PING")
        monkeypatch.setattr(sessions, "REST_SECONDS", 0.0)
        line._rests_until = 0.0
        with pytest.raises(AwayError, match="onnect"):
            await line.ask("PING")
        await redis.aclose()


async def test_a_connection_with_an_answer_that_nobody_asked_for_is_not_used(redis_url: str) -> None:
    """What is left on a connection that lies in the pool is not the next question's answer."""
    async with connect(redis_url, PATIENCE) as redis:
        pool: Any = redis.connection_pool
        connection = await pool.get_connection()
        await connection.send_command("ECHO", "surprise")
        async with asyncio.timeout(PATIENCE):
            while not await connection.can_read():  # noqa: ASYNC110 - redis-py has no event for it
                await asyncio.sleep(0.01)
        await pool.release(connection)
        assert await RedisLine(redis, PATIENCE).ask("ECHO", "x") == b"x"


async def test_closing_the_client_leaves_nobody_waiting(proxy: TcpProxy) -> None:
    async with connect(proxy.url, PATIENCE) as redis:
        line = RedisLine(redis, PATIENCE)
        await line.ask("PING")
        proxy.silent = True
        waiting = asyncio.create_task(line.ask("PING"))
        await asyncio.sleep(0)
    with pytest.raises(AwayError):
        await waiting


async def test_who_gives_up_while_connecting_says_nothing_of_redis(line: RedisLine, proxy: TcpProxy) -> None:
    """A caller that was cancelled does not stop the others from asking."""
    proxy.silent = True
    gone = asyncio.create_task(line.ask("PING"))
    await asyncio.sleep(0.01)
    gone.cancel()
    await asyncio.wait([gone])
    proxy.silent = False
    assert await line.ask("ECHO", "x") == b"x"


def test_what_a_live_session_leaves_out_says_nothing() -> None:
    """A default that becomes a value would be read into sessions that another version of us has stored."""
    defaults = {
        kind: {field.name: field.default for field in fields(kind) if field.default not in {MISSING, None, 0, ()}}
        for kind in (Sessao, Rascunho, Lido)
    }
    assert defaults[Sessao] == {"estado": "coleta", "snapshot_reason": "manual"}
    assert set(defaults[Rascunho].values()) == {Lido()}
    assert defaults[Lido] == {"status": "null"}


async def test_another_persons_session_is_a_miss(line: RedisLine) -> None:
    """However it came there, it is not used: its numbers are another's."""
    live = LiveSessions(line, 60)
    mine = Sessao("221126-00000001", "1:ana", 1, "Empresa")
    await live.put(mine)
    assert await live.get("1:ana") == mine
    await line.ask("RENAME", "prosa:sessao:1:ana", "prosa:sessao:1:bia")
    assert await live.get("1:bia") is None
