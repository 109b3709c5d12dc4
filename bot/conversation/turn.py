"""Takes turns: reads what arrived and from whom, and hands it to the first subject that it is about.

Sends read marks and the typing indicator; a turn waits for neither.

Quarantines rows that failed for the last time, and tells the user whose message could not be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

from bot.budgets import Budgets, Owed, Voice
from bot.conversation.inbound import next_arrival
from bot.conversation.session_events import SessionEvents
from bot.conversation.subject import Subject, Turn
from bot.ports import Messenger
from persistence.conversations import conversations, snapshots
from persistence.conversations.conversations import Contato
from persistence.conversations.sessions import LiveSessions
from persistence.db.clock import DatabaseClock
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.queue import outbox
from persistence.queue.lanes import InboxRow, Lanes, Lease
from persistence.rows import MessageRow
from state_machine.catalogue import messages
from state_machine.invoice.session import Sessao
from state_machine.machine.events import PerdeuMensagem

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


class Quarantine:
    """The worker's last resort for a row."""

    def __init__(
        self,
        database: Database,
        lanes: Lanes,
        live: LiveSessions,
        sessions: SessionEvents,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._lanes = lanes
        self._live = live
        self._sessions = sessions
        self._ring = ring

    async def set_aside(self, lease: Lease, row: InboxRow, error: BaseException) -> None:
        """Quarantine the row and, for a message, tell its sender and void the summary, in one transaction."""
        sessao = None
        async with self._database.transaction() as connection:
            if row.tipo == MessageRow.tipo:
                sessao = await self._tell(connection, lease, row)
            await self._lanes.set_aside(connection, lease, row.id, error)
        self._ring()
        if sessao is not None:
            await self._live.put(sessao)

    async def _tell(self, connection: Connection, lease: Lease, row: InboxRow) -> Sessao | None:
        await conversations.greet(connection, next_arrival(lease.lane, (row,)).contato, 0)
        ativa = await snapshots.active(connection, lease.lane)
        if ativa is None:
            mensagem = messages.quarentena()
            outbox.enqueue(connection, conversa=lease.lane, mensagem=mensagem, correlacao=row.correlacao)
            return None
        return await self._sessions.apply_one(connection, ativa, PerdeuMensagem(), row.correlacao)


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
        if conversa.nova and await self._reunite(chegada.contato):
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
