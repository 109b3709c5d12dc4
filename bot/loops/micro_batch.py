"""Gathers the questions of one round of the event loop, so that they are asked together; knows nothing of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from persistence.db.outage import is_outage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Gathered(Generic[Question, Answer]):
    """Hands what callers ask at the same moment to ``answer``, which returns as many answers, in their order.

    When that fails, other than for an outage, each question is asked alone: the others must not suffer for one.
    """

    def __init__(self, answer: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]]) -> None:
        self._answer = answer
        self._asked: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question) -> Answer:
        """Return its answer; raises what ``answer`` raises for it."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.append((question, future))
        if len(self._asked) == 1:  # the task starts after everybody who is about to run
            task = asyncio.create_task(self._together(), name="gathered")
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return await future

    async def _together(self) -> None:
        asked, self._asked = self._asked, []
        await self._ask(asked)

    async def _ask(self, asked: Sequence[tuple[Question, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._answer([question for question, _ in asked])
            for (_, future), answer in zip(asked, answers, strict=True):
                if not future.done():  # nobody waits any more
                    future.set_result(answer)
        except Exception as error:  # noqa: BLE001 - it is theirs
            if len(asked) > 1 and not is_outage(error):
                for one in asked:
                    await self._ask([one])
                return
            for _, future in asked:
                if not future.done():
                    future.set_exception(error)
        except BaseException:  # we are being stopped
            for _, future in asked:
                future.cancel()
            raise
