"""Applies events to a session: transition, snapshot, journal and effects, all in the caller's transaction.

What the journal keeps of an event besides its name: what was read, in which message, and the draft.

Has a summary looked at by the company's channel before it is shown: what cannot be sent is asked for first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog

from bot.budgets import Voice
from bot.conversation.effects import Effects, confirmed_of, one_reply
from bot.orders.accept import Door
from persistence.api import approvals
from persistence.conversations import snapshots
from persistence.conversations.sessions import LiveSessions
from persistence.conversations.snapshots import StaleSessionError, dump_rascunho
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal.intents import integration_id
from persistence.people import companies as people
from persistence.people.companies import Empresa
from persistence.queue.lanes import InboxRow, Lanes, Lease
from state_machine.catalogue import messages
from state_machine.invoice.draft import Rascunho
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Candidate, Doubt
from state_machine.invoice.session import Efeito, Emitir, Estado, Responder, Sessao
from state_machine.machine.events import (
    Apagou,
    Confirmou,
    Editou,
    Escolheu,
    Evento,
    Informou,
    MudouEmissor,
    NaoCabe,
    NotaRejeitada,
)
from state_machine.machine.transition import transition


def trace(antes: Sessao, depois: Sessao, evento: Evento) -> dict[str, Any]:
    """Return what was read, how often the question was asked again, what will be missing, and the draft if it changed.

    Every revision can be shown again, and a session that is loaded from its snapshot words its next question anew.
    """
    kept: dict[str, Any] = {}
    match evento:
        case Informou():
            kept |= _read(evento)
        case Editou():
            kept |= {"editada": evento.mensagem, **(_read(evento.dito) if evento.dito else {})}
        case Apagou():
            kept["apagada"] = evento.mensagem
        case MudouEmissor():
            kept["empresa"] = evento.emissor.id if evento.emissor else None
        case Confirmou() | Escolheu():
            kept |= {"revisao_do_botao": evento.revisao, **_taken(antes.rascunho, depois.rascunho, evento)}
        case NaoCabe():
            kept |= {"porque": evento.porque, "campo": evento.campo}
        case NotaRejeitada():
            kept["motivo"] = evento.motivo
        case _:
            pass
    kept |= {name: of_now for name in ("insistencias", "sem") if (of_now := getattr(depois, name))}
    if depois.rascunho != antes.rascunho or antes.versao == 0:
        kept["rascunho"] = dump_rascunho(depois.rascunho)
    return kept


def _taken(antes: Rascunho, depois: Rascunho, evento: Confirmou | Escolheu) -> dict[str, Any]:
    """Return which reading of a doubt was taken, and whether by a button or by a yes in words."""
    tomados = {c.value: depois.campo(c).valor for c in FIELDS if antes.campo(c).leituras and depois.validado(c)}
    return {"escolhido": tomados, "por": "botao" if evento.revisao is not None else "palavra"} if tomados else {}


def _read(dito: Informou) -> dict[str, Any]:
    return {
        "lido": [_flat(candidate) for candidate in dito.candidates],
        "duvidas": [_flat(doubt) for doubt in dito.doubts],
        "retirado": sorted(dito.clear),
    }


def _flat(said: Candidate | Doubt) -> dict[str, Any]:
    """Return its fields; ``asdict`` would copy each of their values, which nobody changes."""
    return {name: getattr(said, name) for name in said.__slots__}


def evidence(antes: Rascunho, depois: Rascunho) -> dict[str, Any]:
    """Return ``{"campos": {campo: evidence}}`` of the fields that a step changed, ``{}`` when it changed none.

    The evidence has ``valor`` (normalised) and ``escrito`` (as typed), who read it (``origem``), how sure
    (``confianca``, ``status``), and ``mensagem``: the wamid of the message, which is its inbox row's ``chave``.
    """
    lidos = zip(FIELDS, antes.lidos, depois.lidos, strict=True)
    mudados = [(campo, novo) for campo, velho, novo in lidos if novo is not velho and novo != velho]
    campos = {
        campo.value: {
            "status": lido.status,
            "valor": lido.valor,
            "escrito": lido.escrito,
            "origem": lido.origem,
            "confianca": lido.confianca,
            "mensagem": lido.mensagem,
            **({"recusa": {"escrito": lido.recusa.trecho, "mensagem": lido.recusa.mensagem}} if lido.recusa else {}),
        }
        for campo, lido in mudados
    }
    return {"campos": campos} if campos else {}


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
        antes = sessao = of_company(sessao, empresa)
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


def of_company(sessao: Sessao, empresa: Empresa | None) -> Sessao:
    """Return the session with what each turn reads anew of its company: service codes and city."""
    if empresa is None:
        return replace(sessao, servicos=(), cidade=None, mercado=())
    return replace(sessao, servicos=empresa.servicos, cidade=empresa.municipio_ibge, mercado=empresa.mercado)


async def as_fit(
    door: Door, database: Database, sessao: Sessao, eventos: Sequence[Evento], empresa: Empresa, agora: datetime
) -> list[Evento]:
    """Return the events, with what the channel could never send of the summary that they lead to as the last one.

    ``sessao`` is the one that they are said to. A check that fails says nothing: the one after the yes is the law.
    """
    shown = _shown(sessao, eventos, agora)
    if shown is None or shown.empresa_id != empresa.id:
        return list(eventos)
    try:
        explicacao = await door.complaint(database, confirmed_of(shown, Emitir(shown.revisao), empresa, agora))
    except Exception as error:  # noqa: BLE001 - whatever it is, a summary is shown without its check
        log.error("summary_unchecked", sessao_id=sessao.sessao_id, error=type(error).__name__)  # noqa: TRY400 - it may quote data
        return list(eventos)
    if explicacao is None:
        return list(eventos)
    log.info("summary_unfit", sessao_id=sessao.sessao_id, campo=explicacao.campo)
    return [*eventos, NaoCabe(explicacao.texto, explicacao.campo)]


def _shown(sessao: Sessao, eventos: Sequence[Evento], agora: datetime) -> Sessao | None:
    """Return the session as its summary will show it, ``None`` where the last answer shows none."""
    answer = None
    for evento in eventos:
        decision = transition(sessao, evento, agora)
        sessao = decision.sessao
        answer = next((efeito for efeito in decision.efeitos if isinstance(efeito, Responder)), answer)
    if answer is None or sessao.estado is not Estado.AGUARDANDO_CONFIRMACAO or not sessao.rascunho.completo:
        return None
    return sessao if any(key.startswith("confirmar:") for key in answer.mensagem.ids) else None
