from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from nightly import size
from road_people import FULL, open_road

from state_machine import messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from road_people import Person, Road

FLOOD = size(300, 2000)  # messages of one person
STRANGERS = size(60, 3000)
BURST, PER_HOUR = 5, 20
NOTICE = messages.devagar().texto
UNREAD = "500 reais, aquele lance maneiro lá que você me indicou"


@pytest.fixture(scope="module")
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """A road with narrow budgets: a token comes back in five minutes."""
    limits = {
        "person_answers_burst": BURST,
        "person_answers_per_minute": 0.2,
        "strangers_answers_per_hour": PER_HOUR,
        "debounce_seconds": 0.0,
    }
    async with open_road(database_url, redis_url, **limits) as road:
        yield road


async def _refused(road: Road, budget: str) -> float:
    return road.house.metrics.budget_refusals.labels(budget)._value.get()


async def _exhausted(road: Road) -> Person:
    """Somebody who got all the answers of the bucket, and the one that says so."""
    ana = await road.person()
    for number in range(BURST):
        await ana.say(f"oi {number}")
    assert (await ana.say("oi de novo")).text == NOTICE
    return ana


@pytest.mark.timeout(900)  # 2,000 messages at night
async def test_a_flood_of_one_person_costs_as_many_answers_as_the_bucket_holds(road: Road) -> None:
    """Everything is stored and read; the bucket's answers and one that says so leave, however much comes."""
    ana = await road.person()
    before = await _refused(road, "pessoa")
    for number in range(0, FLOOD, 25):
        await asyncio.gather(*(ana.tell(f"oi, tudo bem? {number + more}") for more in range(25)))
        await road.settled()
    stored = "SELECT count(*) FROM inbox WHERE lane = $1 AND tipo = 'mensagem' AND estado = 1"
    assert await road.database.pool.fetchval(stored, road.conversation(ana)) == FLOOD
    assert len(ana.answers) <= BURST + 1
    assert ana.answers[-1] == NOTICE
    assert ana.answers.count(NOTICE) == 1
    assert await _refused(road, "pessoa") > before


async def test_what_is_told_in_silence_counts_and_decisions_are_answered(road: Road) -> None:
    """Beyond the bucket data are read, a yes to nothing that was seen issues nothing, and buttons work at once."""
    ana = await _exhausted(road)
    await ana.tell(FULL)
    await road.settled()
    assert ana.answers[-1] == NOTICE
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    shown = await ana.say("sim")  # of a summary that nobody has seen
    assert "R$ 1.500,00" in shown.text
    assert await road.notes(ana) == []
    await ana.touch("Confirmar")
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_cancellation_beyond_the_bucket_is_done_and_answered(road: Road) -> None:
    """The button of an open summary gives the invoice up, as ever."""
    ana = await road.person()
    await ana.say(FULL)
    for number in range(BURST - 1):
        await ana.say(f"oi {number}")
    assert (await ana.say("oi")).text == NOTICE
    await ana.press("Cancelar")
    assert (await road.session(ana))["estado"] == "cancelado_usuario"


async def test_a_flushed_redis_fills_the_buckets(road: Road) -> None:
    """Who had been answered enough is answered again; nothing else depends on it."""
    ana = await _exhausted(road)
    await road.house.redis.flushall()
    assert (await ana.say("oi")).text != NOTICE


@pytest.mark.timeout(900)  # 3,000 numbers at night
async def test_all_strangers_together_get_so_many_answers_an_hour(road: Road) -> None:
    """Of many unknown numbers only so many are answered; all are registered, and a later message is answered."""
    await road.house.redis.flushall()
    people = [await road.person(known=False) for _ in range(STRANGERS)]
    for at in range(0, STRANGERS, 50):
        await asyncio.gather(*(person.tell("oi") for person in people[at : at + 50]))
        await road.settled()
    assert sum(len(person.answers) for person in people) == PER_HOUR
    assert await _refused(road, "estranhos") >= STRANGERS - PER_HOUR
    known = "SELECT count(*) FROM conversas WHERE usuario_id IS NULL"
    assert await road.database.pool.fetchval(known) == STRANGERS
    await road.house.redis.flushall()
    late = next(person for person in people if not person.answers)
    assert "ainda não está ligado" in (await late.say("oi?")).text
    answered = next(person for person in people if person is not late and person.answers)
    await answered.tell("oi?")
    await road.settled()
    assert len(answered.answers) == 1
