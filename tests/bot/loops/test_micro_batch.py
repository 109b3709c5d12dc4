from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bot.loops.micro_batch import Gathered
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence


class Oracle:
    """Doubles numbers, and remembers how it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.gate = asyncio.Event()
        self._heard: asyncio.Queue[list[int]] = asyncio.Queue()

    async def __call__(self, numbers: Sequence[int]) -> list[int]:
        """Answer once the gate is open; 13 is refused, and -1 cuts the line."""
        self.asked.append(list(numbers))
        self._heard.put_nowait(list(numbers))
        await self.gate.wait()
        if -1 in numbers:
            raise ConnectionResetError
        if 13 in numbers:
            raise ValueError("unlucky")
        return [2 * number for number in numbers]

    async def heard(self) -> list[int]:
        """Wait for the next questions, in the order in which they were asked."""
        async with asyncio.timeout(PATIENCE):
            return await self._heard.get()


@pytest.fixture
async def oracle() -> Oracle:
    return Oracle()


async def test_questions_of_one_moment_are_asked_together(oracle: Oracle) -> None:
    """Everybody gets the own answer, and later questions do not wait for earlier answers."""
    gathered = Gathered(oracle)
    first = [asyncio.create_task(gathered.ask(number)) for number in (1, 2, 3)]
    assert await oracle.heard() == [1, 2, 3]
    second = asyncio.create_task(gathered.ask(4))
    assert await oracle.heard() == [4]
    assert oracle.asked == [[1, 2, 3], [4]]
    oracle.gate.set()
    assert await asyncio.gather(*first, second) == [2, 4, 6, 8]


async def test_a_question_that_fails_fails_alone(oracle: Oracle) -> None:
    """Those who asked at the same moment get their answers."""
    gathered = Gathered(oracle)
    oracle.gate.set()
    told = await asyncio.gather(*map(gathered.ask, (1, 13, 2)), return_exceptions=True)
    assert (told[0], str(told[1]), told[2]) == (2, "unlucky", 4)
    assert oracle.asked == [[1, 13, 2], [1], [13], [2]]


async def test_an_outage_is_everybodys(oracle: Oracle) -> None:
    """A database that is away is not asked again for each of them."""
    gathered = Gathered(oracle)
    oracle.gate.set()
    told = await asyncio.gather(*map(gathered.ask, (1, -1)), return_exceptions=True)
    assert [type(error) for error in told] == [ConnectionResetError, ConnectionResetError]
    assert oracle.asked == [[1, -1]]
    assert await gathered.ask(5) == 10


async def test_whoever_gives_up_takes_nothing_from_the_others(oracle: Oracle) -> None:
    """A task that is cancelled while it waits leaves the others their answers."""
    gathered = Gathered(oracle)
    leaving, staying = (asyncio.create_task(gathered.ask(number)) for number in (1, 2))
    assert await oracle.heard() == [1, 2]
    leaving.cancel()
    oracle.gate.set()
    assert await staying == 4
    assert leaving.cancelled()
