"""Turns what keeps the program from starting into one sentence for an operator; catches nothing itself."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import asyncpg
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Sequence

_DATABASE = "Check PROSA_DATABASE_URL (postgresql://user:password@host:port/name) and that the server runs. "
_KEPT = "Nothing was changed; conversations and invoices are as they were."


def complaint(error: BaseException) -> str | None:
    """Return the sentence for ``error``, or ``None`` for one that nobody foresaw (then a traceback helps most)."""
    match error:
        case BaseExceptionGroup(exceptions=inner):
            return _first(inner)
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return f"PostgreSQL refused the user or password. {_DATABASE}{_KEPT}"
        case asyncpg.InvalidCatalogNameError():
            return f"PostgreSQL has no database of that name. {_DATABASE}{_KEPT}"
        case asyncpg.PostgresError() | asyncpg.InterfaceError() | asyncpg.InternalClientError() | SQLAlchemyError():
            return f"The database does not work with us ({type(error).__name__}). {_DATABASE}{_KEPT}"
        case RedisError():
            return f"Redis does not work with us ({type(error).__name__}). Check PROSA_REDIS_URL. {_KEPT}"
        case OSError(errno=errno.EADDRINUSE):
            return "The port is taken by another process. Choose another with PROSA_PORT, or end that process."
        case TimeoutError():
            return f"A server did not answer in time. {_DATABASE}{_KEPT}"
        case OSError():
            return f"Could not reach a server: {error}. {_DATABASE}{_KEPT}"
        case ValueError():
            return f"A setting can't be used: {error}. {_KEPT}"
        case _:
            return None


def _first(errors: Sequence[BaseException]) -> str | None:
    return next((said for error in errors if (said := complaint(error))), None)
