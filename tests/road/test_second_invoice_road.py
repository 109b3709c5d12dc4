"""A second invoice of the same content, over the whole road."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from road_people import Road, open_road

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from road_people import Person


@pytest.fixture(scope="module")
async def open_for_module(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    async with open_road(database_url, redis_url, repeat_window_seconds=3600) as road:
        yield road


def words(number: int) -> str:
    """A request that only one test of this module makes."""
    return f"faz uma nota de {1000 + number} pra 12.345.678/0001-95, consultoria de marketing"


async def asked(person: Person, request: str) -> None:
    """Ask for an invoice and confirm it; the answer must be the question."""
    await person.say(request)
    assert "nota igual" in (await person.press("Confirmar")).text


async def test_the_same_invoice_again_is_asked_about(road: Road) -> None:
    """Only *Emitir outra* issues a second one; until then there is one."""
    ana = await road.person()
    await ana.issue(words(1))
    await asked(ana, words(1))
    assert len(await road.notes(ana)) == 1
    await ana.touch("Emitir outra")
    await ana.files()
    assert len(await road.notes(ana)) == 2


async def test_a_no_to_the_question_leaves_one_invoice(road: Road) -> None:
    """Who had only forgotten says no, and nothing is issued."""
    ana = await road.person()
    await ana.issue(words(2))
    await asked(ana, words(2))
    assert "nenhuma outra nota foi emitida" in (await ana.say("não")).text
    assert len(await road.notes(ana)) == 1


async def test_a_colleague_s_invoice_counts(road: Road) -> None:
    """Two people of one company who ask for the same invoice are told of each other's."""
    ana, bruno = await road.person(), await road.person()
    await ana.issue(words(3))
    await asked(bruno, words(3))
    assert await road.notes(bruno) == []


async def test_two_colleagues_at_the_same_moment_get_one_question(road: Road) -> None:
    """Confirmed in parallel, one of the two is issued and the other is asked about."""
    people = [await road.person() for _ in range(2)]
    for person in people:
        await person.say(words(4))
    await asyncio.gather(*(person.touch("Confirmar") for person in people))
    answers = [await person.expect() for person in people]
    assert sorted("nota igual" in answer.text for answer in answers) == [False, True]
    assert sum([len(await road.notes(person)) for person in people]) == 1


async def test_a_refused_invoice_is_none(road: Road) -> None:
    """What the authority refused may be asked for again without a question."""
    ana = await road.person()
    road.world.plugnotas.faults.set("rejeitar", times=1)
    await ana.say(words(5))
    await ana.press("Confirmar")
    await ana.say("cancela")
    await ana.issue(words(5))
    assert len(await road.notes(ana)) == 1
