"""Order and delay on the real road; tests/state_machine/machine/test_machine.py walks the hundred thousand steps."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from bot.house import House
from proofs.sandbox.courier import QUEUED
from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.road_people import Road

WEEK = "7 days"
MOMENTS = {
    "inbox": ("recebido_em", "feito_em"),
    "outbox": ("criado_em", "enviado_em"),
    "session_snapshot": ("criado_em", "atualizado_em", "expira_em"),
    "nfse_emissao": ("criado_em", "enviado_em", "processado_em"),
}


async def age(road: Road) -> None:
    """Make everything that is remembered a week older."""
    for table, columns in MOMENTS.items():
        known = await road.database.pool.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_name = $1", table
        )
        older = ", ".join(
            f"{c} = {c} - interval '{WEEK}'" for c in columns if c in {row["column_name"] for row in known}
        )
        await road.database.pool.execute(f"UPDATE {table} SET {older}")  # noqa: S608 - our own constants


async def test_what_meta_repeats_after_a_week_changes_nothing(road: Road) -> None:
    """A week later, after all cleaning, every webhook comes again in any order: no note, no word, no session more."""
    ana = await road.person()
    await ana.issue()
    await road.settled()
    bodies = [record for record in road.world.meta.ledger.replay() if record.kind == QUEUED]
    said, notes, sessions = len(ana.answers), len(await road.notes(ana)), len(await road.sessions(ana))
    await age(road)
    house: House = road.house
    await house.backlog.prune()
    await house.redis.flushdb()
    random.Random(4).shuffle(bodies)  # noqa: S311 - repeatable on purpose
    for number, record in enumerate(bodies):
        road.world.meta.courier.send(record.data["body"].encode(), lane=f"late {number}", refs=record.data["refs"])
    await road.settled()
    assert (len(ana.answers), len(await road.notes(ana)), len(await road.sessions(ana))) == (said, notes, sessions)


async def test_taps_that_overtake_each_other_confirm_only_what_is_shown(road: Road) -> None:
    """Taps on the old and the new summary arrive shuffled and repeated: one note, of the amount last shown."""
    road.world.meta.faults.set("webhook_embaralhado", seconds=0.3)
    road.world.meta.faults.set("webhook_duplicado", copies=3)
    ana = await road.person()
    old = await ana.say(FULL)
    new = await ana.say("na verdade o valor é 1.800")
    for summary in (old, new, old, new):
        await ana.touch("Confirmar", of=summary)
    await road.world.meta.wait_for(
        ana.who, lambda b: b.attachment is not None and b.attachment.filename.endswith(".xml")
    )
    await road.settled()
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1800
