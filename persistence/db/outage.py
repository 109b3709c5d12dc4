"""Tells a database that is away from one that says no; it neither waits nor retries."""

from __future__ import annotations

import asyncpg

from state_machine.values.errors import ProsaError

# SQLSTATE prefixes: PostgreSQL manual, appendix A
_GONE = (
    "08",  # connection lost or refused
    "25006",  # read only: this server is no longer the primary, or not yet
    "25P03",  # cut for having idled in a transaction
    "57P",  # shutting down, crashed, starting up, dropped, cut by an operator
)
_PASSING = (
    *_GONE,
    "40",  # rolled back for another's sake: deadlock, serialisation
    "53",  # out of connections, memory or disk
    "55P03",  # another's transaction held a lock for all the time that we wait for one
    "57",  # statement cancelled
    "58",  # I/O error of its machine
)
_CANCELLED = "57014"
_OBJECTIONS = ("22", "23", "54")  # data exception, constraint violation, program limit exceeded


class DatabaseAwayError(ProsaError, ConnectionError):
    """The database does not answer now; nothing was decided about the data, so the sender should keep it."""

    code = "database_away"


def is_objection(error: BaseException) -> bool:
    """True when the database refuses these very data: sending them again would end the same way."""
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state.startswith(_OBJECTIONS)


def is_gone(error: BaseException | None) -> bool:
    """True when this connection, or the server at its other end, is of no more use: connections made anew may be."""
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state.startswith(_GONE)


def ran_out_of_time(error: BaseException) -> bool:
    """True when a statement had all its time (57014, or the driver's ``TimeoutError``) and the database was there.

    It is an attempt of whoever asked for it: the same statement over the same rows may never be quicker. It is no proof
    that the database is away, since that has errors of its own: no connection is to be had (``DatabaseAwayError``), or
    it breaks (08, 57P). Neither is another's lock, of which PostgreSQL tells before our time ends (55P03,
    ``engine.LOCK_TIMEOUT``). On a line that went dead a statement runs out of time too, but once at most: the attempt
    is counted by a commit, so by a database that is back, and no row is claimed meanwhile.
    """
    if isinstance(error, TimeoutError):
        return True
    return getattr(error, "sqlstate", None) == _CANCELLED


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
