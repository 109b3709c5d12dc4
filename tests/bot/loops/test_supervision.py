"""Loops that run together: all end with the first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.loops.pump import LoopEndedError, together
from tests.patience import PATIENCE


class Loop:
    """Works until it is asked to stop, then for a moment more; or ends by itself when told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.stopping = asyncio.Event()
        self.dies = asyncio.Event()
        self.working = False
        self.finished = False
        self._error = error

    async def run(self) -> None:
        """As the loops of the house."""
        self.working = True
        ends = [asyncio.create_task(event.wait()) for event in (self.stopping, self.dies)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)
            if self._error is not None:
                raise self._error
            self.finished = True
        finally:
            self.working = False
            for end in ends:
                end.cancel()

    def stop(self) -> None:
        """Likewise."""
        self.stopping.set()


async def started(loops: dict[str, Loop]) -> tuple[asyncio.Task[Any], asyncio.Event]:
    stop = asyncio.Event()
    running = asyncio.create_task(together(loops, stop))
    async with asyncio.timeout(PATIENCE):
        while not all(loop.working for loop in loops.values()):  # noqa: ASYNC110 - a figure has no event
            await asyncio.sleep(0)
    return running, stop


async def test_when_asked_all_of_them_finish() -> None:
    """Nobody is interrupted in what is in hand."""
    loops = {"a": Loop(), "b": Loop()}
    running, stop = await started(loops)
    stop.set()
    async with asyncio.timeout(PATIENCE):
        await running
    assert all(loop.finished for loop in loops.values())


@pytest.mark.parametrize(
    ("error", "why"), [(ValueError("a secret"), "ValueError em test_supervision.py:"), (None, "sem erro")]
)
async def test_one_that_ends_by_itself_ends_all(error: Exception | None, why: str) -> None:
    """The others finish in order, whoever waits for the end hears of it, and the error names the loop that died."""
    loops = {"a": Loop(), "b": Loop(error)}
    running, stop = await started(loops)
    loops["b"].dies.set()
    async with asyncio.timeout(PATIENCE):
        await stop.wait()
        with pytest.raises(LoopEndedError, match=f'"b" parou .{why}') as raised:
            await running
    assert "secret" not in str(raised.value)
    assert loops["a"].finished


async def test_one_that_fails_while_it_finishes_is_told() -> None:
    """A loop that dies after it was asked to stop does not pass for an end in order."""
    running, stop = await started({"a": Loop(), "b": Loop(ValueError())})
    stop.set()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(LoopEndedError, match='"b"'):
            await running


async def test_whoever_cancels_leaves_none_running() -> None:
    """Nothing of a loop outlives the task that ran them."""
    loops = {"a": Loop(), "b": Loop()}
    running, _ = await started(loops)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not any(loop.working for loop in loops.values())
