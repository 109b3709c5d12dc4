from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from persistence.db.engine import Database
from persistence.queue import lanes as module
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import CHANNEL, Arrival, Inbox
from persistence.queue.lanes import DIED, InboxRow, Lanes, Lease, LeaseLost
from tests.owner import as_owner
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
GATE = 4711  # the lock behind which a test holds a claim up


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await as_owner(opened.pool, "TRUNCATE inbox, lanes")
    return opened


@pytest_asyncio.fixture(loop_scope="module")
async def lanes(database: Database) -> AsyncIterator[Lanes]:
    lanes = Lanes(database, lease_seconds=30)
    yield lanes
    await lanes.close()


@pytest.fixture
def inbox(database: Database) -> Inbox:
    return Inbox(database, debounce_seconds=0.3)


def arrival(chave: str, lane: str = "a", *, imediato: bool = True) -> Arrival:
    return Arrival(chave, lane, "mensagem", {"n": chave}, "c0", imediato)


def keys(rows: tuple[InboxRow, ...]) -> list[str]:
    return [row.chave for row in rows]


async def claim_one(lanes: Lanes, owner: str = "w") -> tuple[Lease, tuple[InboxRow, ...]]:
    (claimed,) = await lanes.claim(owner, 10)
    return claimed


async def finish(database: Database, lanes: Lanes, lease: Lease, *rows: InboxRow) -> None:
    async with database.transaction() as connection:
        await lanes.done(connection, lease, [row.id for row in rows])


async def expire(database: Database) -> None:
    await database.pool.execute("UPDATE lanes SET lease_until = now() - interval '1 ms' WHERE lease_until IS NOT NULL")


async def no_back_off(database: Database) -> None:
    await database.pool.execute("UPDATE lanes SET ready_at = now(), backoff_until = NULL WHERE ready_at IS NOT NULL")


