"""The record beside an order to the gateway: one sender, one input, taken over only when nobody holds it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from persistence.db.engine import Database
from persistence.idempotency import gateway_operations as records
from persistence.idempotency.records import Conflict, InProgress, open_records

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.idempotency.records import Operation

LEASE = 60.0


@pytest.fixture(scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=2)
    yield database
    await database.close()


@pytest.fixture
def operation(request: pytest.FixtureRequest) -> Operation:
    """The submission of an attempt that no other test knows."""
    return records.issuing("211126-0a1b2c3d", "11222333000181", f"{request.node.name}-1", b"bytes")


async def _begin(database: Database, *operations: Operation) -> set[str]:
    async with database.transaction() as connection:
        return await records.begin(connection, operations, LEASE)


async def _why(database: Database, operation: Operation) -> Any:
    async with database.transaction() as connection:
        return await records.why_refused(connection, operation)


async def _row(database: Database, operation: Operation) -> Any:
    return await database.pool.fetchrow("SELECT * FROM idempotency_records WHERE idempotency_key = $1", operation.key)


async def _lease_ends(database: Database, operation: Operation) -> None:
    await database.pool.execute(
        "UPDATE idempotency_records SET lease_until = now() WHERE idempotency_key = $1", operation.key
    )


async def test_a_submission_is_recorded_as_the_specification_says(database: Database, operation: Operation) -> None:
    """Process, activity, operation and the hash of the exact bytes; PENDING under a lease, for a day at least."""
    assert await _begin(database, operation) == {operation.key}
    row = await _row(database, operation)
    assert (row["process_instance_id"], row["activity_id"]) == ("211126-0a1b2c3d", "emitir")
    assert (row["operation_name"], row["status"], row["retry_count"]) == ("emitir_nfse", "PENDING", 0)
    assert row["input_hash"] == operation.input_hash
    assert row["lease_until"] is not None
    assert (row["expires_at"] - row["created_at"]).total_seconds() >= 86_400


async def test_who_holds_it_is_not_disturbed(database: Database, operation: Operation) -> None:
    """A second sender is refused for as long as the lease lasts, and told how long that is."""
    await _begin(database, operation)
    assert await _begin(database, operation) == set()
    refusal = await _why(database, operation)
    assert isinstance(refusal, InProgress)
    assert 0 < refusal.retry_after <= LEASE
    await _lease_ends(database, operation)
    assert await _begin(database, operation) == {operation.key}
    row = await _row(database, operation)
    assert (row["epoch"], row["retry_count"]) == (2, 0)  # a takeover is no retry: nothing failed for certain


async def test_other_bytes_under_the_same_key_are_refused(database: Database, operation: Operation) -> None:
    """As the authority refuses them: also when nobody holds it, and whatever became of it."""
    name = operation.key
    other = records.issuing("211126-0a1b2c3d", "11222333000181", "x", b"bytes")
    assert other.key != name
    changed = type(operation)(name, operation.name, operation.process_instance_id, "emitir", "0" * 64)
    await _begin(database, operation)
    async with database.transaction() as connection:
        records.succeed(connection, operation, {"emissao_id": 1})
    assert await _begin(database, changed) == set()
    assert await _why(database, changed) == Conflict()
    async with database.transaction() as connection:
        await records.fail(connection, changed, "late verdict of another input")
    assert (await _row(database, operation))["status"] == "SUCCESS"


async def test_certain_failures_are_counted_and_a_success_keeps_its_ids(
    database: Database, operation: Operation
) -> None:
    """FAILED, again, FAILED: one retry; then the result, for the API and for support."""
    counts = []
    for _ in range(3):
        await _begin(database, operation)
        async with database.transaction() as connection:
            counts.append(await records.fail(connection, operation, "HTTP 503"))
    assert counts == [0, 1, 2]
    assert (await _row(database, operation))["error_message"] == "HTTP 503"
    await _begin(database, operation)
    async with database.transaction() as connection:
        records.succeed(connection, operation, {"id_externo": "ext", "numero": "42"})
    row = await _row(database, operation)
    assert (row["status"], row["result_data"], row["error_message"]) == (
        "SUCCESS",
        {"id_externo": "ext", "numero": "42"},
        None,
    )
    assert (row["retry_count"], row["lease_until"]) == (3, None)


async def test_a_lost_answer_leaves_it_open_for_whoever_asks(database: Database, operation: Operation) -> None:
    """PENDING, held by nobody, and listed among the questions without an answer."""
    await _begin(database, operation)
    async with database.transaction() as connection:
        records.leave_open(connection, operation, "ReadTimeout")
    async with database.transaction() as connection:
        assert operation.key in {each.key for each in await open_records(connection, 1000)}
    assert await _begin(database, operation) == {operation.key}


async def test_other_bytes_take_the_place_of_those_that_nobody_holds(database: Database, operation: Operation) -> None:
    """What was seen absent may be made anew; under a live lease, or after a success, it is another's."""
    other = replace(operation, input_hash="f" * 64)
    await _begin(database, operation)
    async with database.transaction() as connection:
        await records.replace_input(connection, other)
    assert await _begin(database, other) == set()
    async with database.transaction() as connection:
        records.leave_open(connection, operation, "ReadTimeout")
    async with database.transaction() as connection:
        await records.replace_input(connection, other)
    assert await _begin(database, other) == {other.key}


async def test_many_are_taken_in_one_statement(database: Database) -> None:
    """A claim of twenty costs one; those under another's lease are left out."""
    many = [records.issuing("s", "11222333000181", f"many-{n}", b"x") for n in range(20)]
    await _begin(database, *many[:5])
    assert await _begin(database, *many) == {o.key for o in many[5:]}
