from __future__ import annotations

from tests.road.road_people import FULL
from tests.road.road_stage import Stage, trap

EXIT_SECONDS = 10.0  # a container is killed this long after SIGTERM


async def test_sigterm_finishes_what_is_at_hand(stage: Stage) -> None:
    """Asked to stop in the middle of an order, the process waits for the answer, stores it and goes, in time."""
    prosa = await stage.start()
    ana = await stage.person()
    await ana.say(FULL)
    ordered = trap(stage.world.plugnotas, "lento", seconds=1.0, method="POST", times=1)
    await ana.touch("Confirmar")
    await ordered()
    status, seconds = await prosa.terminate()
    assert (status, seconds < EXIT_SECONDS) == (0, True)
    key = (await stage.session(ana))["id_integracao"]
    row = await stage.database.pool.fetchrow(
        "SELECT status, lease_until FROM nfse_emissao WHERE id_integracao = $1", key
    )
    assert row is not None
    assert tuple(row) == ("enviado", None)
    await stage.start()
    await ana.files()
    await stage.one_note(ana)


async def test_sigterm_does_not_wait_for_ever(stage: Stage) -> None:
    """A gateway that never answers does not hold the process: it goes within ten seconds, and nothing is lost."""
    prosa = await stage.start()
    ana, bia = await stage.person(), await stage.person()
    await ana.say(FULL)
    ordered = trap(stage.world.plugnotas, "pendurar_resposta", seconds=60, times=1)
    await ana.touch("Confirmar")
    await ordered()
    await stage.database.pool.execute("DELETE FROM cnpj_cache")
    asked = trap(stage.world.cnpj, "lento", seconds=60)
    await bia.tell(FULL)
    await asked()
    status, seconds = await prosa.terminate()
    assert (status, seconds < EXIT_SECONDS) == (0, True)
    stage.world.cnpj.faults.clear()
    await stage.leases_run_out()
    await stage.start()
    await ana.files()
    await stage.one_note(ana)
    await bia.expect("R$ 1.500,00")
