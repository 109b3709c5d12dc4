"""Decides what follows from a gateway's answer about one cancellation.

A cancellation may be sent again after an unknown outcome, for the authority knows the note: but never before it was
asked twice, ``ABSENT_TWICE_AFTER`` apart, and said that the note stands. It ends in two ways only: the authority says
that the note is cancelled, or that it stands and why. A refusal speaks of one call: where another one was sent before,
the note must be seen to stand twice, as far apart, before the refusal ends it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, assert_never

from state_machine.protocol.emission import (
    Accepted,
    CannotTell,
    Misconfigured,
    Nota,
    NotSent,
    Postponed,
    Rejected,
    Unknown,
)
from state_machine.protocol.reconciliation import (
    ABSENT_TWICE_AFTER,
    GIVE_UP_ASKING_AFTER,
    HUMAN_AFTER,
    MOST_REFUSALS,
    PROBE_FIRST,
    PROBE_LONGEST,
)
from state_machine.protocol.retry import Politica

SEM_RESPOSTA = "o motivo não veio"


@dataclass(frozen=True, slots=True)
class AlreadyCancelled:
    """The authority says that the note was cancelled before: to us the same as success."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The authority cannot read what we sent, and never will: staff repair the program."""

    motivo: str


CancelOutcome = NotSent | Accepted | Rejected | AlreadyCancelled | Postponed | Unknown | Misconfigured | Unreadable


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The authority's note is cancelled."""

    nota: Nota


@dataclass(frozen=True, slots=True)
class Refused:
    """This request was refused, and the note stands."""

    mensagem: str


@dataclass(frozen=True, slots=True)
class InProcess:
    """The authority is working on it."""


@dataclass(frozen=True, slots=True)
class Stands:
    """The note is authorised, and nothing is known of a cancellation under way."""


CancelFinding = Cancelled | Refused | InProcess | Stands | CannotTell


class Envio(StrEnum):
    """How far a confirmed cancellation has come with the gateway."""

    A_ENVIAR = "a_enviar"
    ENVIANDO = "enviando"  # claimed for sending; found so after a crash it counts as unknown
    ACEITO = "aceito"
    DESCONHECIDO = "desconhecido"  # the answer was lost: ask before sending again
    RECUSADO = "recusado"  # refused on submission: ask whether the note stands
    COM_GENTE = (
        "com_gente"  # a day without an answer, or refused for ever: nothing is sent by itself any more, we only ask
    )
    ENCERRADO = "encerrado"


Aviso = Literal["cancelada", "negada", "demorou", "falhou"]


@dataclass(frozen=True, slots=True)
class AndamentoCancelamento:
    """Where it stands; ``vigente_desde``: first certain "the note stands" since the last sending.

    ``envios`` counts every sending, also those of which nothing more is known, ``recusas`` the refusals that nobody
    here knows.
    """

    envio: Envio
    confirmado_em: datetime
    consultas: int = 0
    envios: int = 0
    vigente_desde: datetime | None = None
    avisado: bool = False
    protocolo: str | None = None
    recusa: str | None = None
    recusas: int = 0


@dataclass(frozen=True, slots=True)
class PassoCancelamento:
    """What to store: the new standing, seconds until the next action (``None``: none), news, and our trouble."""

    andamento: AndamentoCancelamento
    daqui: float | None
    aviso: Aviso | None = None
    motivo: str | None = None
    suspender: str | None = None
    retida: Literal["circuito"] | None = None  # why it waits without a call: the gateway is down

    @property
    def status(self) -> Envio:
        """How far it has come then."""
        return self.andamento.envio


def may_send(andamento: AndamentoCancelamento) -> bool:
    """True when nothing was sent yet, or sending again is known to be needed."""
    return andamento.envio is Envio.A_ENVIAR


def after_send(
    andamento: AndamentoCancelamento, outcome: CancelOutcome, agora: datetime, politica: Politica
) -> PassoCancelamento:
    """Decide after the request was sent."""
    novo = replace(andamento, envios=andamento.envios + 1, consultas=0, vigente_desde=None)
    match outcome:
        case NotSent(motivo):
            return _waiting(replace(novo, envio=Envio.A_ENVIAR), agora, politica, _backoff(novo, politica), motivo)
        case Postponed(retry_after, motivo):
            espera = max(_backoff(novo, politica), retry_after or 0.0)
            return _waiting(replace(novo, envio=Envio.A_ENVIAR), agora, politica, espera, motivo)
        case Misconfigured(motivo):
            pausa = min(PROBE_LONGEST, max(PROBE_FIRST, (agora - andamento.confirmado_em).total_seconds()))
            passo = _waiting(replace(novo, envio=Envio.A_ENVIAR), agora, politica, pausa, motivo)
            return replace(passo, suspender=motivo)
        case Accepted(_, protocolo):
            return _waiting(replace(novo, envio=Envio.ACEITO, protocolo=protocolo), agora, politica)
        case Unknown(motivo, recusada):
            novo = replace(novo, envio=Envio.DESCONHECIDO, recusas=novo.recusas + recusada)
            if recusada and novo.recusas >= MOST_REFUSALS:
                return _with_people(novo, politica.degrau(0), f"refused {novo.recusas} times: {motivo}")
            return _waiting(novo, agora, politica, motivo=motivo)
        case Unreadable(motivo):
            return _with_people(novo, politica.degrau(0), motivo)
        case AlreadyCancelled():
            return _encerra(novo, "cancelada")
        case Rejected(mensagem):
            # A refusal of the request is not yet the authority's word that the note stands: that is asked at once.
            recusado = replace(novo, envio=Envio.RECUSADO, recusa=mensagem or SEM_RESPOSTA)
            return _waiting(recusado, agora, politica, 0.0, mensagem)
        case _:
            assert_never(outcome)


