from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from persistence.engine import Database
from persistence.inbox import Arrival, Inbox
from persistence.lanes import Lanes
from persistence.tick import Tick

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOMEBODY = """
INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em) VALUES ('c', '1', '5511', now())
"""
MESSAGE = "INSERT INTO outbox (conversa, mensagem, wamid, status) VALUES ('c', '{}', $1, $2) RETURNING id"
META = {"enviado": "sent", "entregue": "delivered", "lido": "read", "falhou": "failed"}


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


@pytest_asyncio.fixture(loop_scope="module")
async def inbox(database: Database) -> Inbox:
    return Inbox(database, 2.0)


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


async def test_a_tick_is_applied_by_the_statement_that_stores_it(database: Database, inbox: Inbox) -> None:
    """Its row is done, its lane sleeps, and its message is as far as it tells."""
    first = await message(database, "w1", "enviado")
    assert await inbox.put([told("w1", "lido")]) == 1
    assert await outcome(database, first) == ("w1", "lido", True)
    assert await states(database) == {"w1:lido": 1}
    assert await database.pool.fetchval("SELECT count(*) FROM lanes") == 0
    assert await database.pool.fetchval("SELECT count(*) FROM inbox WHERE feito_em IS NOT NULL") == 1


async def test_ticks_only_go_forward_in_whatever_order_they_come(database: Database, inbox: Inbox) -> None:
    """Many in one batch, of several messages, the later ones first; and each of them again."""
    ids = [await message(database, f"w{number}", "enviado") for number in range(3)]
    ticks = [told(f"w{number}", step) for step in ("lido", "entregue", "enviado") for number in range(3)]
    assert await inbox.put(ticks) == 9
    assert await inbox.put(ticks) == 0
    assert {await outcome(database, each) for each in ids} == {(f"w{number}", "lido", True) for number in range(3)}
    assert set((await states(database)).values()) == {1}


async def test_a_message_whose_answer_was_lost_is_known_by_our_number(database: Database, inbox: Inbox) -> None:
    """It takes its wamid from the tick; our number alone never moves a message whose wamid is known, or that waits."""
    lost, waiting, other = [
        await message(database, wamid, status)
        for wamid, status in ((None, "enviando"), (None, "pendente"), ("w9", "enviado"))
    ]
    await inbox.put([told("w1", "entregue", lost), told("w2", "entregue", waiting), told("w3", "entregue", other)])
    assert await outcome(database, lost) == ("w1", "entregue", True)
    assert await outcome(database, waiting) == (None, "pendente", False)
    assert await outcome(database, other) == ("w9", "enviado", False)
    assert await states(database) == {"w1:entregue": 1, "w2:entregue": 0, "w3:entregue": 0}


async def test_what_needs_a_look_waits_in_its_lane(database: Database, inbox: Inbox) -> None:
    """A failure, a message of nobody's and a person's words beside ticks are for workers, who are called."""
    await message(database, "w1", "enviado")
    await message(database, "w2", "enviado")
    await inbox.put([said("m1"), told("w1", "falhou"), told("w2", "lido"), told("w3", "lido")])
    assert await states(database) == {"m1": 0, "w1:falhou": 0, "w2:lido": 1, "w3:lido": 0}
    claimed = await Lanes(database, 10.0).claim("worker", 10)
    found = {lease.lane: [row.chave for row in rows] for lease, rows in claimed}
    assert found == {"1:5511": ["m1"], "entrega:1:0": ["w1:falhou", "w3:lido"]}


async def test_nobody_waits_for_a_message_that_somebody_holds(database: Database, inbox: Inbox) -> None:
    """An acknowledgement is not held up: the tick stays open, for a worker to apply."""
    held = await message(database, "w1", "enviado")
    async with database.pool.acquire() as rival, rival.transaction():
        await rival.execute("SELECT FROM outbox WHERE id = $1 FOR UPDATE", held)
        assert await inbox.put([told("w1", "lido")]) == 1
    assert await outcome(database, held) == ("w1", "enviado", False)
    assert await states(database) == {"w1:lido": 0}


async def test_a_tick_with_characters_that_the_database_cannot_hold_is_kept(database: Database, inbox: Inbox) -> None:
    """It is nobody's, but it was acknowledged."""
    assert await inbox.put([told("w\x00", "lido")]) == 1
    assert await states(database) == {"w\ufffd:lido": 0}


async def test_a_repeated_tick_says_nothing_of_a_message_that_leaves_anew(database: Database, inbox: Inbox) -> None:
    """Meta repeats its webhooks for days; the copy that went out since, and its fate, are not theirs."""
    again = await message(database, "w1", "enviado")
    await inbox.put([told("w1", "enviado", again)])
    await database.pool.execute("UPDATE outbox SET wamid = NULL, status = 'enviando', run_at = now()")
    assert await inbox.put([told("w1", "enviado", again)]) == 0
    assert await outcome(database, again) == (None, "enviando", False)
