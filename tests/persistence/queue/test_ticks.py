from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from persistence.queue.inbox import Arrival, Inbox
from persistence.queue.lanes import Lanes, Lease, LeaseLost
from persistence.queue.outbox import Tick
from persistence.queue.ticks import apply

if TYPE_CHECKING:
    from persistence.db.engine import Database

MESSAGE = """
INSERT INTO outbox (conversa, mensagem, wamid, status, run_at) VALUES ('c', '{}', $1, $2, now()) RETURNING id
"""


async def held(database: Database, rows: int = 1) -> tuple[Lease, list[int]]:
    """A lane with open rows, under our lease."""
    inbox = Inbox(database, debounce_seconds=0)
    await inbox.put([Arrival(f"status:{n}", "entrega:1", "status", {}, "c0", imediato=True) for n in range(rows)])
    [(lease, found)] = await Lanes(database, lease_seconds=30).claim("w", 1)
    return lease, [row.id for row in found]


async def message(database: Database, wamid: str | None, status: str) -> int:
    return int(await database.pool.fetchval(MESSAGE, wamid, status))


async def state(database: Database, outbox_id: int) -> tuple[str | None, str, bool]:
    row = await database.pool.fetchrow("SELECT wamid, status, run_at IS NULL FROM outbox WHERE id = $1", outbox_id)
    return tuple(row)


@pytest.mark.asyncio(loop_scope="module")
async def test_many_ticks_are_one_statement_and_only_the_furthest_of_a_message_counts(ticked: Database) -> None:
    """Whatever their order; a message that is further already stays; the rows are done."""
    new, read = await message(ticked, "a", "enviado"), await message(ticked, "b", "lido")
    lease, ids = await held(ticked, rows=4)
    ticks = [Tick("a", 0, "lido"), Tick("a", 0, "enviado"), Tick("b", 0, "entregue"), Tick("stranger", 0, "lido")]
    assert await apply(ticked, lease, ids, ticks) == 2
    assert await state(ticked, new) == ("a", "lido", True)
    assert await state(ticked, read) == ("b", "lido", True)
    assert await ticked.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 0") == 0


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("status", "found"), [("enviando", True), ("incerto", True), ("pendente", False)])
async def test_a_message_whose_answer_was_lost_is_found_by_our_number(
    ticked: Database, status: str, found: bool
) -> None:
    """Only one that may have left and whose wamid nobody knows: numbers start again in another database."""
    lost = await message(ticked, None, status)
    known = await message(ticked, "mine", "enviado")
    lease, ids = await held(ticked)
    assert await apply(ticked, lease, ids, [Tick("x", lost, "entregue"), Tick("y", known, "lido")]) == int(found)
    assert await state(ticked, lost) == (("x", "entregue", True) if found else (None, status, False))
    assert await state(ticked, known) == ("mine", "enviado", False)


@pytest.mark.asyncio(loop_scope="module")
async def test_two_copies_of_one_message_are_one_message(ticked: Database) -> None:
    """Its answer was lost twice and both ticks come together: the furthest counts, and its wamid stays."""
    lost = await message(ticked, None, "incerto")
    lease, ids = await held(ticked, rows=2)
    assert await apply(ticked, lease, ids, [Tick("x", lost, "lido"), Tick("y", lost, "enviado")]) == 1
    assert await state(ticked, lost) == ("x", "lido", True)


@pytest.mark.asyncio(loop_scope="module")
async def test_whoever_lost_the_lane_changes_nothing(ticked: Database) -> None:
    """A frozen worker wakes up: neither its ticks nor its rows are touched."""
    sent = await message(ticked, "a", "enviado")
    lease, ids = await held(ticked)
    await ticked.pool.execute("UPDATE lanes SET epoch = epoch + 1")
    with pytest.raises(LeaseLost):
        await apply(ticked, lease, ids, [Tick("a", 0, "lido")])
    assert await state(ticked, sent) == ("a", "enviado", False)
    assert await ticked.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 0") == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_rows_without_a_tick_of_ours_are_done_all_the_same(ticked: Database) -> None:
    """Kinds of status that we don't keep."""
    lease, ids = await held(ticked)
    assert await apply(ticked, lease, ids, []) == 0
    assert await ticked.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 0") == 0


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("more", [False, True])
async def test_the_last_ticks_of_a_lane_give_it_back(ticked: Database, more: bool) -> None:
    """Nobody waits for a lease to run out, and no worker is thought dead; what came meanwhile is claimed at once."""
    lease, ids = await held(ticked, rows=2)
    lease = replace(lease, rest=frozenset(ids))
    if more:
        await Inbox(ticked, debounce_seconds=0).put(
            [Arrival("status:more", lease.lane, "status", {}, "c0", imediato=True)]
        )
    await apply(ticked, lease, ids[:1], [])
    assert await ticked.pool.fetchval("SELECT owner FROM lanes WHERE lane = $1", lease.lane) == "w"
    await apply(ticked, replace(lease, rest=frozenset(ids[1:])), ids[1:], [])
    assert await ticked.pool.fetchval("SELECT owner FROM lanes WHERE lane = $1", lease.lane) is None
    claimed = await Lanes(ticked, lease_seconds=30).claim("w2", 1)
    assert [row.tentativas for _, rows in claimed for row in rows] == [0] * more
