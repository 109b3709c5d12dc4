"""Who may order an invoice, how staff call each of them, and how it hears what becomes of it: a row for each kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from persistence.queue.arrival import Arrival
from state_machine.protocol.origin import CONVERSA

if TYPE_CHECKING:
    from persistence.db.connection import Connection
    from persistence.queue.inbox import Inbox
    from persistence.rows.inbox_rows import CancellationRow, EmissionRow


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


# A kind of origin is a row here. A process leaves the orders of all others to the release that knows them.
ORIGINS: Mapping[str, OriginRow] = {CONVERSA: OriginRow("conversa", in_lanes)}


class Origins:
    """The kinds of origin that this process knows."""

    def __init__(self, inbox: Inbox, table: Mapping[str, OriginRow] = ORIGINS) -> None:
        self._tell = {name: row.tell(inbox) for name, row in table.items()}
        self.names = tuple(table)
        self.titles = {name: row.title for name, row in table.items()}

    async def tell(self, connection: Connection, *news: News) -> None:
        """Store news, each as its origin hears of it."""
        of_kind: dict[str, list[News]] = defaultdict(list)
        for each in news:
            of_kind[each.origem].append(each)
        for origem, its in of_kind.items():
            await self._tell[origem](connection, its)
