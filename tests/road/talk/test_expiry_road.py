from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.road_people import FULL, PADARIA, open_road, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Person, Road


@pytest.fixture(scope="module")
async def open_for_module(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """A road on which sessions live for one second."""
    async with open_road(database_url, redis_url, session_ttl_seconds=1) as road:
        yield road


async def _expired(road: Road, person: Person) -> None:
    async def swept() -> bool:
        await road.house.schedule.run_job("expiry")
        return bool((await road.session(person))["estado"] == "expirado")

    await until(swept)


async def test_a_forgotten_invoice_expires_and_can_be_taken_up(road: Road) -> None:
    """After the deadline nothing can be confirmed; a late yes offers to take the data up, and that issues one."""
    ana = await road.person()
    summary = await ana.say(FULL)
    await _expired(road, ana)
    session = await road.session(ana)
    assert session["snapshot_reason"] == "expired"
    assert session["expired_at"] is not None
    assert await road.house.redis.exists(f"prosa:sessao:{road.conversation(ana)}") == 0
    late = await ana.say("sim")
    assert "expirou sem ser emitida" in late.text
    assert [button.title for button in late.buttons] == ["Retomar esta nota"]
    assert "encerrada por tempo" in (await ana.press("Confirmar", of=summary)).text
    assert "R$ 1.500,00" in (await ana.press("Retomar esta nota", of=late)).text
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    assert len(await road.notes(ana)) == 1


async def test_an_expiry_in_mid_collection_keeps_what_was_said(road: Road) -> None:
    """The next words go on from there and say so; what is issued is what the summary after them shows."""
    ana = await road.person()
    await ana.say("nota de 1500 reais")
    await _expired(road, ana)
    told = await ana.say("pro 12.345.678/0001-95, consultoria de marketing")
    assert "Guardei: valor R$ 1.500,00." in told.text
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    assert [note.valor for note in await road.notes(ana)] == [1500]


async def test_every_word_moves_the_deadline(road: Road) -> None:
    """A sweep that saw the old deadline finds a session that spoke since, and leaves it alone."""
    ana = await road.person()
    await ana.say("nota de 1500")
    before = (await road.session(ana))["expira_em"]

    async def overdue() -> bool:
        return bool(await road.database.pool.fetchval("SELECT $1::timestamptz < now()", before))

    await ana.say(PADARIA)
    assert (await road.session(ana))["expira_em"] > before
    await until(overdue)
    # Whichever comes first, the person's word or the sweep, decides; a word keeps what was said before.
    await road.database.pool.execute(
        "UPDATE session_snapshot SET expira_em = now() + interval '1 h' WHERE conversa = $1", road.conversation(ana)
    )
    assert await road.house.schedule.run_job("expiry") == 0
    assert (await road.session(ana))["estado"] == "dados_incompletos"


async def test_an_invoice_at_the_authority_never_expires(road: Road) -> None:
    """Only a session that waits for the user has a deadline."""
    road.world.plugnotas.faults.set("aprovado_sem_numero")  # stays at the authority until the fault is cleared
    ana = await road.person()
    await ana.say(FULL)
    await ana.touch("Confirmar")
    assert (await road.reached(ana, "processando"))["expira_em"] is None
    await road.house.schedule.run_job("expiry")
    road.world.plugnotas.faults.clear()
    await ana.files()
    assert (await road.session(ana))["estado"] == "aprovado"
