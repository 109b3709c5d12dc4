"""Answers numbers that belong to no company, once a day; an operator can add them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from persistence.conversations import conversations
from persistence.queue import outbox
from state_machine.catalogue import messages

if TYPE_CHECKING:
    from collections.abc import Collection

    from bot.conversation.subject import Resources, Turn
    from bot.loops.jobs import Deadline

log = structlog.get_logger(__name__)

AGAIN = timedelta(hours=24)


class Strangers:
    """Turns of who may issue for no company, and has no session open from when they might."""

    shows_reading = False
    actions: frozenset[str] = frozenset()
    deadlines: tuple[Deadline, ...] = ()

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> tuple[()]:
        """None: nothing but messages comes from strangers."""
        return ()

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Say what Prosa is, unless that was said within a day, or to too many; the messages are kept."""
        conversa, chegada = turn.conversa, turn.chegada
        if conversa.empresa is not None or conversa.ativa is not None:
            return None
        due = conversa.orientada_em is None or conversa.agora - conversa.orientada_em > AGAIN
        answers = due and await self._r.budgets.stranger()
        async with self._r.committing(turn) as connection:
            if answers:
                mensagem, lane = messages.desconhecido(), turn.lease.lane
                outbox.enqueue(connection, conversa=lane, mensagem=mensagem, correlacao=chegada.correlacao)
                conversations.mark_oriented(connection, lane)
        self._r.ring_delivery()
        log.info("unknown_number", rows=len(chegada.rows))
        return chegada.ids
