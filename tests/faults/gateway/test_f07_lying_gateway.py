from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.nightly import size
from tests.road.road_people import FULL
from tests.road.road_stage import waits_passing

if TYPE_CHECKING:
    from tests.road.road_people import Road

LIES = [  # of orders, and of every answer
    ("json_truncado", {}),
    ("json_truncado", {"method": None}),
    ("html_200", {}),
    ("html_200_aceito", {"method": None}),
    ("referencia_alheia", {}),
    ("aprovado_sem_numero", {}),
]
LYING = size(1.5, 30.0)  # seconds


@pytest.mark.parametrize(("lie", "setting"), LIES)
async def test_a_lie_approves_nothing(road: Road, lie: str, setting: dict[str, None]) -> None:
    """As long as the gateway's answers are no proof nothing is approved or rejected; afterwards there is one note."""
    ana = await road.person()
    await ana.say(FULL)
    road.world.plugnotas.faults.set(lie, **setting)
    if lie != "aprovado_sem_numero":
        road.world.plugnotas.faults.set("aprovado_sem_numero")  # else a question would find the truth
    await ana.touch("Confirmar")
    await road.reached(ana, "processando")
    await asyncio.sleep(LYING)
    assert (await road.session(ana))["estado"] == "processando"
    assert not any("autorizada" in answer for answer in ana.answers)
    road.world.plugnotas.faults.clear()
    pool = road.database.pool
    await pool.execute("UPDATE nfse_emissao SET proxima_acao_em = now() WHERE proxima_acao_em IS NOT NULL")
    async with waits_passing(road):
        await road.world.meta.wait_for(ana.who, lambda b: b.attachment is not None)
    await road.settled()
    assert len(await road.notes(ana)) == 1
    assert (await road.session(ana))["estado"] == "aprovado"
