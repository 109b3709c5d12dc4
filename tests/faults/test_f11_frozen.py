from __future__ import annotations

from typing import TYPE_CHECKING

from road_people import FULL, until
from road_stage import trap

if TYPE_CHECKING:
    from road_stage import Stage


async def test_a_worker_that_wakes_up_past_its_leases_changes_nothing(stage: Stage) -> None:
    """Frozen with a turn and an order in hand, taken over, thawed: its commits are refused, and all is there once."""
    await stage.start("web")
    frozen = await stage.start("worker")
    ana, bia = await stage.person(), await stage.person()
    await ana.say(FULL)
    await stage.settled()
    ordered = trap(stage.world.plugnotas, "lento", seconds=1.5, method="POST", times=1)
    await ana.touch("Confirmar")
    await ordered()
    await stage.database.pool.execute("TRUNCATE cnpj_cache")
    asked = trap(stage.world.cnpj, "lento", seconds=1.5, times=1)
    await bia.tell(FULL)
    await asked()
    frozen.freeze()
    await stage.leases_run_out()
    await stage.start("worker")
    await bia.expect("R$ 1.500,00", timeout=30.0)
    pool = stage.database.pool
    await until(lambda: pool.fetchval("SELECT bool_or(epoch > 1) FROM nfse_emissao"), 30.0)
    frozen.proceed()
    await until(lambda: _said(frozen, "lease_lost"), 30.0)
    await until(lambda: _said(frozen, "emission_lease_lost"), 30.0)
    await ana.files()
    await stage.one_note(ana)
    assert len(bia.answers) == 1
    assert len(await stage.sessions(bia)) == 1


async def _said(prosa: object, event: str) -> bool:
    return any(entry.get("event") == event for entry in prosa.log)
