"""The worker of the inbox: conversations, and which handler takes which kind of row."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from bot.conversation.customers import Customers
from bot.conversation.effects import Hands
from bot.conversation.quarantine import Quarantine
from bot.conversation.rps import Numbers
from bot.conversation.turn import Conversations
from bot.delivery.ticks import Ticks
from bot.loops.worker import LaneWorker
from bot.subjects.account_notices import Notices
from bot.subjects.cancellation_outcomes import CancellationOutcomes
from bot.subjects.cancellation_talk import Cancelling
from bot.subjects.news import Outcomes
from bot.subjects.staff_commands import StaffCommands
from bot.subjects.staff_orders import Orders
from persistence.fiscal.numbering import Ambiente

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.wiring.outside import Outside
    from bot.wiring.pumps import Pumps
    from bot.wiring.stores import Stores


@asynccontextmanager
async def open_worker(stores: Stores, outside: Outside, pumps: Pumps) -> AsyncIterator[LaneWorker]:
    """Open the worker; at the end its conversations are closed."""
    settings, database, lanes, live, ring = stores.settings, stores.database, stores.lanes, stores.live, pumps.ring
    prazo = timedelta(hours=settings.plugnotas_cancel_hours)
    cancelling = Cancelling(database, stores.inbox, lanes, ring=ring, prazo=prazo)
    conversations = Conversations(
        database,
        lanes,
        live,
        outside.extractor,
        Customers(database, outside.register),
        outside.whatsapp,
        Hands(outside.gateway, Numbers(Ambiente(settings.fiscal_environment))),
        cancelling,
        stores.budgets,
        ttl_seconds=settings.session_ttl_seconds,
        repeat_seconds=settings.repeat_window_seconds,
        ring=ring,
        ring_delivery=pumps["deliveries"].ring,
    )
    outcomes = Outcomes(conversations)
    notices = Notices(database, lanes, stores.metrics)
    handlers = {
        "mensagem": notices.unless_foreign(settings.whatsapp_phone_number_id, conversations.on_messages),
        "emissao": outcomes.on_emission,
        "prazo": outcomes.on_deadline,
        "ordem": Orders(database, lanes, conversations, ring=ring).on_order,
        "retomar": outcomes.on_resumed,
        "cancelamento": CancellationOutcomes(database, lanes, ring).on_news,
        "prazo_cancelamento": cancelling.on_deadline,
        "gateway": pumps.hints.on_hint,
        "status": Ticks(database, lanes, stores.metrics).on_status,
        "aviso_meta": notices.on_notice,
        "ilegivel": notices.on_notice,
        "equipe": StaffCommands(database, lanes, live, conversations, ring).on_command,
    }
    set_aside = Quarantine(database, lanes, live, conversations, ring).set_aside
    try:
        yield LaneWorker(lanes, handlers, stores.metrics, set_aside=set_aside)
    finally:
        await conversations.close()
