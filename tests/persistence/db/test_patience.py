from __future__ import annotations

import asyncio
from typing import Any

import pytest

from persistence.db.outage import DatabaseAwayError
from persistence.db.patience import Patience, Waiting
from tests.patience import PATIENCE


def waiting() -> Waiting:
    loop = asyncio.get_running_loop()
    return Waiting(loop.time(), loop.create_future())


async def test_who_waits_too_long_is_told_so() -> None:
    """An answer that does not come fails in its time, each in its own; one that came keeps what it said."""
    everybody: list[Waiting] = []
    patience = Patience(0.2, lambda: everybody)
    early, never = waiting(), waiting()
    everybody += [early, never]
    patience.begin()
    early.answer.set_result(1)
    late = Waiting(never.since + 1.5, asyncio.get_running_loop().create_future())  # a busy machine holds us up for less
    everybody.append(late)
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(DatabaseAwayError):
            await never.answer
        assert not late.answer.done()
        with pytest.raises(DatabaseAwayError):
            await late.answer
    assert early.answer.result() == 1
    assert asyncio.get_running_loop().time() >= late.since + 0.2


async def test_it_looks_only_while_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """One timer however many begin to wait, and none once all are answered; who comes then begins it anew."""
    timers: list[float] = []
    loop = asyncio.get_running_loop()
    later = loop.call_later

    def noted(delay: float, *rest: Any) -> asyncio.TimerHandle:
        timers.append(delay)
        return later(delay, *rest)

    monkeypatch.setattr(loop, "call_later", noted)
    everybody = [waiting() for _ in range(100)]
    looked = asyncio.Event()

    def look() -> list[Waiting]:
        looked.set()
        return everybody

    patience = Patience(0.01, look)
    for one in everybody:
        patience.begin()
        one.answer.set_result(1)
    assert timers == [0.01]
    await looked.wait()
    patience.begin()
    assert timers == [0.01, 0.01]
