"""Who may order an invoice, how staff call each of them, and how it hears what becomes of it: a row for each kind.

Tells people in time that their invoice or cancellation takes long, whatever it waits for.

To add an origin: who orders makes a ``Confirmed`` (``bot/orders/accept.py``) with an ``Origin`` whose id no other has,
and calls ``House.door.accept`` in the transaction that keeps that it was ordered. A row in ``ORIGINS`` says how it
stores ``News``, each ``chave`` once, and how staff call it. Test: issued once, told, cancelled, killed half-way;
``tests/road/second_origin`` is a whole example.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import NamedTuple

import structlog

from persistence.db.connection import Connection, is_outage
from persistence.db.engine import Database
from persistence.queue import backlog
from persistence.queue.backlog import Demorada
from persistence.queue.inbox import Arrival, Inbox
from persistence.rows import CancellationRow, EmissionRow
from state_machine.protocol.channel import CONVERSA
from state_machine.protocol.reconciliation import ASK_AFTER


@dataclass(frozen=True, slots=True)
class News:
    """What became known of an order, for whoever ordered it.

    ``origem`` and ``id`` are its origin's, ``conversa`` is where it is spoken of, ``None`` where nowhere. ``row`` is
    what happened; ``chave`` keeps it from being told twice.
    """

    origem: str
    id: str
    conversa: str | None
    row: EmissionRow | CancellationRow
    chave: str
    correlacao: str


Tell = Callable[["Connection", Sequence[News]], Awaitable[None]]
"""Stores news in the transaction that learns them."""


def in_lanes(inbox: Inbox) -> Tell:
    """Tell conversations: a row in the lane of each."""

    async def tell(connection: Connection, news: Sequence[News]) -> None:
        arrivals = [
            Arrival.of(each.row, chave=each.chave, lane=each.conversa, correlacao=each.correlacao)
            for each in news
            if each.conversa is not None  # the database lets no other one through
        ]
        await inbox.put_in(connection, arrivals)

    return tell


class OriginRow(NamedTuple):
    """A kind of origin: what staff read of it (pt-BR), and how it hears news."""

    title: str
    tell: Callable[[Inbox], Tell]


# A kind of origin is a row here.
ORIGINS: Mapping[str, OriginRow] = {CONVERSA: OriginRow("conversa", in_lanes)}


class Origins:
    """The kinds of origin that this process knows."""

    def __init__(self, inbox: Inbox, table: Mapping[str, OriginRow] = ORIGINS) -> None:
        self._tell = {name: row.tell(inbox) for name, row in table.items()}
        self.titles = {name: row.title for name, row in table.items()}

    async def tell(self, connection: Connection, *news: News) -> None:
        """Store news, each as its origin hears of it."""
        of_kind: dict[str, list[News]] = defaultdict(list)
        for each in news:
            of_kind[each.origem].append(each)
        for origem, its in of_kind.items():
            await self._tell[origem](connection, its)


LOOK_EVERY = 1.0  # seconds: how late the word may be, and what is due without a ring
IDLE_EVERY = 3.0  # seconds, while nothing is open: how late what another process wrote may be

log = structlog.get_logger(__name__)


def _news(each: Demorada, what: str, row: EmissionRow | CancellationRow) -> News:
    return News(each.origem, each.sessao_id, each.conversa, row, f"{what}:{each.id}:demorou", each.correlacao)


class SlowNotices:
    """Looks at the age of what is under way, in any number of processes; each order is spoken of once.

    The same look is at all queues: it rings for what is due by a clock, a dead worker or another process, by ``rings``.

    Apart from the queues, for an order may be in nobody's hands: it waits for a slot, for a Retry-After, for a breaker,
    for credentials, for an earlier attempt, or for an answer that does not come.
    """

    def __init__(
        self,
        database: Database,
        origins: Origins,
        avisar_apos: timedelta,
        rings: Mapping[str, Callable[[], None]] = MappingProxyType({}),
    ) -> None:
        self._database = database
        self._origins = origins
        self._seconds = avisar_apos.total_seconds()
        self._rings = rings
        self._end = asyncio.Event()

    async def look(self) -> float:
        """Ring for what is due, tell whom an order keeps waiting, and return the seconds until the next look."""
        found = await backlog.waiting(self._database, self._seconds)
        for name in found.keys() & self._rings.keys():
            if found[name]:
                self._rings[name]()
        if found.get("notices"):
            await self.run_once()
        return LOOK_EVERY if found else IDLE_EVERY

    async def run_once(self) -> int:
        """Tell whoever ordered them; returns how many."""
        async with self._database.transaction() as connection:
            asked = ASK_AFTER.total_seconds()
            await backlog.bring_forward(connection, asked)
            slow = await backlog.slow_emissions(connection, self._seconds, asked)
            told = [_news(each, "emissao", EmissionRow(each.sessao_id, each.id, "demorou")) for each in slow]
            waiting = await backlog.slow_cancellations(connection, self._seconds)
            told += [_news(each, "cancelamento", CancellationRow(each.emissao_id, "demorou")) for each in waiting]
            await self._origins.tell(connection, *told)
        return len(told)

    async def run(self) -> None:
        """Look until ``stop``, once a second while anything is open; a database that is away is asked again."""
        while not self._end.is_set():
            pause = LOOK_EVERY
            try:
                pause = await self.look()
            except Exception as error:  # noqa: BLE001 - the loop must outlive whatever happens to the database
                log.warning("pump_waits", component="slow_notices", error=type(error).__name__, outage=is_outage(error))
            try:
                async with asyncio.timeout(pause):
                    await self._end.wait()
            except TimeoutError:
                pass

    def stop(self) -> None:
        """Look no more."""
        self._end.set()
