"""Answers a number that no company knows, kindly and once a day; an operator can let it in."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from bot.conversation.effects import text_message
from persistence.conversations import conversations
from persistence.queue import outbox
from state_machine.catalogue import messages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from bot.conversation.inbound import Chegada
    from persistence.conversations.conversations import Conversa
    from persistence.db.engine import Database
    from persistence.queue.lanes import Lanes, Lease

log = structlog.get_logger(__name__)

AGAIN = timedelta(hours=24)


async def orient(
    database: Database,
    lanes: Lanes,
    lease: Lease,
    chegada: Chegada,
    conversa: Conversa,
    may_answer: Callable[[], Awaitable[bool]],
) -> Collection[int]:
    """Say what Prosa is, unless that was said within a day, or to too many (``may_answer``); the messages are kept."""
    ids = [row.id for row in chegada.rows]
    due = conversa.orientada_em is None or conversa.agora - conversa.orientada_em > AGAIN
    answers = due and await may_answer()
    async with database.transaction() as connection:
        await conversations.greet(connection, chegada.contato, len(ids))
        if answers:
            mensagem = text_message(messages.desconhecido())
            correlacao = chegada.rows[-1].correlacao
            outbox.enqueue(connection, conversa=lease.lane, mensagem=mensagem, correlacao=correlacao)
            conversations.mark_oriented(connection, lease.lane)
        await lanes.done(connection, lease, ids)
    log.info("unknown_number", rows=len(ids))
    return ids
