from __future__ import annotations

import asyncio
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import asyncpg
import pytest
import pytest_asyncio

from persistence.db.connection import DatabaseAwayError, UnstorableError
from persistence.db.engine import Database
from persistence.queue import inbox as module
from persistence.queue.inbox import SHARE_ROWS, Arrival, Inbox
from persistence.queue.outbox import Tick
from tests.owner import as_owner
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from persistence.db.engine import Pool

    Put = Callable[[list[Arrival]], Awaitable[None]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await as_owner(opened.pool, "TRUNCATE inbox, lanes")
    return opened


@pytest.fixture
def inbox(database: Database) -> Inbox:
    return Inbox(database, debounce_seconds=1.0)


def arrival(chave: str, lane: str = "a", *, payload: dict[str, object] | None = None, imediato: bool = True) -> Arrival:
    return Arrival(chave, lane, "mensagem", payload or {"n": chave}, "c0", imediato)


async def stored(database: Database) -> list[str]:
    return [row["chave"] for row in await database.pool.fetch("SELECT chave FROM inbox ORDER BY id")]


async def blocked(connection: asyncpg.Connection | Pool, writes: int = 1) -> None:
    """Return when so many connections wait for a lock; whoever calls it bounds it."""
    while await connection.fetchval("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted") < writes:
        pass


async def quiet(database: Database, lane: str = "a") -> float:
    """Seconds from now until the lane is due."""
    due = await database.pool.fetchval(
        "SELECT extract(epoch FROM ready_at - now())::float8 FROM lanes WHERE lane = $1", lane
    )
    assert isinstance(due, float)
    return due


async def test_rows_keep_the_order_of_the_list(database: Database, inbox: Inbox) -> None:
    """The rows of one call are numbered as they were listed, whatever their keys and lanes."""
    keys = [secrets.token_hex(4) for _ in range(300)]
    assert await inbox.put([arrival(key, lane=key[0]) for key in keys]) == 300
    assert await stored(database) == keys


async def test_a_key_is_stored_once(database: Database, inbox: Inbox) -> None:
    """A redelivery stores nothing and counts as nothing, within one call too."""
    assert await inbox.put([arrival("1"), arrival("2"), arrival("1")]) == 2
    assert await inbox.put([arrival("2"), arrival("3")]) == 1
    assert await stored(database) == ["1", "2", "3"]


@pytest.mark.parametrize("others", [0, 3], ids=["alone", "in a batch"])
async def test_what_was_done_is_not_done_again(database: Database, inbox: Inbox, others: int) -> None:
    """Meta delivers a message again days later, alone or among new ones: its row stays done, and nobody is woken."""
    await inbox.put([arrival("1")])
    await database.pool.execute("UPDATE inbox SET estado = 1")
    await database.pool.execute("DELETE FROM lanes")
    new = [arrival(f"new-{number}", lane="b") for number in range(others)]
    assert await inbox.put([arrival("1"), *new]) == others
    assert await inbox.put([arrival("1"), *new]) == 0
    assert await database.pool.fetchval("SELECT estado FROM inbox WHERE chave = '1'") == 1
    assert await database.pool.fetchval("SELECT count(*) FROM lanes WHERE lane = 'a'") == 0


async def test_simultaneous_duplicates_count_once(database: Database, inbox: Inbox) -> None:
    """Of callers that bring the same key at the same moment exactly one is told that it was new."""
    assert sum(await asyncio.gather(*(inbox.put([arrival("same")]) for _ in range(50)))) == 1
    assert await stored(database) == ["same"]


async def test_concurrent_callers_share_commits_and_are_answered_after_them(database: Database, inbox: Inbox) -> None:
    """Two hundred requests of one moment cost a few transactions, and each caller finds its row when it is answered."""

    async def call(number: int) -> bool:
        await inbox.put([arrival(str(number), lane=str(number % 7))])
        return bool(await database.pool.fetchval("SELECT true FROM inbox WHERE chave = $1", str(number)))

    assert all(await asyncio.gather(*(call(number) for number in range(200))))
    assert await database.pool.fetchval("SELECT count(DISTINCT xmin::text) FROM inbox") <= 5
    assert (list(inbox._waiting), inbox._waiting_rows, inbox._writing) == ([], 0, [])  # who is answered is not held


async def test_one_callers_bad_data_fails_that_caller_only(database: Database, inbox: Inbox) -> None:
    """A key too long for the index is refused to its sender; the others of the same batch are stored."""
    bad = inbox.put([arrival(secrets.token_hex(20_000))])
    answers = await asyncio.gather(inbox.put([arrival("1")]), bad, inbox.put([arrival("2")]), return_exceptions=True)
    assert answers[0] == answers[2] == 1
    assert isinstance(answers[1], asyncpg.ProgramLimitExceededError)
    assert await stored(database) == ["1", "2"]


async def test_what_is_too_long_for_one_statement_goes_in_parts(
    database: Database, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that names many notes is kept once for each: all are stored, in order, and counted once."""
    monkeypatch.setattr(module, "LONGEST", 400)
    await inbox.put([arrival("3")])
    many = [arrival(str(number), payload={"corpo": "x" * 100}) for number in range(9)]
    assert await inbox.put(many) == 8
    assert await stored(database) == ["3", "0", "1", "2", "4", "5", "6", "7", "8"]


async def test_what_cannot_even_be_written_fails_its_caller_only(database: Database, inbox: Inbox) -> None:
    """An error of ours in one arrival is its sender's; nobody else is told that the database is away."""
    bad = Arrival("bad", "a", "mensagem", {}, "\ud800", imediato=True)
    calls = (inbox.put([arrival("1")]), inbox.put([bad]), inbox.put([arrival("2")]))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert answers[0] == answers[2] == 1
    assert isinstance(answers[1], Exception)
    assert not isinstance(answers[1], DatabaseAwayError)
    assert await stored(database) == ["1", "2"]


async def test_text_that_postgresql_cannot_hold_is_replaced(database: Database, inbox: Inbox) -> None:
    """NUL, lone surrogates and huge integers become storable; joined pairs and everything else stay as they were."""
    payload = {"a\x00": "x\x00y", "b": "\ud83d", "c": "\ud83d\ude00", "d": ["\\u0000", 2**70, True, None, 1.5, "ação"]}
    await inbox.put([Arrival("k\x00", "a\ud800", "mensagem", payload, "c0", imediato=True)])
    row = await database.pool.fetchrow("SELECT chave, lane, payload FROM inbox")
    assert row is not None
    assert (row["chave"], row["lane"]) == ("k\ufffd", "a\ufffd")
    expected = ["\\u0000", str(2**70), True, None, 1.5, "ação"]
    assert row["payload"] == {"a\ufffd": "x\ufffdy", "b": "\ufffd", "c": "😀", "d": expected}


async def test_json_without_a_bottom_is_refused(database: Database, inbox: Inbox) -> None:
    """Payloads nested beyond what can be written raise ``UnstorableError`` before they reach the database."""
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"d": deep}
    with pytest.raises(UnstorableError):
        await inbox.put([arrival("deep", payload=deep)])
    assert await stored(database) == []


@pytest.fixture(params=["alone", "in company", "among ticks"])
def put(request: pytest.FixtureRequest, inbox: Inbox) -> Put:
    """Store arrivals by the statement for one of them, by that for many, or by that for ticks."""

    async def store(arrivals: list[Arrival]) -> None:
        tick = Tick("nobody's", 0, "lido") if request.param == "among ticks" else None
        with_it = Arrival(f"with {arrivals[0].chave}", "b", "status", {}, "c0", imediato=True, tick=tick)
        company = [] if request.param == "alone" else [with_it]
        assert await inbox.put([*arrivals, *company]) == len(arrivals) + len(company)

    return store


async def test_a_text_waits_and_the_next_one_joins(database: Database, put: Put) -> None:
    """A text makes its lane due after the quiet time; another text starts the quiet time again."""
    await put([arrival("1", imediato=False)])
    assert 0.5 < await quiet(database) <= 1.0
    await database.pool.execute("UPDATE lanes SET ready_at = now() + interval '0.1 s'")
    await put([arrival("2", imediato=False)])
    assert 0.5 < await quiet(database) <= 1.0


async def test_who_never_stops_typing_is_answered_after_four_quiet_times(database: Database, put: Put) -> None:
    """The quiet time is bounded by the oldest text that waits."""
    await put([arrival("1", imediato=False)])
    await database.pool.execute("UPDATE lanes SET pending_since = now() - interval '3.8 s'")
    await put([arrival("2", imediato=False)])
    assert await quiet(database) <= 0.2


async def test_a_button_is_due_at_once_and_stays_due(database: Database, put: Put) -> None:
    """A tap makes the whole lane due now, and a text after it does not push it back."""
    await put([arrival("1", imediato=False)])
    await put([arrival("2", imediato=True)])
    assert await quiet(database) <= 0
    await put([arrival("3", imediato=False)])
    assert await quiet(database) <= 0


async def test_a_lane_that_is_due_is_not_written_again(database: Database, put: Put) -> None:
    """It stays as it is, place in the queue and all, until somebody claims it; then the next arrival is noted."""
    row = "SELECT xmin::text, pending_since, ready_at FROM lanes WHERE lane = 'a'"
    await put([arrival("1")])
    first = await database.pool.fetchrow(row)
    await put([arrival("2")])
    assert await database.pool.fetchrow(row) == first
    await database.pool.execute("UPDATE lanes SET pending_since = NULL")
    await put([arrival("3")])
    assert (await database.pool.fetchrow(row))["pending_since"] is not None


async def test_an_arrival_does_not_shorten_a_back_off(database: Database, put: Put) -> None:
    """While a lane backs off after a failure, not even a tap makes it due."""
    await put([arrival("1")])
    await database.pool.execute("UPDATE lanes SET backoff_until = now() + interval '30 s'")
    await put([arrival("2")])
    assert await quiet(database) > 20


async def test_a_row_put_in_a_transaction_exists_if_it_commits(database: Database, inbox: Inbox) -> None:
    """``put_in`` follows its transaction: nothing after a rollback, deduplicated rows after a commit."""

    async def put_and_fail() -> None:
        async with database.transaction() as connection:
            assert await inbox.put_in(connection, [arrival("1")]) == 1
            raise LookupError

    with pytest.raises(LookupError):
        await put_and_fail()
    assert await stored(database) == []
    async with database.transaction() as connection:
        assert await inbox.put_in(connection, []) == 0
        assert await inbox.put_in(connection, [arrival("1"), arrival("2")]) == 2
        assert await inbox.put_in(connection, [arrival("1")]) == 0
    assert await stored(database) == ["1", "2"]
    assert await quiet(database) <= 0


async def test_a_deadlock_is_tried_again(database: Database, inbox: Inbox, owner_url: str) -> None:
    """Two transactions that bring the same keys in opposite orders both end well."""
    insert = "INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ($1, 'z', 't', '{}', 'c')"
    async with asyncio.timeout(PATIENCE):
        rival = await asyncpg.connect(owner_url)  # the run-time account may not say who the victim is
        async with rival.transaction():
            await rival.execute("SET LOCAL deadlock_timeout = '1min'")  # so that the inbox is the victim
            await rival.execute(insert, "2")
            putting = asyncio.create_task(inbox.put([arrival("1"), arrival("2"), arrival("3")]))
            await blocked(database.pool)
            await rival.execute(insert, "1")
        await rival.close()
        assert await putting == 1
    assert await stored(database) == ["2", "1", "3"]


async def test_a_key_that_another_is_just_bringing_counts_once(database: Database, inbox: Inbox) -> None:
    """Whoever commits first has brought it; the others of the batch are stored all the same, in their order."""
    insert = "INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ('2', 'z', 't', '{}', 'c')"
    async with asyncio.timeout(PATIENCE), database.pool.acquire() as rival:
        async with rival.transaction():
            await rival.execute(insert)
            calls = [asyncio.create_task(inbox.put([arrival(chave)])) for chave in ("1", "2", "3")]
            await blocked(database.pool)
        assert await asyncio.gather(*calls) == [1, 0, 1]
    assert await stored(database) == ["2", "1", "3"]
    assert await database.pool.fetchval("SELECT count(DISTINCT xmin::text) FROM inbox WHERE chave <> '2'") == 1


async def test_a_connection_that_is_cut_costs_nobody_an_answer(database: Database, inbox: Inbox) -> None:
    """When the connections that write die, their batches go over others."""
    waiting = "SELECT DISTINCT pid FROM pg_locks WHERE NOT granted"
    async with asyncio.timeout(PATIENCE), database.pool.acquire() as rival:
        async with rival.transaction():
            await rival.execute("LOCK TABLE inbox")
            calls = [asyncio.create_task(inbox.put([arrival("0")]))]
            await blocked(rival)
            calls += [asyncio.create_task(inbox.put([arrival(str(number))])) for number in range(1, 6)]
            await blocked(rival, 2)  # a helper writes these
            await rival.fetch(f"SELECT pg_terminate_backend(pid) FROM ({waiting}) AS w")  # noqa: S608 - ours
        assert await asyncio.gather(*calls) == [1] * 6
    await inbox.close()
    assert sorted(await stored(database)) == [str(number) for number in range(6)]


async def test_a_database_that_is_away_is_named_as_such(database_url: str) -> None:
    """Callers learn ``DatabaseAwayError``, so that senders are asked to keep what they sent."""
    database = await Database.open(database_url)
    await database.close()
    inbox = Inbox(database, debounce_seconds=1.0)
    answers = await asyncio.gather(*(inbox.put([arrival(str(n))]) for n in range(3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [DatabaseAwayError] * 3


async def test_no_caller_waits_longer_than_it_was_promised(database: Database) -> None:
    """Behind a lock callers learn ``DatabaseAwayError`` in time, those in the queue too; then it goes on."""
    inbox = Inbox(database, debounce_seconds=0, put_seconds=0.2)
    async with asyncio.timeout(PATIENCE), database.pool.acquire() as rival:
        async with rival.transaction():
            await rival.execute("LOCK TABLE inbox")
            calls = [asyncio.create_task(inbox.put([arrival("0")]))]
            await blocked(rival)
            calls += [asyncio.create_task(inbox.put([arrival(str(number))])) for number in range(1, 6)]
            answers = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(answer) for answer in answers] == [DatabaseAwayError] * 6
        assert await inbox.put([arrival("after")]) == 1
    await inbox.close()
    assert "after" in await stored(database)


async def test_a_caller_that_gives_up_disturbs_nobody(database: Database, inbox: Inbox) -> None:
    """A cancelled request leaves the flusher and the other callers as they were."""
    calls = [asyncio.create_task(inbox.put([arrival(str(number))])) for number in range(10)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert answers[1::2] == [1] * 5
    await inbox.close()
    assert {"1", "3", "5", "7", "9"} <= set(await stored(database))


@asynccontextmanager
async def a_write_held_up(database: Database, inbox: Inbox) -> AsyncIterator[None]:
    """A write waits for a lane's lock while the body runs, and ends well after it."""
    await inbox.put([arrival("1", lane="held")])
    async with asyncio.timeout(PATIENCE), database.pool.acquire() as rival:
        async with rival.transaction():
            await rival.execute("SELECT FROM lanes WHERE lane = 'held' FOR UPDATE")
            stuck = asyncio.create_task(inbox.put([arrival("2", lane="held")]))
            await blocked(database.pool)
            yield
            assert not stuck.done()
        assert await stuck == 1


async def test_a_write_that_waits_for_a_lock_does_not_hold_up_the_others(database: Database, inbox: Inbox) -> None:
    """Somebody at work on one lane delays its own arrivals only: another writer takes what came behind."""
    async with a_write_held_up(database, inbox):
        assert await inbox.put([arrival("3", lane="free")]) == 1


async def test_while_a_write_is_quick_the_others_wait_for_its_end(
    database: Database, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is one writer at a time, so that batches are big; how many wait behind it changes nothing."""
    monkeypatch.setattr(module, "HELP_SECONDS", 3600.0)
    async with a_write_held_up(database, inbox):
        waiting = [asyncio.create_task(inbox.put([arrival(f"w{n}", lane="free")])) for n in range(2 * SHARE_ROWS)]
        await asyncio.sleep(0)
        assert inbox._waiting_rows == len(waiting)
        inbox._send_help()
        assert len(inbox._flushers) == 1
    assert await asyncio.gather(*waiting) == [1] * len(waiting)


async def test_a_helper_goes_on_until_the_slow_write_ends(
    database: Database, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a write that is stuck help comes once, and is then the one writer."""
    monkeypatch.setattr(module, "HELP_SECONDS", 3600.0)
    async with a_write_held_up(database, inbox):
        inbox._writing[0].since -= 3600.0
        many = [asyncio.create_task(inbox.put([arrival(f"w{n}", lane="free")])) for n in range(3 * SHARE_ROWS)]
        await asyncio.sleep(0)
        inbox._send_help()
        assert await asyncio.gather(*many) == [1] * len(many)


async def test_of_two_writers_the_first_leaves_the_rest_to_the_second(
    database: Database, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a write that was stuck ends, there is one writer again; should that one be stuck in its turn, help comes."""
    monkeypatch.setattr(module, "HELP_SECONDS", 3600.0)
    lock = "SELECT FROM lanes WHERE lane = $1 FOR UPDATE"

    await inbox.put([arrival("f", lane="first"), arrival("s", lane="second")])
    async with asyncio.timeout(PATIENCE), database.pool.acquire() as one, database.pool.acquire() as two:
        async with two.transaction():
            await two.execute(lock, "second")
            async with one.transaction():
                await one.execute(lock, "first")
                first = asyncio.create_task(inbox.put([arrival("1", lane="first")]))
                await blocked(database.pool)
                inbox._writing[0].since -= 3600.0
                second = asyncio.create_task(inbox.put([arrival("2", lane="second")]))
                await blocked(database.pool, 2)
                inbox._help = None  # it rang while there were two
                third = asyncio.create_task(inbox.put([arrival("3", lane="free")]))
                await asyncio.sleep(0)
                inbox._help = None
            assert await first == 1
            assert (len(inbox._flushers), third.done(), inbox._help is None) == (1, False, False)
            inbox._writing[0].since -= 3600.0
            inbox._send_help()
            assert await third == 1
        assert await second == 1


async def test_of_many_a_writer_takes_its_share(database: Database, inbox: Inbox) -> None:
    """Half of those that wait, and the rest later; what makes only one batch is not shared."""
    await asyncio.gather(*(inbox.put([arrival(str(number))]) for number in range(4 * SHARE_ROWS)))
    sizes = await database.pool.fetch("SELECT count(*) FROM inbox GROUP BY xmin::text ORDER BY min(id)")
    assert [int(size) for (size,) in sizes] == [2 * SHARE_ROWS, SHARE_ROWS, SHARE_ROWS]


async def test_ticks_wait_a_moment_for_company_and_words_do_not(database: Database, inbox: Inbox) -> None:
    """Ticks of one moment share a commit with each other, or with the message that comes meanwhile; closing ends it."""

    def tick(number: int) -> Arrival:
        told = Tick("wamid", number, "lido")
        return Arrival(f"t{number}", "entrega:1:0", "status", {}, "c0", imediato=True, tick=told)

    ticks = []
    for number in range(5):
        ticks.append(asyncio.create_task(inbox.put([tick(number)])))
        await asyncio.sleep(0)
    await inbox.put([arrival("1")])
    assert [task.done() and task.result() for task in ticks] == [1] * 5
    assert await database.pool.fetchval("SELECT count(DISTINCT xmin::text) FROM inbox") == 1
    last = asyncio.create_task(inbox.put([tick(9)]))
    await asyncio.sleep(0)
    await inbox.close()
    await asyncio.sleep(0)
    assert last.done()
    assert await inbox.put([tick(10)]) == 1
