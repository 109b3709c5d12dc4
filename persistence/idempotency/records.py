"""Keeps who is at an operation and how it ended, once for each key; an unknown outcome stays unknown.

Names an operation so that its repetition has the same name: a hash of what it is about.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Self

import orjson
import sqlalchemy as sa
from sqlalchemy import Row

from persistence.db.connection import Connection, clean, storable
from state_machine.values.errors import ProsaError

MAX_KEY: Final = 255  # characters; the column's width, and what API clients may send


class InvalidKeyError(ProsaError, ValueError):
    """An idempotency key is empty or longer than 255 characters."""

    code = "invalid_key"


def input_hash(inputs: Any) -> str:
    """Return the SHA-256 (hex) of ``inputs`` as canonical JSON: the order of an object's keys does not matter.

    A ``Decimal`` counts as its text, so quantise money before. Raises ``TypeError`` for what JSON cannot say.
    """
    return hashlib.sha256(orjson.dumps(inputs, default=_text, option=orjson.OPT_SORT_KEYS)).hexdigest()


def key_for(operation: str, process_instance_id: str, activity_id: str, inputs: Any) -> str:
    """Return the key of one operation on ``inputs`` in one step of one process; equal arguments, equal key."""
    return f"{operation}-{input_hash([process_instance_id, activity_id, operation, input_hash(inputs)])}"


@dataclass(frozen=True, slots=True)
class Operation:
    """What is to happen once. ``process_instance_id``: the session, request or API client it belongs to.

    ``activity_id``: the step in it. Raises ``InvalidKeyError``.
    """

    key: str
    name: str
    process_instance_id: str
    activity_id: str
    input_hash: str

    def __post_init__(self) -> None:
        if not 0 < len(self.key) <= MAX_KEY or "\x00" in self.key:
            raise InvalidKeyError(f"an idempotency key has 1 to {MAX_KEY} characters, not {len(self.key)}")

    @classmethod
    def of(cls, name: str, process_instance_id: str, activity_id: str, inputs: Any) -> Self:
        """Name an operation of ours by its input: another input is another operation."""
        key = key_for(name, process_instance_id, activity_id, inputs)
        return cls(key, name, process_instance_id, activity_id, input_hash(inputs))

    @classmethod
    def named(cls, header: str, name: str, client: str, activity_id: str, inputs: Any) -> Self:
        """Name an operation by its sender's ``Idempotency-Key``: the same key with another input is a conflict.

        Two clients may choose the same key, so the stored one holds the client too.
        """
        if not 0 < len(header) <= MAX_KEY:
            raise InvalidKeyError(f"an idempotency key has 1 to {MAX_KEY} characters, not {len(header)}")
        return cls(key_for(name, client, activity_id, {"key": header}), name, client, activity_id, input_hash(inputs))


def _text(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in an operation's input")


ERROR_LENGTH: Final = 500  # characters kept of an error: enough for a sentence, too little for a dump


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient a record is. The defaults are the specification's, the lease is longer than the longest call."""

    max_retries: int = 3  # new attempts after a certain failure
    lease_seconds: float = 90.0  # emission and cancellation may take 60 s at the gateway
    ttl_seconds: float = 86_400.0  # 24 h; never shorter than the sender's own retry schedule


DEFAULT: Final = Policy()


@dataclass(frozen=True, slots=True)
class Started:
    """The operation is yours until the lease ends. ``epoch`` is the fencing token.

    ``resumed``: somebody began before you and nobody knows how it ended. Ask what became of it before you act.
    """

    id: int
    epoch: int
    resumed: bool


@dataclass(frozen=True, slots=True)
class Replay:
    """It succeeded before; ``result`` is what was answered then."""

    result: Any


@dataclass(frozen=True, slots=True)
class InProgress:
    """Another is at it; ask again after ``retry_after`` seconds."""

    retry_after: float


@dataclass(frozen=True, slots=True)
class Failed:
    """It failed for certain, ``error`` says why; with no ``retries_left`` it is not tried again under this key."""

    error: str
    retries_left: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """The key belongs to another operation or another input: a mistake of the sender's."""


Beginning = Started | Replay | InProgress | Failed | Conflict


@dataclass(frozen=True, slots=True)
class Registro:
    """A record as people read it; ``em_maos``: somebody is at the operation now. Times are aware UTC."""

    key: str
    operation_name: str
    process_instance_id: str
    activity_id: str
    status: str
    error_message: str | None
    retry_count: int
    em_maos: bool
    created_at: datetime
    updated_at: datetime


class StaleAttemptError(ProsaError):
    """The lease ran out and somebody took the operation over; what this attempt says counts no more."""

    code = "stale_attempt"


