"""A phone whose right to issue was taken away issues nothing more; what it had confirmed goes on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from operations.company import add_company, remove_user
from operations.protocol import send_stored
from persistence.access.accounts import Alcance
from proofs.demo.world import COMPANY
from tests.road.road_people import FULL, unlike, until

if TYPE_CHECKING:
    from persistence.people.companies import Revogado
    from tests.road.road_people import Person, Road

A_DAY_LATER = """
UPDATE nfse_emissao SET criado_em = criado_em - interval '25 h', desejado_em = desejado_em - interval '25 h'
WHERE id_integracao = $1
"""
OTHER = replace(COMPANY, cnpj="99.000.002/0001-48", razao_social="CAFÉ DA ESQUINA LTDA")


async def _removed(road: Road, person: Person) -> Revogado:
    async with road.database.transaction() as connection:
        return await remove_user(
            connection, person.who, "saiu da empresa", Alcance(todas=True), quem="teste", staff_id=None
        )


async def test_an_open_summary_issues_nothing_after_the_removal(road: Road) -> None:
    """Button and word are told why, nothing is issued; let in again, the number sees the summary before it confirms."""
    ana = await road.person()
    summary = await ana.say(FULL)
    await road.settled()
    done = await _removed(road, ana)
    assert (done.abertas, done.em_emissao) == (1, 0)
    for answer in (await ana.press("Confirmar", of=summary), await ana.say("sim")):
        assert "não está mais ligado a nenhuma empresa" in answer.text
    await road.settled()
    assert await road.notes(ana) == []
    row = await road.database.pool.fetchrow("SELECT * FROM auditoria WHERE acao = 'removeu usuário' ORDER BY id DESC")
    assert ana.who not in str(dict(row))
    await add_company(road.database, replace(COMPANY, usuarios=(ana.who,)))
    again = await ana.press("Confirmar", of=summary)
    assert await road.notes(ana) == []
    await ana.touch("Confirmar", of=again)
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_confirmed_invoice_goes_on_after_the_removal(road: Road) -> None:
    """The gateway was away when the right was taken: the invoice is issued once, and its files arrive."""
    ana = await road.person()
    await ana.say(FULL)
    road.world.plugnotas.faults.set("limite_429", seconds=1, method="POST")
    await ana.touch("Confirmar")
    await road.reached(ana, "processando")
    done = await _removed(road, ana)
    assert (done.abertas, done.em_emissao) == (0, 1)
    road.world.plugnotas.faults.clear()
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_removal_waits_for_a_yes_that_is_being_committed(road: Road) -> None:
    """Whoever confirms at the same moment came first or too late: the lock of their right decides, nothing between."""
    ana = await road.person()
    await ana.say(FULL)
    await road.settled()
    async with road.database.pool.acquire() as other, other.transaction():
        await other.execute("SELECT FROM usuario WHERE telefone = $1 FOR SHARE", ana.who)  # as the yes's commit does
        removal = asyncio.create_task(_removed(road, ana))
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%usuario%'"
        await until(lambda: road.database.pool.fetchval(waits))
        assert not removal.done()
    assert (await removal).abertas == 1


async def test_who_left_the_company_decides_nothing_about_its_stopped_invoice(road: Road) -> None:
    """The right to issue is looked at again: neither button moves the invoice of the company that was left."""
    ana = await road.person()
    road.world.plugnotas.faults.set("limite_429", seconds=1, method="POST")
    await ana.say(unlike())
    await ana.touch("Confirmar")
    key = (await road.reached(ana, "processando"))["id_integracao"]
    row = "SELECT status, retida FROM nfse_emissao WHERE id_integracao = $1 AND envios > 0"
    await until(lambda: road.database.pool.fetchrow(row, key))
    await road.database.pool.execute(A_DAY_LATER, key)
    question = await ana.expect("ainda quer esta nota?")
    await until(lambda: road.database.pool.fetchrow(f"{row} AND retida = 'pessoa'", key))
    road.world.plugnotas.faults.clear()
    await _removed(road, ana)
    await add_company(road.database, replace(OTHER, usuarios=(ana.who,)))
    for title in ("Não quero mais", "Quero, emitir"):
        assert "não emite mais pela empresa desta nota" in (await ana.press(title, of=question)).text
    await road.settled()
    assert tuple(await road.database.pool.fetchrow(row, key)) == ("pendente", "pessoa")
    assert await road.notes(ana) == []
    assert "pedido registrado" in (await send_stored(road.database, key))[0]  # staff may, as ever
    await ana.expect("Voltei a tentar")
    await ana.files()
    assert [note.id_integracao for note in await road.notes(ana)] == [key]
