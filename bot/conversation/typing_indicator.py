"""Sends read marks and the typing indicator; a turn waits for neither."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.ports import Messenger

MOST = 10  # under way at once; each takes a moment, and messages matter more
QUIET = 4096  # conversations remembered as unanswered; whoever is forgotten sees one "typing…" more


class ReadReceipts:
    """Read marks with "typing…"; left out when many are under way, and for conversations that get no answer."""

    def __init__(self, messenger: Messenger) -> None:
        self._messenger = messenger
        self._under_way: set[asyncio.Task[bool]] = set()
        self._quiet: dict[str, None] = {}  # in the order in which they fell quiet

    def note(self, conversa: str, *, answered: bool) -> None:
        """Note whether talk of this conversation is answered now."""
        self._quiet.pop(conversa, None)
        if not answered:
            self._quiet[conversa] = None
            if len(self._quiet) > QUIET:
                del self._quiet[next(iter(self._quiet))]

    def read(self, conversa: str, wamid: str) -> None:
        """Mark a message as read, soon."""
        if conversa in self._quiet or len(self._under_way) >= MOST:
            return
        task = asyncio.create_task(self._messenger.mark_read_and_typing(wamid), name="read receipt")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """Drop those that are still under way."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
