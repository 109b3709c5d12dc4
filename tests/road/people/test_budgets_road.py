from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from state_machine.catalogue import messages
from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import FULL, open_road, unlike

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Person, Road

FLOOD = size(300, 2000)  # messages of one person
STRANGERS = size(60, 3000)
BURST, PER_HOUR = 5, 20
NOTICE = messages.devagar().texto
UNREAD = "500 reais, aquele lance maneiro lá que você me indicou"


@pytest.fixture(scope="module")
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """A road with narrow budgets: a token comes back in five minutes."""
    limits: dict[str, Any] = {
        "person_answers_burst": BURST,
        "person_answers_per_minute": 0.2,
        "strangers_answers_per_hour": PER_HOUR,
        "debounce_seconds": 0.0,
    }
    async with open_road(database_url, redis_url, **limits) as road:
        yield road


async def _refused(road: Road, budget: str) -> float:
    return float(road.house.metrics.budget_refusals.labels(budget)._value.get())


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


async def test_talk_about_a_cancellation_is_bounded_and_its_decisions_are_answered(road: Road) -> None:
    """Beyond the bucket requests leave no answer; a reason, a button and a yes in words are answered at once."""
    ana = await road.person()
    await ana.issue()
    await road.settled()
    [note] = await road.notes(ana)
    for number in range(BURST):
        await ana.tell(f"oi {number}")
        await road.settled()
    before = len(ana.answers)
    for _ in range(4 * BURST):
        await ana.tell(f"cancela a nota {note.numero}")
        await road.settled()
    assert len(ana.answers) <= before + 1
    ana.read = road.world.meta.bubbles(ana.who)[-1].id
    assert "Qual é o motivo?" in (await ana.say("sim")).text
    summary = await ana.say("o serviço não foi prestado ao cliente")
    assert summary.buttons
    before = len(ana.answers)
    for number in range(BURST):
        await ana.tell(f"o serviço de número {number} não foi prestado ao cliente")
        await road.settled()
    assert len(ana.answers) == before
    again = await ana.press("Cancelar a nota", of=summary)  # it names the reason given before: shown as it is now
    await ana.touch("Cancelar a nota", of=again)
    await ana.expect("Pedi o cancelamento")
    await ana.expect("cancelada")
    await road.settled()
    assert await road.notes(ana) == []


async def test_a_cancellation_asked_for_beside_a_draft_is_answered(road: Road) -> None:
    """Else the yes that follows would be one to the draft's summary, which nobody meant."""
    ana = await _exhausted(road)
    await ana.tell(unlike())
    await road.settled()
    ana.read = road.world.meta.bubbles(ana.who)[-1].id
    await ana.say("sim")  # shows the summary
    which = await ana.say("cancela a nota 987654")
    assert "Não achei a nota 987654" in which.text
    assert (await ana.say("sim")).buttons
    await road.settled()
    assert await road.notes(ana) == []


async def test_a_yes_that_voids_its_own_summary_is_answered(road: Road) -> None:
    """A condition that we cannot serve takes the button away: in silence it would seem to be issued."""
    ana = await _exhausted(road)
    await ana.tell(unlike())
    await road.settled()
    ana.read = road.world.meta.bubbles(ana.who)[-1].id
    await ana.say("sim")  # shows the summary
    assert "não emiti nada" in (await ana.say("sim, com retenção de ISS")).text
    await road.settled()
    assert await road.notes(ana) == []


async def test_an_old_button_is_answered_beyond_the_bucket(road: Road) -> None:
    """Whoever takes an expired invoice up again by its button sees it, however much was said before."""
    ana = await road.person()
    await ana.say(unlike())
    for number in range(BURST - 1):
        await ana.say(f"oi {number}")
    await road.database.pool.execute(
        "UPDATE session_snapshot SET expira_em = now() WHERE conversa = $1", road.conversation(ana)
    )
    await road.house.schedule.run_job("expiry")
    await road.reached(ana, "expirado")
    await road.house.redis.flushall()
    asked = await ana.say("sim")
    for number in range(BURST):
        await ana.tell(f"oi {number}")
        await road.settled()
    ana.read = road.world.meta.bubbles(ana.who)[-1].id
    assert "Retomei" in (await ana.press("Retomar esta nota", of=asked)).text


async def test_no_typing_is_shown_where_no_answer_comes(road: Road) -> None:
    """Read marks cost calls to Meta, and promise an answer."""
    ana = await _exhausted(road)
    for number in range(BURST):
        await ana.tell(f"oi {number}")
        await road.settled()
    assert not road.world.meta.phones.is_typing(ana.who)


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
    async with asyncio.timeout(PATIENCE):
        while not late.answers:  # a Redis that is late leaves a stranger without an answer, until the next message
            await late.tell("oi?")
            await road.settled()
    assert "ainda não está ligado" in late.answers[0]
    answered = next(person for person in people if person is not late and person.answers)
    await answered.tell("oi?")
    await road.settled()
    assert len(answered.answers) == 1
