"""The worker of the inbox: conversations, and which handler takes which kind of row.

The table of what a conversation can be about: a new subject is a module and a row.

The pumps: one for each kind of order, from a table, and one for the messages to people.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from bot.budgets import limites_mei_of, politica_of
from bot.conversation.effects import Effects
from bot.conversation.session_events import SessionEvents
from bot.conversation.subject import Customers, Resources, RowHandler, Subject, one_row
from bot.conversation.turn import Conversations, Quarantine
from bot.delivery.hooks import Hooks
from bot.delivery.mailing import Attachments, Documents, Mailing, MailPolicy, NoteFiles
from bot.delivery.sender import Delivery, Homologation, Ticks
from bot.loops.jobs import JOBS, Job
from bot.loops.pump import Pump
from bot.loops.worker import Handler, LaneWorker
from bot.master_key import vault_of
from bot.orders.accept import Door
from bot.orders.cancellation import Cancellations
from bot.orders.emission import Emissions
from bot.orders.order import Hints, Order, OrderParts, OrderWorker
from bot.orders.origins import Origins
from bot.subjects.cancellation import Cancellation
from bot.subjects.certificate import Certificate
from bot.subjects.handover import Handover
from bot.subjects.invoice.subject import Invoice
from bot.subjects.note_mail import NoteMail
from bot.subjects.products import Products
from bot.subjects.proposal import Batches, Proposal
from bot.subjects.strangers import Moves, Notices, Strangers
from bot.wiring.outside import Outside, Stores
from gateway.http.guarded import Guarded
from gateway.mail.client import MailConnection, mail_tls
from gateway.mail.message import parse_server
from operations.month import LINKS, link_token
from persistence.people import certificate_links
from persistence.rows import GatewayRow, LeftNumberRow, MessageRow, MetaNoticeRow, MovedRow, StatusRow, UnreadableRow
from state_machine.invoice.session import EnviarLink
from state_machine.protocol.channel import Ambiente
from state_machine.values.local_time import MesOuAno

# Asked in this order, turn by turn; the last one takes what nobody else took.
SUBJECTS: tuple[type[Subject], ...] = (
    Handover,
    Strangers,
    Certificate,
    Batches,
    NoteMail,
    Products,
    Cancellation,
    Proposal,
    Invoice,
)


def open_subjects(resources: Resources) -> tuple[Subject, ...]:
    """Return one of each subject, in the order of the table."""
    return tuple(subject(resources) for subject in SUBJECTS)


def jobs() -> tuple[Job, ...]:
    """Return all periodic jobs: the subjects' deadlines, and ``JOBS``, which are no subject's."""
    return (*(deadline.job() for subject in SUBJECTS for deadline in subject.deadlines), *JOBS)


def handlers_of(subjects: Sequence[Subject], others: Iterable[RowHandler]) -> dict[str, Handler]:
    """Return the worker's handlers by kind of row: those of the subjects, and ``others``, which are no subject's.

    Raises ``ValueError`` for a kind with two handlers.
    """
    found: dict[str, Handler] = {}
    for each in (*(handler for subject in subjects for handler in subject.handlers()), *others):
        if each.kind.tipo in found:
            raise ValueError(f"two handlers for rows of kind {each.kind.tipo}")
        found[each.kind.tipo] = each.handle
    return found


Work = OrderWorker[Any, Any, Any] | Delivery | Mailing | Hooks


# A kind of order is a module of ``bot/orders`` and a row here: the name of its pump, which logs and loops use. A note's
# orders are hinted at in this order, which is that of the locks.
ORDERS: Mapping[str, Callable[[OrderParts], Order[Any, Any, Any]]] = {
    "emissions": Emissions,
    "cancellations": Cancellations,
}


class Pumps(dict[str, Pump[Any]]):
    """The pumps by name, and who hears the gateway's hints about their orders."""

    def __init__(self, stores: Stores, outside: Outside, origins: Origins) -> None:
        database, channels = stores.database, outside.channels
        parts = OrderParts(database, origins, channels, politica_of(stores.settings), stores.witness, stores.metrics)
        orders = {name: kind(parts) for name, kind in ORDERS.items()}
        works: dict[str, Work] = {name: OrderWorker(order, database, channels) for name, order in orders.items()}
        documents = Documents(database, channels)
        cofre, public_url = vault_of(stores.settings), stores.settings.public_url

        def address(link: EnviarLink) -> str:
            return certificate_links.address(public_url, cofre, link.link, link.selado)

        def month_link(empresa_id: int, periodo: MesOuAno) -> str | None:
            token = link_token(stores.settings.app_secrets[0], empresa_id, periodo)
            return f"{public_url}{LINKS}/{token}" if public_url else None

        attachments = Attachments(database, documents, outside.whatsapp, month_link)
        practice = Homologation(database, Ambiente(stores.settings.fiscal_environment))
        works["deliveries"] = Delivery(database, outside.whatsapp, attachments, stores.metrics, address, practice.mark)
        works["webhooks"] = Hooks(database, cofre, Guarded(stores.settings.webhook_redes_permitidas), stores.metrics)
        if stores.settings.smtp_url.get_secret_value():
            works["mailing"] = _mailing(stores, NoteFiles(database, documents, month_link))
        super().__init__({name: _pump(name, work) for name, work in works.items()})
        self.hints = Hints(database, stores.lanes, orders, self.ring)

    def ring(self, *names: str) -> None:
        """Have these look for work now; without names, all of them."""
        for name in names or self:
            self[name].ring()


def _mailing(stores: Stores, files: NoteFiles) -> Mailing:
    settings = stores.settings
    server, tls = parse_server(settings.smtp_url.get_secret_value()), mail_tls(settings.smtp_ca_file)
    policy = MailPolicy(
        settings.smtp_from,
        settings.smtp_ladder,
        settings.smtp_unknown_seconds,
        settings.public_url,
        settings.smtp_domain_per_minute or None,
    )
    return Mailing(stores.database, lambda: MailConnection(server, tls), policy, stores.metrics, files)


def _pump(name: str, work: Work) -> Pump[Any]:
    return Pump(name, work.claim, work.work, work.renew, lease_seconds=work.lease_seconds, concurrency=work.concurrency)


@asynccontextmanager
async def open_worker(stores: Stores, outside: Outside, pumps: Pumps, door: Door) -> AsyncIterator[LaneWorker]:
    """Open the worker; at the end its conversations are closed."""
    settings, database, lanes, live, ring = stores.settings, stores.database, stores.lanes, stores.live, pumps.ring
    tell = partial(ring, "deliveries", "webhooks")
    sessions = SessionEvents(database, lanes, live, Effects(door), ttl_seconds=settings.session_ttl_seconds, ring=tell)
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
