"""Applies events to a session: transition, snapshot, journal and effects, all in the caller's transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from bot.budgets import Voice
from bot.conversation.effects import one_reply
from bot.conversation.journal import evidence, trace
from persistence.api import approvals
from persistence.conversations import snapshots
from persistence.conversations.snapshots import StaleSessionError
from persistence.fiscal.intents import integration_id
from persistence.people import companies as people
from state_machine.catalogue import messages
from state_machine.machine.effects import Emitir, Responder
from state_machine.machine.events import NotaRejeitada
from state_machine.machine.states import Estado
from state_machine.machine.transition import transition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from bot.conversation.effects import Effects
    from persistence.conversations.sessions import LiveSessions
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.machine.effects import Efeito
    from state_machine.machine.events import Evento
    from state_machine.machine.session import Sessao

    T = TypeVar("T")

log = structlog.get_logger(__name__)

REPLANS = 3  # a session that changes under a turn is rare; more than this in one turn is a bug and goes to back-off


async def replanned(lease: Lease, step: Callable[[int], Awaitable[T]]) -> T:
    """Do a step (given its number, from 1) anew while the session was saved by somebody between reading and commit.

    Raises ``StaleSessionError`` after ``REPLANS`` of them.
    """
    for attempt in range(1, REPLANS + 1):
        try:
            return await step(attempt)
        except StaleSessionError:
            log.info("turn_replanned", attempt=attempt)
    raise StaleSessionError(lease.lane)


class SessionEvents:
    """Every change of a session goes through here. ``ttl_seconds``: how long a session waits for its user's word."""

    def __init__(
        self,
        database: Database,
        lanes: Lanes,
        live: LiveSessions,
        effects: Effects,
        *,
        ttl_seconds: int,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._lanes = lanes
        self._live = live
        self._effects = effects
        self._ttl = timedelta(seconds=ttl_seconds)
        self._ring = ring

    async def on_row(self, lease: Lease, row: InboxRow, sessao_id: str, evento: Evento) -> None:
        """Apply what the authority or the clock says in a row to one session of this lane."""
        await replanned(lease, lambda _: self._on_row(lease, row, sessao_id, evento))

    async def _on_row(self, lease: Lease, row: InboxRow, sessao_id: str, evento: Evento) -> None:
        async with self._database.transaction() as connection:
            sessao = await snapshots.load(connection, lease.lane, sessao_id)
            if sessao is None:
                log.error("session_missing", sessao_id=sessao_id)
                await self._lanes.done(connection, lease, [row.id])
                return
            sessao = await self.apply_one(connection, sessao, evento, row.correlacao)
            await self._lanes.done(connection, lease, [row.id])
        self._ring()
        if not sessao.espera_usuario:
            await self._forget_if_current(sessao)

    async def apply_one(self, connection: Connection, sessao: Sessao, evento: Evento, correlacao: str) -> Sessao:
        """Apply an event that no message of the person brought, for the session's own company."""
        empresa, agora = await people.get_company(connection, sessao.empresa_id)
        return await self.apply(connection, sessao, (evento,), empresa, agora, correlacao, telefone=None)

    async def apply(
        self,
        connection: Connection,
        sessao: Sessao,
        eventos: Sequence[Evento],
        empresa: Empresa | None,
        agora: datetime,
        correlacao: str,
        *,
        telefone: str | None,
        voz: Voice = Voice.SPEAK,
    ) -> Sessao:
        """Run the events through ``transition`` and write snapshot, journal and effects; ``voz`` is for the answer."""
        efeitos: list[Efeito] = []
        steps: list[dict[str, Any]] = []
        antes = sessao = replace(sessao, servicos=empresa.servicos if empresa else ())
        row_id, ultimo = 0, None
        for evento in eventos:
            decision = transition(sessao, evento, agora)
            if not decision.aplicado:
                log.info("event_ignored", sessao_id=sessao.sessao_id, evento=type(evento).__name__)
                continue
            ultimo = evento
            steps.append(_step(sessao, decision.sessao, evento, correlacao))
            sessao = decision.sessao
            efeitos += decision.efeitos
        sessao = replace(sessao, expira_em=agora + self._ttl if sessao.espera_usuario else None)
        emissao = _issues(efeitos, sessao)
        if sessao != antes or emissao:
            sessao = _opened(connection, antes, sessao, telefone)
            if emissao:
                sessao, row_id = await snapshots.save(connection, sessao, telefone=telefone, id_integracao=emissao)
            else:
                sessao = snapshots.save_later(connection, sessao, telefone=telefone)
            if ultimo is not None:
                motivo = ultimo.motivo if isinstance(ultimo, NotaRejeitada) else None
                approvals.follow(connection, sessao, ultimo, motivo)
        snapshots.record(connection, steps)
        await self._effects.carry_out(
            connection, _said(one_reply(efeitos), voz), sessao, row_id, empresa, agora, correlacao
        )
        for step in steps:
            log.info("transition", sessao_id=sessao.sessao_id, evento=step["evento"], estado=step["para"])
        return sessao

    async def _forget_if_current(self, sessao: Sessao) -> None:
        current = await self._live.get(sessao.conversa)
        if current and current.sessao_id == sessao.sessao_id:
            await self._live.drop(sessao.conversa)


def _said(efeitos: Sequence[Efeito], voz: Voice) -> Sequence[Efeito]:
    """Leave everything but the answer as it is decided; the state is served with the next answer."""
    if voz is Voice.SPEAK:
        return efeitos
    notice = Responder(messages.devagar())
    answers = [notice if isinstance(efeito, Responder) else efeito for efeito in efeitos]
    return [efeito for efeito in answers if voz is Voice.NOTICE or efeito is not notice]


def _opened(connection: Connection, antes: Sessao, depois: Sessao, telefone: str | None) -> Sessao:
    """Let a session's first row be in ``coleta``, also when its first words lead further; returns what follows it."""
    if antes.versao or depois.estado is Estado.COLETA:
        return depois
    primeira = snapshots.save_later(connection, replace(antes, expira_em=depois.expira_em), telefone=telefone)
    return replace(depois, versao=primeira.versao)


def _issues(efeitos: Sequence[Efeito], sessao: Sessao) -> str | None:
    """The reference of the emission that these effects start, if they do."""
    started = [efeito for efeito in efeitos if isinstance(efeito, Emitir)]
    return integration_id(sessao.sessao_id, started[-1].revisao, started[-1].tentativa) if started else None


def _step(antes: Sessao, depois: Sessao, evento: Evento, correlacao: str) -> dict[str, Any]:
    return {
        "sessao_id": depois.sessao_id,
        "de": antes.estado,
        "para": depois.estado,
        "evento": type(evento).__name__,
        "snapshot_reason": depois.snapshot_reason,
        "revisao": depois.revisao,
        "detalhe": {**evidence(antes.rascunho, depois.rascunho), **trace(antes, depois, evento)},
        "correlacao": correlacao,
    }
