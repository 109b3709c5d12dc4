from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.nightly import size
from tests.road.road_people import PADARIA, open_road

if TYPE_CHECKING:
    from proofs.storm.machines.servers import Servers
    from tests.road.road_people import Person, Road

PEOPLE = size(5, 100)
FLUSH_EVERY = 0.2  # seconds; a conversation here lasts one
AWAY = size(2.0, 300.0)  # seconds


async def whole(road: Road, ana: Person, pause: float) -> None:
    """A conversation in four messages and a tap."""
    amount = 3000 + int(ana.who[-3:])  # nobody else's: while one is open, an equal invoice is asked about
    talk = (("nota de 1500", ""), (PADARIA, ""), ("consultoria", "R$ 1.500,00"), (f"o valor é {amount}", ""))
    for words, answer in talk:
        await ana.tell(words)
        said = await ana.expect()
        assert answer in said.text
        await asyncio.sleep(pause)
    await ana.touch("Confirmar")
    await road.world.meta.wait_for(ana.who, lambda b: b.attachment is not None)
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == amount
    assert len(await road.sessions(ana)) == 1


async def test_a_cache_that_forgets_dies_and_stays_away_changes_nothing(own_servers: Servers) -> None:
    """FLUSHALL all the time, then the server killed and away: every conversation goes on from its snapshot."""
    async with open_road(own_servers.database_url, own_servers.redis_url) as road:

        async def flush() -> None:
            while True:
                await own_servers.flush_cache()
                await asyncio.sleep(FLUSH_EVERY)

        flushing = asyncio.create_task(flush())
        people = [await road.person() for _ in range(PEOPLE)]
        await asyncio.gather(*(whole(road, person, 0.05) for person in people))
        flushing.cancel()
        late = [await road.person() for _ in range(PEOPLE)]
        talks = asyncio.gather(*(whole(road, person, AWAY / 4) for person in late))
        await asyncio.sleep(AWAY / 4)
        assert own_servers._cache is not None
        own_servers._cache.process.kill()
        await talks
        await road.settled()
