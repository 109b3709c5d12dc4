"""Tells people in time that their invoice or cancellation takes long, whatever it waits for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from bot.orders.origins import News
from persistence.db.outage import is_outage
from persistence.queue import slow_notice
from persistence.rows.inbox_rows import CancellationRow, EmissionRow
from state_machine.protocol.reconciliation import ASK_AFTER

if TYPE_CHECKING:
    from datetime import timedelta

    from bot.orders.origins import Origins
    from persistence.db.engine import Database
    from persistence.queue.slow_notice import Demorada

LOOK_EVERY = 1.0  # seconds: how late the word may be

log = structlog.get_logger(__name__)


def _news(each: Demorada, what: str, row: EmissionRow | CancellationRow) -> News:
    return News(each.origem, each.sessao_id, each.conversa, row, f"{what}:{each.id}:demorou", each.correlacao)


class SlowNotices:
    """Looks at the age of what is under way, in any number of processes; each order is spoken of once.

    Apart from the queues, for an order may be in nobody's hands: it waits for a slot, for a Retry-After, for a breaker,
    for credentials, for an earlier attempt, or for an answer that does not come.
    """

    def __init__(self, database: Database, origins: Origins, avisar_apos: timedelta) -> None:
        self._database = database
        self._origins = origins
        self._seconds = avisar_apos.total_seconds()
        self._end = asyncio.Event()

    async def run_once(self) -> int:
        """Tell whoever ordered them; returns how many."""
        async with self._database.transaction() as connection:
            asked = ASK_AFTER.total_seconds()
            await slow_notice.bring_forward(connection, asked)
            slow = await slow_notice.slow_emissions(connection, self._origins.names, self._seconds, asked)
            told = [_news(each, "emissao", EmissionRow(each.sessao_id, each.id, "demorou")) for each in slow]
            waiting = await slow_notice.slow_cancellations(connection, self._origins.names, self._seconds)
            told += [_news(each, "cancelamento", CancellationRow(each.emissao_id, "demorou")) for each in waiting]
            await self._origins.tell(connection, *told)
        return len(told)

    async def run(self) -> None:
        """Look once a second until ``stop``; a database that is away is asked again."""
        while not self._end.is_set():
            try:
                await self.run_once()
            except Exception as error:  # noqa: BLE001 - the loop must outlive whatever happens to the database
                log.warning("pump_waits", component="slow_notices", error=type(error).__name__, outage=is_outage(error))
            try:
                async with asyncio.timeout(LOOK_EVERY):
                    await self._end.wait()
            except TimeoutError:
                pass

    def stop(self) -> None:
        """Look no more."""
        self._end.set()
