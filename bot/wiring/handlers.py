"""The worker of the inbox: conversations, and which handler takes which kind of row."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from bot.conversation.customers import Customers
from bot.conversation.effects import Effects
from bot.conversation.quarantine import Quarantine
from bot.conversation.session_events import SessionEvents
from bot.conversation.subject import Resources, RowHandler, one_row
from bot.conversation.turn import Conversations
from bot.delivery.ticks import Ticks
from bot.loops.worker import LaneWorker
from bot.master_key import vault_of
from bot.policy import limites_mei_of
from bot.subjects.account_notices import Notices
from bot.subjects.moving import Moves
from bot.subjects.table import handlers_of, open_subjects
from persistence.rows.inbox_rows import (
    GatewayRow,
    LeftNumberRow,
    MessageRow,
    MetaNoticeRow,
    MovedRow,
    StatusRow,
    UnreadableRow,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.orders.accept import Door
    from bot.wiring.outside import Outside
    from bot.wiring.pumps import Pumps
    from bot.wiring.stores import Stores


@asynccontextmanager
async def open_worker(stores: Stores, outside: Outside, pumps: Pumps, door: Door) -> AsyncIterator[LaneWorker]:
    """Open the worker; at the end its conversations are closed."""
    settings, database, lanes, live, ring = stores.settings, stores.database, stores.lanes, stores.live, pumps.ring
    sessions = SessionEvents(database, lanes, live, Effects(door), ttl_seconds=settings.session_ttl_seconds, ring=ring)
    subjects = open_subjects(
        Resources(
            database=database,
            inbox=stores.inbox,
            lanes=lanes,
            live=live,
            sessions=sessions,
            extractor=outside.extractor,
            customers=Customers(database, outside.register),
            cep_register=outside.cep_register,
            door=door,
            budgets=stores.budgets,
            repeat=timedelta(seconds=settings.repeat_window_seconds),
            limites_mei=limites_mei_of(settings),
            public_url=settings.public_url,
            cofre=vault_of(settings),
            emails=settings.company_mails_per_day if settings.smtp_url.get_secret_value() else None,
            cancellation_wait=timedelta(hours=settings.plugnotas_cancel_hours),
            ring=ring,
            ring_delivery=pumps["deliveries"].ring,
        )
    )
    moves = Moves(database, lanes, live)
    conversations = Conversations(database, outside.whatsapp, stores.budgets, subjects, moves.reunite)
    notices = Notices(database, lanes, stores.metrics)
    no_subjects = (
        RowHandler(MessageRow, notices.unless_foreign(settings.whatsapp_phone_number_id, conversations.on_messages)),
        one_row(MovedRow, moves.on_moved),
        one_row(LeftNumberRow, moves.on_left),
        RowHandler(GatewayRow, pumps.hints.on_hint),
        RowHandler(StatusRow, Ticks(database, lanes, stores.metrics).on_status),
        RowHandler(MetaNoticeRow, notices.on_notice),
        RowHandler(UnreadableRow, notices.on_notice),
    )
    set_aside = Quarantine(database, lanes, live, sessions, ring).set_aside
    try:
        yield LaneWorker(lanes, handlers_of(subjects, no_subjects), stores.metrics, set_aside=set_aside)
    finally:
        await conversations.close()
