from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from persistence.queue.inbox import Arrival, Inbox
from persistence.queue.lanes import Lanes
from persistence.queue.outbox import Tick

if TYPE_CHECKING:
    from persistence.db.engine import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

MESSAGE = "INSERT INTO outbox (conversa, mensagem, wamid, status) VALUES ('c', '{}', $1, $2) RETURNING id"
META = {"enviado": "sent", "entregue": "delivered", "lido": "read", "falhou": "failed"}


@pytest_asyncio.fixture(loop_scope="module")
async def inbox(ticked: Database) -> Inbox:
    return Inbox(ticked, 2.0)


async def message(database: Database, wamid: str | None, status: str) -> int:
    return int(await database.pool.fetchval(MESSAGE, wamid, status))


async def outcome(database: Database, outbox_id: int) -> tuple[Any, ...]:
    row = await database.pool.fetchrow("SELECT wamid, status, run_at IS NULL FROM outbox WHERE id = $1", outbox_id)
    return tuple(row)


async def states(database: Database) -> dict[str, int]:
    return {row["chave"]: row["estado"] for row in await database.pool.fetch("SELECT chave, estado FROM inbox")}


def told(wamid: str, step: str, ours: int | str = "") -> Arrival:
    status = {"id": wamid, "status": META[step], "biz_opaque_callback_data": str(ours)}
    key, tick = f"{wamid}:{step}", Tick.of(status)
    return Arrival(key, "entrega:1:0", "status", {"status": status}, "x", imediato=True, tick=tick)


def said(key: str) -> Arrival:
    return Arrival(key, "1:5511", "mensagem", {}, "x", imediato=True)


async def test_a_tick_is_applied_by_the_statement_that_stores_it(ticked: Database, inbox: Inbox) -> None:
    """Its row is done, its lane sleeps, and its message is as far as it tells."""
    first = await message(ticked, "w1", "enviado")
    assert await inbox.put([told("w1", "lido")]) == 1
    assert await outcome(ticked, first) == ("w1", "lido", True)
    assert await states(ticked) == {"w1:lido": 1}
    assert await ticked.pool.fetchval("SELECT count(*) FROM lanes") == 0
    assert await ticked.pool.fetchval("SELECT count(*) FROM inbox WHERE feito_em IS NOT NULL") == 1


async def test_ticks_only_go_forward_in_whatever_order_they_come(ticked: Database, inbox: Inbox) -> None:
    """Many in one batch, of several messages, the later ones first; and each of them again."""
    ids = [await message(ticked, f"w{number}", "enviado") for number in range(3)]
    ticks = [told(f"w{number}", step) for step in ("lido", "entregue", "enviado") for number in range(3)]
    assert await inbox.put(ticks) == 9
    assert await inbox.put(ticks) == 0
    assert {await outcome(ticked, each) for each in ids} == {(f"w{number}", "lido", True) for number in range(3)}
    assert set((await states(ticked)).values()) == {1}


async def test_a_late_tick_of_an_earlier_step_changes_nothing(ticked: Database, inbox: Inbox) -> None:
    """Read is read, although "delivered" arrives in a notification of its own afterwards."""
    first = await message(ticked, "w1", "enviado")
    for step in ("lido", "entregue"):
        assert await inbox.put([told("w1", step)]) == 1
    assert await outcome(ticked, first) == ("w1", "lido", True)


async def test_a_message_whose_answer_was_lost_is_known_by_our_number(ticked: Database, inbox: Inbox) -> None:
    """It takes its wamid from the tick; our number alone never moves a message whose wamid is known, or that waits."""
    lost, waiting, other = [
        await message(ticked, wamid, status)
        for wamid, status in ((None, "enviando"), (None, "pendente"), ("w9", "enviado"))
    ]
    await inbox.put([told("w1", "entregue", lost), told("w2", "entregue", waiting), told("w3", "entregue", other)])
    assert await outcome(ticked, lost) == ("w1", "entregue", True)
    assert await outcome(ticked, waiting) == (None, "pendente", False)
    assert await outcome(ticked, other) == ("w9", "enviado", False)
    assert await states(ticked) == {"w1:entregue": 1, "w2:entregue": 0, "w3:entregue": 0}


async def test_what_needs_a_look_waits_in_its_lane(ticked: Database, inbox: Inbox) -> None:
    """A failure, a message of nobody's and a person's words beside ticks are for workers, who are called."""
    await message(ticked, "w1", "enviado")
    await message(ticked, "w2", "enviado")
    await inbox.put([said("m1"), told("w1", "falhou"), told("w2", "lido"), told("w3", "lido")])
    assert await states(ticked) == {"m1": 0, "w1:falhou": 0, "w2:lido": 1, "w3:lido": 0}
    claimed = await Lanes(ticked, 10.0).claim("worker", 10)
    found = {lease.lane: [row.chave for row in rows] for lease, rows in claimed}
    assert found == {"1:5511": ["m1"], "entrega:1:0": ["w1:falhou", "w3:lido"]}


async def test_nobody_waits_for_a_message_that_somebody_holds(ticked: Database, inbox: Inbox) -> None:
    """An acknowledgement is not held up: the tick stays open, for a worker to apply."""
    held = await message(ticked, "w1", "enviado")
    async with ticked.pool.acquire() as rival, rival.transaction():
        await rival.execute("SELECT FROM outbox WHERE id = $1 FOR UPDATE", held)
        assert await inbox.put([told("w1", "lido")]) == 1
    assert await outcome(ticked, held) == ("w1", "enviado", False)
    assert await states(ticked) == {"w1:lido": 0}


async def test_a_tick_with_characters_that_the_database_cannot_hold_is_kept(ticked: Database, inbox: Inbox) -> None:
    """It is nobody's, but it was acknowledged."""
    assert await inbox.put([told("w\x00", "lido")]) == 1
    assert await states(ticked) == {"w\ufffd:lido": 0}


async def test_a_repeated_tick_says_nothing_of_a_message_that_leaves_anew(ticked: Database, inbox: Inbox) -> None:
    """Meta repeats its webhooks for days; the copy that went out since, and its fate, are not theirs."""
    again = await message(ticked, "w1", "enviado")
    await inbox.put([told("w1", "enviado", again)])
    await ticked.pool.execute("UPDATE outbox SET wamid = NULL, status = 'enviando', run_at = now()")
    assert await inbox.put([told("w1", "enviado", again)]) == 0
    assert await outcome(ticked, again) == (None, "enviando", False)
