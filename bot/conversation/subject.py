"""What a subject of conversation is, what it gets for a turn, and how it names the inbox rows that are its own.

Finds out whose document it is: remembered, or asked of the public register; without its answer the turn goes on.

To add a subject: a class in ``bot/subjects`` with what ``Subject`` asks for, made from one ``Resources``, and a row in
``SUBJECTS`` (``bot/wiring/handlers.py``). ``take`` returns ``None`` and has changed nothing, or does all in one
``Resources.committing``, rings, and returns ``turn.chegada.ids``. An answer that decides nothing asks ``turn.voice()``
first. Its buttons stand in ``actions``, its deadlines in ``deadlines`` (with a row of ``docs/runbook.md``), its words
in ``extractor/requests``, its decisions in ``state_machine``. It calls the outside through ``bot/ports.py`` only.
``tests/road/talk/test_added_subject_road.py`` has the smallest one: its summary's button must still issue.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeVar

from bot.budgets import Budgets, Owed, Voice
from bot.conversation.inbound import Chegada
from bot.conversation.session_events import SessionEvents
from bot.loops.jobs import Deadline
from bot.loops.worker import Handler
from bot.orders.accept import Door
from bot.ports import CepLookup, Extractor, Register
from gateway.register import CompanyEntry, NotFound, company
from persistence import outside
from persistence.conversations import conversations
from persistence.conversations.conversations import Conversa
from persistence.conversations.sessions import LiveSessions
from persistence.crypto import Vault
from persistence.db.clock import DatabaseClock
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.queue import outbox
from persistence.queue.inbox import Inbox
from persistence.queue.lanes import InboxRow, Lanes, Lease
from persistence.rows import RowKind
from state_machine.catalogue import acts
from state_machine.invoice.draft import Cadastro
from state_machine.values.money import LimitesMei

CNPJ_LENGTH = 14


class Customers:
    """The CNPJ register behind its memory in the database."""

    def __init__(self, database: Database, register: Register) -> None:
        self._database = database
        self._register = register

    async def find(self, documento: str) -> CompanyEntry | None:
        """Return the company behind a CNPJ; ``None`` for a CPF, for an unknown one, and when nobody answers."""
        if len(documento) != CNPJ_LENGTH:
            return None
        async with self._database.alone() as connection:
            entry = await outside.cached_company(connection, documento)
        if entry:
            return company(entry.dados, documento) if entry.dados else None
        answer = await self._register.lookup(documento)
        found = answer if isinstance(answer, CompanyEntry) else None
        if found or isinstance(answer, NotFound):
            async with self._database.alone() as connection:
                await outside.cache_company(connection, documento, found.raw if found else None)
        return found


def as_cadastro(empresa: CompanyEntry) -> Cadastro:
    """Return what the conversation needs of a register entry."""
    return Cadastro(empresa.cnpj, empresa.razao_social, empresa.situacao)


Kind = TypeVar("Kind", bound=RowKind)


class Speaking(Protocol):
    """Asks the budget of one person."""

    def __call__(self, *, owed: Owed | None = None) -> Awaitable[Voice]:
        """Say how a turn may be answered."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn's worth of a person's messages, and what was known of the conversation when it began.

    ``voice`` says how talk may be answered, and counts as an answer; what decides is always answered. Of each
    kind that is ``owed`` one a minute is answered also where the budget is spent, and no further one.
    """

    lease: Lease
    chegada: Chegada
    conversa: Conversa
    clock: DatabaseClock
    voice: Speaking


@dataclass(frozen=True, slots=True)
class RowHandler:
    """Which kind of inbox row goes to whom; each kind to exactly one handler."""

    kind: type[RowKind]
    handle: Handler


class Subject(Protocol):
    """What a conversation can be about; one for all conversations."""

    shows_reading: bool  # the person sees read marks and "typing…" as soon as the turn comes to it
    actions: frozenset[str]  # of its buttons: the first part of their keys, each of one subject
    deadlines: tuple[Deadline, ...]  # what it lets expire; each becomes a periodic job

    def __init__(self, resources: Resources) -> None:
        """Made once, with the stores open."""

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Take the turn if it is about this subject, in one commit, and return the rows consumed; ``None``: it is not.

        A subject that declines has changed nothing that the next one relies on.
        """
        ...

    def handlers(self) -> Sequence[RowHandler]:
        """Return the handlers of the inbox rows that are this subject's alone: news, deadlines, orders of staff."""
        ...


@dataclass(frozen=True, slots=True)
class Resources:
    """What subjects are made with.

    ``repeat``: for so long after its end an invoice of the same content makes us ask before a second one;
    ``cancellation_wait``: for so long a cancellation waits for its person's next word. ``ring`` wakes all that sends,
    or who is named, ``ring_delivery`` only who sends messages. ``public_url`` begins the links that are sent; empty:
    none are.
    ``emails``: mails of a company in a day, 0 for any number; ``None``: there is no server that takes them.
    """

    database: Database
    inbox: Inbox
    lanes: Lanes
    live: LiveSessions
    sessions: SessionEvents
    extractor: Extractor
    customers: Customers
    cep_register: CepLookup
    door: Door
    budgets: Budgets
    repeat: timedelta
    cancellation_wait: timedelta
    limites_mei: LimitesMei
    public_url: str
    cofre: Vault
    emails: int | None
    ring: Callable[..., None]
    ring_delivery: Callable[[], None]

    @asynccontextmanager
    async def committing(self, turn: Turn) -> AsyncIterator[Connection]:
        """Open the one transaction of a turn: the conversation is noted first, its rows are done last.

        Whom we answer is told first where a turn was too long to be read whole.
        """
        heard = turn.conversa.empresa is not None and not turn.conversa.atendida
        tells = turn.chegada.longa and heard and await turn.voice() is not Voice.SILENT
        async with self.database.transaction() as connection:
            conversations.greet_later(connection, turn.chegada.contato, len(turn.chegada.rows))
            if tells:
                outbox.enqueue(
                    connection,
                    conversa=turn.lease.lane,
                    mensagem=acts.longa(),
                    correlacao=turn.chegada.correlacao,
                )
            yield connection
            await self.lanes.done(connection, turn.lease, turn.chegada.ids)


def one_row(kind: type[Kind], work: Callable[[Lease, InboxRow, Kind], Awaitable[None]]) -> RowHandler:
    """Return a handler that hands the first row, read as its kind, to ``work``, which marks it done in its commit."""

    async def handle(lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        row = rows[0]
        await work(lease, row, kind.of(row.payload))
        return [row.id]

    return RowHandler(kind, handle)
