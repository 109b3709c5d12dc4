"""Tells a database that is away from one that says no; it neither waits nor retries."""

from __future__ import annotations

import asyncpg

_PASSING = (
    "08",  # connection lost or refused
    "25006",  # read only: a fail-over is under way
    "40",  # rolled back for another's sake: deadlock, serialisation
    "53",  # out of connections, memory or disk
    "57",  # shutting down, starting up, statement cancelled
    "58",  # I/O error of its machine
)  # SQLSTATE prefixes: PostgreSQL manual, appendix A


_OBJECTIONS = ("22", "23", "54")  # data exception, constraint violation, program limit exceeded


class DatabaseAwayError(ConnectionError):
    """The database does not answer now; nothing was decided about the data, so the sender should keep it."""


def is_objection(error: BaseException) -> bool:
    """True when the database refuses these very data: sending them again would end the same way."""
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state.startswith(_OBJECTIONS)


def is_outage(error: BaseException) -> bool:
    """True when trying the same again later may succeed although nothing about the data changes."""
    if isinstance(error, (TimeoutError, OSError)):  # OSError: no route, no such host, refused, reset
        return True
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_PASSING)
    return isinstance(error, (asyncpg.InterfaceError, asyncpg.InternalClientError)) or (  # met in mid-operation
        error.__cause__ is not None and error.__cause__ is not error and is_outage(error.__cause__)
    )
