"""Tells the other processes, by the database, how this one's circuit breakers stand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from persistence import breakers
from persistence.breakers import SEEN_EVERY
from persistence.db.outage import is_outage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from persistence.db.engine import Database

PATIENCE = 2.0  # seconds for a word; a process that ends waits for its last one

log = structlog.get_logger(__name__)


class Breakers:
    """Speaks at once when a breaker changes, and now and then in between, so that silence means a dead process.

    ``processo`` is a name that no other process has.
    """

    def __init__(self, database: Database, processo: str, *, every: float = SEEN_EVERY) -> None:
        self._database = database
        self._processo = processo
        self._every = every
        self._open: dict[str, int] = {}
        self._news = asyncio.Event()
        self._stopping = False

    def watch(self, destino: str) -> Callable[[int], None]:
        """Return what is told how many breakers of ``destino`` are open; all begin closed."""
        self._open[destino] = 0

        def changed(abertos: int) -> None:
            self._open[destino] = int(abertos)
            self._news.set()

        return changed

    async def run_once(self) -> None:
        """Say how all of them stand now."""
        async with self._database.transaction() as connection:
            await breakers.publish(connection, self._processo, self._open)

    async def run(self) -> None:
        """Speak until ``stop``, then withdraw; a database that is away is told later."""
        while not self._stopping:
            self._news.clear()
            await self._try(self.run_once)
            try:
                async with asyncio.timeout(self._every):
                    await self._news.wait()
            except TimeoutError:
                pass
        await self._try(self._withdraw)

    def stop(self) -> None:
        """Say no more."""
        self._stopping = True
        self._news.set()

    async def _withdraw(self) -> None:
        async with self._database.transaction() as connection:
            await breakers.withdraw(connection, self._processo)

    async def _try(self, say: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await say()
        except Exception as error:  # noqa: BLE001 - nobody's work may end because a page would like to know
            log.warning("breakers_not_told", error=type(error).__name__, outage=is_outage(error))
