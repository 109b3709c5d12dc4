"""Turns stored news (of the authority, of the clock) into events for their session; interprets no words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from state_machine.eventos import (
    Conversou,
    EmissaoDemorou,
    EmissaoFalhou,
    EmissaoParada,
    Evento,
    NotaAutorizada,
    NotaRejeitada,
    PrazoVencido,
)
from state_machine.fields import Campo

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bot.turn import Conversations
    from persistence.lanes import InboxRow, Lease


class Outcomes:
    """Handlers of the inbox rows that the house itself put into a conversation's lane."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    async def on_emission(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """What became of an emission."""
        row = rows[0]
        return await self._conversations.on_session_event(lease, row, row.payload["sessao_id"], _event(row.payload))

    async def on_deadline(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """The sweep saw a deadline pass."""
        row = rows[0]
        return await self._conversations.on_session_event(lease, row, row.payload["sessao_id"], PrazoVencido())

    async def on_resumed(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Another subject has ended: show again what lies open."""
        row = rows[0]
        return await self._conversations.on_session_event(lease, row, row.payload["sessao_id"], Conversou())


def _event(payload: dict[str, Any]) -> Evento:
    match payload:
        case {"aviso": "autorizada", "numero": str(numero), "emissao_id": int(emissao_id)}:
            return NotaAutorizada(numero, emissao_id, tuple(payload.get("outras", ())))
        case {"aviso": "rejeitada"}:
            campo = payload.get("campo")
            return NotaRejeitada(payload.get("motivo") or "a prefeitura não explicou", Campo(campo) if campo else None)
        case {"aviso": "falhou"}:
            return EmissaoFalhou(payload.get("motivo") or "")
        case {"aviso": "demorou"}:
            return EmissaoDemorou()
        case {"aviso": "ainda_quer"}:
            return EmissaoParada(next(iter(payload.get("outras", ())), None))
        case _:
            raise ValueError("news of an emission that nobody understands")
