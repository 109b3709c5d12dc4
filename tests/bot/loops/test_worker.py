from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

import persistence.queue.lanes
from bot.loops.worker import LaneWorker
from persistence.db.engine import COMMAND_TIMEOUT, LOCK_TIMEOUT, Database
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Arrival, Inbox
from persistence.queue.lanes import InboxRow, Lanes, Lease
from telemetry.metrics import Metrics
from tests.owner import as_owner
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence


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
    return Inbox(database, debounce_seconds=0)


class Diary:
    """A handler that commits its rows and remembers in which runs they came."""

    def __init__(self, database: Database, lanes: Lanes, poison: Callable[[InboxRow], bool] = lambda _: False) -> None:
        self._database = database
        self._lanes = lanes
        self._poison = poison
        self.runs: list[list[str]] = []

    async def __call__(self, lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        """Commit all ``rows``, unless one is poison."""
        self.runs.append([row.chave for row in rows])
        if any(map(self._poison, rows)):
            raise ValueError("indigestible")
        async with self._database.transaction() as connection:
            await self._lanes.done(connection, lease, [row.id for row in rows])
        return [row.id for row in rows]

    @property
    def keys(self) -> list[str]:
        """All that was handed over, in order."""
        return [key for run in self.runs for key in run]


def arrival(chave: str, lane: str = "a", tipo: str = "mensagem") -> Arrival:
    return Arrival(chave, lane, tipo, {}, "c0", imediato=True)


def is_poison(row: InboxRow) -> bool:
    return row.chave.startswith("poison")


async def no_back_off(database: Database) -> None:
    await database.pool.execute("UPDATE lanes SET ready_at = now(), backoff_until = NULL WHERE ready_at IS NOT NULL")


async def states(database: Database) -> dict[str, int]:
    return {row["chave"]: row["estado"] for row in await database.pool.fetch("SELECT chave, estado FROM inbox")}


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what changes it is not ours to signal from
            await asyncio.sleep(0.01)


async def test_rows_of_one_kind_come_in_one_run(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A handler is given the head of the lane as far as it is of its kind; order is kept across kinds."""
    diary = Diary(database, lanes)
    await inbox.put([arrival("1"), arrival("2"), arrival("3", tipo="comando"), arrival("4")])
    worker = LaneWorker(lanes, {"mensagem": diary, "comando": diary}, Metrics())
    assert await worker.run_once() == 4
    assert diary.runs == [["1", "2"], ["3"], ["4"]]
    assert await worker.run_once() == 0


async def test_rows_that_a_handler_leaves_are_handed_to_it_again(
    database: Database, lanes: Lanes, inbox: Inbox
) -> None:
    """A handler decides how many rows make a turn."""
    diary = Diary(database, lanes)

    async def two_at_most(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        return await diary(lease, rows[:2])

    await inbox.put([arrival(str(number)) for number in range(5)])
    assert await LaneWorker(lanes, {"mensagem": two_at_most}, Metrics()).run_once() == 5
    assert diary.runs == [["0", "1"], ["2", "3"], ["4"]]


async def test_a_long_lane_is_processed_to_its_end(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """More rows than one claim takes are processed in order all the same."""
    diary = Diary(database, lanes)
    await inbox.put([arrival(f"{number:03}") for number in range(120)])
    assert await LaneWorker(lanes, {"mensagem": diary}, Metrics()).run_once() == 120
    assert diary.keys == [f"{number:03}" for number in range(120)]


async def test_a_poison_row_is_quarantined_and_its_neighbours_are_processed(
    database: Database, lanes: Lanes, inbox: Inbox
) -> None:
    """After five attempts the poison row steps aside; rows before and after it are done, in order, once."""
    diary = Diary(database, lanes, is_poison)
    metrics = Metrics()
    worker = LaneWorker(lanes, {"mensagem": diary}, metrics)
    await inbox.put([arrival("1"), arrival("poison"), arrival("3")])
    for _ in range(8):
        await worker.run_once()
        await no_back_off(database)
    assert await states(database) == {"1": 1, "poison": 2, "3": 1}
    assert diary.runs == [["1", "poison", "3"]] * 2 + [["1"], *[["poison"]] * 3, ["3"]]
    assert metrics.registry.get_sample_value("prosa_inbox_quarantined_total", {"tipo": "mensagem"}) == 1


async def test_a_failing_lane_delays_no_other(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """One lane fails and backs off; the others are processed in the same pass."""
    diary = Diary(database, lanes, is_poison)
    await inbox.put([arrival("poison", "bad"), *(arrival(str(number), str(number)) for number in range(30))])
    assert await LaneWorker(lanes, {"mensagem": diary}, Metrics(), concurrency=4).run_once() == 30
    assert diary.keys.count("poison") == 1


async def test_rows_that_a_handler_does_not_take_are_failures(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A handler that takes nothing counts as a failed attempt instead of spinning."""

    async def nothing(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        return []

    await inbox.put([arrival("1")])
    assert await LaneWorker(lanes, {"mensagem": nothing}, Metrics()).run_once() == 0
    assert await database.pool.fetchval("SELECT tentativas FROM inbox") == 1


async def test_a_worker_that_lost_its_lease_drops_its_work(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """When another worker takes the lane over during a turn, that turn leaves no trace but one counted attempt."""
    diary = Diary(database, lanes)

    async def robbed(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        await database.pool.execute("UPDATE lanes SET lease_until = now() - interval '1 ms'")
        assert len(await lanes.claim("thief", 1)) == 1
        return await diary(lease, rows)

    metrics = Metrics()
    await inbox.put([arrival("1")])
    assert await LaneWorker(lanes, {"mensagem": robbed}, metrics).run_once() == 0
    row = await database.pool.fetchrow("SELECT estado, tentativas FROM inbox")
    assert tuple(row or ()) == (0, 1)  # the takeover itself
    assert await database.pool.fetchval("SELECT owner FROM lanes") == "thief"
    assert metrics.registry.get_sample_value("prosa_leases_lost_total") == 1


async def test_a_long_turn_keeps_its_lease(database: Database, inbox: Inbox) -> None:
    """A turn longer than the lease is renewed meanwhile, so that nobody takes its lane."""
    lanes = Lanes(database, lease_seconds=2.0)  # a busy machine must not hold us up for most of it
    diary = Diary(database, lanes)
    renewals: list[object] = []

    async def slow(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        async with asyncio.timeout(PATIENCE):
            while len(renewals) < 5:  # five renewals a third of a lease apart: longer than one lease
                until_now = await database.pool.fetchval("SELECT lease_until FROM lanes")
                if until_now not in renewals:
                    renewals.append(until_now)
                assert await lanes.claim("thief", 1) == []
        return await diary(lease, rows)

    await inbox.put([arrival("1")])
    assert await LaneWorker(lanes, {"mensagem": slow}, Metrics()).run_once() == 1


async def test_a_renewal_that_finds_the_lease_gone_stops_the_turn(database: Database, inbox: Inbox) -> None:
    """A turn whose lane was taken over is cancelled at the next renewal, not only at its commit."""
    lanes = Lanes(database, lease_seconds=0.3)
    cancelled = asyncio.Event()

    async def stuck(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        await database.pool.execute("UPDATE lanes SET epoch = epoch + 1, lease_until = now() + interval '1 min'")
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return []

    await inbox.put([arrival("1")])
    async with asyncio.timeout(PATIENCE):
        assert await LaneWorker(lanes, {"mensagem": stuck}, Metrics()).run_once() == 0
    assert cancelled.is_set()


async def test_what_follows_the_commit_is_not_stopped(
    database: Database, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit of the last rows gives the lane back; a renewal that finds it gone leaves the rest of the turn."""
    lanes = Lanes(database, lease_seconds=0.3)
    diary = Diary(database, lanes)
    asked: list[bool] = []
    renew = lanes.renew

    async def watched(lease: Lease) -> bool:
        asked.append(await renew(lease))
        return asked[-1]

    async def lingers(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        ids = await diary(lease, rows)
        seen = len(asked)
        await until(lambda: len(asked) > seen + 1)
        return ids

    monkeypatch.setattr(lanes, "renew", watched)
    await inbox.put([arrival("1")])
    metrics = Metrics()
    assert await LaneWorker(lanes, {"mensagem": lingers}, metrics).run_once() == 1
    assert metrics.registry.get_sample_value("prosa_leases_lost_total") == 0


async def test_an_outage_is_nobodys_fault(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """A turn that dies with its database connection is tried again later without counting as a failure."""
    metrics = Metrics()

    async def cut_off(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        async with database.transaction() as connection:
            await connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
        return []

    await inbox.put([arrival("1")])
    assert await LaneWorker(lanes, {"mensagem": cut_off}, metrics).run_once() == 0
    assert await database.pool.fetchval("SELECT tentativas FROM inbox") == 0
    assert metrics.registry.get_sample_value("prosa_lanes_postponed_total") == 1
    await no_back_off(database)
    assert await LaneWorker(lanes, {"mensagem": Diary(database, lanes)}, metrics).run_once() == 1


@pytest.mark.parametrize("late", ["57014", "TimeoutError"])
async def test_a_turn_that_always_runs_out_of_time_is_a_failure(
    database: Database, lanes: Lanes, inbox: Inbox, late: str
) -> None:
    """A statement that the database cancels, or our driver gives up, counts: its row is set aside in the end."""

    async def slow(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        if late == "TimeoutError":
            await database.pool.fetchval("SELECT pg_sleep(60)", timeout=0.02)
        async with database.transaction() as connection:
            await connection.exec_driver_sql("SET LOCAL statement_timeout = '20ms'")
            await connection.exec_driver_sql("SELECT pg_sleep(60)")
        return []

    diary = Diary(database, lanes)
    await inbox.put([arrival("slow"), arrival("other", tipo="comando")])
    worker = LaneWorker(lanes, {"mensagem": slow, "comando": diary}, Metrics())
    for _ in range(8):
        await worker.run_once()
        await no_back_off(database)
    assert await states(database) == {"slow": 2, "other": 1}


async def test_waiting_for_anothers_lock_is_nobodys_fault(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """Whoever holds a lock for long delays a turn and spoils none: it is told before the statement's time ends."""

    async def waits(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        async with database.transaction() as connection:
            await connection.exec_driver_sql("SET LOCAL lock_timeout = '20ms'")
            await connection.exec_driver_sql("LOCK TABLE numeracao")
            await lanes.done(connection, lease, [row.id for row in rows])
        return [row.id for row in rows]

    await inbox.put([arrival("1")])
    metrics = Metrics()
    worker = LaneWorker(lanes, {"mensagem": waits}, metrics)
    async with database.pool.acquire() as rival, rival.transaction():
        await rival.execute("LOCK TABLE numeracao")
        for _ in range(6):
            assert await worker.run_once() == 0
            await no_back_off(database)
    assert await database.pool.fetchval("SELECT tentativas FROM inbox") == 0
    assert metrics.registry.get_sample_value("prosa_lanes_postponed_total") == 6
    assert await worker.run_once() == 1


async def test_a_pool_without_a_free_connection_is_nobodys_fault(
    database: Database, lanes: Lanes, inbox: Inbox
) -> None:
    """Too much work at once delays a turn; it does not set its row aside."""

    async def crowded(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        async with AsyncExitStack() as stack:
            for _ in range(20):
                await stack.enter_async_context(database.pool.acquire(timeout=0.02))
        return []

    await inbox.put([arrival("1")])
    worker = LaneWorker(lanes, {"mensagem": crowded}, Metrics())
    assert await worker.run_once() == 0
    assert await database.pool.fetchval("SELECT tentativas FROM inbox") == 0


async def test_a_lock_ends_sooner_than_a_statement(database: Database) -> None:
    """In both pools, so that the wait for another's lock is told from a statement that is too slow."""
    async with database.alone() as connection:
        turns = (await connection.exec_driver_sql("SELECT current_setting('lock_timeout')")).scalar_one()
    assert turns == await database.pool.fetchval("SHOW lock_timeout") == f"{LOCK_TIMEOUT}s"
    assert LOCK_TIMEOUT < COMMAND_TIMEOUT


async def test_order_and_exclusion_hold_under_concurrency(
    database: Database, lanes: Lanes, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two workers, failures and stolen leases every row is done once, in its lane's order, one at a time."""
    monkeypatch.setattr(persistence.queue.lanes, "BACKOFF_BASE", 0.001)
    dice = random.Random(20261121)  # noqa: S311 - repeatable on purpose
    names = [f"lane-{number}" for number in range(12)]
    committed: dict[str, list[int]] = {name: [] for name in names}
    inside: dict[str, int] = dict.fromkeys(names, 0)
    overlaps: list[str] = []
    total = 600

    async def handle(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        ids = [row.id for row in rows[: dice.randint(1, 3)]]
        if dice.random() < 0.03:
            raise ValueError("now and then")
        if dice.random() < 0.03:
            await database.pool.execute("UPDATE lanes SET lease_until = now() WHERE lane = $1", lease.lane)
        async with database.transaction() as connection:
            await lanes.fence(connection, lease)
            await lanes.done(connection, lease, ids)
            inside[lease.lane] += 1  # the fence is held from here to the commit
            if inside[lease.lane] != 1:
                overlaps.append(lease.lane)
            await connection.exec_driver_sql("SELECT 1")
            inside[lease.lane] -= 1
            committed[lease.lane] += ids
        return ids

    async def produce(producer: int) -> None:
        for number in range(total // 4):
            await inbox.put([arrival(f"{producer}-{number}", dice.choice(names))])

    workers = [LaneWorker(lanes, {"mensagem": handle}, Metrics(), concurrency=5) for _ in range(2)]
    running = [asyncio.create_task(worker.run()) for worker in workers]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(produce(number) for number in range(4)))
        await until(lambda: sum(map(len, committed.values())) >= total)
        await asyncio.gather(*(worker.drain() for worker in workers))
    await asyncio.gather(*running)
    assert overlaps == []
    assert all(ids == sorted(set(ids)) for ids in committed.values())
    assert sum(map(len, committed.values())) == total
    assert (await Backlog(database).pending()).open == 0


async def test_draining_finishes_the_turn_and_gives_the_lanes_back(
    database: Database, lanes: Lanes, inbox: Inbox
) -> None:
    """On SIGTERM the turn in progress commits, the next one does not begin, and no lease is left behind."""
    diary = Diary(database, lanes)
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def one_slowly(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        entered.set()
        await go_on.wait()
        return await diary(lease, rows[:1])

    await inbox.put([arrival("1"), arrival("2")])
    worker = LaneWorker(lanes, {"mensagem": one_slowly}, Metrics())
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(PATIENCE):
        await entered.wait()
        draining = asyncio.create_task(worker.drain())
        await until(worker._stopping.is_set)
        go_on.set()
        await asyncio.gather(draining, running)
    assert await states(database) == {"1": 1, "2": 0}
    (claimed,) = await lanes.claim("successor", 1)
    assert [row.chave for row in claimed[1]] == ["2"]


async def test_a_turn_that_does_not_end_is_cut_off(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """Draining has a limit; what is still running then is cancelled, and its lane is free at once."""

    async def endless(lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        await asyncio.Event().wait()
        return []

    await inbox.put([arrival("1")])
    metrics = Metrics()
    worker = LaneWorker(lanes, {"mensagem": endless}, metrics, drain_seconds=0.05)
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(PATIENCE):
        await until(lambda: metrics.registry.get_sample_value("prosa_lanes_running") == 1)
        await asyncio.gather(worker.drain(), running)
    assert len(await lanes.claim("successor", 1)) == 1


async def test_a_running_worker_survives_lost_connections(database: Database, lanes: Lanes, inbox: Inbox) -> None:
    """When every connection is cut the worker reconnects and goes on by itself."""
    diary = Diary(database, lanes)
    worker = LaneWorker(lanes, {"mensagem": diary}, Metrics())
    running = asyncio.create_task(worker.run())
    await inbox.put([arrival("1")])
    await until(lambda: diary.keys == ["1"])
    await database.pool.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    async with asyncio.timeout(PATIENCE):
        await inbox.put([arrival("2")])
        while await states(database) != {"1": 1, "2": 1}:
            pass
    await worker.drain()
    await running
    assert diary.keys[-1] == "2"
