"""By chat on the national channel: where a work or an event was, and what the note says of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from gateway.nacional.layouts import parse
from gateway.registry import REGISTRY
from operations.company import add_company
from proofs.sandbox.nacional.register import City
from proofs.sandbox.nacional.sefin import NacionalConfig
from tests.road.national.test_national_road import FORM, NORMAL, _certificate, _led_there, _told
from tests.road.road_people import QUICK, Person, Road, new_phone, open_road, until
from tests.road.talk.memory_people import CAFE, ZE

CLEANING, REFORM, EVENT = "071001", "070501", "121301"
_DPS = "SELECT bytes FROM nfse_emissao WHERE sessao_id = $1 ORDER BY id DESC LIMIT 1"
_count = iter(range(3000, 9000))  # no year


@pytest.fixture(scope="module")
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    async with open_road(
        database_url, redis_url, config=replace(QUICK, nacional=NacionalConfig()), between=_led_there
    ) as opened:
        await _certificate(opened)
        yield opened


async def _somebody(road: Road, codigo: str, **change: Any) -> Person:
    person = Person(road.world, new_phone())
    form = replace(FORM, codigo_servico=codigo, usuarios=(person.who,), **change)
    await add_company(road.database, form, None, REGISTRY)
    return person


def _order(what: str, customer: str = f"padaria, cnpj {ZE}") -> str:
    return f"nota de {next(_count)} pra {customer}, {what}"


async def _issued(road: Road, person: Person) -> dict[str, str]:
    """Confirm, and return what the DPS that was sent says, by the local names of its elements."""
    await person.press("Confirmar")
    session = (await road.reached(person, "aprovado"))["sessao_id"]
    root = parse(await road.database.pool.fetchval(_DPS, session))
    return {each.tag.rpartition("}")[2]: each.text for each in root.iter() if each.text}


async def test_a_code_that_is_taxed_where_the_work_is_done_asks_for_the_city_once(road: Road) -> None:
    """The company's own is offered; another one is remembered for this customer."""
    person = await _somebody(road, CLEANING)
    asked = await person.say(_order("limpeza da loja"))
    assert "O serviço foi em São Paulo/SP?" in asked.text
    shown = await person.press("Outro local")
    assert "Em que cidade" in shown.text
    shown = await person.say("foi em Curitiba")
    assert "Local: Curitiba/PR" in shown.text
    said = await _issued(road, person)
    assert said["cLocPrestacao"] == "4106902"
    await person.tell(_order("limpeza da loja"))
    await _told(person, "O serviço foi em Curitiba/PR?")
    await person.touch("Sim")

    async def shown_again() -> bool:
        return sum("Local: Curitiba/PR" in answer for answer in person.answers) > 1

    await until(shown_again)


async def test_a_building_site_has_an_address(road: Road) -> None:
    """The street of the order itself is kept; the CEP is all that is asked for."""
    person = await _somebody(road, REFORM)
    asked = await person.say(_order("reforma do banheiro na rua das Flores 120"))
    assert "CEP" in asked.text
    shown = await person.say("01310-100")
    assert "Local: São Paulo/SP\nObra: rua das Flores, 120, Bela Vista" in shown.text
    said = await _issued(road, person)
    assert (said["xLgr"], said["nro"], said["CEP"]) == ("rua das Flores", "120", "01310100")
    await person.tell(_order("reforma da sala"))
    await _told(person, "É na mesma obra: rua das Flores, 120")


async def test_a_building_site_may_have_a_number(road: Road) -> None:
    """A CNO in the place of an address."""
    person = await _somebody(road, REFORM)
    asked = await person.say(f"nota de {next(_count)} pra Ana Souza, cpf 529.982.247-25, reforma do telhado")
    assert "CNO" in asked.text
    asked = await person.say("CNO 12.345.67890/12")
    assert "São Paulo/SP?" in asked.text
    assert "Obra: 123456789012" in (await person.press("Sim")).text
    assert (await _issued(road, person))["cObra"] == "123456789012"


