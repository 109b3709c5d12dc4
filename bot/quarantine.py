"""Tells a user that a message of theirs could not be read, once it is set aside; people look at the message itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from bot.carry_out import text_message
from bot.inbound import next_arrival
from persistence import outbox, people
from state_machine import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from persistence.engine import Database
    from persistence.lanes import InboxRow

log = structlog.get_logger(__name__)


class Quarantine:
    """Called by the worker with rows that failed for the last time."""

    def __init__(self, database: Database, ring: Callable[[], None]) -> None:
        self._database = database
        self._ring = ring

    async def tell(self, lane: str, rows: Sequence[InboxRow]) -> None:
        """Put one kind sentence into the outbox for each message; never raises: the row is safe in any case."""
        for row in rows:
            if row.tipo != "mensagem":
                continue
            try:
                contato = next_arrival(lane, (row,)).contato
                async with self._database.transaction() as connection:
                    await people.greet(connection, contato, 0)
                    await outbox.enqueue(
                        connection,
                        conversa=lane,
                        mensagem=text_message(messages.quarentena()),
                        chave=f"quarentena:{row.id}",
                        correlacao=row.correlacao,
                    )
            except Exception as error:  # noqa: BLE001 - what poisoned the turn may poison this too
                log.warning("quarantine_untold", row_id=row.id, error=type(error).__name__)
        self._ring()
