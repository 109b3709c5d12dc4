from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.road.road_people import FULL, PADARIA

if TYPE_CHECKING:
    from proofs.sandbox.meta.envelope import Said, Spread, Told
    from tests.road.road_people import Person, Road

PIECES = (
    ("nota de 100", f"pra {PADARIA}", "consultoria", "na verdade é 1.500"),  # only in this order the value is 1.500
    (f"cliente {PADARIA}", "valor 700", "aula de violão", "corrigindo, o valor é 750"),
    ("oi", "nota de 190", f"para {PADARIA}", "revisão de texto"),
)
SHOWN = ("R$ 1.500,00", "R$ 750,00", "R$ 190,00")


async def _crowd(road: Road) -> tuple[list[Person], list[Said | Told]]:
    """Three people who have talked before, their next messages mixed, with ticks of the bot's earlier answers."""
    people = [await road.person() for _ in PIECES]
    items: list[Said | Told] = []
    for person in people:
        hello = await person.say("bom dia")
        items += [road.world.meta.told(hello.id, status) for status in ("read", "sent", "delivered")]
    for turn in range(len(PIECES[0])):
        items += [road.world.meta.said(p.who, pieces[turn]) for p, pieces in zip(people, PIECES, strict=True)]
    return people, items


@pytest.mark.parametrize("spread", ["together", "changes", "entries"])
async def test_a_batch_delivered_twice_gives_each_person_one_answer(road: Road, spread: Spread) -> None:
    """Three people's messages and ticks in one webhook, twice at once: each has one summary, of the words in order."""
    people, items = await _crowd(road)
    await road.world.meta.deliver_batch(items, times=2, spread=spread)
    for person, shown in zip(people, SHOWN, strict=True):
        await person.expect(shown)
    await road.settled()
    for person in people:
        assert len(road.world.meta.outbound(person.who)) == 2  # the good morning, and this


async def test_shuffled_copies_change_nothing(road: Road) -> None:
    """Copies of a stored batch in any order are recognised message by message, before and after the answers."""
    people, items = await _crowd(road)
    dice = random.Random(20261121)  # noqa: S311 - repeatable on purpose
    meta = road.world.meta
    await meta.deliver_batch(items)
    await meta.courier.drained()
    for _ in range(3):
        await meta.deliver_batch(dice.sample(items, len(items)))
    for person, shown in zip(people, SHOWN, strict=True):
        await person.expect(shown)
    await road.settled()
    for _ in range(3):
        await meta.deliver_batch(dice.sample(items, len(items)), times=2)
    await road.settled()
    for person in people:
        assert len(meta.outbound(person.who)) == 2


async def test_confirmations_delivered_many_times_issue_once(road: Road) -> None:
    """A confirm button, repeated by Meta in parallel and again after the invoice, is one confirmation."""
    ana = await road.person()
    await ana.say(FULL)
    pressed = await ana.touch("Confirmar")
    await road.world.meta.redeliver(pressed, times=10)
    await ana.files()
    await road.world.meta.redeliver(pressed, times=10)
    await road.settled()
    assert len(await road.notes(ana)) == 1
    assert len(ana.answers) == 3


async def test_one_bad_message_poisons_no_neighbour(road: Road) -> None:
    """A message without an id, one from nobody and one that is no object are kept; the sound one is answered."""
    ana = await road.person()
    meta = road.world.meta
    await meta.user_message(ana.who, {"type": "text", "text": "not an object"})
    good = meta.said(ana.who, FULL)
    bad = meta.said(ana.who, {"type": "text", "text": {"body": "x"}, "id": "wamid.\x00nul\ud800"})
    await meta.deliver_batch([bad, good])
    await ana.expect()
    await road.settled()
    assert any("PADARIA DO ZÉ LTDA" in answer for answer in ana.answers)
