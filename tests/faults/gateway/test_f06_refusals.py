from __future__ import annotations

import asyncio
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import unlike
from tests.road.road_stage import waits_passing

if TYPE_CHECKING:
    from datetime import datetime

    from tests.road.road_people import Road

PEOPLE = size(6, 60)
STORM = size(4.0, 300.0)  # seconds
RETRY_AFTER = 1  # seconds


async def test_a_storm_of_429_and_500_is_sat_out(road: Road) -> None:
    """Nothing but refusals: Retry-After is honoured, nobody is told of a rejection, and all end well soon after."""
    people = [await road.person() for _ in range(PEOPLE)]
    for person in people:
        await person.say(unlike())
    faults = road.world.plugnotas.faults
    faults.set("limite_429", seconds=RETRY_AFTER, method="POST", chance=0.7)
    faults.set("erro_500", chance=1.0)
    begun = len(road.world.plugnotas.ledger.of())
    for person in people:
        await person.touch("Confirmar")
    async with waits_passing(road):
        await asyncio.sleep(STORM)  # that it lasts is the test
    refused: defaultdict[str, list[datetime]] = defaultdict(list)
    for record in road.world.plugnotas.ledger.of("fault")[-10_000:]:
        if record.seq > begun and record.data["fault"] == "limite_429":
            refused[record.data["key"]].append(record.at)
    waits = [(b - a).total_seconds() for at in refused.values() for a, b in pairwise(at)]
    assert all(wait >= RETRY_AFTER * 0.95 for wait in waits)
    assert all(record.seq <= begun for record in road.world.plugnotas.ledger.of("note.created"))
    faults.clear()
    async with waits_passing(road):
        for person in people:
            await road.world.meta.wait_for(person.who, lambda b: b.attachment is not None, PATIENCE)
    await road.settled()
    for person in people:
        assert len(await road.notes(person)) == 1
        assert [row["estado"] for row in await road.sessions(person)] == ["aprovado"]
        assert not any("recus" in answer or "rejeit" in answer for answer in person.answers)
