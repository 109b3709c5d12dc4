"""What other systems propose: its approver is shown a summary when nothing else is open, and the invoice takes over.

Lists that go as mails: whoever issues for their company says yes where it is asked, and stops them by a word.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog

from bot.budgets import Voice
from bot.conversation.inbound import Palavras, Toque
from bot.conversation.session_events import as_fit, of_company, replanned
from bot.conversation.subject import Resources, RowHandler, Turn, as_cadastro, one_row
from bot.loops.jobs import Deadline
from bot.subjects.invoice.clients import LONGEST_ID
from bot.subjects.invoice.facts import environment
from extractor.requests.yes_no import BatchStop, read_batch_stop
from operations import batches
from persistence.api import approvals
from persistence.batches import records
from persistence.conversations import conversations, snapshots
from persistence.conversations.snapshots import StaleSessionError
from persistence.db.connection import Connection
from persistence.db.connection import Row as Found
from persistence.people import companies
from persistence.people.companies import Empresa
from persistence.queue import outbox
from persistence.queue.lanes import InboxRow, Lease
from persistence.rows import ProposalRow
from state_machine.catalogue import messages
from state_machine.catalogue import requests as pedidos
from state_machine.invoice.draft import Rascunho
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Mensagem, Sessao
from state_machine.machine.events import Abriu, Cancelou, Evento
from state_machine.mailing.delivery import EstadoLinha, EstadoLote
from state_machine.proposal import draft, place
from state_machine.protocol.channel import TipoDocumento

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
            elif found is not None and empresa and await self._moved(connection, empresa, found):
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
            await self._r.live.put(of_company(shown, None))
            log.info("proposal_shown", sessao_id=shown.sessao_id)

    async def _moved(self, connection: Connection, empresa: Empresa, found: Found) -> bool:
        now = await self._r.door.environment(connection, empresa, TipoDocumento.of(found.documento_fiscal))
        return bool(now.value != found.ambiente)

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
        told = of_company(sessao, empresa)
        opening = [Abriu(base, proposta=True)]
        eventos = await as_fit(self._r.door, self._r.database, told, opening, empresa, agora)
        return _Plan(found.versao, sessao, eventos)


def _draft(found: Found) -> Rascunho:
    told = {campo: str(valor) for campo in FIELDS if (valor := getattr(found, campo.value, None)) is not None}
    if found.itens:  # amount and text follow from them
        told = {campo: told[campo] for campo in told if campo not in {Campo.VALOR, Campo.DESCRICAO}}
        told |= {Campo.ITENS: json.dumps(found.itens), Campo.MODELO: found.documento_fiscal}
    return draft(found.id, told | place(found.prestacao or {}))


QUEM: Final = "WhatsApp"  # in the audit, which has no person's data


class Batches:
    """Takes the buttons under the question whether a list goes, and a stop, where the company has lists at all."""

    shows_reading = True
    actions: frozenset[str] = frozenset({"enviar_lista", "nao_enviar_lista"})
    deadlines: tuple[Deadline, ...] = ()

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> Sequence[RowHandler]:
        """None: a list's own progress is no row of a conversation."""
        return ()

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Stop the list that is named, or the only one that goes on; which, is asked where there are several."""
        entrada = turn.chegada.entrada
        if isinstance(entrada, Toque) and entrada.acao in self.actions:
            return await self._touched(turn, entrada)
        if not isinstance(entrada, Palavras) or turn.conversa.empresa is None:
            return None
        wish = read_batch_stop(entrada.decidem)
        if wish is None:
            return None
        async with self._r.database.alone() as connection:
            if not await records.newest(connection, [turn.conversa.empresa.id], None, 1):
                return None  # who never sent a list speaks of something else
        drafting = turn.conversa.ativa is not None
        voz = await turn.voice(owed="rascunho" if drafting else None)
        async with self._r.committing(turn) as connection:
            empresa = await conversations.issuer(connection, turn.chegada.contato)
            stopped, answer = await _stop(connection, None if empresa is None else empresa.id, wish)
            if stopped is not None or voz is not Voice.SILENT:
                said = pedidos.mensagem(answer, em_aberto=drafting)
                said = messages.devagar() if stopped is None and voz is Voice.NOTICE else said
                outbox.enqueue(connection, conversa=turn.lease.lane, mensagem=said, correlacao=turn.chegada.correlacao)
        self._r.ring_delivery()
        log.info("batch_stop_asked")
        return turn.chegada.ids

    async def _touched(self, turn: Turn, toque: Toque) -> Collection[int]:
        """Take a person's yes or no to a list; of two people the first counts."""
        drafting = turn.conversa.ativa is not None
        voz = await turn.voice(owed="botao")
        async with self._r.committing(turn) as connection:
            empresa = await conversations.issuer(connection, turn.chegada.contato)
            decided, said = False, messages.sem_empresa()
            if empresa is not None:
                decided, answer = await self._decided(connection, turn.lease.lane, empresa, toque)
                said = pedidos.mensagem(answer, em_aberto=drafting)
            if decided or voz is not Voice.SILENT:
                said = messages.devagar() if not decided and voz is Voice.NOTICE else said
                outbox.enqueue(connection, conversa=turn.lease.lane, mensagem=said, correlacao=turn.chegada.correlacao)
        self._r.ring()
        log.info("batch_question_answered", decided=decided)
        return turn.chegada.ids

    async def _decided(
        self, connection: Connection, lane: str, empresa: companies.Empresa, toque: Toque
    ) -> tuple[bool, str | Mensagem]:
        """Return whether this button decided about its list, and what to say."""
        which = toque.sessao_id
        known = which.isdecimal() and len(which) <= LONGEST_ID
        lote = await records.by_id(connection, int(which), lock=True) if known else None
        if lote is None or lote.empresa_id != empresa.id:
            return False, messages.nada_a_confirmar()
        if lote.revisao != toque.escolha or not batches.waits_for_people(lote):
            if lote.revisao == toque.escolha and lote.estado != EstadoLote.AGUARDANDO_CONFIRMACAO:
                return False, pedidos.list_decided(lote.id, stopped=lote.estado == EstadoLote.CANCELADO)
            return False, pedidos.list_changed(lote.id)
        if toque.acao == "nao_enviar_lista":
            return True, pedidos.parar_lote(_named(lote), await batches.stop_in(connection, lote, QUEM) or 0)
        if batches.of_another_environment(lote, empresa.canal.ambiente or environment(self._r.door.channel(empresa))):
            return False, pedidos.list_of_another_environment(lote.id)
        if self._r.emails is None:
            return False, pedidos.list_without_server(lote.id)
        linhas = await records.counts(connection, lote.id)
        day = await records.of_a_day(connection, empresa.id, records.HANDED_OVER)
        if 0 < self._r.emails < day.quantos + records.mails(linhas):
            return False, pedidos.mail_limit()
        person = await conversations.person_of(connection, lane)
        await batches.confirm_in(connection, lote, lote.revisao, f"{QUEM}, usuário {person}")
        return True, pedidos.list_goes(_named(lote), linhas.get(EstadoLinha.PENDING, 0))


async def _stop(connection: Connection, empresa_id: int | None, wish: BatchStop) -> tuple[int | None, str]:
    """Return the number of the list that was stopped, if one was, and what to say."""
    meant = [] if empresa_id is None else await records.going(connection, empresa_id, wish.numero)
    if len(meant) > 1:
        return None, pedidos.qual_lote([_named(lote) for lote in meant])
    cancelled = await batches.stop_in(connection, meant[0], QUEM) if meant else None
    if cancelled is None:
        return None, pedidos.sem_lote(wish.numero)
    return meant[0].id, pedidos.parar_lote(_named(meant[0]), cancelled)


def _named(lote: Found) -> tuple[int, str]:
    return lote.id, lote.nome_arquivo
