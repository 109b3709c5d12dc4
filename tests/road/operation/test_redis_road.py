from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import bot.conversation.session_events
from tests.road.road_people import FULL, PADARIA

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road


def key(road: Road, person: Person) -> str:
    return f"prosa:sessao:{road.conversation(person)}"


async def test_a_flush_in_mid_conversation_loses_nothing(road: Road) -> None:
    """FLUSHALL before every single message: the conversation goes on where it was, to the invoice."""
    ana = await road.person()
    for words in ("nota de 1500", PADARIA, "consultoria", "na verdade é 1.800"):
        await road.house.redis.flushall()
        answer = await ana.say(words)
    assert "Mudei o valor de R$ 1.500,00 para R$ 1.800,00." in answer.text
    await road.house.redis.flushall()
    await ana.touch("Confirmar")
    await road.house.redis.flushall()
    await ana.files()
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1800
    assert len(await road.sessions(ana)) == 1


async def test_a_flush_does_not_repeat_a_question(road: Road) -> None:
    """How often it was asked is in the journal: the second wording is followed by the third."""
    ana = await road.person()
    await ana.say("nota de 1500 pra fulano")
    answers = []
    for _ in range(4):
        await road.house.redis.flushall()
        answers.append((await ana.say("oi")).text)
    assert "Ainda faltam" in answers[0]
    assert "Para fazer a nota, preciso do CNPJ" in answers[1]
    assert not any("Repetindo" in answer for answer in answers)


async def test_the_live_session_lives_for_an_hour_from_the_last_word(road: Road) -> None:
    """The copy in Redis has the session's TTL, renewed by every turn, and is gone once nobody is waited for."""
    ana = await road.person()
    await ana.say("nota de 1500")
    await road.settled()
    await road.house.redis.expire(key(road, ana), 100)
    await ana.say(f"{PADARIA}, consultoria")
    await road.settled()
    assert 3590 < await road.house.redis.ttl(key(road, ana)) <= 3600
    await ana.touch("Confirmar")
    await ana.files()
    assert await road.house.redis.exists(key(road, ana)) == 0


async def test_a_stale_copy_never_decides(road: Road) -> None:
    """An older copy in Redis is noticed at the commit: what is confirmed and issued are the present data."""
    ana = await road.person()
    old = await ana.say(FULL)
    await road.settled()
    stale = await road.house.redis.get(key(road, ana)) or b""
    await ana.say("o valor é 1.800")
    await road.settled()
    await road.house.redis.set(key(road, ana), stale)
    assert "R$ 1.800,00" in (await ana.press("Confirmar", of=old)).text  # that summary is not the present one
    await road.house.redis.set(key(road, ana), stale)
    assert "R$ 1.800,00" in (await ana.say("obrigada")).text
    assert "R$ 1.800,00" in (await ana.say("sim")).text  # what answers thanks is not to be confirmed in words
    await road.house.redis.set(key(road, ana), stale)
    await ana.tell("sim")
    await ana.files()
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1800


async def test_a_stale_copy_is_seen_before_anything_is_decided(road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever should have renewed the copy died before, or is at it: the turn is planned once, from the snapshot."""
    monkeypatch.setattr(bot.conversation.session_events, "REPLANS", 1)
    ana = await road.person()
    await ana.say("nota de 1500")
    await road.settled()
    stale = await road.house.redis.get(key(road, ana)) or b""
    await ana.say("na verdade é 1.800")
    await road.settled()
    await road.house.redis.set(key(road, ana), stale)
    assert "R$ 1.800,00" in (await ana.say(f"{PADARIA}, consultoria")).text


async def test_a_copy_of_a_finished_session_revives_nothing(road: Road) -> None:
    """A session that was confirmed is not confirmed again because Redis still remembers it open."""
    ana = await road.person()
    await ana.say(FULL)
    await road.settled()
    stale = await road.house.redis.get(key(road, ana)) or b""
    await ana.touch("Confirmar")
    await ana.files()
    await road.house.redis.set(key(road, ana), stale)
    await ana.say("sim")
    await road.house.redis.set(key(road, ana), stale)
    await ana.press("Confirmar")
    await road.settled()
    assert len(await road.notes(ana)) == 1
    await road.house.redis.set(key(road, ana), stale)
    assert "R$ 90,00" in (await ana.say(f"nota de 90 pra {PADARIA}, revisão de texto")).text
    assert len(await road.sessions(ana)) == 2


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"sessao_id": 1}', b"\xff\xfe"])
async def test_an_unreadable_copy_counts_as_none(road: Road, garbage: bytes) -> None:
    """What another version of us, or nobody sane, wrote into Redis is ignored."""
    ana = await road.person()
    await ana.say("nota de 1500")
    await road.settled()
    await road.house.redis.set(key(road, ana), garbage)
    assert "✓" in (await ana.say(PADARIA)).text
