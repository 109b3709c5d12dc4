"""Hears what a user says while staff speak with them: keeps it, answers nothing, changes no invoice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from persistence.conversations import conversations

if TYPE_CHECKING:
    from collections.abc import Collection

    from bot.conversation.inbound import Chegada
    from persistence.db.engine import Database
    from persistence.queue.lanes import Lanes, Lease

log = structlog.get_logger(__name__)


async def hear(database: Database, lanes: Lanes, lease: Lease, chegada: Chegada) -> Collection[int]:
    """Mark the messages as heard; they stay in the inbox table, where the console shows them."""
    ids = [row.id for row in chegada.rows]
    async with database.transaction() as connection:
        await conversations.greet(connection, chegada.contato, len(ids))
        await lanes.done(connection, lease, ids)
    log.info("heard_for_staff", rows=len(ids))
    return ids
