"""Keeps an idempotency record beside every order to a gateway, in the transactions that claim and settle it anyway.

The emission's own row decides what is sent and when; the record is the second fence (one sender, one input) and what
support, the API and staff read. So it follows the row: whoever the row lets send takes the record over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from persistence.db.connection import Connection, clean, storable
from persistence.idempotency.records import DEFAULT, ERROR_LENGTH, Conflict, InProgress, Operation, input_hash

ISSUE: Final = "emitir_nfse"
_RECORDS: Final = "idempotency_records"


def gateway_operation(
    name: str, sessao_id: str, activity_id: str, natural_key: Sequence[str], sent: bytes
) -> Operation:
    """Name an order to the gateway by the key on which the authority is unique; its input is the exact bytes sent.

    So the same key with other bytes is a conflict, as it is at the authority. ``activity_id``: ``emitir``, for one.
    """
    key = f"{name}-{input_hash([name, activity_id, *natural_key])}"
    return Operation(key, name, sessao_id, activity_id, hashlib.sha256(sent).hexdigest())


def issuing(sessao_id: str, prestador: str, id_integracao: str, payload: bytes) -> Operation:
    """Name the submission of one attempt."""
    return gateway_operation(ISSUE, sessao_id, "emitir", (prestador, id_integracao), payload)


# now(), not clock_timestamp(): the row's lease and the record's are given in one transaction and must end together.
# A SUCCESS is taken over too: the row says that the gateway has since twice not known the note.
_BEGIN = sa.text("""
INSERT INTO idempotency_records AS r (idempotency_key, process_instance_id, activity_id, operation_name, input_hash,
    status, lease_until, expires_at)
SELECT key, process, :activity, :name, input, 'PENDING', now() + make_interval(secs => :lease),
    now() + make_interval(secs => :ttl)
FROM unnest(CAST(:keys AS text[]), CAST(:processes AS text[]), CAST(:inputs AS text[])) AS t (key, process, input)
ORDER BY key
ON CONFLICT (idempotency_key) DO UPDATE SET status = 'PENDING', epoch = r.epoch + 1,
    retry_count = r.retry_count + (r.status = 'FAILED')::int, result_data = NULL, error_message = NULL,
    updated_at = now(), lease_until = excluded.lease_until, expires_at = greatest(r.expires_at, excluded.expires_at)
WHERE r.operation_name = excluded.operation_name AND r.input_hash = excluded.input_hash
    AND (r.lease_until IS NULL OR r.lease_until <= now())
RETURNING idempotency_key
""")
_SETTLE = sa.text("""
UPDATE idempotency_records SET status = CAST(:status AS text),
    result_data = coalesce(CAST(CAST(:result AS text) AS jsonb), result_data),
    error_message = :error, updated_at = now(), lease_until = CASE WHEN CAST(:status AS text) = 'PENDING' THEN now() END
WHERE idempotency_key = :key AND input_hash = :input
RETURNING retry_count
""")
_RENEW = sa.text("""
UPDATE idempotency_records SET lease_until = now() + make_interval(secs => :lease)
WHERE idempotency_key = :key AND input_hash = :input AND status = 'PENDING'
""")
_REPLACE_INPUT = sa.text("""
UPDATE idempotency_records SET input_hash = :input, updated_at = now()
WHERE idempotency_key = :key AND status <> 'SUCCESS' AND input_hash <> :input
    AND coalesce(lease_until, now()) <= now()
""")
_REFUSAL = sa.text("""
SELECT input_hash = :input AS mesma, greatest(coalesce(extract(epoch FROM lease_until - now()), 0), 0)::float8 AS restam
FROM idempotency_records WHERE idempotency_key = :key
""")


async def replace_input(connection: Connection, operation: Operation) -> None:
    """Give it the bytes that were made in place of those of which nothing came, for certain."""
    await connection.execute(_REPLACE_INPUT, {"key": operation.key, "input": operation.input_hash})


async def begin(connection: Connection, operations: Sequence[Operation], lease_seconds: float) -> set[str]:
    """Take these operations, all of one name and activity; returns the keys taken.

    Refused is one under another's live lease, and one whose key was used with other bytes (``why_refused`` tells).
    """
    if not operations:
        return set()
    values = {
        "activity": operations[0].activity_id,
        "name": operations[0].name,
        "keys": [o.key for o in operations],
        "processes": [o.process_instance_id for o in operations],
        "inputs": [o.input_hash for o in operations],
        "lease": lease_seconds,
        "ttl": DEFAULT.ttl_seconds,
    }
    return set((await connection.execute(_BEGIN, values)).scalars())


async def why_refused(connection: Connection, operation: Operation) -> Conflict | InProgress:
    """Say why ``begin`` did not take it: other bytes under its key, or another's lease and for how long still."""
    values = {"key": operation.key, "input": operation.input_hash}
    row = (await connection.execute(_REFUSAL, values)).one_or_none()
    return Conflict() if row and not row.mesma else InProgress(row.restam if row else 0.0)


async def renew(connection: Connection, operation: Operation, lease_seconds: float) -> None:
    """Keep it while the call lasts."""
    await connection.execute(_RENEW, {"key": operation.key, "input": operation.input_hash, "lease": lease_seconds})


def succeed(connection: Connection, operation: Operation, result: dict[str, Any]) -> None:
    """Keep what came of it, ids and states, at the end of the transaction."""
    connection.later(_SETTLE, _settling(operation, "SUCCESS", storable(result), None), onto=_RECORDS)


async def fail(connection: Connection, operation: Operation, error: str) -> int:
    """Note that nothing happened, for certain; returns how many tries before this one failed so too."""
    found = await connection.execute(_SETTLE, _settling(operation, "FAILED", None, error))
    return found.scalar_one_or_none() or 0


def leave_open(connection: Connection, operation: Operation, why: str | None) -> None:
    """Nobody knows how it ended: the record stays PENDING without a holder, to be taken over after asking.

    Written at the end of the transaction.
    """
    connection.later(_SETTLE, _settling(operation, "PENDING", None, why), onto=_RECORDS)


def _settling(operation: Operation, status: str, result: str | None, error: str | None) -> dict[str, Any]:
    return {
        "key": operation.key,
        "input": operation.input_hash,
        "status": status,
        "result": result,
        "error": clean(error)[:ERROR_LENGTH] if error else None,
    }
