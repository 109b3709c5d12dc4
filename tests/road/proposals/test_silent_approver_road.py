"""An approver who says nothing: the summary expires, and what waits for somebody who is away ends after a week."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.proposals.erp import approver, erp_of
from tests.road.road_people import open_road, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Road


@pytest.fixture(scope="module")
async def open_for_module(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """A road on which sessions live for one second."""
    async with open_road(database_url, redis_url, session_ttl_seconds=1) as road:
        yield road


async def test_a_summary_without_an_answer_expires(road: Road) -> None:
    """The caller reads so; its old button issues nothing."""
    ana = await approver(road)
    erp = await erp_of(road)
    proposta = await erp.proposes()
    summary = await ana.expect("propôs esta nota")

    async def swept() -> bool:
        await road.house.schedule.run_job("expiry")
        return bool((await erp.get(proposta))["estado"] == "expirada")

    await until(swept)
    assert (await erp.get(proposta))["alterada_por"] == "prazo"
    assert "encerrada por tempo" in (await ana.press("Confirmar", of=summary)).text
    await road.settled()
    assert await road.notes(ana) == []


async def test_who_is_away_is_waited_for(road: Road) -> None:
    """Outside Meta's window nothing is sent; the next word of the approver brings the proposal."""
    ana = await approver(road)
    erp = await erp_of(road)
    away = "UPDATE conversas SET ultima_entrada_em = now() - interval '25 hours' WHERE conversa = $1"
    await road.database.pool.execute(away, road.conversation(ana))
    proposta = await erp.proposes()
    await road.settled()
    assert await road.house.schedule.run_job("proposals") == 0
    assert (await erp.get(proposta))["estado"] == "enviada"
    await ana.say("obrigada")
    await road.house.schedule.run_job("proposals")
    await ana.expect("propôs esta nota")
    await ana.press("Cancelar")


async def test_staff_are_not_interrupted(road: Road) -> None:
    """While somebody of the staff speaks with the approver a proposal waits."""
    ana = await approver(road)
    erp = await erp_of(road)
    staff = await road.database.pool.fetchval(
        "INSERT INTO staff (nome, papel, senha_hash, totp_segredo, todas_empresas)"
        " VALUES ('sara', 'suporte', 'x', 'x', true) RETURNING id"
    )
    held = "UPDATE conversas SET atendente_id = $2 WHERE conversa = $1"
    await road.database.pool.execute(held, road.conversation(ana), staff)
    await erp.proposes()
    await road.settled()
    assert await road.house.schedule.run_job("proposals") == 0
    await road.database.pool.execute(held, road.conversation(ana), None)
    await road.house.schedule.run_job("proposals")
    await ana.expect("propôs esta nota")
    await ana.press("Cancelar")


async def test_what_nobody_can_answer_ends(road: Road) -> None:
    """After a week, and at once where the approver is erased; what waits less than that stays."""
    ana = await approver(road)
    erp = await erp_of(road)
    away = "UPDATE conversas SET ultima_entrada_em = now() - interval '25 hours' WHERE conversa = $1"
    await road.database.pool.execute(away, road.conversation(ana))
    late, orphan, young = [await erp.proposes() for _ in range(3)]
    await road.settled()
    await road.database.pool.execute(
        "UPDATE propostas SET enviada_em = now() - interval '169 hours' WHERE id = $1", late
    )
    await road.database.pool.execute("UPDATE propostas SET aprovador_id = NULL WHERE id = $1", orphan)
    await road.house.schedule.run_job("proposals_overdue")
    assert await road.house.schedule.run_job("proposals_overdue") == 0
    assert [(await erp.get(each))["estado"] for each in (late, orphan, young)] == ["expirada", "cancelada", "enviada"]
    assert (await erp.get(late))["motivo"]
