from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

import bot.loops.pump
from bot.loops.pump import Pump
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass
class Quarry:
    """Pieces to be worked on; a piece in ``slow`` takes until it is let go."""

    waiting: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    renewed: list[int] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    slow: dict[int, asyncio.Event] = field(default_factory=dict)
    away: int = 0
    follows: bool | None = None
    claims: list[int] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def claim(self, limit: int) -> Sequence[int]:
        """Hand out up to ``limit``."""
        self.claims.append(limit)
        if self.away:
            self.away -= 1
            raise ConnectionError
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        await self._tell()
        return taken

    async def work(self, piece: int) -> bool | None:
        """Do it."""
        if piece in self.slow:
            await self.slow[piece].wait()
        self.done.append(piece)
        await self._tell()
        return self.follows

    async def renew(self, piece: int) -> bool:
        """Keep it."""
        self.renewed.append(piece)
        await self._tell()
        return piece not in self.lost

    async def until_done(self, count: int) -> None:
        """Wait for that many."""
        await self._until(lambda: len(self.done) >= count)

    async def until_renewed(self, count: int) -> None:
        """Wait for that many renewals."""
        await self._until(lambda: len(self.renewed) >= count)

    async def until_claims(self, count: int) -> None:
        """Wait for that many claims."""
        await self._until(lambda: len(self.claims) >= count)

    async def until_claimed(self) -> None:
        """Wait for the first claim, and for all to be taken."""
        await self._until(lambda: bool(self.claims) and not self.waiting)

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self.news:
            await self.news.wait_for(condition)

    async def _tell(self) -> None:
        async with self.news:
            self.news.notify_all()

    def pump(self, lease_seconds: float = 60.0) -> Pump[int]:
        """Make a pump of two at a time."""
        return Pump("quarry", self.claim, self.work, self.renew, lease_seconds=lease_seconds, concurrency=2)


async def test_one_pass_takes_everything_that_is_due() -> None:
    """``run_once`` works until nothing is claimed any more, and says how much it was."""
    quarry = Quarry([1, 2, 3, 4, 5])
    assert await quarry.pump().run_once() == 5
    assert sorted(quarry.done) == [1, 2, 3, 4, 5]


async def test_a_slow_piece_delays_no_other() -> None:
    """While one takes long, the others go through the slot that is left; never more than two at once."""
    quarry = Quarry([1, 2, 3, 4], slow={1: asyncio.Event()})
    pump = quarry.pump()
    running = asyncio.create_task(pump.run())
    await quarry.until_done(3)
    assert quarry.done == [2, 3, 4]
    assert max(quarry.claims) == 2
    quarry.slow[1].set()
    await quarry.until_done(4)
    pump.stop()
    await running


async def test_a_ring_is_heard_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """New work need not wait for the next look around."""
    monkeypatch.setattr(bot.loops.pump, "POLL_SECONDS", 60.0)
    quarry = Quarry()
    pump = quarry.pump()
    running = asyncio.create_task(pump.run())
    await quarry.until_claimed()
    quarry.waiting.append(7)
    pump.ring()
    await quarry.until_done(1)
    pump.stop()
    await running


@pytest.mark.parametrize("rung", [True, False])
async def test_what_was_rung_for_while_a_piece_was_worked_on_is_looked_for_after_it(
    monkeypatch: pytest.MonkeyPatch, rung: bool
) -> None:
    """A claim in between may have been blocked by that very piece; one that nothing follows costs no claim."""
    monkeypatch.setattr(bot.loops.pump, "POLL_SECONDS", PATIENCE * 10)
    quarry = Quarry(waiting=[1], slow={1: asyncio.Event()}, follows=False)
    pump = quarry.pump()
    running = asyncio.create_task(pump.run())
    await quarry.until_claimed()
    if rung:
        pump.ring()
        await quarry.until_claims(2)  # blocked: nothing is handed out
        quarry.waiting.append(2)
    quarry.slow[1].set()
    await quarry.until_done(2 if rung else 1)
    pump.stop()
    await running
    assert len(quarry.claims) == (3 if rung else 1)


async def test_a_database_that_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop outlives whatever claiming raises."""
    monkeypatch.setattr(bot.loops.pump, "OUTAGE_SECONDS", 0.01)
    quarry = Quarry([1], away=3)
    pump = quarry.pump()
    running = asyncio.create_task(pump.run())
    await quarry.until_done(1)
    pump.stop()
    await running


@pytest.mark.parametrize("how", ["run", "run_once"])
async def test_a_lease_is_renewed_as_long_as_the_work_lasts(how: str) -> None:
    """Work longer than its lease keeps it; once done, nothing is renewed any more."""
    quarry = Quarry([1], slow={1: asyncio.Event()})
    pump = quarry.pump(lease_seconds=0.03)
    running = asyncio.create_task(getattr(pump, how)())
    await quarry.until_renewed(5)
    quarry.slow[1].set()
    await quarry.until_done(1)
    pump.stop()
    await running
    assert set(quarry.renewed) == {1}


async def test_a_lost_lease_is_not_renewed_again() -> None:
    """Somebody else holds it now: the work may finish, its late commit is refused by the epoch."""
    quarry = Quarry([1, 2], lost={1}, slow={1: asyncio.Event(), 2: asyncio.Event()})
    running = asyncio.create_task(quarry.pump(lease_seconds=0.03).run_once())
    await quarry.until_renewed(5)
    assert quarry.renewed.count(1) == 1
    for event in quarry.slow.values():
        event.set()
    assert await running == 2


async def test_stopping_waits_for_what_is_in_flight_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """What finishes in time is finished; what doesn't is left to its lease."""
    monkeypatch.setattr(bot.loops.pump, "DRAIN_SECONDS", 1.0)  # more than a busy machine holds this loop up
    quarry = Quarry([1, 2], slow={1: asyncio.Event(), 2: asyncio.Event()})
    pump = quarry.pump()
    running = asyncio.create_task(pump.run())
    await quarry.until_claimed()
    pump.stop()
    quarry.slow[2].set()
    async with asyncio.timeout(PATIENCE):
        await running
    assert quarry.done == [2]
