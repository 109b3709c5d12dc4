"""WhatsApp has no key for what it accepts: what keeps a message from being sent twice is looking for its tick."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bot.delivery.sender import AMBIGUOUS_WAIT, DEAF_AT_MOST, SEND_WITHIN
from persistence.queue import outbox
from persistence.queue.inbox import Arrival
from persistence.queue.outbox import TICK_LAG
from tests.narrowing import bound_to
from tests.road.road_people import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.house import House
    from tests.road.road_people import Person, Road

WAIT_OVER = "UPDATE outbox SET run_at = now() WHERE status = 'incerto'"
HI = """INSERT INTO outbox (conversa, mensagem) VALUES ($1, '{"tipo": "texto", "texto": "oi", "botoes": []}')"""
TAKEN_OVER = "UPDATE outbox SET lease_until = now() - interval '1 s', status = 'pendente' WHERE id = $1"
OLD = f"UPDATE outbox SET criado_em = criado_em - interval '{DEAF_AT_MOST.total_seconds()} s'"  # noqa: S608 - ours


@pytest.fixture
async def still(road: Road) -> AsyncIterator[Road]:
    """A road on which Meta's webhooks are not delivered, and every memory of a tick is old."""
    address = road.world.meta.courier.url
    await road.settled()
    await road.database.pool.execute("DELETE FROM inbox")
    yield road
    road.world.meta.courier.url = address
    road.world.meta.faults.clear()
    await road.database.pool.execute(f"{OLD} WHERE run_at IS NOT NULL")
    await road.database.pool.execute(WAIT_OVER)
    await road.settled()


async def in_doubt(road: Road, fault: str) -> tuple[Person, int]:
    """Somebody whose answer was handed to Meta, without an answer and without ticks; returns the message too."""
    ana = await somebody(road)
    road.world.meta.faults.set(fault, times=1, method="POST")
    courier = road.world.meta.courier

    def deaf(record: Any) -> None:
        if record.kind == "fault":
            courier.url = None

    hush = road.world.meta.ledger.listen(deaf)
    await hand_over(road, ana)
    query = "SELECT id FROM outbox WHERE status = 'incerto'"
    outbox_id = await until(lambda: road.database.pool.fetchval(query))
    hush()
    return ana, outbox_id


async def somebody(road: Road) -> Person:
    """Somebody who may be written to; their ticks are forgotten."""
    ana = await road.person()
    await ana.say("oi")
    await road.settled()
    await road.database.pool.execute("DELETE FROM inbox")
    return ana


async def hand_over(road: Road, ana: Person) -> None:
    """Put a message into the outbox; a conversation would mark as read too, and meet the fault with that."""
    await road.database.pool.execute(HI, road.conversation(ana))
    road.house.pumps["deliveries"].ring()


async def looked_again(road: Road, outbox_id: int, motivo: str) -> None:
    """Let the wait be over, and wait until the house has looked and put the message off for this reason."""
    await road.database.pool.execute(WAIT_OVER)
    query = "SELECT erro = $2 AND run_at > now() FROM outbox WHERE id = $1"
    await until(lambda: road.database.pool.fetchval(query, outbox_id, motivo))


def copies(road: Road, ana: Person) -> int:
    return sum((sent["payload"].get("text") or {}).get("body") == "oi" for sent in road.world.meta.outbound(ana.who))


async def fresh_tick(road: Road) -> None:
    """A tick of somebody else that Meta stamps now."""
    payload = {"status": {"id": "x", "status": "sent", "timestamp": str(int(time.time()))}}
    await road.house.inbox.put([Arrival(f"status:{time.time()}", "entrega:x", "status", payload, "c", imediato=True)])


