"""A second invoice of the same content, over the whole road."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from bot.subjects.invoice import facts, subject
from tests.road.road_people import Road, open_road

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Person


@pytest.fixture(scope="module")
async def open_for_module(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    async with open_road(database_url, redis_url, repeat_window_seconds=3600) as road:
        yield road


async def ages(road: Road, person: Person, status: str, *, hours: int, ended: int | None) -> None:
    """Let the person's invoice be confirmed and, if it has, have ended so many hours ago, in this status."""
    await road.settled()
    await road.database.pool.execute(
        "UPDATE nfse_emissao SET status = $2, criado_em = now() - make_interval(hours => $3), "
        "processado_em = now() - make_interval(hours => $4), proxima_acao_em = NULL "
        "WHERE sessao_id = $1",
        (await road.session(person))["sessao_id"],
        status,
        hours,
        ended,
    )


def words(number: int) -> str:
    """A request that only one test of this module makes."""
    return f"faz uma nota de {1000 + number} pra 12.345.678/0001-95, consultoria de marketing"


async def asked(person: Person, request: str) -> None:
    """Ask for an invoice and confirm it; the answer must be the question."""
    await person.say(request)
    assert "nota igual" in (await person.press("Confirmar")).text


async def test_a_press_that_chooses_an_amount_is_asked_about_that_one(road: Road) -> None:
    """A summary of two amounts: the press counts for the amount that it names, not for the likeliest."""
    ana, order = (
        await road.person(),
        "nota do sinal pra 12.345.678/0001-95, telhado da lavanderia, 1.800. O resto é 2.200",
    )
    assert "*R$ 1.800,00* ou *R$ 2.200,00*" in (await ana.say(order)).text
    await ana.touch("Emitir R$ 2.200,00")
    await ana.files()
    await ana.say(order)
    assert "nota igual" in (await ana.press("Emitir R$ 2.200,00")).text
    assert len(await road.notes(ana)) == 1


async def test_the_same_invoice_again_is_asked_about(road: Road) -> None:
    """Only *Emitir outra* issues a second one; until then there is one."""
    ana = await road.person()
    await ana.issue(words(1))
    await asked(ana, words(1))
    assert len(await road.notes(ana)) == 1
    await ana.touch("Emitir outra")
    await ana.files()
    assert len(await road.notes(ana)) == 2


async def test_a_copy_of_the_last_one_is_asked_about_too(road: Road) -> None:
    """Repeating an invoice passes no guard: the question comes before a second one."""
    ana = await road.person()
    await ana.issue(words(99))
    await ana.say("igual à última")
    assert "nota igual" in (await ana.press("Confirmar")).text
    assert len(await road.notes(ana)) == 1


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


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (6, "pendente"),
        (7, "enviando"),
        (8, "enviado"),
        (9, "desconhecido"),
        (10, "erro"),
        (11, "conflito"),
        (12, "novo"),
    ],
)
async def test_an_equal_invoice_counts_for_as_long_as_its_fate_is_open(road: Road, number: int, status: str) -> None:
    """Two days after the confirmation, whatever keeps it open: the question says that it may still be issued."""
    ana, bruno = await road.person(), await road.person()
    await ana.issue(words(number))
    await ages(road, ana, status, hours=48, ended=None)
    await bruno.say(words(number))
    asked = await bruno.press("Confirmar")
    assert "ainda não teve resposta" in asked.text
    assert "pode duplicar" in asked.text
    assert await road.notes(bruno) == []
    await ages(road, ana, "concluido", hours=48, ended=48)  # that no job of the house looks at made-up rows


async def test_the_window_begins_at_the_end_of_the_other_invoice(road: Road) -> None:
    """Confirmed long ago and issued just now, it counts; issued longer ago than the window, it does not."""
    ana, bruno, clara = [await road.person() for _ in range(3)]
    await ana.issue(words(13))
    await ages(road, ana, "concluido", hours=48, ended=0)
    await asked(bruno, words(13))
    await ages(road, ana, "concluido", hours=48, ended=2)
    await clara.issue(words(13))
    assert len(await road.notes(clara)) == 1


async def test_a_yes_to_an_open_one_is_none_to_an_issued_one(road: Road) -> None:
    """While the person thinks, the other invoice is issued: the question comes again, and says so."""
    ana, bruno = await road.person(), await road.person()
    await ana.issue(words(14))
    await ages(road, ana, "enviado", hours=1, ended=None)
    await asked(bruno, words(14))
    await ages(road, ana, "concluido", hours=1, ended=0)
    again = await bruno.press("Emitir outra")
    assert "ainda pode sair" not in again.text
    assert await road.notes(bruno) == []
    await bruno.touch("Emitir outra", of=again)
    await bruno.files()


async def test_without_a_window_an_open_equal_invoice_is_still_asked_about(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting 0 switches off the time after an invoice's end, and nothing else."""

    async def as_seen(connection: Any, sessao: Any, evento: Any, _: timedelta) -> Any:
        return await facts.as_seen(connection, sessao, evento, timedelta(0))

    monkeypatch.setattr(subject, "as_seen", as_seen)
    ana, bruno, clara = [await road.person() for _ in range(3)]
    await ana.issue(words(15))
    await ages(road, ana, "erro", hours=48, ended=None)
    await asked(bruno, words(15))
    await ages(road, ana, "concluido", hours=48, ended=0)
    await clara.issue(words(15))
