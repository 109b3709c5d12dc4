"""By chat on the national channel: a refusal ends with its person, or staff, reading what to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from gateway.refusals.national_codes import CODIGOS
from proofs.sandbox.nacional.register import City
from proofs.sandbox.nacional.sefin import NacionalConfig
from tests.road.national.test_national_road import FORM, NORMAL, _certificate, _led_there
from tests.road.national.test_places_road import CLEANING, EVENT, REFORM, _issued, _order, _somebody
from tests.road.road_people import QUICK, Road, open_road
from tests.road.road_stage import waits_passing

CITIES: dict[str, City] = {}
ADVICE, ADDRESS = "170101", "CEP 01310-100, número 612"


@pytest.fixture(scope="module")
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    config = replace(QUICK, nacional=NacionalConfig(cities=CITIES))
    async with open_road(database_url, redis_url, config=config, between=_led_there) as opened:
        await _certificate(opened)
        yield opened


@pytest.mark.parametrize(
    ("refused", "codigo", "said", "question", "answer", "shown", "sent"),
    [
        ("E0237", ADVICE, ("consultoria",), "endereço do cliente", ADDRESS, "Endereço do cl", ("nro", "612")),
        ("E0302", CLEANING, ("limpeza", "sim"), "do local do", "foi em Curitiba", "/PR", ("cLocPrestacao", "4106902")),
        ("E0370", REFORM, ("reforma na rua Alta 9", "01310-100"), "do local do", ADDRESS, "Alta, 612", ("nro", "612")),
        ("E0390", EVENT, ("baile", f"20/11/2026, {ADDRESS}"), "do local do", "número 9", "Local: Aven", ("nro", "9")),
        (
            *("E0667", ADVICE, ("consultoria, com ISS retido", ADDRESS), "escreve _sem retenção_", "sem retenção"),
            *("Confere", ("tpRetISSQN", "1")),
        ),
    ],
    ids=lambda value: value if str(value).startswith("E0") else "",
)
async def test_what_the_person_can_mend_is_asked_again(
    road: Road,
    refused: str,
    codigo: str,
    said: tuple[str, ...],
    question: str,
    answer: str,
    shown: str,
    sent: tuple[str, str],
) -> None:
    """The rule is told in plain words, one button asks for what it is about, and the note goes out with the answer."""
    person = await _somebody(road, codigo, aliquota="3")
    await person.say(_order(said[0]))
    for more in said[1:]:
        await person.say(more)
    road.world.sefin.faults.set("rejeitar", times=1, message=refused)
    await person.touch("Confirmar")
    async with waits_passing(road):
        told = await person.expect("não foi aceita")
    assert CODIGOS[refused].texto in told.text
    assert question in (await person.press("Corrigir nota")).text
    summary = await person.say(answer)
    assert shown in summary.text
    assert "ISS retido" not in summary.text
    name, value = sent
    assert (await _issued(road, person))[name] == value


@pytest.mark.parametrize("refused", ["E0312", "E0604", "E0617"])
async def test_what_staff_must_mend_asks_its_person_for_nothing(road: Road, refused: str) -> None:
    """The person reads whose matter it is, and has no button to press."""
    person = await _somebody(road, ADVICE)
    await person.say(_order("consultoria"))
    road.world.sefin.faults.set("rejeitar", times=1, message=refused)
    await person.touch("Confirmar")
    async with waits_passing(road):
        told = await person.expect("Quem resolve é a nossa equipe")
    assert CODIGOS[refused].texto in told.text
    assert told.buttons == ()


async def test_where_the_citys_term_to_replace_is_over_the_way_is_to_cancel_and_redo(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E0050: the correction is kept, and the old note stands until somebody cancels it."""
    person = await _somebody(road, ADVICE, tributos_sn=None, **NORMAL)
    await person.say(_order("consultoria"))
    await person.touch("Confirmar")
    await person.files(late=True)
    note = list(road.world.sefin.notes.values())[-1]
    monkeypatch.setitem(CITIES, FORM.municipio, City(substitution_days=0))
    shown = await person.press("Substituir a nota", await person.say(f"corrige a nota {note.numero}, era 1.800"))
    await person.touch("Confirmar", shown)
    async with waits_passing(road):
        told = await person.expect("não pode ser substituída")
    assert CODIGOS["E0050"].texto in told.text
    assert [button.title for button in told.buttons] == ["Cancelar e refazer"]
    assert not note.events
