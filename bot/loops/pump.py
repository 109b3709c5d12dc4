"""Keeps up to N pieces of claimed work in flight, and their leases alive.

Runs background loops together: the first that ends by itself ends all of them.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import structlog

from persistence.db.connection import is_outage
from state_machine.values.errors import ProsaError

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


POLL_SECONDS = 30.0  # safety net: one look for all queues rings for what is due
OUTAGE_SECONDS = 1.0  # pause before the database is asked again
DRAIN_SECONDS = 6.0  # a container is killed 10 s after SIGTERM, and closing takes a moment on a busy machine

T = TypeVar("T")


class Pump(Generic[T]):
    """Claims with ``claim(limit)`` and hands each piece to ``work``, which settles it and never raises.

    ``work`` returns False when it knows that nothing became due by what it did; else we look again at once.

    ``renew`` extends the lease of a piece, and says whether it is still ours; it is called every third of
    ``lease_seconds`` while the piece is worked on, so that a dead worker's pieces are free after one short lease
    although the work itself may take a minute.
    """

    def __init__(
        self,
        name: str,
        claim: Callable[[int], Awaitable[Sequence[T]]],
        work: Callable[[T], Awaitable[bool | None]],
        renew: Callable[[T], Awaitable[bool]],
        *,
        lease_seconds: float,
        concurrency: int,
    ) -> None:
        self._name = name
        self._claim = claim
        self._work = work
        self._renew = renew
        self._lease_seconds = lease_seconds
        self._concurrency = concurrency
        self._running: set[asyncio.Task[bool]] = set()
        self._bell = asyncio.Event()
        self._rings = 0
        self._stopping = False
        self._full = False  # the last claim left no slot free: more may be due

    def ring(self) -> None:
        """Look for work now."""
        self._rings += 1
        self._bell.set()

    async def run_once(self) -> int:
        """Work on everything that is due, and what becomes due meanwhile; returns how many pieces that was."""
        total = 0
        while claimed := await self._claim(self._concurrency):
            await asyncio.gather(*(self._piece(piece, self._rings) for piece in claimed))
            total += len(claimed)
        return total

    async def run(self) -> None:
        """Work until ``stop``; then let what is in flight finish, 6 s at most (leases cover the rest)."""
        try:
            while not self._stopping:
                self._bell.clear()
                await self._step()
            if self._running:
                await asyncio.wait(self._running, timeout=DRAIN_SECONDS)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    def stop(self) -> None:
        """Claim nothing any more."""
        self._stopping = True
        self._bell.set()

    async def _step(self) -> None:
        free = self._concurrency - len(self._running)
        claimed: Sequence[T] = ()
        rings = self._rings
        try:
            claimed = await self._claim(free) if free else ()
        except Exception as error:  # noqa: BLE001 - the loop must outlive whatever happens to the database
            log.warning("pump_waits", component=self._name, error=type(error).__name__, outage=is_outage(error))
            await self._nap(OUTAGE_SECONDS)
            return
        for piece in claimed:
            task = asyncio.create_task(self._piece(piece, rings), name=self._name)
            self._running.add(task)
            task.add_done_callback(self._ended)
        self._full = len(claimed) == free
        if not free or not self._full:
            await self._nap(POLL_SECONDS)

    async def _piece(self, piece: T, rings: int) -> bool:
        """Work on it, and say whether more may be due now; somebody had rung ``rings`` times before it was claimed."""
        keeping = asyncio.create_task(self._keep(piece), name=f"{self._name}:lease")
        try:
            follows = await self._work(piece) is not False
        finally:
            keeping.cancel()
        return follows or rings != self._rings  # whoever rang meanwhile may have found the way blocked by this piece

    async def _keep(self, piece: T) -> None:
        while True:
            await asyncio.sleep(self._lease_seconds / 3)  # two renewals may fail before the lease runs out
            try:
                if not await self._renew(piece):
                    return  # settled just now, or another's: a late commit is refused by its epoch
            except Exception as error:  # noqa: BLE001 - the next one may succeed; else the lease runs out
                log.warning("lease_not_renewed", component=self._name, error=type(error).__name__)

    def _ended(self, task: asyncio.Task[bool]) -> None:
        self._running.discard(task)
        if self._full or task.cancelled() or task.exception() or task.result():
            self._bell.set()

    async def _nap(self, seconds: float) -> None:
        alarm = asyncio.get_running_loop().call_later(seconds, self._bell.set)
        try:
            await self._bell.wait()
        finally:
            alarm.cancel()
