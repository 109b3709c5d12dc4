"""What WhatsApp tells of a message's way: sent, delivered, read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from persistence.db.jsontext import clean
from persistence.queue.outbox import ORDEM, rank
from persistence.tables import StatusSaida

if TYPE_CHECKING:
    from collections.abc import Mapping

RANK = rank("o.status")  # in SQL: how far the message ``o`` has come
# Meta's words and ours.
_STEPS = {
    "sent": StatusSaida.ENVIADO,
    "delivered": StatusSaida.ENTREGUE,
    "read": StatusSaida.LIDO,
    "played": StatusSaida.LIDO,
}
DIGITS = 18  # of a number of ours; longer ones don't fit into the database's


@dataclass(frozen=True, slots=True)
class Tick:
    """How far a message has come. ``outbox_id`` is our own number for it, as Meta gives it back; 0: none."""

    wamid: str
    outbox_id: int
    status: str  # of ``outbox.ORDEM``

    @classmethod
    def of(cls, status: Mapping[str, Any]) -> Tick | None:
        """Read Meta's ``statuses[]`` object; ``None`` for a failure, and for what we don't keep."""
        step = _STEPS.get(str(status.get("status")))
        return cls(clean(str(status.get("id"))), number_of(status), step) if step else None

    def columns(self) -> tuple[str, int, str, int]:
        """Return its fields and its rank, as statements take them."""
        return self.wamid, self.outbox_id, self.status, ORDEM[self.status]


def number_of(status: Mapping[str, Any]) -> int:
    """Return our number of the message that a ``statuses[]`` object is about, 0 for none."""
    ours = str(status.get("biz_opaque_callback_data") or "")
    return int(ours) if ours.isascii() and ours.isdigit() and len(ours) <= DIGITS else 0