# clock_timestamp(), not now(): a statement may have waited for its lock, and a lease counts from when it is given.
_INSERT = sa.text("""
INSERT INTO idempotency_records (idempotency_key, process_instance_id, activity_id, operation_name, input_hash,
    status, lease_until, expires_at)
VALUES (:key, :process_instance_id, :activity_id, :name, :input_hash, 'PENDING',
    clock_timestamp() + make_interval(secs => :lease_seconds), clock_timestamp() + make_interval(secs => :ttl_seconds))
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, epoch
""")
_LOCK = sa.text("""
SELECT id, status, result_data, error_message, retry_count,
    operation_name = :name AND input_hash = :input_hash AS mesma, expires_at <= clock_timestamp() AS expirado,
    extract(epoch FROM lease_until - clock_timestamp())::float8 AS restam
FROM idempotency_records WHERE idempotency_key = :key FOR UPDATE
""")
_AGAIN = sa.text("""
UPDATE idempotency_records SET status = 'PENDING', epoch = epoch + 1, retry_count = :retry_count,
    process_instance_id = :process_instance_id, activity_id = :activity_id, operation_name = :name,
    input_hash = :input_hash, result_data = NULL, error_message = NULL, updated_at = clock_timestamp(),
    lease_until = clock_timestamp() + make_interval(secs => :lease_seconds),
    expires_at = greatest(expires_at, clock_timestamp() + make_interval(secs => :ttl_seconds))
WHERE id = :id RETURNING id, epoch
""")
_SETTLE = sa.text("""
UPDATE idempotency_records SET status = :status, error_message = :error,
    result_data = CAST(CAST(:result AS text) AS jsonb),
    lease_until = NULL, updated_at = clock_timestamp()
WHERE id = :id AND epoch = :epoch AND status = 'PENDING'
""")
_LEASE = sa.text("""
UPDATE idempotency_records SET lease_until = clock_timestamp() + make_interval(secs => :lease_seconds)
WHERE id = :id AND epoch = :epoch AND status = 'PENDING'
""")
# A PENDING record whose lease ran out is a question without an answer: it waits for one however old it is.
_CLEANUP = sa.text("DELETE FROM idempotency_records WHERE expires_at <= now() AND status <> 'PENDING'")
_SHOWN = """
SELECT idempotency_key AS key, operation_name, process_instance_id, activity_id, status, error_message, retry_count,
    coalesce(lease_until > now(), false) AS em_maos, created_at, updated_at
FROM idempotency_records
"""
_OPEN = sa.text(f"{_SHOWN} WHERE status = 'PENDING' AND lease_until <= now() ORDER BY created_at, id LIMIT :limit")
_OF_PROCESS = sa.text(f"{_SHOWN} WHERE process_instance_id = :process ORDER BY created_at, id")


async def begin(connection: Connection, operation: Operation, policy: Policy = DEFAULT) -> Beginning:
    """Take the operation, or learn why not. A caller of the same key waits until our transaction ends.

    Commit before the work when it leaves the database; work that stays in it belongs into this very transaction.
    """
    values = {
        "key": operation.key,
        "process_instance_id": operation.process_instance_id,
        "activity_id": operation.activity_id,
        "name": operation.name,
        "input_hash": operation.input_hash,
        "lease_seconds": policy.lease_seconds,
        "ttl_seconds": policy.ttl_seconds,
    }
    while True:  # twice only when the cleanup took the record between the two statements
        if new := (await connection.execute(_INSERT, values)).one_or_none():
            return Started(new.id, new.epoch, resumed=False)
        found = (await connection.execute(_LOCK, values)).one_or_none()
        if found:
            return await _continue(connection, found, values, policy)


async def _continue(connection: Connection, found: Row[Any], values: dict[str, Any], policy: Policy) -> Beginning:
    """Decide what a repetition is told; the record is locked."""

    async def again(retry_count: int, *, resumed: bool) -> Started:
        row = (await connection.execute(_AGAIN, {**values, "id": found.id, "retry_count": retry_count})).one()
        return Started(row.id, row.epoch, resumed=resumed)

    if found.expirado and found.status != "PENDING":
        return await again(0, resumed=False)
    if not found.mesma:
        return Conflict()
    match found.status:
        case "SUCCESS":
            return Replay(found.result_data)
        case "PENDING" if found.restam > 0:
            return InProgress(found.restam)
        case "PENDING":
            return await again(found.retry_count, resumed=True)
        case _ if found.retry_count < policy.max_retries:
            return await again(found.retry_count + 1, resumed=False)
        case _:
            return Failed(found.error_message or "", 0)


async def succeed(connection: Connection, started: Started, result: Any) -> None:
    """Keep the result for repetitions, in the transaction that holds it. Raises ``StaleAttemptError``.

    ``result`` is JSON without secrets; where what it speaks of lives on, its id is enough.
    """
    await _settle(connection, started, "SUCCESS", storable(result), None)


async def fail(connection: Connection, started: Started, error: str) -> None:
    """Note that nothing happened, for certain; the next one tries again. Raises ``StaleAttemptError``."""
    await _settle(connection, started, "FAILED", None, clean(error)[:ERROR_LENGTH])


async def _settle(connection: Connection, started: Started, status: str, result: str | None, error: str | None) -> None:
    values = {"id": started.id, "epoch": started.epoch, "status": status, "result": result, "error": error}
    if (await connection.execute(_SETTLE, values)).rowcount != 1:
        raise StaleAttemptError(started.id)


async def renew(connection: Connection, started: Started, lease_seconds: float) -> bool:
    """Let the lease end so many seconds from now (0: at once, the outcome unknown); False when it is another's."""
    values = {"id": started.id, "epoch": started.epoch, "lease_seconds": lease_seconds}
    return (await connection.execute(_LEASE, values)).rowcount == 1


async def cleanup(connection: Connection) -> int:
    """Forget what has expired, save outcomes that nobody knows; returns how many. For an hourly job."""
    return (await connection.execute(_CLEANUP)).rowcount


async def open_records(connection: Connection, limit: int = 100) -> list[Registro]:
    """List operations begun and abandoned, the oldest first: somebody must ask what became of them."""
    return [Registro(**row) for row in await connection.execute(_OPEN, {"limit": limit})]


async def of_process(connection: Connection, process_instance_id: str) -> list[Registro]:
    """List all operations of one process (a ``sessao_id``, an API client), in the order of their first try."""
    return [Registro(**row) for row in await connection.execute(_OF_PROCESS, {"process": process_instance_id})]
