"""Moves the history's row on, and has Redis and the file remember how far it was."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from persistence.db.outage import is_outage

if TYPE_CHECKING:
    from persistence.db.engine import Database
    from persistence.witness.outside import Keepers
    from persistence.witness.row import Witness

BEAT_EVERY = 5.0  # seconds: what a copy may be younger than and still pass for the database itself

log = structlog.get_logger(__name__)


class Beats:
    """In any number of processes: each beat counts, and the newest word is kept."""

    def __init__(self, database: Database, witness: Witness, keepers: Keepers, *, every: float = BEAT_EVERY) -> None:
        self._database = database
        self._witness = witness
        self._keepers = keepers
        self._every = every
        self._end = asyncio.Event()

    async def run_once(self) -> None:
        """Compare and move on; in doubt nothing moves, so that what was remembered stays."""
        self._witness.heard(await self._keepers.recall())
        async with self._database.transaction() as connection:
            word = await self._witness.beat(connection)
        if word is not None:
            self._witness.heard(word)
            await self._keepers.keep(word)

    async def run(self) -> None:
        """Go on until ``stop``; a database that is away is asked again."""
        while not self._end.is_set():
            try:
                await self.run_once()
            except Exception as error:  # noqa: BLE001 - the loop must outlive whatever happens to the database
                log.warning("pump_waits", component="witness", error=type(error).__name__, outage=is_outage(error))
            try:
                async with asyncio.timeout(self._every):
                    await self._end.wait()
            except TimeoutError:
                pass

    def stop(self) -> None:
        """Go on no more."""
        self._end.set()
