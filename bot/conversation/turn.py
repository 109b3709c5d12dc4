"""One turn: what arrived, what it means, what is decided, and one commit of all that follows; then Redis."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from bot.budgets import Voice
from bot.conversation.customers import as_cadastro
from bot.conversation.effects import Hands, file_message, one_reply, text_message
from bot.conversation.facts import CLOCKS_APART, as_issued_by, as_seen, as_stopped, as_unnumbered, is_yes, needs_right
from bot.conversation.inbound import Edicao, Outro, Palavras, joined, next_arrival
from bot.conversation.interpret import Plano, decides, plan, read, without
from bot.conversation.journal import evidence, trace
from bot.conversation.memory import ConversationMemory
from bot.conversation.readings import dump_reading, load_reading
from bot.conversation.typing_indicator import Courtesies
from bot.loops.micro_batch import Gathered
from bot.subjects.handover import hear
from bot.subjects.strangers import orient
from persistence.conversations import conversations, snapshots
from persistence.conversations.snapshots import StaleSessionError
from persistence.db.clock import DatabaseClock
from persistence.fiscal.intents import integration_id
from persistence.people import companies as people
from persistence.queue import outbox
from state_machine.catalogue import messages
from state_machine.invoice.fields import Campo
from state_machine.machine.effects import Emitir, Responder
from state_machine.machine.events import Editou, Informou, MudouEmissor
from state_machine.machine.session import Sessao
from state_machine.machine.states import Estado
from state_machine.machine.transition import transition
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from bot.budgets import Budgets
    from bot.conversation.customers import Customers
    from bot.conversation.inbound import Chegada
    from bot.ports import Extractor, Messenger
    from bot.subjects.cancellation_talk import Cancelling
    from extractor.contract import Extraction
    from persistence.conversations.conversations import Conversa
    from persistence.conversations.sessions import LiveSessions
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.machine.effects import Efeito
    from state_machine.machine.events import Evento

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
        budgets: Budgets,
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
        self._budgets = budgets
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
        if conversa.empresa is None and conversa.ativa is None:
            ids = await orient(self._database, self._lanes, lease, chegada, conversa, self._budgets.stranger)
            self._ring_delivery()
            return ids
        if chegada.rows[-1].tentativas == 0:
            self._courtesies.read(lease.lane, chegada.wamid)
        if conversa.empresa is not None:
            taken = await self._cancelling.take(
                lease,
                chegada,
                conversa.empresa,
                talking=conversa.cancelando,
                drafting=conversa.ativa is not None,
                voice=partial(self._voice, lease.lane),
            )
            if taken:
                return taken
        ativa = await self._current(lease.lane, conversa.ativa)
        for attempt in range(1, REPLANS + 1):
            try:
                return await self._turn(lease, chegada, conversa, ativa, clock)
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
        self, lease: Lease, chegada: Chegada, conversa: Conversa, ativa: Sessao | None, clock: DatabaseClock
    ) -> Collection[int]:
        empresa = conversa.empresa
        plano = await self._planned(lease, chegada, empresa, ativa, clock.now())
        voz = Voice.SPEAK if decides(chegada.entrada, plano) else await self._voice(lease.lane)
        eventos = [await self._with_register(evento) for evento in plano.eventos]
        ids = [row.id for row in chegada.rows]
        correlacao = chegada.rows[-1].correlacao
        sessao = None
        agora = clock.now()  # a model or the register may have taken their time
        async with self._database.transaction() as connection:
            conversations.greet_later(connection, chegada.contato, len(ids))
            if eventos:
                alvo = plano.alvo or await _new_session(connection, lease.lane, empresa, plano, agora)
                if needs_right(alvo, eventos):
                    empresa = await conversations.issuer(connection, chegada.contato)
                eventos = as_issued_by(alvo, empresa, eventos)
                eventos = [await as_seen(connection, alvo, evento, self._repeat) for evento in eventos]
                if (
                    empresa is not None
                    and is_yes(alvo, eventos)
                    and not await self._hands.may_number(connection, empresa)
                ):
                    log.error("numbering_blocked", sessao_id=alvo.sessao_id)
                    eventos = as_unnumbered(eventos)
                eventos = [await as_stopped(connection, alvo, empresa, evento) for evento in eventos]
                sessao = await self.apply(
                    connection, alvo, eventos, empresa, agora, correlacao, telefone=conversa.telefone, voz=voz
                )
            elif plano.resposta and voz is not Voice.SILENT:
                mensagem = text_message(plano.resposta if voz is Voice.SPEAK else messages.devagar())
                outbox.enqueue(connection, conversa=lease.lane, mensagem=mensagem, correlacao=correlacao)
            if plano.arquivo and voz is Voice.SPEAK:  # a key of this very request: asked again, it is sent again
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

    async def _voice(self, conversa: str) -> Voice:
        voz = await self._budgets.person(conversa)
        self._courtesies.note(conversa, answered=voz is Voice.SPEAK)
        return voz

    async def _planned(
        self, lease: Lease, chegada: Chegada, empresa: Empresa | None, ativa: Sessao | None, agora: datetime
    ) -> Plano:
        """Return what the messages mean; nothing, to an open invoice whose user may issue for nobody any more."""
        if empresa is None:
            return Plano((MudouEmissor(None),) if ativa else (), ativa)
        memory = ConversationMemory(self._database, lease.lane, empresa.id, ativa)
        chegada = await _as_it_stands(chegada, memory)
        leitura = await self._reading(chegada, memory.ativa, empresa, agora)
        proprias = chegada.entrada.proprias if isinstance(chegada.entrada, Palavras) else None
        own = await read(proprias, memory.ativa, empresa, agora, self._extractor, lease.lane) if proprias else None
        return await plan(chegada.entrada, leitura, memory, agora, own)

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
            sessao = _opened(connection, antes, sessao, telefone)
            if emissao := _issues(efeitos, sessao):
                sessao, row_id = await snapshots.save(connection, sessao, telefone=telefone, id_integracao=emissao)
            else:
                sessao = snapshots.save_later(connection, sessao, telefone=telefone)
        snapshots.record(connection, steps)
        await self._hands.carry_out(
            connection, _said(one_reply(efeitos), voz), sessao, row_id, empresa, agora, correlacao
        )
        for step in steps:
            log.info("transition", sessao_id=sessao.sessao_id, evento=step["evento"], estado=step["para"])
        return sessao

    async def _reading(
        self, chegada: Chegada, sessao: Sessao | None, empresa: Empresa, agora: datetime
    ) -> Extraction | None:
        """Return what the words say; a model's reading is kept, so that a retried turn replays it."""
        match chegada.entrada:
            case Palavras(texto):
                pass
            case Edicao(original, str(texto)):
                sessao = without(sessao, original)
            case _:
                return None
        key = [row.id for row in chegada.rows]
        kept = load_reading(chegada.rows[-1].interpretacao, key)
        if kept:
            return kept
        leitura = await read(texto, sessao, empresa, agora, self._extractor, chegada.contato.conversa)
        if leitura.modelo_usado:
            await self._lanes.store_interpretation(chegada.rows[-1].id, dump_reading(leitura, key))
        return leitura

    async def _with_register(self, evento: Evento) -> Evento:
        match evento:
            case Informou():
                return await self._looked_up(evento)
            case Editou(dito=Informou() as dito):
                return replace(evento, dito=await self._looked_up(dito))
            case _:
                return evento

    async def _looked_up(self, dito: Informou) -> Informou:
        documentos = [c.valor for c in dito.candidates if c.campo is Campo.DOCUMENTO]
        found = await self._customers.find(documentos[-1]) if documentos else None
        return replace(dito, cadastro=as_cadastro(found)) if found else dito

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


