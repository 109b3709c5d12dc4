"""Tells of a note that is cancelled without anybody here having asked for it, in the transaction that learns it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import structlog

from bot.orders.origins import News
from persistence.fiscal import cancellation_work, issued
from persistence.rows.inbox_rows import CancellationRow
from state_machine.cancellation.machine import StatusNota

if TYPE_CHECKING:
    from bot.orders.origins import Origins
    from persistence.db.connection import Connection

log = structlog.get_logger(__name__)


class Concerned(Protocol):
    """An emission that news are of: an order in hand, or one that a document of the authority names."""

    @property
    def emissao_id(self) -> int:
        """The emission."""

    @property
    def id_integracao(self) -> str:
        """Its reference."""

    @property
    def origem(self) -> str:
        """Kind of who ordered it."""

    @property
    def sessao_id(self) -> str:
        """The origin's id."""

    @property
    def conversa(self) -> str | None:
        """Where it was ordered, if in a chat."""

    @property
    def correlacao(self) -> str | None:
        """What its log lines share."""


def news_of(tarefa: Concerned, chave: str, row: CancellationRow) -> News:
    """Return a piece of news of an emission."""
    correlacao = tarefa.correlacao or tarefa.id_integracao
    return News(tarefa.origem, tarefa.sessao_id, tarefa.conversa, row, chave, correlacao)


async def seen_cancelled(origins: Origins, connection: Connection, tarefa: Concerned) -> None:
    """An issued note is seen as cancelled, by a reading or its event: whoever waits for that looks now.

    Else the user hears it once.
    """
    if await cancellation_work.hint(connection, tarefa.id_integracao, None):
        return
    if not await issued.mark(connection, tarefa.emissao_id, {StatusNota.AUTORIZADO}, StatusNota.CANCELADO):
        return
    if await issued.is_being_replaced(connection, tarefa.emissao_id):
        return  # a note of ours ended it, whose own news say so
    log.warning("note_cancelled_outside", emissao_id=tarefa.emissao_id)
    row = CancellationRow(tarefa.emissao_id, "por_fora", None)
    await origins.tell(connection, news_of(tarefa, f"cancelada_por_fora:{tarefa.emissao_id}", row))
