"""Tells the user what became of a cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.conversation.effects import text_message
from persistence.fiscal import issued
from persistence.queue import outbox
from state_machine.catalogue import cancellation_texts as textos

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from persistence.db.engine import Database
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.cancellation.machine import NotaEmitida
    from state_machine.machine.effects import Mensagem


class CancellationOutcomes:
    """Handles the rows that ``bot.orders.cancellation_news`` stored."""

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
