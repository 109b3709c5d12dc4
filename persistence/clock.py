"""The database's clock between two looks at it; it asks nobody."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class DatabaseClock:
    """The database's clock, going on since it was read: nobody needs a round trip to know what time it is."""

    def __init__(self, agora: datetime) -> None:
        self._agora = agora
        self._read_at = time.monotonic()

    def now(self) -> datetime:
        """The moment (aware UTC)."""
        return self._agora + timedelta(seconds=time.monotonic() - self._read_at)
