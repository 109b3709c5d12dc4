from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import unlike

if TYPE_CHECKING:
    from tests.road.road_people import Road

SESSIONS, TAPS = size((8, 25), (1000, 100))
LIMIT = size(PATIENCE, 3600.0)  # seconds


async def test_a_hundred_taps_are_one_emission(road: Road) -> None:
    """Everybody taps Confirmar again and again, all at once: exactly one order each leaves the house."""
    people = [await road.person() for _ in range(SESSIONS)]
    for person in people:
        await person.say(unlike())
    created = len(road.world.plugnotas.ledger.of("note.created"))
    await asyncio.gather(*(person.touch("Confirmar") for person in people for _ in range(TAPS)))
    for person in people:
        await road.world.meta.wait_for(person.who, lambda b: b.attachment is not None, LIMIT)
    await road.world.meta.courier.drained(LIMIT)
    await road.settled()
    assert len(road.world.plugnotas.ledger.of("note.created")) - created == SESSIONS
    for person in people:
        assert len(await road.notes(person)) == 1
