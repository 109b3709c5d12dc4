from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from persistence.engine import Database
from persistence.inbox import Arrival, Inbox
from persistence.lanes import Lanes, Lease, LeaseLost
from persistence.tick import Tick
from persistence.ticks import apply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SOMEBODY = """
INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em) VALUES ('c', '1', '5511', now())
"""
MESSAGE = """
INSERT INTO outbox (conversa, mensagem, wamid, status, run_at) VALUES ('c', '{}', $1, $2, now()) RETURNING id
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    await database.pool.execute(SOMEBODY)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await opened.pool.execute("TRUNCATE inbox, lanes, outbox")
    return opened


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
async def test_many_ticks_are_one_statement_and_only_the_furthest_of_a_message_counts(database: Database) -> None:
    """Whatever their order; a message that is further already stays; the rows are done."""
    new, read = await message(database, "a", "enviado"), await message(database, "b", "lido")
    lease, ids = await held(database, rows=4)
    ticks = [Tick("a", 0, "lido"), Tick("a", 0, "enviado"), Tick("b", 0, "entregue"), Tick("stranger", 0, "lido")]
    assert await apply(database, lease, ids, ticks) == 2
    assert await state(database, new) == ("a", "lido", True)
    assert await state(database, read) == ("b", "lido", True)
    assert await database.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 0") == 0


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("status", "found"), [("enviando", True), ("incerto", True), ("pendente", False)])
async def test_a_message_whose_answer_was_lost_is_found_by_our_number(
    database: Database, status: str, found: bool
) -> None:
    """Only one that may have left and whose wamid nobody knows: numbers start again in another database."""
    lost = await message(database, None, status)
    known = await message(database, "mine", "enviado")
    lease, ids = await held(database)
    assert await apply(database, lease, ids, [Tick("x", lost, "entregue"), Tick("y", known, "lido")]) == int(found)
    assert await state(database, lost) == (("x", "entregue", True) if found else (None, status, False))
    assert await state(database, known) == ("mine", "enviado", False)


@pytest.mark.asyncio(loop_scope="module")
async def test_two_copies_of_one_message_are_one_message(database: Database) -> None:
    """Its answer was lost twice and both ticks come together: the furthest counts, and its wamid stays."""
    lost = await message(database, None, "incerto")
    lease, ids = await held(database, rows=2)
    assert await apply(database, lease, ids, [Tick("x", lost, "lido"), Tick("y", lost, "enviado")]) == 1
    assert await state(database, lost) == ("x", "lido", True)


@pytest.mark.asyncio(loop_scope="module")
async def test_whoever_lost_the_lane_changes_nothing(database: Database) -> None:
    """A frozen worker wakes up: neither its ticks nor its rows are touched."""
    sent = await message(database, "a", "enviado")
    lease, ids = await held(database)
    await database.pool.execute("UPDATE lanes SET epoch = epoch + 1")
    with pytest.raises(LeaseLost):
        await apply(database, lease, ids, [Tick("a", 0, "lido")])
    assert await state(database, sent) == ("a", "enviado", False)
    assert await database.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 0") == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_rows_without_a_tick_of_ours_are_done_all_the_same(database: Database) -> None:
    """Kinds of status that we don't keep."""
    lease, ids = await held(database)
    assert await apply(database, lease, ids, []) == 0
    assert await database.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 0") == 0
