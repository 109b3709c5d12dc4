"""Answers that are owed have a budget too: one a minute beyond the person's own, and one link for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.made_certificates import pfx
from tests.road.people.certificate_people import KEY, PUBLIC, TOKEN
from tests.road.road_people import FULL, open_road

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Road

pytestmark = pytest.mark.usefixtures("signed_here")

BURST = 3
FLOOD = 12


@pytest.fixture(scope="module")
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """A road with narrow budgets, which offers links."""
    limits: dict[str, Any] = {"person_answers_burst": BURST, "person_answers_per_minute": 0.2, "debounce_seconds": 0.0}
    async with open_road(database_url, redis_url, public_url=PUBLIC, master_key=KEY, **limits) as road:
        yield road


async def test_a_flood_of_certificates_gets_one_link_and_few_answers(road: Road) -> None:
    """The bucket's answers and one that is owed leave; all carry the one link, which the audit has once."""
    ana = await road.person()
    for number in range(FLOOD):
        await road.world.meta.user_media(ana.who, pfx(), "application/x-pkcs12", filename=f"{number}.pfx")
        await road.settled()
    links = {found[1] for said in ana.answers if (found := TOKEN.search(said))}
    assert len(links) == 1
    assert BURST < len(ana.answers) <= BURST + 2
    asked = "SELECT count(*) FROM auditoria WHERE acao = 'pediu o link do certificado'"
    assert await road.database.pool.fetchval(asked) == 1


async def test_beside_a_draft_not_every_word_is_answered(road: Road) -> None:
    """The first one beyond the bucket is, for a yes may follow; the rest within that minute is not."""
    ana = await road.person()
    await ana.say(FULL)
    before = len(ana.answers)
    for _ in range(FLOOD):
        await ana.tell("certificado")
        await road.settled()
    assert BURST - 1 <= len(ana.answers) - before <= BURST + 2


async def test_a_link_near_its_end_is_not_sent_again(road: Road) -> None:
    """Who asks then gets a new one, and the earlier one ends."""
    ana = await road.person()
    first = TOKEN.search((await ana.say("certificado")).text)
    again = TOKEN.search((await ana.say("certificado")).text)
    await road.database.pool.execute("UPDATE certificado_link SET expira_em = now() + interval '4 minutes'")
    newer = TOKEN.search((await ana.say("certificado")).text)
    assert first
    assert again
    assert newer
    assert first[1] == again[1] != newer[1]
