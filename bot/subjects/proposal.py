"""What other systems propose: its approver is shown a summary when nothing else is open, and the invoice takes over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import structlog

from bot.budgets import Voice
from bot.conversation.customers import as_cadastro
from bot.conversation.fitness import as_fit
from bot.conversation.session_events import replanned
from bot.conversation.subject import one_row
from bot.loops.jobs import Deadline
from bot.subjects.invoice.facts import environment
from persistence.api import approvals
from persistence.conversations import snapshots
from persistence.conversations.snapshots import StaleSessionError
from persistence.people import companies
from persistence.rows.inbox_rows import ProposalRow
from state_machine.invoice.field_table import FIELDS
from state_machine.machine.events import Abriu, Cancelou
from state_machine.machine.session import Sessao
from state_machine.proposal.origin import draft

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bot.conversation.subject import Resources, RowHandler, Turn
    from persistence.db.connection import Row as Found
    from persistence.queue.lanes import InboxRow, Lease
    from state_machine.invoice.draft import Rascunho
    from state_machine.machine.events import Evento

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What opens the session of a proposal of this version."""

    versao: int
    sessao: Sessao
    eventos: Sequence[Evento]


class Proposal:
    """Takes no turn: what its approver says is about the invoice that it opened."""

    shows_reading = False
    actions: frozenset[str] = frozenset()
    deadlines: tuple[Deadline, ...] = (
        Deadline(
            "proposals",
            "Put the proposal that waits longest into the lane of every approver who is free",
            approvals.waiting,
            ProposalRow,
        ),
    )

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> Sequence[RowHandler]:
        """A proposal's turn in the lane of its approver."""
        return (one_row(ProposalRow, self._on_proposal),)

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Take nothing."""
        del turn
        return None

    async def _on_proposal(self, lease: Lease, row: InboxRow, pedido: ProposalRow) -> None:
        await replanned(lease, partial(self._open, lease, row, pedido.proposta_id))

    async def _open(self, lease: Lease, row: InboxRow, proposta_id: int, _attempt: int) -> None:
        """Open a session of it, in one commit with its summary; where that cannot be now, a sweep comes back to it."""
        plan = await self._planned(lease.lane, proposta_id)
        shown = None
        async with self._r.database.transaction() as connection:
            found = await approvals.read(connection, lease.lane, proposta_id, lock=True)
            empresa, agora = await companies.get_company(connection, found.empresa_id) if found else (None, None)
            if found is not None and not found.pode:
                await approvals.give_up(connection, proposta_id, approvals.GONE)
            elif found is not None and empresa and environment(self._r.door.channel(empresa)) != found.ambiente:
                await approvals.give_up(connection, proposta_id, approvals.MOVED)
            elif found is not None and empresa and agora and found.livre:
                if plan is None or found.versao != plan.versao:
                    raise StaleSessionError(lease.lane)  # it became possible, or another one, since it was planned
                if (empty := await snapshots.active(connection, lease.lane)) is not None:
                    await self._r.sessions.apply(
                        *(connection, empty, (Cancelou(),), empresa, agora, row.correlacao),
                        telefone=f"+{found.telefone}",
                        voz=Voice.SILENT,
                    )
                await approvals.bind(connection, proposta_id, plan.sessao.sessao_id)
                shown = await self._r.sessions.apply(
                    connection, plan.sessao, plan.eventos, empresa, agora, row.correlacao, telefone=f"+{found.telefone}"
                )
            await self._r.lanes.done(connection, lease, [row.id])
        if shown is not None:
            self._r.ring_delivery()
            await self._r.live.put(replace(shown, servicos=()))
            log.info("proposal_shown", sessao_id=shown.sessao_id)

    async def _planned(self, lane: str, proposta_id: int) -> _Plan | None:
        """Return what opens it, with what the register and the channel say of it; ``None``: it must not open now."""
        async with self._r.database.alone() as connection:
            found = await approvals.read(connection, lane, proposta_id)
            if found is None or not (found.pode and found.livre):
                return None
            empresa, agora = await companies.get_company(connection, found.empresa_id)
        cadastro = await self._r.customers.find(found.documento) if found.documento else None
        base = replace(_draft(found), cadastro=as_cadastro(cadastro) if cadastro else None)
        canal = self._r.door.channel(empresa)
        sessao = Sessao(
            found.sessao_prevista, lane, empresa.id, empresa.razao_social, empresa_versao=empresa.versao, canal=canal
        )
        told = replace(sessao, servicos=empresa.servicos)
        opening = [Abriu(base, proposta=True)]
        eventos = await as_fit(self._r.door, self._r.database, told, opening, empresa, agora)
        return _Plan(found.versao, sessao, eventos)


def _draft(found: Found) -> Rascunho:
    return draft(
        found.id, {campo: str(valor) for campo in FIELDS if (valor := getattr(found, campo.value, None)) is not None}
    )
