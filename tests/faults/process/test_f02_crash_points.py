from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING

import pytest

from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import FULL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.faults.fault_processes import Forks

SINGLES = size(12, 10_000)  # of the points; there are about ninety
PAIRS = size(2, 80)


@pytest.fixture
async def points(forks: Forks, tmp_path: Path) -> list[str]:
    """Every point that one whole conversation passes, in order."""
    record = tmp_path / "points"
    process = await forks.start(FAULT_RECORD=str(record))
    ana = await forks.stage.person()
    await ana.issue()
    await forks.stage.settled()
    await process.kill()
    return record.read_text().splitlines()


async def survive(forks: Forks, crashes: Sequence[str]) -> None:
    """One conversation; each process kills itself at the next of ``crashes``, the last one at none."""
    stage = forks.stage
    await stage.database.pool.execute("DELETE FROM cnpj_cache")

    died = 0

    async def processes() -> None:
        nonlocal died
        for crash in crashes:
            with contextlib.suppress(RuntimeError):  # it did not live to say that it had started
                await (await forks.start(FAULT_AT=crash)).ended()
            died += 1
            await stage.leases_run_out()
        await forks.start()

    running = asyncio.create_task(processes())
    hurry = asyncio.create_task(stage.hurry())
    try:
        async with asyncio.timeout(PATIENCE):
            ana = await stage.person()
            await ana.tell(FULL)
            summary = await ana.expect("R$ 1.500,00", timeout=PATIENCE)
            await ana.touch("Confirmar", of=summary)
            await stage.world.meta.wait_for(
                ana.who, lambda b: b.attachment is not None and b.attachment.filename.endswith(".xml"), PATIENCE
            )
            await stage.one_note(ana)
            assert died  # the second of a pair may lie behind us by then
    finally:
        running.cancel()
        hurry.cancel()
        await asyncio.gather(running, hurry, return_exceptions=True)
        await forks.clear()


@pytest.mark.timeout(600)  # a conversation and new processes for each of some fifteen crashes
async def test_a_crash_at_any_await_of_turn_and_emission_is_survived(forks: Forks, points: list[str]) -> None:
    """Killed before or after any commit, statement, request or Redis call, and at pairs of them: one note, told."""
    assert len(points) > 40
    assert {point.split()[0] for point in points} == {"lane", "emissions", "deliveries"}
    dice = random.Random(20261122)  # noqa: S311 - repeatable on purpose
    singles = dice.sample(points, min(SINGLES, len(points)))
    pairs = [sorted(dice.sample(points, 2), key=points.index) for _ in range(PAIRS)]
    failed: list[str] = []
    for crashes in [[point] for point in singles] + pairs:
        try:
            await survive(forks, crashes)
        except (TimeoutError, AssertionError) as error:
            failed.append(f"{crashes}: {type(error).__name__} {error}")
    assert failed == []
