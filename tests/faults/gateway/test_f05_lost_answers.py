from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import unlike
from tests.road.road_stage import waits_passing

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road

PEOPLE = size(10, 500)  # for each kind of loss
LIMIT = size(PATIENCE, 1800.0)  # seconds


@pytest.mark.parametrize(
    ("fault", "seconds"), [("perder_resposta", 0.0), ("aceitar_tarde", 0.5), ("aceitar_tarde", 3.0)]
)
async def test_every_answer_is_lost_after_acceptance(road: Road, fault: str, seconds: float) -> None:
    """Whatever the gateway takes, at once or late, it never says so: one note each, none rejected, none wrong."""
    people = [await road.person() for _ in range(PEOPLE)]
    for person in people:
        await person.tell(unlike())
    for person in people:
        await person.expect("Confere?", timeout=LIMIT)
    road.world.plugnotas.faults.set(fault, seconds=seconds)

    async def whole(person: Person) -> None:
        await person.touch("Confirmar")
        await road.world.meta.wait_for(
            person.who, lambda b: b.attachment is not None and b.attachment.filename.endswith(".pdf"), LIMIT
        )

    async with waits_passing(road):
        await asyncio.gather(*map(whole, people))
    road.world.plugnotas.faults.clear()
    await road.settled(60.0)
    for person in people:
        assert len(await road.notes(person)) == 1
        assert [row["estado"] for row in await road.sessions(person)] == ["aprovado"]
