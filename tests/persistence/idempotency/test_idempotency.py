from __future__ import annotations

import asyncio
import itertools
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from persistence.db.engine import Database
from persistence.idempotency.records import (
    DEFAULT,
    Beginning,
    Conflict,
    Failed,
    InProgress,
    InvalidKeyError,
    Operation,
    Policy,
    Replay,
    StaleAttemptError,
    Started,
    begin,
    cleanup,
    fail,
    input_hash,
    key_for,
    of_process,
    open_records,
    renew,
    succeed,
)
from tests.owner import as_owner
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PARALLEL = 50
INPUT = {"tomador": "11222333000181", "centavos": 15000}

_sessions = itertools.count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=20)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await as_owner(opened.pool, "TRUNCATE idempotency_records")
    return opened


@pytest.fixture
def operation() -> Operation:
    return Operation.of("emitir", f"211126-{next(_sessions):08}", "confirmar", INPUT)


async def ask(database: Database, operation: Operation, policy: Policy = DEFAULT) -> Beginning:
    async with database.transaction() as connection:
        return await begin(connection, operation, policy)


async def start(database: Database, operation: Operation, policy: Policy = DEFAULT) -> Started:
    started = await ask(database, operation, policy)
    assert isinstance(started, Started)
    return started


async def finish(database: Database, started: Started, result: Any = None) -> None:
    async with database.transaction() as connection:
        await succeed(connection, started, result)


async def give_up(database: Database, started: Started, error: str = "recusado") -> None:
    async with database.transaction() as connection:
        await fail(connection, started, error)


async def end_lease(database: Database) -> None:
    await database.pool.execute(
        "UPDATE idempotency_records SET lease_until = now() - interval '1 ms' WHERE status = 'PENDING'"
    )


async def grow_old(database: Database) -> None:
    await database.pool.execute("UPDATE idempotency_records SET expires_at = now() - interval '1 ms'")


async def column(database: Database, name: str) -> Any:
    return await database.pool.fetchval(f"SELECT {name} FROM idempotency_records")  # noqa: S608 - our own name


def test_equal_operations_have_equal_keys() -> None:
    """The key follows from operation, process, step and input; neither a clock nor an object's order enters it."""
    key = key_for("emitir", "s1", "confirmar", {"a": 1, "b": Decimal("10.00")})
    assert key == key_for("emitir", "s1", "confirmar", {"b": Decimal("10.00"), "a": 1})
    others = [
        key_for("cancelar", "s1", "confirmar", {"a": 1, "b": Decimal("10.00")}),
        key_for("emitir", "s2", "confirmar", {"a": 1, "b": Decimal("10.00")}),
        key_for("emitir", "s1", "corrigir", {"a": 1, "b": Decimal("10.00")}),
        key_for("emitir", "s1", "confirmar", {"a": 1, "b": Decimal("10.01")}),
    ]
    assert len({key, *others}) == 5
    assert len(key_for("o" * 100, "s" * 64, "a" * 255, "x" * 10_000)) <= 255


def test_an_input_that_json_cannot_say_is_refused() -> None:
    """Objects without a plain JSON form never become a key by their ``repr``, which may hold an address."""
    with pytest.raises(TypeError):
        input_hash({"a": object()})


@pytest.mark.parametrize("header", ["", "k" * 256])
def test_a_senders_key_has_1_to_255_characters(header: str) -> None:
    """An empty or an overlong ``Idempotency-Key`` is refused before anything is stored."""
    with pytest.raises(InvalidKeyError):
        Operation.named(header, "criar_cliente", "api-1", "POST /clientes", {})


async def test_the_first_starts_and_the_second_waits(database: Database, operation: Operation) -> None:
    """While an operation is under way its repetition is told when to ask again."""
    assert await start(database, operation) == Started(await column(database, "id"), 1, resumed=False)
    told = await ask(database, operation)
    assert isinstance(told, InProgress)
    assert 0 < told.retry_after <= DEFAULT.lease_seconds
    assert await column(database, "status") == "PENDING"


async def test_of_fifty_at_once_one_starts(database: Database, operation: Operation) -> None:
    """Whoever comes at the same moment, exactly one may act."""
    async with asyncio.timeout(PATIENCE):
        told = await asyncio.gather(*(ask(database, operation) for _ in range(PARALLEL)))
    assert sorted(type(answer).__name__ for answer in told) == ["InProgress"] * (PARALLEL - 1) + ["Started"]