async def test_a_claim_hands_out_the_open_rows_in_order(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A lane comes with its rows in order of arrival, and with everything that was stored about them."""
    await inbox.put([arrival("1"), arrival("x", "b"), arrival("2"), arrival("3")])
    claimed = {lease.lane: (lease, rows) for lease, rows in await lanes.claim("w", 10)}
    lease, rows = claimed["a"]
    assert (lease.owner, lease.epoch) == ("w", 1)
    assert keys(rows) == ["1", "2", "3"]
    assert keys(claimed["b"][1]) == ["x"]
    first = rows[0]
    assert (first.tipo, first.payload, first.tentativas) == ("mensagem", {"n": "1"}, 0)
    assert (first.correlacao, first.interpretacao) == ("c0", None)
    assert first.recebido_em.tzinfo is not None


async def test_a_lane_has_one_holder(lanes: Lanes, inbox: Inbox) -> None:
    """Workers that claim at the same moment never hold the same lane."""
    await inbox.put([arrival(str(number), lane=str(number)) for number in range(60)])
    hauls = await asyncio.gather(*(lanes.claim(f"w{number}", 20) for number in range(6)))
    held = [lease.lane for haul in hauls for lease, _ in haul]
    assert len(held) == len(set(held))
    while haul := await lanes.claim("last", 20):  # rows that were locked for a moment were skipped, not lost
        held += [lease.lane for lease, _ in haul]
    assert sorted(held, key=int) == [str(number) for number in range(60)]


async def test_a_processed_lane_waits_for_nothing(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """After its rows are done a lane is neither due nor leased, and its next arrival makes it due again."""
    await inbox.put([arrival("1")])
    lease, rows = await claim_one(lanes)
    await finish(database, lanes, lease, *rows)
    await lanes.release(lease)
    assert await lanes.claim("w", 10) == []
    assert await database.pool.fetchval("SELECT ready_at IS NULL AND lease_until IS NULL FROM lanes")
    await inbox.put([arrival("2")])
    lease, rows = await claim_one(lanes)
    assert (lease.epoch, keys(rows)) == (2, ["2"])


async def test_only_who_could_take_more_looks_ahead(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """When the next lane is due is not asked in front of a queue: it would be a walk through all of it."""
    await inbox.put([arrival(str(number), str(number)) for number in range(3)])
    await inbox.put([arrival("later", "later", imediato=False)])
    assert len(await lanes.claim("w", 2)) == 2
    assert lanes._due_at is None
    assert len(await lanes.claim("w", 2)) == 1
    assert lanes._due_at is not None


async def test_what_arrives_during_a_lease_is_found_after_it(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A row that comes while the lane is held makes the lane due when it is given back."""
    await inbox.put([arrival("1")])
    lease, rows = await claim_one(lanes)
    await inbox.put([arrival("2")])
    assert await lanes.claim("other", 10) == []
    await finish(database, lanes, lease, *rows)
    await lanes.release(lease)
    assert keys((await claim_one(lanes))[1]) == ["2"]


def all_of(lease: Lease, *rows: InboxRow) -> Lease:
    return replace(lease, rest=frozenset(row.id for row in rows))


async def test_the_commit_of_the_last_rows_ends_the_lease(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """Once all open rows are done the lane is nobody's, with the same commit."""
    await inbox.put([arrival("1"), arrival("2")])
    lease, rows = await claim_one(lanes)
    await finish(database, lanes, all_of(lease, *rows), rows[0])
    assert await lanes.renew(lease)
    await finish(database, lanes, last := all_of(lease, rows[1]), rows[1])
    assert await lanes.renew(last), "nothing is open: nobody is to be stopped"
    assert not await lanes.renew(lease), "it is not ours any more"
    assert await database.pool.fetchval("SELECT ready_at IS NULL AND lease_until IS NULL AND owner IS NULL FROM lanes")
    assert await lanes.claim("other", 10) == []


async def test_what_arrives_before_that_commit_is_called_for(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """The lane is due again, and every process hears of it."""
    await inbox.put([arrival("1")])
    lease, rows = await claim_one(lanes)
    await inbox.put([arrival("2")])
    heard = asyncio.Event()
    async with database.pool.acquire() as connection:
        await connection.add_listener(CHANNEL, ring := lambda *_: heard.set())
        await finish(database, lanes, all_of(lease, *rows), *rows)
        async with asyncio.timeout(PATIENCE):
            await heard.wait()
        await connection.remove_listener(CHANNEL, ring)
    assert keys((await claim_one(lanes, "other"))[1]) == ["2"]


async def test_an_arrival_in_flight_is_not_forgotten(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """The commit of the last rows waits for an arrival that is being stored, and leaves the lane due for it."""
    await inbox.put([arrival("1")])
    lease, rows = await claim_one(lanes)
    async with database.transaction() as connection:
        assert await inbox.put_in(connection, [arrival("2")]) == 1
        finishing = asyncio.create_task(finish(database, lanes, all_of(lease, *rows), *rows))
        async with asyncio.timeout(PATIENCE):
            while not await database.pool.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass
    await finishing
    assert keys((await claim_one(lanes, "other"))[1]) == ["2"]


async def test_a_lease_that_is_lost_ends_nothing(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """Neither the rows nor the lane change when another one holds it by then."""
    await inbox.put([arrival("1")])
    frozen, rows = await claim_one(lanes)
    await expire(database)
    lease, _ = await claim_one(lanes, "other")
    with pytest.raises(LeaseLost):
        await finish(database, lanes, all_of(frozen, *rows), *rows)
    assert await lanes.renew(lease)
    assert await database.pool.fetchval("SELECT estado FROM inbox") == 0
    await finish(database, lanes, all_of(lease, *rows), *rows)
    with pytest.raises(LeaseLost):
        await finish(database, lanes, lease, *rows)


async def test_an_older_row_committed_late_does_not_sleep(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """Row 6, inserted before row 7 but committed after row 7 was done, is handed out all the same."""
    async with database.transaction() as connection:
        await connection.exec_driver_sql(
            "INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ('early', 'a', 't', '{}', 'c')"
        )
        await inbox.put([arrival("late")])
        lease, rows = await claim_one(lanes)
        assert keys(rows) == ["late"]
        await finish(database, lanes, lease, *rows)
        assert await inbox.put_in(connection, [arrival("second half of the early one")]) == 1
        releasing = asyncio.create_task(lanes.release(lease))  # waits for our lock on the lane, then reads it anew
        async with asyncio.timeout(PATIENCE):
            while not await database.pool.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass
    await releasing
    assert keys((await claim_one(lanes))[1]) == ["early", "second half of the early one"]


async def test_no_arrival_slips_between_a_claim_and_its_rows(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """Under a storm of arrivals and wide claims no row is left in a lane that waits for nothing."""
    rounds, width = 4, 50
    done: list[int] = []

    async def produce(producer: int) -> None:
        for number in range(rounds):
            for part in range(2):  # the second half of a lane comes while its first half is being claimed
                await inbox.put([arrival(f"{producer} {number} {n} {part}", f"{number} {n}") for n in range(width)])

    async def consume(owner: str) -> None:
        while len(done) < 2 * 2 * rounds * width:
            for lease, rows in await lanes.claim(owner, 2 * width):
                if rows:
                    await finish(database, lanes, lease, *rows)
                done.extend(row.id for row in rows)
                await lanes.release(lease)

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(consume("w1"), consume("w2"), produce(0), produce(1))
    assert len(done) == len(set(done))
    assert await Backlog(database).wake_sleepers() == 0


async def test_an_arrival_that_commits_while_lanes_are_being_claimed_is_in_the_claim(
    database: Database, lanes: Lanes, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the claim's snapshot and its lock a row may come: it is handed out with the others."""
    stretched = module._CLAIM.replace("FROM lanes\n", f"FROM lanes, (SELECT pg_advisory_xact_lock({GATE})) AS gap\n")
    stretched = stretched.replace("FOR NO KEY UPDATE", "FOR NO KEY UPDATE OF lanes")
    monkeypatch.setattr(module, "_CLAIM", stretched)
    await inbox.put([arrival("1")])
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted"
    async with asyncio.timeout(PATIENCE), database.pool.acquire() as keeper:
        await keeper.execute(f"SELECT pg_advisory_lock({GATE})")
        claiming = asyncio.create_task(lanes.claim("w", 10))
        while not await database.pool.fetchval(waits, GATE):
            pass
        await inbox.put([arrival("2")])
        await keeper.execute(f"SELECT pg_advisory_unlock({GATE})")
        ((_, rows),) = await claiming
    assert keys(rows) == ["1", "2"]


async def test_more_rows_than_a_claim_takes_stay_due(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A lane that is given back with rows left is due at once."""
    await inbox.put([arrival(f"{number:03}") for number in range(70)])
    lease, rows = await claim_one(lanes)
    assert len(rows) == module.ROWS_PER_CLAIM
    await finish(database, lanes, lease, *rows)
    await lanes.release(lease, more=True)
    assert keys((await claim_one(lanes))[1]) == [f"{number:03}" for number in range(50, 70)]


async def test_a_dead_holders_lane_goes_to_another(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """When a lease runs out the lane is claimed again, with the same rows and a higher epoch."""
    await inbox.put([arrival("1")])
    dead, _ = await claim_one(lanes)
    assert await lanes.claim("other", 10) == []
    await expire(database)
    lease, rows = await claim_one(lanes, "other")
    assert (lease.owner, lease.epoch, keys(rows)) == ("other", dead.epoch + 1, ["1"])


async def test_a_late_commit_under_an_old_lease_is_refused(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A worker that wakes up past its lease changes nothing: neither its turn nor the lane's bookkeeping."""
    await inbox.put([arrival("1")])
    frozen, rows = await claim_one(lanes)
    await expire(database)
    lease, _ = await claim_one(lanes, "other")

    async def late_turn() -> None:
        async with database.transaction() as connection:
            await connection.exec_driver_sql("UPDATE inbox SET erro = 'written by the frozen one'")
            await lanes.done(connection, frozen, [rows[0].id])

    with pytest.raises(LeaseLost):
        await late_turn()
    with pytest.raises(LeaseLost):
        await lanes.fail(frozen, [rows[0].id], RuntimeError())
    assert not await lanes.renew(frozen)
    await lanes.release(frozen)
    await lanes.postpone(frozen, 60)
    row = await database.pool.fetchrow("SELECT estado, tentativas, erro FROM inbox")
    assert tuple(row or ()) == (0, 1, DIED)  # counted by the takeover, and by nobody else
    assert await lanes.renew(lease)
    await finish(database, lanes, lease, *rows)


async def test_whoever_lost_a_lane_fences_nothing(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A turn that took no row, and a quarantine, are refused as well: the lane is in other hands."""
    await inbox.put([arrival("1")])
    frozen, rows = await claim_one(lanes)
    await expire(database)
    await claim_one(lanes, "other")

    async def late(work: str) -> None:
        async with database.transaction() as connection:
            if work == "aside":
                await lanes.set_aside(connection, frozen, rows[0].id, RuntimeError())
            else:
                await lanes.done(connection, frozen, [])

    for work in ("aside", "nothing"):
        with pytest.raises(LeaseLost):
            await late(work)
    assert await database.pool.fetchval("SELECT estado FROM inbox") == 0


async def test_a_claim_waits_out_a_commit_in_progress(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """While a fenced transaction is open nobody takes the lane over, even though its lease has run out."""
    await inbox.put([arrival("1")])
    lease, rows = await claim_one(lanes)
    await expire(database)
    async with database.transaction() as connection:
        await lanes.fence(connection, lease)
        await lanes.done(connection, lease, [rows[0].id])
        assert await lanes.claim("other", 10) == []
    assert (await claim_one(lanes, "other"))[1] == ()


async def test_a_row_is_done_once(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """Marking a row that is done already refuses the whole transaction."""
    await inbox.put([arrival("1")])
    lease, rows = await claim_one(lanes)
    await finish(database, lanes, lease, *rows)
    with pytest.raises(LeaseLost):
        await finish(database, lanes, lease, *rows)


async def test_renewal_keeps_a_lane(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A renewed lease counts from now, by the database's clock."""
    await inbox.put([arrival("1")])
    lease, _ = await claim_one(lanes)
    await expire(database)
    assert await lanes.renew(lease)
    assert await lanes.claim("other", 10) == []
    await lanes.release(lease)
    assert not await lanes.renew(lease)


async def test_a_failure_blocks_its_own_lane_for_a_while(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A lane that failed is not due before its back-off is over; other lanes are."""
    await inbox.put([arrival("1"), arrival("2"), arrival("x", "b")])
    claimed = {lease.lane: (lease, rows) for lease, rows in await lanes.claim("w", 10)}
    lease, rows = claimed["a"]
    assert await lanes.fail(lease, [rows[0].id], ValueError("does not fit")) == []
    await lanes.release(claimed["b"][0], more=True)
    await inbox.put([arrival("3")])
    assert [lease.lane for lease, _ in await lanes.claim("w", 10)] == ["b"]
    wait = await database.pool.fetchval(
        "SELECT extract(epoch FROM ready_at - now())::float8 FROM lanes WHERE lane = 'a'"
    )
    assert 0.3 < wait <= 1.0
    await no_back_off(database)
    _, rows = {lease.lane: (lease, rows) for lease, rows in await lanes.claim("w", 10)}["a"]
    assert [(row.chave, row.tentativas) for row in rows] == [("1", 1), ("2", 0), ("3", 0)]


async def test_the_fifth_failure_quarantines_and_the_lane_goes_on(
    database: Database, lanes: Lanes, inbox: Inbox
) -> None:
    """A poison row is set aside with its error; the row behind it is due at once; staff can have it tried again."""
    await inbox.put([arrival("poison"), arrival("2")])
    for attempt in range(5):
        await no_back_off(database)
        lease, rows = await claim_one(lanes)
        quarantined = await lanes.fail(lease, [rows[0].id], ValueError("bad \x00"))
        assert quarantined == ([rows[0].id] if attempt == 4 else [])
    poison = rows[0].id
    assert await database.pool.fetchval("SELECT erro FROM inbox WHERE id = $1", poison) == "ValueError: bad \ufffd"
    lease, rows = await claim_one(lanes)
    assert keys(rows) == ["2"]
    backlog = Backlog(database)
    counts = await backlog.pending()
    assert (counts.open, counts.quarantined, counts.due_lanes, counts.leased_lanes) == (1, 1, 0, 1)
    await finish(database, lanes, lease, *rows)
    await lanes.release(lease)
    assert await backlog.replay(poison)
    assert not await backlog.replay(poison)
    assert [(row.chave, row.tentativas) for row in (await claim_one(lanes))[1]] == [("poison", 0)]


async def test_postponing_counts_no_attempt(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A lane set aside because of an outage comes back later with its rows unblamed."""
    await inbox.put([arrival("1")])
    lease, _ = await claim_one(lanes)
    await lanes.postpone(lease, 60)
    assert await lanes.claim("w", 10) == []
    await no_back_off(database)
    assert (await claim_one(lanes))[1][0].tentativas == 0


async def test_the_first_interpretation_stays(lanes: Lanes, inbox: Inbox) -> None:
    """A retried turn replays the reading that was stored first, whoever reads again."""
    await inbox.put([arrival("1")])
    row = (await claim_one(lanes))[1][0]
    assert await lanes.store_interpretation(row.id, {"valor": "1500\x00"}) == {"valor": "1500\ufffd"}
    assert await lanes.store_interpretation(row.id, {"valor": "2"}) == {"valor": "1500\ufffd"}


async def test_a_lane_that_overslept_is_woken_by_the_sweep(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """Even a lane that was put to sleep by hand is found by ``wake_sleepers``."""
    await inbox.put([arrival("1")])
    await database.pool.execute("UPDATE lanes SET ready_at = NULL")
    assert await lanes.claim("w", 10) == []
    assert await Backlog(database).wake_sleepers() == 1
    assert keys((await claim_one(lanes))[1]) == ["1"]


async def claim_when_due(lanes: Lanes) -> list[str]:
    async with asyncio.timeout(PATIENCE):
        while not (claimed := await lanes.claim("w", 10)):
            await lanes.wait_for_work(PATIENCE * 2)
    return [row.chave for _, rows in claimed for row in rows]


async def test_an_arrival_wakes_the_waiter_without_a_poll(
    lanes: Lanes, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NOTIFY ends the wait, long before the safety net would."""
    monkeypatch.setattr(module, "POLL_SECONDS", PATIENCE * 2)
    await lanes.wait_for_work(PATIENCE * 2)  # the first wait ends when the listener stands
    waiting = asyncio.create_task(claim_when_due(lanes))
    await inbox.put([arrival("1")])
    assert await waiting == ["1"]


async def test_the_waiter_wakes_when_the_quiet_time_is_over(
    lanes: Lanes, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two texts in a row are claimed together when their quiet time ends, not at a poll."""
    monkeypatch.setattr(module, "POLL_SECONDS", PATIENCE * 2)
    await inbox.put([arrival("1", imediato=False)])
    await inbox.put([arrival("2", imediato=False)])
    assert await lanes.claim("w", 10) == []
    assert await claim_when_due(lanes) == ["1", "2"]
