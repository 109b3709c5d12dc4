"""Tells of a note that is cancelled without anybody here having asked for it, in the transaction that learns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from bot.orders.origins import News
from persistence.fiscal import cancellation_work, issued
from persistence.rows.inbox_rows import CancellationRow
from state_machine.cancellation.machine import StatusNota

if TYPE_CHECKING:
    from bot.orders.origins import Origins
    from persistence.db.connection import Connection
    from persistence.queue.slots import Taken

log = structlog.get_logger(__name__)


def news_of(tarefa: Taken, chave: str, row: CancellationRow) -> News:
    """Return a piece of news of an order that is in hand."""
    correlacao = tarefa.correlacao or tarefa.id_integracao
    return News(tarefa.origem, tarefa.sessao_id, tarefa.conversa, row, chave, correlacao)


async def seen_cancelled(connection: Connection, origins: Origins, tarefa: Taken) -> None:
    """A reading shows an issued note as cancelled: whoever waits for that looks now; else the user hears it once."""
    if await cancellation_work.hint(connection, tarefa.id_integracao, None):
        return
    if not await issued.mark(connection, tarefa.emissao_id, {StatusNota.AUTORIZADO}, StatusNota.CANCELADO):
        return
    log.warning("note_cancelled_outside", emissao_id=tarefa.emissao_id)
    row = CancellationRow(tarefa.emissao_id, "por_fora", None)
    await origins.tell(connection, news_of(tarefa, f"cancelada_por_fora:{tarefa.emissao_id}", row))