async def test_of_fifty_at_once_one_takes_over(database: Database, operation: Operation) -> None:
    """An abandoned operation, too, has one heir."""
    await start(database, operation)
    await end_lease(database)
    async with asyncio.timeout(PATIENCE):
        told = await asyncio.gather(*(ask(database, operation) for _ in range(PARALLEL)))
    heirs = [answer for answer in told if isinstance(answer, Started)]
    assert [(heir.epoch, heir.resumed) for heir in heirs] == [(2, True)]


async def test_of_fifty_at_once_one_retries(database: Database, operation: Operation) -> None:
    """After a failure, too, one alone tries again, and it is counted once."""
    await give_up(database, await start(database, operation))
    async with asyncio.timeout(PATIENCE):
        told = await asyncio.gather(*(ask(database, operation) for _ in range(PARALLEL)))
    assert [type(answer) for answer in told].count(Started) == 1
    assert await column(database, "retry_count") == 1


async def test_success_is_answered_again(database: Database, operation: Operation) -> None:
    """What was answered once is answered again, as it was, also what PostgreSQL could not store as it is."""
    await finish(database, await start(database, operation), {"emissao": 7, "nome": "a\x00b"})
    assert await ask(database, operation) == Replay({"emissao": 7, "nome": "a\ufffdb"})


async def test_no_result_is_a_result(database: Database, operation: Operation) -> None:
    """An operation that succeeds with nothing to tell is not done again."""
    await finish(database, await start(database, operation))
    assert await ask(database, operation) == Replay(None)


async def test_a_failure_is_tried_again_until_the_limit(database: Database, operation: Operation) -> None:
    """Three new attempts follow a certain failure; then the key answers with the last error."""
    for attempt in range(1 + DEFAULT.max_retries):
        started = await start(database, operation)
        assert (started.epoch, started.resumed) == (attempt + 1, False)
        await give_up(database, started, f"recusa {attempt}")
    assert await ask(database, operation) == Failed("recusa 3", 0)
    assert await column(database, "retry_count") == 3


async def test_a_key_with_another_input_is_a_conflict(database: Database) -> None:
    """A sender's key belongs to the first input, whether that is under way, failed or done."""
    first = Operation.named("client-001", "criar_cliente", "api-1", "POST /clientes", {"nome": "Ana"})
    other = Operation.named("client-001", "criar_cliente", "api-1", "POST /clientes", {"nome": "Bia"})
    started = await start(database, first)
    assert await ask(database, other) == Conflict()
    await give_up(database, started)
    assert await ask(database, other) == Conflict()
    await finish(database, await start(database, first), {"id": 1})
    assert await ask(database, other) == Conflict()
    assert await ask(database, first) == Replay({"id": 1})


async def test_two_senders_may_choose_the_same_key(database: Database) -> None:
    """Keys of different clients, and of different steps, do not meet."""
    for client, step in [("api-1", "POST /clientes"), ("api-2", "POST /clientes"), ("api-1", "POST /notas")]:
        operation = Operation.named("client-001", "criar", client, step, {"nome": "Ana"})
        assert isinstance(await ask(database, operation), Started)


async def test_a_dead_ones_operation_is_resumed_and_its_late_verdict_refused(
    database: Database, operation: Operation
) -> None:
    """After a crash the next one is told that the outcome is unknown; the dead one, should it wake, says nothing."""
    dead = await start(database, operation)
    await end_lease(database)
    heir = await start(database, operation)
    assert (heir.id, heir.epoch, heir.resumed) == (dead.id, 2, True)
    with pytest.raises(StaleAttemptError):
        await finish(database, dead, "late")
    with pytest.raises(StaleAttemptError):
        await give_up(database, dead)
    async with database.transaction() as connection:
        assert not await renew(connection, dead, 60)
    await finish(database, heir, "right")
    assert await ask(database, operation) == Replay("right")


async def test_abandonment_is_no_failure(database: Database, operation: Operation) -> None:
    """However often it is abandoned, an operation with an unknown outcome is never closed as failed."""
    for epoch in range(1, 10):
        assert (await start(database, operation)).epoch == epoch
        await end_lease(database)
    assert await column(database, "retry_count") == 0
    async with database.transaction() as connection:
        [aberto] = await open_records(connection)
    assert (aberto.key, aberto.status, aberto.em_maos) == (operation.key, "PENDING", False)


async def test_only_what_nobody_holds_is_listed_as_open(database: Database) -> None:
    """The oldest first; what is under way, and what has ended, is no question."""
    asked = [Operation.of("o", "s", "a", number) for number in range(2)]
    for each in asked:
        await start(database, each)
    await end_lease(database)
    await start(database, Operation.of("o", "s", "a", "under way"))
    await finish(database, await start(database, Operation.of("o", "s", "a", "done")))
    async with database.transaction() as connection:
        assert [each.key for each in await open_records(connection)] == [each.key for each in asked]
        assert [each.key for each in await open_records(connection, 1)] == [asked[0].key]


