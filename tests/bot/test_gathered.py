from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bot.gathered import Gathered

if TYPE_CHECKING:
    from collections.abc import Sequence


class Oracle:
    """Doubles numbers, and remembers how it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.gate = asyncio.Event()

    async def __call__(self, numbers: Sequence[int]) -> list[int]:
        """Answer once the gate is open; 13 is refused."""
        self.asked.append(list(numbers))
        await self.gate.wait()
        if 13 in numbers:
            raise ValueError("unlucky")
        return [2 * number for number in numbers]


@pytest.fixture
async def oracle() -> Oracle:
    return Oracle()


async def test_questions_of_one_moment_are_asked_together(oracle: Oracle) -> None:
    """Everybody gets the own answer, and later questions do not wait for earlier answers."""
    gathered = Gathered(oracle)
    first = [asyncio.create_task(gathered.ask(number)) for number in (1, 2, 3)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second = asyncio.create_task(gathered.ask(4))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert oracle.asked == [[1, 2, 3], [4]]
    oracle.gate.set()
    assert await asyncio.gather(*first, second) == [2, 4, 6, 8]


async def test_what_is_raised_reaches_all_who_asked(oracle: Oracle) -> None:
    """Each of them, and nobody after them."""
    gathered = Gathered(oracle)
    oracle.gate.set()
    told = await asyncio.gather(*map(gathered.ask, (1, 13)), return_exceptions=True)
    assert [str(error) for error in told] == ["unlucky", "unlucky"]
    assert await gathered.ask(5) == 10


async def test_whoever_gives_up_takes_nothing_from_the_others(oracle: Oracle) -> None:
    """A task that is cancelled while it waits leaves the others their answers."""
    gathered = Gathered(oracle)
    leaving, staying = (asyncio.create_task(gathered.ask(number)) for number in (1, 2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    leaving.cancel()
    oracle.gate.set()
    assert await staying == 4
    assert leaving.cancelled()
