"""While the gateway is down, or refuses one company, invoices wait and none is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from operations.company import add_company
from operations.protocol import CommandRefusedError, release, stopped
from proofs.demo.world import COMPANY
from tests.road.road_people import Person, new_phone, open_road, unlike, until
from tests.road.road_stage import waits_passing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Road

OTHER = replace(COMPANY, cnpj="99.000.002/0001-48", razao_social="CAFÉ DA ESQUINA LTDA")
OURS = "".join(c for c in COMPANY.cnpj if c.isalnum())
OUTAGE: dict[str, Any] = {"gateway_breaker_failures": 3, "gateway_breaker_seconds": 0.5}


@pytest.fixture(scope="module")
async def open_for_module(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    async with open_road(database_url, redis_url, **OUTAGE) as road:
        yield road


async def _confirmed(road: Road, person: Person) -> str:
    await person.say(unlike())
    await person.touch("Confirmar")
    return str((await road.reached(person, "processando"))["id_integracao"])


async def _row(road: Road, key: str) -> Any:
    return await road.database.pool.fetchrow("SELECT * FROM nfse_emissao WHERE id_integracao = $1", key)


async def _calls(road: Road, key: str) -> int:
    statement = "SELECT count(*) FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id"
    return int(await road.database.pool.fetchval(f"{statement} WHERE e.id_integracao = $1", key))


async def _held(road: Road, key: str, why: str) -> None:
    async def held() -> bool:
        return bool((await _row(road, key))["retida"] == why)

    await until(held)


async def test_a_company_that_the_gateway_refuses_stops_alone_and_goes_on_when_it_is_let(road: Road) -> None:
    """403: one call tells, its other invoices wait without one, other companies go on; the command frees them all."""
    ana, rui = await road.person(), await road.person()
    bia = Person(road.world, new_phone())
    await add_company(road.database, replace(OTHER, usuarios=(bia.who,)))
    road.world.plugnotas.refused.add(OURS)
    first = await _confirmed(road, ana)
    await _held(road, first, "credencial")
    second = await _confirmed(road, rui)
    await _held(road, second, "credencial")
    assert (await _calls(road, first), await _calls(road, second)) == (1, 0)
    waiting = await _row(road, second)
    assert (waiting["status"], waiting["envios"]) == ("pendente", 0)
    await bia.issue()
    [line] = await stopped(road.database)
    assert "HTTP 403" in line
    assert "2 na fila" in line

    road.world.plugnotas.refused.clear()
    assert "volta a enviar" in (await release(road.database, COMPANY.cnpj))[0]
    for person in (ana, rui):
        await person.files()
        assert len(await road.notes(person)) == 1
    assert await stopped(road.database) == []
    assert "não estão parados" in (await release(road.database, COMPANY.cnpj))[0]


async def test_one_probe_at_a_time_looks_whether_we_are_still_refused(road: Road) -> None:
    """When its time comes one invoice tries; refused again, the others stay; heard, all of them go."""
    people = [await road.person() for _ in range(3)]
    road.world.plugnotas.refused.add(OURS)
    keys = [await _confirmed(road, person) for person in people]
    for key in keys:
        await _held(road, key, "credencial")

    async def probe() -> None:
        await road.database.pool.execute("UPDATE empresa SET sonda_em = now()")
        await road.database.pool.execute("UPDATE nfse_emissao SET proxima_acao_em = now() WHERE retida IS NOT NULL")
        road.house.pumps["emissions"].ring()

    async def refusals() -> int:
        return sum([await _calls(road, key) for key in keys])

    before = await refusals()
    await probe()

    async def tried() -> bool:
        return await refusals() > before

    await until(tried)
    for key in keys:
        await _held(road, key, "credencial")
    assert await refusals() == before + 1

    road.world.plugnotas.refused.clear()
    await probe()
    for person in people:
        await person.files()
        assert len(await road.notes(person)) == 1
    assert await stopped(road.database) == []


async def test_a_company_that_is_not_known_cannot_be_let_go(road: Road) -> None:
    """A mistyped CNPJ changes nothing and says so."""
    for cnpj in ("11.222.333/0001-80", "33.000.167/0001-01"):
        with pytest.raises(CommandRefusedError, match="nada mudou"):
            await release(road.database, cnpj)


async def test_while_the_gateway_is_down_due_invoices_wait_without_an_attempt(road: Road) -> None:
    """After failures in a row nothing but a probe is called; a confirmed invoice stays unsent and goes out after."""
    ana = await road.person()
    road.world.plugnotas.faults.set("erro_500", method="POST")
    rest = [await road.person() for _ in range(OUTAGE["gateway_breaker_failures"])]
    for person in (ana, *rest):  # sent in vain
        await _confirmed(road, person)
    gauge = road.house.metrics.gateway_circuit_open

    async def is_open() -> bool:
        return bool(gauge._value.get() == 1)

    await until(is_open)

    async def told(*, aberto: bool) -> bool:
        stands = (
            "SELECT aberto, quantos FROM disjuntor "
            "WHERE destino = 'gateway_envio' AND visto_em > now() - interval '2 minutes'"
        )
        return [tuple(row) for row in await road.database.pool.fetch(stands)] == [(aberto, int(aberto))]

    await until(lambda: told(aberto=True))
    found: tuple[str, int, int] | None = None
    for _ in range(10):  # who comes when a probe is due is the probe: then the next one waits
        rest.append(await road.person())
        key = await _confirmed(road, rest[-1])

        async def decided(key: str = key) -> bool:
            return bool((await _row(road, key))["retida"] == "circuito" or await _calls(road, key))

        await until(decided)
        waiting = await _row(road, key)
        found = (waiting["status"], waiting["envios"], await _calls(road, key))
        if not found[1] and not found[2]:
            break
    assert found == ("pendente", 0, 0)

    road.world.plugnotas.faults.clear()
    async with waits_passing(road):
        for person in (ana, *rest):
            await person.files(late=True)
            assert len(await road.notes(person)) == 1
    assert gauge._value.get() == 0
    await until(lambda: told(aberto=False))