async def test_a_process_shows_all_its_operations(database: Database) -> None:
    """In their order, whatever became of them; another process's are not among them."""
    done, failed, held = (Operation.of("o", "s1", step, 1) for step in ("a", "b", "c"))
    await finish(database, await start(database, done))
    await give_up(database, await start(database, failed))
    await start(database, held)
    await start(database, Operation.of("o", "s2", "a", 1))
    async with database.transaction() as connection:
        found = await of_process(connection, "s1")
    assert [(each.activity_id, each.status, each.em_maos) for each in found] == [
        ("a", "SUCCESS", False),
        ("b", "FAILED", False),
        ("c", "PENDING", True),
    ]


async def test_a_verdict_is_given_once(database: Database, operation: Operation) -> None:
    """After success no failure can be noted, nor another result."""
    started = await start(database, operation)
    await finish(database, started, 1)
    with pytest.raises(StaleAttemptError):
        await give_up(database, started)
    with pytest.raises(StaleAttemptError):
        await finish(database, started, 2)
    assert await ask(database, operation) == Replay(1)


async def test_a_late_verdict_stands_when_nobody_took_over(database: Database, operation: Operation) -> None:
    """A lease that ran out costs nothing as long as the operation is still nobody else's."""
    started = await start(database, operation)
    await end_lease(database)
    await finish(database, started, "late but first")
    assert await ask(database, operation) == Replay("late but first")


async def test_renewal_keeps_an_operation(database: Database, operation: Operation) -> None:
    """Who renews in time is not taken over."""
    started = await start(database, operation)
    await end_lease(database)
    async with database.transaction() as connection:
        assert await renew(connection, started, 60)
    assert isinstance(await ask(database, operation), InProgress)


async def test_a_rollback_leaves_nothing(database: Database, operation: Operation) -> None:
    """Record and work in one transaction vanish together, and whoever waited for them starts."""
    began = asyncio.Event()

    async def fails() -> None:
        async with database.transaction() as connection:
            await begin(connection, operation)
            began.set()
            async with asyncio.timeout(PATIENCE):
                while not await database.pool.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                    pass
            raise LookupError

    failing = asyncio.create_task(fails())
    await began.wait()
    assert isinstance(await ask(database, operation), Started)
    with pytest.raises(LookupError):
        await failing


async def test_expiry_frees_a_settled_key(database: Database) -> None:
    """A day later the same key may serve another input; its retries are counted anew."""
    first = Operation.named("client-001", "criar", "api-1", "POST /clientes", {"nome": "Ana"})
    other = Operation.named("client-001", "criar", "api-1", "POST /clientes", {"nome": "Bia"})
    await give_up(database, await start(database, first))
    await give_up(database, await start(database, first))
    await grow_old(database)
    started = await start(database, other)
    assert not started.resumed
    assert await column(database, "retry_count") == 0
    assert await column(database, "expires_at > now() + interval '23 hours'")
    await finish(database, started, {"id": 2})
    assert await ask(database, first) == Conflict()


async def test_an_unknown_outcome_does_not_expire(database: Database, operation: Operation) -> None:
    """An abandoned operation is resumed, not begun afresh, however long ago it was."""
    await start(database, operation)
    await end_lease(database)
    await grow_old(database)
    async with database.transaction() as connection:
        assert await cleanup(connection) == 0
    assert (await start(database, operation)).resumed


async def test_cleanup_takes_what_has_expired(database: Database) -> None:
    """Settled records go after their time and not before; what is under way stays."""
    old = [Operation.of("o", "s", "a", number) for number in range(3)]
    await finish(database, await start(database, old[0]))
    await give_up(database, await start(database, old[1]))
    await start(database, old[2])
    await grow_old(database)
    fresh = Operation.of("o", "s", "a", "fresh")
    await finish(database, await start(database, fresh), "kept")
    async with database.transaction() as connection:
        assert await cleanup(connection) == 2
    assert isinstance(await ask(database, old[2]), InProgress)
    assert await ask(database, fresh) == Replay("kept")


async def test_records_live_as_long_as_they_are_told(database: Database, operation: Operation) -> None:
    """The default is the specification's 24 hours, counted by the database's clock."""
    await start(database, operation)
    hours = "round(extract(epoch FROM expires_at - created_at) / 3600)::int"
    assert await column(database, hours) == 24
