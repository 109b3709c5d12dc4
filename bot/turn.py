"""One turn: what arrived, what it means, what is decided, and one commit of all that follows; then Redis."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from bot.carry_out import Hands, file_message, one_reply, text_message
from bot.courtesies import Courtesies
from bot.customers import as_cadastro
from bot.evidence import evidence
from bot.gathered import Gathered
from bot.hearing import hear
from bot.inbound import Palavras, next_arrival
from bot.interpret import Plano, plan, read
from bot.memory import ConversationMemory
from bot.readings import dump_reading, load_reading
from bot.seen import as_seen, as_stopped
from bot.trace import trace
from bot.unknown import orient
from persistence import conversations, outbox, people, snapshots
from persistence.clock import DatabaseClock
from persistence.intents import integration_id
from persistence.snapshots import StaleSessionError
from state_machine.efeitos import Emitir
from state_machine.eventos import Informou
from state_machine.fields import Campo
from state_machine.hora import SAO_PAULO
from state_machine.sessao import Sessao
from state_machine.transition import transition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from bot.cancelling import Cancelling
    from bot.customers import Customers
    from bot.inbound import Chegada
    from bot.ports import Extractor, Messenger
    from extractor.contract import Extraction
    from persistence.connection import Connection
    from persistence.engine import Database
    from persistence.lanes import InboxRow, Lanes, Lease
    from persistence.people import Empresa
    from persistence.sessions import LiveSessions
    from state_machine.efeitos import Efeito
    from state_machine.eventos import Evento

log = structlog.get_logger(__name__)

REPLANS = 3  # a session that changes under a turn is rare; more than this in one turn is a bug and goes to back-off


class Conversations:
    """Holds the conversations: every change of a session goes through here."""

    def __init__(
        self,
        database: Database,
        lanes: Lanes,
        live: LiveSessions,
        extractor: Extractor,
        customers: Customers,
        messenger: Messenger,
        hands: Hands,
        cancelling: Cancelling,
        *,
        ttl_seconds: int,
        repeat_seconds: int,
        ring: Callable[[], None],
        ring_delivery: Callable[[], None],
    ) -> None:
        self._database = database
        self._lanes = lanes
        self._live = live
        self._extractor = extractor
        self._customers = customers
        self._courtesies = Courtesies(messenger)
        self._who = Gathered(partial(conversations.find, database))
        self._hands = hands
        self._cancelling = cancelling
        self._ttl = timedelta(seconds=ttl_seconds)
        self._repeat = timedelta(seconds=repeat_seconds)
        self._ring = ring
        self._ring_delivery = ring_delivery

    async def on_messages(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Take one turn from the head of a user's messages; returns the rows that it consumed."""
        chegada = next_arrival(lease.lane, rows)
        conversa = await self._who.ask(chegada.contato)
        clock = DatabaseClock(conversa.agora)
        if conversa.atendida:
            return await hear(self._database, self._lanes, lease, chegada)
        if conversa.empresa is None:
            ids = await orient(self._database, self._lanes, lease, chegada, conversa.orientada_em)
            self._ring_delivery()
            return ids
        if chegada.rows[-1].tentativas == 0:
            self._courtesies.read(chegada.wamid)
        if taken := await self._cancelling.take(lease, chegada, conversa.empresa, talking=conversa.cancelando):
            return taken
        ativa = await self._current(lease.lane, conversa.ativa)
        for attempt in range(1, REPLANS + 1):
            try:
                return await self._turn(lease, chegada, conversa.empresa, ativa, clock)
            except StaleSessionError:  # the snapshot is the truth, also while Redis can't be written
                lease.given_back = False
                log.info("turn_replanned", attempt=attempt)
                ativa = await self._stored(lease.lane)
        raise StaleSessionError(lease.lane)

    async def on_session_event(self, lease: Lease, row: InboxRow, sessao_id: str, evento: Evento) -> Collection[int]:
        """Apply what the authority or the clock says to one session of this lane."""
        for attempt in range(1, REPLANS + 1):
            try:
                return await self._session_event(lease, row, sessao_id, evento)
            except StaleSessionError:  # somebody saved the session between our reading and our commit
                lease.given_back = False
                log.info("turn_replanned", attempt=attempt)
        raise StaleSessionError(lease.lane)

    async def _session_event(self, lease: Lease, row: InboxRow, sessao_id: str, evento: Evento) -> Collection[int]:
        async with self._database.transaction() as connection:
            sessao = await snapshots.load(connection, lease.lane, sessao_id)
            if sessao is None:
                log.error("session_missing", sessao_id=sessao_id)
                await self._lanes.done(connection, lease, [row.id])
                return [row.id]
            empresa, agora = await people.get_company(connection, sessao.empresa_id)
            sessao = await self.apply(connection, sessao, (evento,), empresa, agora, row.correlacao, telefone=None)
            await self._lanes.done(connection, lease, [row.id])
        self._ring()
        if not sessao.espera_usuario:
            await self._forget_if_current(sessao)
        return [row.id]

    async def _turn(
        self, lease: Lease, chegada: Chegada, empresa: Empresa, ativa: Sessao | None, clock: DatabaseClock
    ) -> Collection[int]:
        agora = clock.now()
        memory = ConversationMemory(self._database, lease.lane, ativa)
        leitura = await self._reading(chegada, memory.ativa, empresa, agora)
        plano = await plan(chegada.entrada, leitura, memory, agora)
        eventos = [await self._with_register(evento) for evento in plano.eventos]
        ids = [row.id for row in chegada.rows]
        correlacao = chegada.rows[-1].correlacao
        sessao = None
        agora = clock.now()  # a model or the register may have taken their time
        async with self._database.transaction() as connection:
            conversations.greet_later(connection, chegada.contato, len(ids))
            if eventos:
                alvo = plano.alvo or _new_session(lease.lane, empresa, plano, agora)
                eventos = [await as_seen(connection, alvo, empresa, evento, self._repeat) for evento in eventos]
                eventos = [await as_stopped(connection, alvo, evento) for evento in eventos]
                telefone = chegada.contato.wa_id
                sessao = await self.apply(connection, alvo, eventos, empresa, agora, correlacao, telefone=telefone)
            elif plano.resposta:
                mensagem = text_message(plano.resposta)
                outbox.enqueue(connection, conversa=lease.lane, mensagem=mensagem, correlacao=correlacao)
            if plano.arquivo:  # a key of this very request: asked again, it is sent again
                arquivo, key = file_message(plano.arquivo), f"pedido:{ids[-1]}"
                outbox.enqueue(
                    connection, conversa=lease.lane, mensagem=arquivo, chave=key, bloqueia=False, correlacao=correlacao
                )
            await self._lanes.done(connection, lease, ids)
        if sessao is None or sessao.espera_usuario:  # nothing is to be issued
            self._ring_delivery()
        else:
            self._ring()
        if sessao is not None:
            await self._remember(sessao, plano)
        return ids

    async def apply(
        self,
        connection: Connection,
        sessao: Sessao,
        eventos: Sequence[Evento],
        empresa: Empresa,
        agora: datetime,
        correlacao: str,
        *,
        telefone: str | None,
    ) -> Sessao:
        """Run the events through ``transition`` and write snapshot, journal and effects."""
        efeitos: list[Efeito] = []
        steps: list[dict[str, Any]] = []
        antes = sessao
        row_id = 0
        for evento in eventos:
            decision = transition(sessao, evento, agora)
            if not decision.aplicado:
                log.info("event_ignored", sessao_id=sessao.sessao_id, evento=type(evento).__name__)
                continue
            steps.append(_step(sessao, decision.sessao, evento, correlacao))
            sessao = decision.sessao
            efeitos += decision.efeitos
        sessao = replace(sessao, expira_em=agora + self._ttl if sessao.espera_usuario else None)
        if sessao != antes:
            if emissao := _issues(efeitos, sessao):
                sessao, row_id = await snapshots.save(connection, sessao, telefone=telefone, id_integracao=emissao)
            else:
                sessao = snapshots.save_later(connection, sessao, telefone=telefone)
        snapshots.record(connection, steps)
        await self._hands.carry_out(connection, one_reply(efeitos), sessao, row_id, empresa, agora, correlacao)
        for step in steps:
            log.info("transition", sessao_id=sessao.sessao_id, evento=step["evento"], estado=step["para"])
        return sessao

    async def _reading(
        self, chegada: Chegada, sessao: Sessao | None, empresa: Empresa, agora: datetime
    ) -> Extraction | None:
        """Return what the words say; a model's reading is kept, so that a retried turn replays it."""
        if not isinstance(chegada.entrada, Palavras):
            return None
        key = [row.id for row in chegada.rows]
        kept = load_reading(chegada.rows[-1].interpretacao, key)
        if kept:
            return kept
        leitura = await read(chegada.entrada.texto, sessao, empresa, agora, self._extractor)
        if leitura.modelo_usado:
            await self._lanes.store_interpretation(chegada.rows[-1].id, dump_reading(leitura, key))
        return leitura

    async def _with_register(self, evento: Evento) -> Evento:
        if not isinstance(evento, Informou):
            return evento
        documentos = [c.valor for c in evento.candidates if c.campo is Campo.DOCUMENTO]
        found = await self._customers.find(documentos[-1]) if documentos else None
        return replace(evento, cadastro=as_cadastro(found)) if found else evento

    async def _current(self, conversa: str, ativa: tuple[str, int] | None) -> Sessao | None:
        """Return the session that waits for the user, from Redis if that has this very version of it."""
        if ativa is None:
            return None
        viva = await self._live.get(conversa)
        return viva if viva and (viva.sessao_id, viva.versao) == ativa else await self._stored(conversa)

    async def _stored(self, conversa: str) -> Sessao | None:
        async with self._database.alone() as connection:
            return await snapshots.active(connection, conversa)

    async def _remember(self, sessao: Sessao, plano: Plano) -> None:
        if sessao.espera_usuario:
            await self._live.put(sessao)
        elif plano.alvo is None or plano.alvo.espera_usuario:
            await self._live.drop(sessao.conversa)

    async def _forget_if_current(self, sessao: Sessao) -> None:
        current = await self._live.get(sessao.conversa)
        if current and current.sessao_id == sessao.sessao_id:
            await self._live.drop(sessao.conversa)

    async def close(self) -> None:
        """Drop the courtesies that are still under way."""
        await self._courtesies.close()


def _new_session(conversa: str, empresa: Empresa, plano: Plano, agora: datetime) -> Sessao:
    """A session of today; its id is ``ddmmaa-`` and 8 random hex digits, unique in the database."""
    sessao_id = f"{agora.astimezone(SAO_PAULO):%d%m%y}-{secrets.token_hex(4)}"
    return Sessao(sessao_id, conversa, empresa.id, empresa.razao_social, origem=plano.origem)


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
