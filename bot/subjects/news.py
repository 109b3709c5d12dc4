"""Turns stored news (of the authority, of the clock) into events for their session; interprets no words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from persistence.versions import AnotherVersionError, known
from state_machine.invoice.fields import Campo
from state_machine.machine.events import (
    Conversou,
    EmissaoDemorou,
    EmissaoFalhou,
    EmissaoParada,
    Evento,
    NotaAutorizada,
    NotaRejeitada,
    PrazoVencido,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bot.conversation.turn import Conversations
    from persistence.queue.lanes import InboxRow, Lease


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
            motivo = payload.get("motivo") or "a prefeitura não explicou"
            return NotaRejeitada(motivo, known(Campo, campo) if campo else None)
        case {"aviso": "falhou"}:
            return EmissaoFalhou(payload.get("motivo") or "")
        case {"aviso": "demorou"}:
            return EmissaoDemorou()
        case {"aviso": "ainda_quer"}:
            return EmissaoParada(next(iter(payload.get("outras", ())), None))
        case _:
            raise AnotherVersionError(f"news of an emission: {payload.get('aviso')}")