def _said(efeitos: Sequence[Efeito], voz: Voice) -> Sequence[Efeito]:
    """Leave everything but the answer as it is decided; the state is served with the next answer."""
    if voz is Voice.SPEAK:
        return efeitos
    notice = Responder(messages.devagar())
    answers = [notice if isinstance(efeito, Responder) else efeito for efeito in efeitos]
    return [efeito for efeito in answers if voz is Voice.NOTICE or efeito is not notice]


async def _as_it_stands(chegada: Chegada, memory: ConversationMemory) -> Chegada:
    """Leave out what arrived late and has been edited or deleted meanwhile: the notice of that overtook it."""
    if not isinstance(chegada.entrada, Palavras):
        return chegada
    arrived = {row.chave: row.recebido_em for row in chegada.rows}
    late = {e.mensagem for e in chegada.entrada.escritas if e.em and arrived[e.mensagem] - e.em > CLOCKS_APART}
    gone = {change.original for change in await memory.changes(late)} if late else set()
    left = [escrita for escrita in chegada.entrada.escritas if escrita.mensagem not in gone]
    if len(left) == len(chegada.entrada.escritas):
        return chegada
    return replace(chegada, entrada=joined(left) if left else Outro("revoke"))


async def _new_session(
    connection: Connection, conversa: str, empresa: Empresa | None, plano: Plano, agora: datetime
) -> Sessao:
    """A session of today; its id is ``ddmmaa-`` and 8 random hex digits, unique in the database.

    One that takes up another's data begins as that one's company's, so that a change of company is seen.
    """
    assert empresa is not None  # noqa: S101 - ``_planned`` opens none for nobody
    sessao_id = f"{agora.astimezone(SAO_PAULO):%d%m%y}-{secrets.token_hex(4)}"
    nova = Sessao(
        sessao_id, conversa, empresa.id, empresa.razao_social, origem=plano.origem, empresa_versao=empresa.versao
    )
    antiga = await snapshots.load(connection, conversa, plano.origem) if plano.origem else None
    if antiga is None or antiga.empresa_id == empresa.id:
        return nova
    return replace(nova, empresa_id=antiga.empresa_id, emitente=antiga.emitente)


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
