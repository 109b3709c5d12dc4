"""The pumps: one for each kind of order, from a table, and one for the messages to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.delivery.attachments import Attachments
from bot.delivery.homologation import Homologation
from bot.delivery.mailing import Mailing, MailPolicy
from bot.delivery.note_files import NoteFiles
from bot.delivery.sender import Delivery
from bot.loops.pump import Pump
from bot.master_key import vault_of
from bot.orders.cancellation import Cancellations
from bot.orders.emission import Emissions
from bot.orders.order import Hints, OrderParts, OrderWorker
from bot.policy import politica_of
from gateway.mail.client import MailConnection, mail_tls
from gateway.mail.server import parse_server
from persistence.people import certificate_links
from state_machine.protocol.channel import Ambiente

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.orders.order import Order
    from bot.orders.origins import Origins
    from bot.wiring.outside import Outside
    from bot.wiring.stores import Stores
    from state_machine.machine.effects import EnviarLink

    Work = OrderWorker[Any, Any, Any] | Delivery | Mailing

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
        parts = OrderParts(database, origins, channels, politica_of(stores.settings), stores.witness)
        orders = {name: kind(parts) for name, kind in ORDERS.items()}
        works: dict[str, Work] = {name: OrderWorker(order, database, channels) for name, order in orders.items()}
        attachments = Attachments(database, outside.whatsapp, channels)
        cofre, public_url = vault_of(stores.settings), stores.settings.public_url

        def address(link: EnviarLink) -> str:
            return certificate_links.address(public_url, cofre, link.link, link.selado)

        practice = Homologation(database, Ambiente(stores.settings.fiscal_environment))
        works["deliveries"] = Delivery(database, outside.whatsapp, attachments, stores.metrics, address, practice.mark)
        if stores.settings.smtp_url.get_secret_value():
            works["mailing"] = _mailing(stores, NoteFiles(database, attachments))
        super().__init__({name: _pump(name, work) for name, work in works.items()})
        self.hints = Hints(database, stores.lanes, orders.values(), self.ring)

    def ring(self) -> None:
        """Have all of them look for work now."""
        for pump in self.values():
            pump.ring()


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
