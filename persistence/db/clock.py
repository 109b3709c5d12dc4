"""The database's clock: as a transaction reads it, and as it goes on between two looks."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from datetime import datetime

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
