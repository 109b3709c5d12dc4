"""Puts news of cancellations into the conversation's lane, in the transaction that learns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from persistence.fiscal import cancellation_work, issued
from persistence.queue.arrival import Arrival
from persistence.rows.inbox_rows import CancellationRow
from state_machine.cancellation.machine import StatusNota

if TYPE_CHECKING:
    from persistence.db.connection import Connection
    from persistence.queue.inbox import Inbox
    from persistence.rows.inbox_rows import AvisoCancelamento

log = structlog.get_logger(__name__)


async def tell(
    connection: Connection,
    inbox: Inbox,
    *,
    chave: str,
    conversa: str,
    emissao_id: int,
    aviso: AvisoCancelamento,
    motivo: str | None,
    correlacao: str,
) -> None:
    """Store one piece of news; ``chave`` keeps it from being told twice."""
    row = CancellationRow(emissao_id, aviso, motivo)
    arrival = Arrival.of(row, chave=chave, lane=conversa, correlacao=correlacao)
    await inbox.put_in(connection, [arrival])


async def seen_cancelled(
    connection: Connection, inbox: Inbox, *, emissao_id: int, id_integracao: str, conversa: str, correlacao: str
) -> None:
    """A reading shows an issued note as cancelled: whoever waits for that looks now; else the user hears it once."""
    if await cancellation_work.hint(connection, id_integracao, None):
        return
    if not await issued.mark(connection, emissao_id, {StatusNota.AUTORIZADO}, StatusNota.CANCELADO):
        return
    log.warning("note_cancelled_outside", emissao_id=emissao_id)
    await tell(
        connection,
        inbox,
        chave=f"cancelada_por_fora:{emissao_id}",
        conversa=conversa,
        emissao_id=emissao_id,
        aviso="por_fora",
        motivo=None,
        correlacao=correlacao,
    )
