"""A proposal that was approved after the copy is asked about again after a restore, and stays one note."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from operations.restored import restore
from tests.road.national.test_history_road import copied, put_back
from tests.road.proposals.erp import approver, erp_of
from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.road_people import Road


@pytest.mark.timeout(280)  # two conversations, and a database that is put back between
async def test_a_proposal_approved_after_the_copy_is_one_note(road: Road, owner_url: str, redis_url: str) -> None:
    """Its session has the id that was stored with it: the gateway knows the reference."""
    ana = await approver(road)
    erp = await erp_of(road)
    await ana.say(FULL)  # busy: the proposal waits
    proposta = await erp.proposes(valor="1234.56")
    await road.settled()
    await copied(owner_url)
    await ana.press("Cancelar")
    await road.house.schedule.run_job("proposals")
    await ana.expect("propôs esta nota")
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await ana.files()
    await road.settled()
    await put_back(owner_url, redis_url)
    await restore(road.database, [])
    assert (await erp.get(proposta))["estado"] == "enviada"
    await ana.say("cancelar")
    await road.house.schedule.run_job("proposals")
    again = await ana.expect("propôs esta nota")
    await ana.press("Confirmar", of=again)
    await erp.becomes(proposta, "emitida")
    await road.settled()
    assert len([note for note in road.world.plugnotas.notes.values() if str(note.valor) == "1234.56"]) == 1
