"""Runs background loops together: the first that ends by itself ends all of them."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import structlog

from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Mapping

log = structlog.get_logger(__name__)


class Loop(Protocol):
    """Work that goes on until it is asked to stop."""

    async def run(self) -> None:
        """Work until ``stop``, then finish what is in hand; to return or raise before is a failure."""

    def stop(self) -> None:
        """Begin nothing any more; again does nothing."""


class LoopEndedError(ProsaError, RuntimeError):
    """A loop ended although nobody asked for it; ``__cause__`` says by what, if by an error."""

    code = "loop_ended"

    def __init__(self, name: str, cause: BaseException | None) -> None:
        self.why = f"{type(cause).__name__} em {origin(cause)}" if cause else "sem erro"
        super().__init__(
            f'A tarefa interna "{name}" parou ({self.why}), e por isso a Prosa encerrou. Nada se perdeu: o que estava '
            "em andamento continua quando ela iniciar de novo. Se repetir, leve esta linha a quem mantém a Prosa."
        )
        self.__cause__ = cause


async def together(loops: Mapping[str, Loop], stop: asyncio.Event) -> None:
    """Run all until ``stop`` is set, then let each finish. When one ends before, it sets ``stop`` itself.

    Raises:
        LoopEndedError: one ended by itself, or failed while it finished; all of them have ended.
    """
    tasks = {asyncio.create_task(loop.run(), name=name): name for name, loop in loops.items()}
    asked = asyncio.create_task(stop.wait(), name="stop")
    try:
        await asyncio.wait({asked, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        ended = [] if stop.is_set() else [task for task in tasks if task.done()]
        for task in ended:
            log.error("loop_ended", component=tasks[task], exc_info=task.exception())
        stop.set()
        for loop in loops.values():
            loop.stop()
        await asyncio.wait(tasks)
    finally:  # whoever cancels us cancels them, and nothing of theirs outlives us
        asked.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in (*ended, *tasks):
        if task in ended or task.exception():
            raise LoopEndedError(tasks[task], task.exception())


def origin(error: BaseException) -> str:
    """Return file and line that raised; the error's own words may quote a person."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
