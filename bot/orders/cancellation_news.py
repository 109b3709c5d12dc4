"""News of cancellations: put into the conversation's lane in the transaction that learns it, then told to the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from bot.conversation.effects import text_message
from persistence.fiscal import cancellation_work, issued
from persistence.queue import outbox
from persistence.queue.arrival import Arrival
from state_machine.cancellation.machine import StatusNota
from state_machine.catalogue import cancellation_texts as textos

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.queue.inbox import Inbox
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.cancellation.machine import NotaEmitida
    from state_machine.machine.effects import Mensagem
    from state_machine.protocol.emission import NaturalKey

log = structlog.get_logger(__name__)


async def tell(
    connection: Connection,
    inbox: Inbox,
    *,
    chave: str,
    conversa: str,
    emissao_id: int,
    aviso: str,
    motivo: str | None,
    correlacao: str,
) -> None:
    """Store one piece of news; ``chave`` keeps it from being told twice."""
    payload = {"emissao_id": emissao_id, "aviso": aviso, "motivo": motivo}
    arrival = Arrival(chave, conversa, "cancelamento", payload, correlacao, imediato=True)
    await inbox.put_in(connection, [arrival])


async def seen_cancelled(
    connection: Connection, inbox: Inbox, *, emissao_id: int, key: NaturalKey, conversa: str, correlacao: str
) -> None:
    """A reading shows an issued note as cancelled: whoever waits for that looks now; else the user hears it once."""
    if await cancellation_work.hint(connection, key.id_integracao, None):
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


class CancellationNews:
    """Handles the rows that ``tell`` stored."""

    def __init__(self, database: Database, lanes: Lanes, ring: Callable[[], None]) -> None:
        self._database = database
        self._lanes = lanes
        self._ring = ring

    async def on_news(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Tell the user what became of a cancellation, or that a note was cancelled elsewhere."""
        row = rows[0]
        async with self._database.transaction() as connection:
            nota = await issued.locked(connection, row.payload["emissao_id"])
            if nota is not None:
                mensagem = text_message(_news(nota, row.payload))
                outbox.enqueue(
                    connection, conversa=lease.lane, mensagem=mensagem, chave=row.chave, correlacao=row.correlacao
                )
            await self._lanes.done(connection, lease, [row.id])
        self._ring()
        return [row.id]


def _news(nota: NotaEmitida, payload: dict[str, Any]) -> Mensagem:
    match payload["aviso"]:
        case "cancelada":
            return textos.cancelada(nota)
        case "por_fora":
            return textos.cancelada_por_fora(nota)
        case "negada":
            return textos.negada(nota, payload.get("motivo") or "")
        case "demorou":
            return textos.demorou(nota)
        case "falhou":
            return textos.com_a_equipe(nota)
        case _:
            raise ValueError("news of a cancellation that nobody understands")
