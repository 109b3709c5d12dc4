"""The database's clock: as a transaction reads it, and as it goes on between two looks.

Composes moments counted from now by the database's clock; it reads no clock itself.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from persistence.db.connection import Connection

_NOW = sa.select(sa.func.now())


class DatabaseClock:
    """The database's clock, going on since it was read: nobody needs a round trip to know what time it is."""

    def __init__(self, agora: datetime) -> None:
        self._agora = agora
        self._read_at = time.monotonic()

    def now(self) -> datetime:
        """The moment (aware UTC)."""
        return self._agora + timedelta(seconds=time.monotonic() - self._read_at)


async def database_now(connection: Connection) -> datetime:
    """The moment of the transaction, by the database's clock (aware UTC)."""
    agora: datetime = (await connection.execute(_NOW)).scalar_one()
    return agora


_ZERO: Any = sa.literal_column("0")


def in_seconds(name: str) -> Any:
    """Return the moment as many seconds from now as the parameter ``name`` is given; NULL when it is ``None``."""
    return _in(*[_ZERO] * 6, sa.bindparam(name, type_=sa.Float))


def in_days(name: str) -> Any:
    """Return the same in days, whole ones."""
    return _in(*[_ZERO] * 3, sa.bindparam(name, type_=sa.Integer))


def _in(*parts: Any) -> Any:
    return sa.func.now() + sa.func.make_interval(*parts)
