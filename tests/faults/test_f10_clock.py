from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.road_people import FULL, until

if TYPE_CHECKING:
    from tests.faults.fault_processes import Forks
    from tests.road.road_stage import Stage

HOURS_AHEAD, DAYS_BEHIND = str(3 * 3600), str(-2 * 86400)


@pytest.mark.parametrize("clock", [HOURS_AHEAD, DAYS_BEHIND])
async def test_a_clock_that_jumps_expires_nobody_and_steals_nothing(forks: Forks, clock: str) -> None:
    """A process hours ahead or days behind beside a right one: leases and deadlines are the database's, all goes on."""
    stage = forks.stage
    right = await forks.start("worker")
    await forks.start("serve", FAULT_CLOCK=clock)
    ana, bia = await stage.person(), await stage.person()
    await ana.say(FULL)
    await bia.say("nota de 1500")
    beats = "SELECT batida FROM historia"
    before = await stage.database.pool.fetchval(beats)
    await until(lambda: _more(stage, beats, before + 4))  # the deadlines were looked at meanwhile, as often as it beats
    assert not await stage.database.pool.fetchval("SELECT count(*) FROM session_snapshot WHERE estado = 'expirado'")
    await ana.touch("Confirmar")
    await ana.files()
    await stage.one_note(ana)
    assert (await stage.session(bia))["estado"] != "expirado"
    assert not right.events["warning lanes_inherited"]


async def _more(stage: Stage, query: str, before: int) -> bool:
    return bool(await stage.database.pool.fetchval(query) > before)