async def test_an_event_has_a_day_and_a_place(road: Road) -> None:
    """Both are asked in one sentence; its name is what the service is called, until somebody says another."""
    person = await _somebody(road, EVENT)
    asked = await person.say(_order("produção do casamento"))
    assert "dia" in asked.text
    assert "CEP" in asked.text
    shown = await person.say("20/11/2026, CEP 01310-100, número 612")
    assert "Evento: produção do casamento" in shown.text
    shown = await person.say("evento: Casamento da Ana")
    assert "Evento: Casamento da Ana" in shown.text
    said = await _issued(road, person)
    assert (said["xNome"], said["dtIni"], said["dtFim"]) == ("Casamento da Ana", "2026-11-20", "2026-11-20")


@pytest.mark.parametrize("days", ["de 18 a 20/11/2026", "18/11 até 20/11"])
async def test_an_event_may_last_some_days(road: Road, days: str) -> None:
    """The answer about its place says the first and the last."""
    person = await _somebody(road, EVENT)
    await person.say(_order("produção do festival"))
    shown = await person.say(f"{days}, CEP 01310-100, número 612")
    assert "20/11/2026" in shown.text
    said = await _issued(road, person)
    assert (said["dtIni"], said["dtFim"], said["nro"]) == ("2026-11-18", "2026-11-20", "612")


async def test_the_iss_may_be_retained_by_the_customer(road: Road) -> None:
    """Its address is asked for, the summary says it, and the note names the rate (E0237, E0621).

    The next time it is asked by two buttons: neither a yes nor a no is guessed.
    """
    person = await _somebody(road, "170101", aliquota="3")
    asked = await person.say(_order("consultoria, com ISS retido", f"café, cnpj {CAFE}"))
    assert "endereço do cliente" in asked.text
    shown = await person.say("01310-100, número 100")
    assert "ISS retido: sim" in shown.text
    said = await _issued(road, person)
    assert (said["tpRetISSQN"], said["pAliq"], said["CEP"]) == ("2", "3.00", "01310100")
    await person.tell(_order("consultoria fiscal", f"café, cnpj {CAFE}"))
    await _told(person, "reteve o ISS na última nota")
    await person.touch("Sem retenção")
    await _told(person, "Serviço: consultoria fiscal")
    assert sum("ISS retido: sim" in answer for answer in person.answers) == 1
    assert (await _issued(road, person))["tpRetISSQN"] == "1"
    await person.tell(_order("consultoria contábil", f"café, cnpj {CAFE}"))
    await _told(person, "Serviço: consultoria contábil")
    assert sum("reteve" in answer for answer in person.answers) == 1


async def test_nobody_retains_the_iss_of_a_mei(road: Road) -> None:
    """E0583 is said before the summary, and without it the note goes out."""
    person = await _somebody(road, "170101", regime="mei", tributos_sn=None)
    await person.say(_order("consultoria, com ISS retido"))
    refused = await person.say("01310-100, número 100")
    assert "MEI" in refused.text
    shown = await person.say("sem retenção")
    assert "ISS retido" not in shown.text
    assert (await _issued(road, person))["tpRetISSQN"] == "1"


async def test_what_pays_no_iss_says_so(road: Road) -> None:
    """99.01.01 is of no incidence: E0532."""
    person = await _somebody(road, "990101")
    await person.say(_order("locação de equipamento"))
    assert (await _issued(road, person))["tribISSQN"] == "4"


async def test_a_city_without_agreement_is_told_before_the_summary(road: Road) -> None:
    """It is asked for at once; who changes the city goes on, and another regime than the normal one never stops."""
    road.world.sefin.config = replace(road.world.sefin.config, cities={"4106902": City(active=False)})
    person = await _somebody(road, CLEANING, **NORMAL)
    await person.say(_order("limpeza do galpão"))
    await person.press("Outro local")
    told = await person.say("foi em Curitiba")
    assert "Curitiba/PR não tem convênio com o emissor nacional" in told.text
    assert not [button for button in told.buttons if button.title == "Confirmar"]
    shown = await person.say("foi em Campinas")
    assert "Local: Campinas/SP" in shown.text
    assert (await _issued(road, person))["cLocPrestacao"] == "3509502"
    simple = await _somebody(road, CLEANING)
    await simple.say(_order("limpeza da garagem"))
    await simple.press("Outro local")
    assert "Local: Curitiba/PR" in (await simple.say("foi em Curitiba")).text
    assert await road.database.pool.fetchval("SELECT count(*) FROM cidade_parametro WHERE municipio_ibge = '4106902'")
