"""Takes turns: reads what arrived and from whom, and hands it to the first subject that it is about."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.budgets import Voice
from bot.conversation.inbound import next_arrival
from bot.conversation.subject import Turn
from bot.conversation.typing_indicator import ReadReceipts
from persistence.conversations import conversations
from persistence.db.clock import DatabaseClock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from bot.budgets import Budgets, Owed
    from bot.conversation.subject import Subject
    from bot.ports import Messenger
    from persistence.conversations.conversations import Contato
    from persistence.db.engine import Database
    from persistence.queue.lanes import InboxRow, Lease

    Reunite = Callable[[Contato], Awaitable[bool]]


class Conversations:
    """Handler of people's messages; ``subjects`` are asked in their order.

    ``reunite`` says whether somebody new is one whom we know under another id, with what was open there.
    """

    def __init__(
        self, database: Database, messenger: Messenger, budgets: Budgets, subjects: Sequence[Subject], reunite: Reunite
    ) -> None:
        self._database = database
        self._read_receipts = ReadReceipts(messenger)
        self._budgets = budgets
        self._subjects = subjects
        self._reunite = reunite
        self._actions = frozenset(action for subject in subjects for action in subject.actions)

    async def on_messages(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Take one turn from the head of a user's messages; returns the rows that it consumed."""
        chegada = next_arrival(lease.lane, rows, self._actions)
        conversa = await conversations.find(self._database, chegada.contato)
        if conversa.nova and chegada.contato.wa_id and await self._reunite(chegada.contato):
            conversa = await conversations.find(self._database, chegada.contato)
        turn = Turn(lease, chegada, conversa, DatabaseClock(conversa.agora), partial(self._voice, lease.lane))
        shown = chegada.rows[-1].tentativas > 0  # at the first attempt
        for subject in self._subjects:
            if subject.shows_reading and not shown:
                self._read_receipts.read(lease.lane, chegada.wamid)
                shown = True
            taken = await subject.take(turn)
            if taken is not None:
                return taken
        return ()  # nobody's turn: the worker counts it as a failure

    async def _voice(self, conversa: str, *, owed: Owed | None = None) -> Voice:
        voz = await self._budgets.person(conversa, owed=owed)
        self._read_receipts.note(conversa, answered=voz is Voice.SPEAK)
        return voz

    async def close(self) -> None:
        """Drop the read receipts that are still under way."""
        await self._read_receipts.close()
