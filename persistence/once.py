"""Runs a piece of work under an idempotency record; opens no transaction around it and judges no error by its type."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from persistence.idempotency import (
    DEFAULT,
    Conflict,
    Failed,
    InProgress,
    Policy,
    Replay,
    Started,
    begin,
    fail,
    renew,
    succeed,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from persistence.engine import Database
    from persistence.idempotency_key import Operation


@dataclass(frozen=True, slots=True)
class Done:
    """The work was done now."""

    result: Any


Ending = Done | Replay | InProgress | Failed | Conflict


class DefiniteFailureError(Exception):
    """Raised by the work: nothing happened, for certain; trying again is safe."""


async def run_once(
    database: Database,
    operation: Operation,
    work: Callable[[Started], Awaitable[Any]],
    policy: Policy = DEFAULT,
) -> Ending:
    """Do ``work`` unless it was done; no transaction is open meanwhile, and it never outlives its lease.

    ``DefiniteFailureError`` makes the record FAILED. Any other error, and being cancelled, leaves the outcome unknown:
    the record stays PENDING, and the next one starts with ``resumed``. All errors reach the caller.
    """
    deadline = asyncio.get_running_loop().time() + policy.lease_seconds  # before the database starts to count
    async with database.transaction() as connection:
        beginning = await begin(connection, operation, policy)
    if not isinstance(beginning, Started):
        return beginning
    try:
        async with asyncio.timeout_at(deadline):
            result = await work(beginning)
    except DefiniteFailureError as error:
        async with database.transaction() as connection:
            await fail(connection, beginning, str(error))
        raise
    except Exception:
        async with database.transaction() as connection:
            await renew(connection, beginning, 0)
        raise
    async with database.transaction() as connection:
        await succeed(connection, beginning, result)
    return Done(result)
