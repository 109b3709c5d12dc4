"""Shows on WhatsApp that somebody reads, as a courtesy that no turn waits for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.ports import Messenger

MOST = 10  # under way at once; each takes a moment, and messages matter more


class Courtesies:
    """Read marks with "typing…"; left out when there are many at once."""

    def __init__(self, messenger: Messenger) -> None:
        self._messenger = messenger
        self._under_way: set[asyncio.Task[bool]] = set()

    def read(self, wamid: str) -> None:
        """Mark a message as read, soon."""
        if len(self._under_way) >= MOST:
            return
        task = asyncio.create_task(self._messenger.mark_read_and_typing(wamid), name="courtesy")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """Drop those that are still under way."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