async def test_a_message_whose_tick_waits_in_the_inbox_is_not_sent_again(still: Road) -> None:
    """Its answer was lost, its tick is stored and not yet worked on: it stays on the phone once, however long."""
    ana, outbox_id = await in_doubt(still, "perder_resposta")
    wamid = still.world.meta.outbound(ana.who)[-1]["wamid"]
    told = still.world.meta.told(wamid, "sent").status
    busy = "UPDATE lanes SET owner = 'busy', lease_until = now() + interval '1 h' WHERE lane = 'entrega:slow'"
    pool = still.database.pool
    await pool.execute("INSERT INTO lanes (lane) VALUES ('entrega:slow')")
    await pool.execute(busy)
    arrival = Arrival(f"status:{wamid}:sent", "entrega:slow", "status", {"status": told}, "c", imediato=True)
    await still.house.inbox.put([arrival])
    await pool.execute(OLD)
    await looked_again(still, outbox_id, "its tick is stored and not yet worked on")
    assert copies(still, ana) == 1
    await pool.execute("UPDATE lanes SET owner = NULL, lease_until = NULL WHERE lane = 'entrega:slow'")
    still.house.lanes.ring()
    await until(lambda: pool.fetchval("SELECT status = 'enviado' FROM outbox WHERE id = $1", outbox_id))
    assert copies(still, ana) == 1


async def test_while_no_tick_arrives_a_message_in_doubt_waits(still: Road) -> None:
    """With the webs down no silence means anything: the message waits until ticks come again, and its own tells."""
    address = still.world.meta.courier.url
    ana, outbox_id = await in_doubt(still, "perder_resposta")
    await looked_again(still, outbox_id, "no tick of anybody arrives")
    assert copies(still, ana) == 1
    still.world.meta.courier.url = address
    pool = still.database.pool
    await until(lambda: pool.fetchval("SELECT run_at IS NULL FROM outbox WHERE id = $1", outbox_id))
    assert copies(still, ana) == 1


@pytest.mark.parametrize("proof", ["others are told of", "too long"])
async def test_a_message_that_never_left_is_sent_again(still: Road, proof: str) -> None:
    """Ticks of others arrive and none of it, or it has waited too long: then it goes out, for the first time."""
    ana, outbox_id = await in_doubt(still, "cortar_antes")
    assert copies(still, ana) == 0
    if proof == "too long":
        await still.database.pool.execute(OLD)
    else:
        await fresh_tick(still)
    await still.database.pool.execute(WAIT_OVER)
    query = "SELECT status = 'enviado' FROM outbox WHERE id = $1"
    await until(lambda: still.database.pool.fetchval(query, outbox_id))
    assert copies(still, ana) == 1


async def test_what_was_in_doubt_once_stays_in_doubt(still: Road) -> None:
    """A later try that was refused does not make the first copy's tick a stranger's."""
    address = still.world.meta.courier.url
    ana, outbox_id = await in_doubt(still, "perder_resposta")
    still.world.meta.faults.set("erro_500", method="POST")
    await fresh_tick(still)
    await still.database.pool.execute(WAIT_OVER)
    query = "SELECT status FROM outbox WHERE id = $1 AND erro = 'retry'"
    assert await until(lambda: still.database.pool.fetchval(query, outbox_id)) == "incerto"
    still.world.meta.courier.url = address
    query = "SELECT run_at IS NULL FROM outbox WHERE id = $1"
    await until(lambda: still.database.pool.fetchval(query, outbox_id))
    assert copies(still, ana) == 1


def test_the_waits_fit_together() -> None:
    """Silence is judged by ticks that are younger than the try, and a frozen sender asks before its lease runs out."""
    assert TICK_LAG < AMBIGUOUS_WAIT < DEAF_AT_MOST.total_seconds()
    assert 0 < SEND_WITHIN < 15


async def test_a_sender_frozen_before_sending_sends_nothing(road: Road) -> None:
    """Who wakes up with a message that another has taken over meanwhile drops it; the phone has it once."""
    ana = await somebody(road)
    house: House = road.house
    pool = road.database.pool
    sending = bound_to(house.pumps["deliveries"]._work)
    await pool.execute(HI, road.conversation(ana))
    [mine] = await outbox.claim(road.database, 1)
    await pool.execute(
        "UPDATE outbox SET lease_until = now() - interval '1 s', status = 'pendente' WHERE id = $1", mine.id
    )
    house.pumps["deliveries"].ring()
    await until(lambda: pool.fetchval("SELECT run_at IS NULL FROM outbox WHERE id = $1", mine.id))
    await sending.work(replace(mine, tomada_em=mine.tomada_em - SEND_WITHIN - 1))
    assert copies(road, ana) == 1
