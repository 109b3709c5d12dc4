"""Answers numbers that belong to no company, once a day; an operator can add them.

Keeps what arrived and asks for nothing: Meta's account notices, unreadable bodies, messages to foreign numbers.

Follows a person whose WhatsApp id changed; who gave a number up without being followed issues no more from it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta

import structlog

from bot.conversation.subject import Resources, Turn
from bot.loops.jobs import Deadline
from bot.loops.worker import Handler
from operations.company import CompanyError, remove_user
from persistence.access.accounts import Alcance
from persistence.conversations import conversations, handoff
from persistence.conversations.conversations import Contato, end_open, move, reunite
from persistence.conversations.sessions import LiveSessions
from persistence.db.engine import Database
from persistence.queue import outbox
from persistence.queue.lanes import InboxRow, Lanes, Lease
from persistence.rows import LeftNumberRow, MessageRow, MovedRow
from state_machine.catalogue import messages
from telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


class Notices:
    """They stay in the inbox table for people to look at; the log says that they are there."""

    def __init__(self, database: Database, lanes: Lanes, metrics: Metrics) -> None:
        self._database = database
        self._lanes = lanes
        self._metrics = metrics

    async def on_notice(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Mark as seen."""
        ids = await self._keep(lease, rows)
        for row in rows:
            log.warning("notice_kept", tipo=row.tipo, row_id=row.id)
        return ids

    def unless_foreign(self, phone_number_id: str, handler: Handler) -> Handler:
        """Return the handler of messages for this number of ours only; those for another one are marked as seen.

        Meta signs for an app, which may have numbers that Prosa does not serve: to answer there would be to speak in
        the name of somebody else. All rows of a lane are for one number.
        """

        async def handle(lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
            if MessageRow.of(rows[0].payload).phone_number_id == phone_number_id:
                return await handler(lease, rows)
            ids = await self._keep(lease, rows)
            self._metrics.messages_foreign.inc(len(ids))
            log.warning("foreign_number", count=len(ids))
            return ids

        return handle

    async def _keep(self, lease: Lease, rows: Sequence[InboxRow]) -> list[int]:
        ids = [row.id for row in rows]
        async with self._database.transaction() as connection:
            await self._lanes.done(connection, lease, ids)
        return ids


class Moves:
    """The rows wait in the lane of the former id, so that whatever it wrote before is read first."""

    def __init__(self, database: Database, lanes: Lanes, live: LiveSessions) -> None:
        self._database = database
        self._lanes = lanes
        self._live = live

    async def reunite(self, contato: Contato) -> bool:
        """Say whether the same telephone wrote under another id before; what waits there is theirs now."""
        async with self._database.transaction() as connection:
            former = await reunite(connection, contato)
        if former is None:
            return False
        await self._live.drop(former)
        log.info("person_reunited", former=former)
        return True

    async def on_moved(self, lease: Lease, row: InboxRow, moved: MovedRow) -> None:
        """Move the person in one commit; nobody is answered."""
        async with self._database.transaction() as connection:
            known = await move(connection, lease.lane, moved.conversa, moved.de, moved.para)
            await self._lanes.done(connection, lease, [row.id])
        await self._live.drop(lease.lane)
        log.info("person_moved", known=known)

    async def on_left(self, lease: Lease, row: InboxRow, left: LeftNumberRow) -> None:
        """End the number's right to issue and what is open there, and ask staff who has the new one."""
        async with self._database.transaction() as connection:
            try:
                done = await remove_user(
                    connection, left.telefone, "trocou de número", Alcance(todas=True), quem="WhatsApp", staff_id=None
                )
            except CompanyError:  # a telephone that never issued
                conversas: tuple[str, ...] = ()
            else:
                conversas = done.conversas
            await end_open(connection, conversas)
            for conversa in conversas:
                handoff.ask(connection, conversa, "trocou_numero")
            await self._lanes.done(connection, lease, [row.id])
        for conversa in conversas:
            await self._live.drop(conversa)
        log.info("number_left", conversations=len(conversas))


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