def after_query(
    andamento: AndamentoCancelamento, finding: CancelFinding, agora: datetime, politica: Politica
) -> PassoCancelamento:
    """Decide after asking what became of it."""
    novo = replace(andamento, consultas=andamento.consultas + 1)
    match finding:
        case Cancelled():
            return _encerra(novo, "cancelada")
        case Refused(mensagem):
            return _negada(replace(novo, recusa=mensagem or SEM_RESPOSTA), agora, politica)
        case InProcess():
            envio = novo.envio if novo.envio is Envio.COM_GENTE else Envio.ACEITO
            return _waiting(replace(novo, envio=envio, vigente_desde=None), agora, politica)
        case CannotTell(motivo, retry_after):
            passo = _waiting(novo, agora, politica, motivo=motivo)
            return passo if passo.daqui is None else replace(passo, daqui=max(passo.daqui, retry_after or 0.0))
        case Stands() if novo.recusa is not None:
            return _negada(novo, agora, politica)
        case Stands():
            return _vigente(novo, agora, politica)
        case _:
            assert_never(finding)


def without_call(
    andamento: AndamentoCancelamento, espera: float, agora: datetime, politica: Politica
) -> PassoCancelamento:
    """Decide when the gateway is left alone for ``espera`` seconds: nothing counts as an attempt."""
    return replace(_waiting(andamento, agora, politica, espera), retida="circuito")


def interrompido(andamento: AndamentoCancelamento) -> AndamentoCancelamento:
    """One found as being sent was in the hands of a worker that died: whether it arrived is unknown."""
    if andamento.envio is not Envio.ENVIANDO:
        return andamento
    return replace(andamento, envio=Envio.DESCONHECIDO, envios=andamento.envios + 1)


def _negada(andamento: AndamentoCancelamento, agora: datetime, politica: Politica) -> PassoCancelamento:
    """The note stands and a call was refused: final, unless an earlier call may still be carried out."""
    visto, resta = _visto(andamento, agora)
    if andamento.envios <= 1 or not resta:
        return _encerra(visto, "negada", visto.recusa)
    if visto.envio is not Envio.COM_GENTE:
        visto = replace(visto, envio=Envio.RECUSADO)
    return _waiting(visto, agora, politica, resta, "refused, and an earlier call may count: asking again")


def _vigente(andamento: AndamentoCancelamento, agora: datetime, politica: Politica) -> PassoCancelamento:
    if andamento.envio is Envio.COM_GENTE:
        return _waiting(andamento, agora, politica, motivo="the note stands")
    visto, resta = _visto(andamento, agora)
    if resta:
        return _waiting(replace(visto, envio=Envio.DESCONHECIDO), agora, politica, resta, "the note stands")
    novo = replace(visto, envio=Envio.A_ENVIAR, vigente_desde=None)
    return _waiting(novo, agora, politica, 0.0, "the note stands, asked twice: sending again")


def _visto(andamento: AndamentoCancelamento, agora: datetime) -> tuple[AndamentoCancelamento, float]:
    """Return it with the note seen to stand now, and the seconds until a second look counts: 0.0 for this one."""
    desde = andamento.vigente_desde
    if desde is None or agora < desde:
        desde = agora
        andamento = replace(andamento, vigente_desde=desde)
    resta = (ABSENT_TWICE_AFTER - (agora - desde)).total_seconds()
    return andamento, max(resta, 0.0)


def _encerra(andamento: AndamentoCancelamento, aviso: Aviso, motivo: str | None = None) -> PassoCancelamento:
    return PassoCancelamento(replace(andamento, envio=Envio.ENCERRADO), None, aviso, motivo)


def _backoff(andamento: AndamentoCancelamento, politica: Politica) -> float:
    """Seconds before the next sending."""
    return politica.retentativas.espera(andamento.envios, andamento.confirmado_em.isoformat())


def in_error(andamento: AndamentoCancelamento, motivo: str) -> PassoCancelamento:
    """Work of our own fails again and again: people look; what has ended stays so."""
    if andamento.envio in {Envio.ENCERRADO, Envio.COM_GENTE}:
        return PassoCancelamento(andamento, None, motivo=motivo)
    return PassoCancelamento(replace(andamento, envio=Envio.COM_GENTE, avisado=True), None, "falhou", motivo)


def _with_people(andamento: AndamentoCancelamento, daqui: float, motivo: str) -> PassoCancelamento:
    """Nothing is sent by itself any more; we only ask on."""
    novo = replace(andamento, envio=Envio.COM_GENTE, avisado=True)
    return PassoCancelamento(novo, daqui, "falhou", motivo)


def _waiting(
    andamento: AndamentoCancelamento,
    agora: datetime,
    politica: Politica,
    daqui: float | None = None,
    motivo: str | None = None,
) -> PassoCancelamento:
    """Look again later; tell the user once when it takes long, and people when it takes a day."""
    idade: timedelta = agora - andamento.confirmado_em
    degrau = politica.degrau(andamento.consultas)
    if andamento.envio is Envio.COM_GENTE:
        return PassoCancelamento(andamento, None if idade > GIVE_UP_ASKING_AFTER else degrau, motivo=motivo)
    if idade > HUMAN_AFTER:
        return _with_people(andamento, max(daqui or 0.0, politica.escada[-1]), motivo or "no answer within 24 h")
    daqui, aviso = politica.proxima(idade, degrau, daqui, avisado=andamento.avisado)
    return PassoCancelamento(replace(andamento, avisado=andamento.avisado or aviso is not None), daqui, aviso, motivo)
