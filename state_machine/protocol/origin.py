"""Where an order to the authority comes from: a conversation, or whatever else may order one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CONVERSA: Final = "conversa"  # a person on WhatsApp


@dataclass(frozen=True, slots=True)
class Origin:
    """Who ordered an invoice, and what was confirmed there.

    ``tipo`` is a row of ``bot.orders.origins``: it says where news go. ``id`` names this origin among all others, of
    any kind: up to 40 characters of ``[A-Za-z0-9-]``, for the reference at the gateway is made of it; of a
    conversation it is the session's. ``revisao`` is what was confirmed of it, from 1. ``snapshot`` is the row of the
    session, ``None`` elsewhere.
    """

    tipo: str
    id: str
    revisao: int
    snapshot: int | None = None


def conversation(sessao_id: str, revisao: int, snapshot: int | None) -> Origin:
    """Return the origin that a session is."""
    return Origin(CONVERSA, sessao_id, revisao, snapshot)
