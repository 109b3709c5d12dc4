"""Hears PostgreSQL's NOTIFY on one channel; it only wakes, and never says what there is to do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncpg
import structlog

if TYPE_CHECKING:
    from persistence.db.engine import Database

RECONNECT_SECONDS = 1.0  # the slow poll of whoever waits covers the gap
ACQUIRE_SECONDS = 5.0  # as long as connecting may take

log = structlog.get_logger()


class Bell:
    """One LISTEN connection, taken from the pool at the first wait and renewed whenever it is lost."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel
        self._rung = asyncio.Event()
        self._listener: asyncio.Task[None] | None = None

    @property
    def rung(self) -> bool:
        """Whether something was heard since the last ``wait``."""
        return self._rung.is_set()

    def ring(self) -> None:
        """Wake this process's waiter."""
        self._rung.set()

    def listen(self) -> None:
        """Start to listen, unless it does already."""
        if self._listener is None:
            self._listener = asyncio.create_task(self._listen(), name=f"bell:{self._channel}")

    async def wait(self, seconds: float) -> None:
        """Return when rung, at the latest after ``seconds``; what is heard later counts for the next wait."""
        self.listen()
        alarm = asyncio.get_running_loop().call_later(seconds, self._rung.set)
        try:
            await self._rung.wait()
        finally:
            alarm.cancel()
            self._rung.clear()

    async def close(self) -> None:
        """Give the connection back."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
            self._listener = None

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning("bell_lost", canal=self._channel, erro=type(error).__name__)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen_once(self) -> None:
        lost = asyncio.Event()
        async with self._database.pool.acquire(timeout=ACQUIRE_SECONDS) as connection:
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(self._channel, self._heard)
            self._rung.set()  # something may have been said before we listened
            try:
                await lost.wait()
            finally:
                if not connection.is_closed():
                    await connection.remove_listener(self._channel, self._heard)

    def _heard(self, *_: object) -> None:
        self._rung.set()
