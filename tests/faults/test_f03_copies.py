from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import redis.asyncio

from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import unlike

if TYPE_CHECKING:
    from tests.road.road_stage import Stage

PEOPLE = size(4, 100)
COPIES = 10
LIMIT = size(PATIENCE, 900.0)  # seconds


async def test_every_webhook_ten_times_is_news_once(stage: Stage) -> None:
    """Ten copies of every message, tick and hint at once, through restarts and flushes: one effect of each."""
    people = [await stage.person() for _ in range(PEOPLE)]
    prosa = await stage.start()
    for simulator in (stage.world.meta, stage.world.plugnotas):
        simulator.faults.set("webhook_duplicado", copies=COPIES)
    cache = redis.asyncio.Redis.from_url(stage.env["PROSA_REDIS_URL"])
    for person in people:
        await person.tell(unlike())
    await cache.flushdb()
    for person in people:
        await person.expect("Confere?", timeout=LIMIT)
    hurry = asyncio.create_task(stage.hurry())
    try:
        for person in people:
            await person.touch("Confirmar")
        await prosa.kill()
        await stage.leases_run_out()
        await stage.start()
        await cache.flushdb()
        for person in people:
            await stage.world.meta.wait_for(
                person.who, lambda b: b.attachment is not None and b.attachment.filename.endswith(".xml"), LIMIT
            )
        await stage.world.meta.courier.drained(LIMIT)
        await stage.world.plugnotas.courier.drained(LIMIT)
        for person in people:
            await stage.one_note(person)
            assert len(person.answers) == 3  # the summary, the PDF with the news, the XML
            assert len(await stage.sessions(person)) == 1
    finally:
        hurry.cancel()
        await cache.aclose()
