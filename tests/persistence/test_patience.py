from __future__ import annotations

import asyncio

import pytest

from persistence.outage import DatabaseAwayError
from persistence.patience import Patience


async def test_who_waits_too_long_is_told_so() -> None:
    """An answer that does not come fails in its time, each in its own; one that came keeps what it said."""
    loop = asyncio.get_running_loop()
    patience = Patience(0.1)
    early: asyncio.Future[int] = loop.create_future()
    never: asyncio.Future[int] = loop.create_future()
    patience.watch(early)
    patience.watch(never)
    early.set_result(1)
    await asyncio.sleep(0.05)
    late: asyncio.Future[int] = loop.create_future()
    patience.watch(late)
    async with asyncio.timeout(5):
        with pytest.raises(DatabaseAwayError):
            await never
        assert not late.done()
        with pytest.raises(DatabaseAwayError):
            await late
    assert early.result() == 1


async def test_what_is_answered_is_not_held() -> None:
    """However many are watched in a row, only those that wait are kept in memory."""
    patience = Patience(60)
    for number in range(1000):
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        patience.watch(answer)
        answer.set_result(number)
    assert patience.watched <= 1
