"""Lists that are being sent as mails: whoever issues for their company stops them by a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog

from bot.budgets import Voice
from bot.conversation.inbound import Palavras
from extractor.requests.batches import read_batch_stop
from operations.batches import orders
from persistence.batches import listing
from persistence.conversations import conversations
from persistence.queue import outbox
from state_machine.catalogue import messages
from state_machine.catalogue import requests as pedidos

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bot.conversation.subject import Resources, RowHandler, Turn
    from bot.loops.jobs import Deadline
    from extractor.requests.batches import BatchStop
    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found

QUEM: Final = "WhatsApp"  # in the audit, which has no person's data

log = structlog.get_logger(__name__)


class Batches:
    """Takes a stop, where the company has lists at all; nothing else is said of them here."""

    shows_reading = True
    actions: frozenset[str] = frozenset()
    deadlines: tuple[Deadline, ...] = ()

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> Sequence[RowHandler]:
        """None: a list's own progress is no row of a conversation."""
        return ()

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Stop the list that is named, or the only one that goes on; which, is asked where there are several."""
        entrada = turn.chegada.entrada
        if not isinstance(entrada, Palavras) or turn.conversa.empresa is None:
            return None
        wish = read_batch_stop(entrada.decidem)
        if wish is None:
            return None
        async with self._r.database.alone() as connection:
            if not await listing.newest(connection, [turn.conversa.empresa.id], None, 1):
                return None  # who never sent a list speaks of something else
        drafting = turn.conversa.ativa is not None
        voz = await turn.voice(owed="rascunho" if drafting else None)
        async with self._r.committing(turn) as connection:
            empresa = await conversations.issuer(connection, turn.chegada.contato)
            stopped, answer = await _stop(connection, None if empresa is None else empresa.id, wish)
            if stopped is not None or voz is not Voice.SILENT:
                said = pedidos.mensagem(answer, em_aberto=drafting)
                said = messages.devagar() if stopped is None and voz is Voice.NOTICE else said
                outbox.enqueue(connection, conversa=turn.lease.lane, mensagem=said, correlacao=turn.chegada.correlacao)
        self._r.ring_delivery()
        log.info("batch_stop_asked")
        return turn.chegada.ids


async def _stop(connection: Connection, empresa_id: int | None, wish: BatchStop) -> tuple[int | None, str]:
    """Return the number of the list that was stopped, if one was, and what to say."""
    meant = [] if empresa_id is None else await listing.going(connection, empresa_id, wish.numero)
    if len(meant) > 1:
        return None, pedidos.qual_lote([_named(lote) for lote in meant])
    cancelled = await orders.stop_in(connection, meant[0], QUEM) if meant else None
    if cancelled is None:
        return None, pedidos.sem_lote(wish.numero)
    return meant[0].id, pedidos.parar_lote(_named(meant[0]), cancelled)


def _named(lote: Found) -> tuple[int, str]:
    return lote.id, lote.nome_arquivo
