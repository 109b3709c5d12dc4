"""Decides what follows from a gateway's answer to one emission.

Three laws: nothing unknown is ever final; nothing unknown is ever sent again before asking; and a refusal speaks of
one call only, so it is not final while another call of the emission may have been accepted (``duvida``).

What these laws alone can't give is uniqueness at the gateway. A note may be sent a second time after two absences, or
after a 429 or 503; should the first copy be accepted all the same, and show itself more than ``ABSENT_TWICE_AFTER``
later, only the gateway's own uniqueness on our key keeps the second one out. An adapter without such a key declares
that a second submission is destructive and how often absence must be seen (``Natureza``):
``tests/state_machine/protocol/test_protocol_model.py`` shows both sides.

Decides whether a new attempt at a refused invoice may be sent: only while every earlier one still stands refused.

The earlier ones are those at the same revision, and those of the sessions whose data this one took up to mend them.

A refusal can become an authorisation later (late truth). So the gateway is asked again under each earlier key right
before the new one is sent, and its answer is read by the same laws as any other
(``state_machine.protocol.reconciliation``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import assert_never

from state_machine.documents import divergencia, mostra_conteudo
from state_machine.protocol.channel import Canal, Natureza, is_anothers, sibling
from state_machine.protocol.emission import (
    COM_PESSOAS,
    ENCERRADAS,
    Absent,
    Accepted,
    Arquivo,
    CannotTell,
    Duplicate,
    Finding,
    Found,
    Issued,
    Misconfigured,
    Nota,
    NotSent,
    Outcome,
    Postponed,
    Rejected,
    Situacao,
    StatusEmissao,
    Unknown,
)
from state_machine.protocol.retry import Politica
from state_machine.protocol.standing import CAUSAS, Andamento, Aviso, Passo, Retida

ABSENT_TWICE_AFTER = Natureza().absence_spacing
PROBE_FIRST, PROBE_LONGEST = 15.0, 300.0  # seconds between probes while our credentials are refused
ASK_AFTER = timedelta(hours=20)  # then the person is asked: Meta delivers for 24 h after their yes
ASKED_PAUSE = 3600.0  # seconds between tries once they were asked: so long they have to say no
HUMAN_AFTER = timedelta(hours=24)  # then people decide and nothing is sent by itself; questions go on
CONTENT_WITHIN = timedelta(seconds=60)  # a city that shows no XML by then is believed by its summary; audits look again
CONTENT_PAUSE = 0.5  # seconds until the XML of an authorised note is looked for again, doubling
ABSENCE_HOLDS = timedelta(minutes=5)  # so long it lets a sending go that may void a note
GIVE_UP_ASKING_AFTER = timedelta(days=7)  # after this only a webhook or a person asks again
MOST_REFUSALS = 5  # of the same bytes, in words that nobody here knows: another one changes nothing

ASSENTADOS = ENCERRADAS | {StatusEmissao.CONFLITO}


def may_send(andamento: Andamento) -> bool:
    """True when sending is safe now: nothing was sent yet, or its absence is certain."""
    return andamento.status is StatusEmissao.PENDENTE


def must_ask(andamento: Andamento, agora: datetime) -> bool:
    """True when the person must be asked first whether the invoice is still wanted: it is old and nobody took it."""
    return not andamento.asked and _has_waited_long(andamento, agora)


def _has_waited_long(andamento: Andamento, agora: datetime) -> bool:
    return andamento.nobodys and (andamento.asked or agora - andamento.desde > ASK_AFTER)


def after_send(andamento: Andamento, outcome: Outcome, agora: datetime, politica: Politica) -> Passo:
    """Decide after an attempt to send."""
    # Whatever follows, the ladder starts anew, and an absence seen before tells nothing of this sending.
    andamento = replace(andamento, envios=andamento.envios + 1, consultas=0, ausente_desde=None)
    outcome = _worth(outcome, politica.natureza)
    andamento = _heard(andamento, outcome, agora)
    match outcome:
        case NotSent(motivo, refazer, texto):
            passo = _again(andamento, _backoff(andamento, politica), motivo, agora, politica)
            passo = replace(passo, refazer=refazer)
            return passo if texto is None or andamento.avisado else _saying(passo, texto)
        case Postponed(retry_after, motivo):
            espera = max(_backoff(andamento, politica), retry_after or 0.0)
            return _again(andamento, espera, motivo, agora, politica)
        case Misconfigured(motivo, texto, refazer):
            andamento = replace(andamento, status=StatusEmissao.PENDENTE)
            passo = without_call(andamento, PROBE_FIRST, "credencial", agora, politica)
            passo = replace(passo, motivo=motivo, suspender=motivo, refazer=refazer)
            return passo if texto is None or passo.daqui is None or passo.retida == "pessoa" else _saying(passo, texto)
        case Issued(nota, xml, anulada):
            passo = _with_note(replace(andamento, duvida=True, recusa=None), nota, xml, agora, politica)
            standing = nota.numero and nota.situacao is Situacao.AUTORIZADA and passo.status is StatusEmissao.ENVIADO
            if standing and politica.natureza.resend_is_destructive:
                # The answer to these very bytes: while its content is awaited, absences would send them again.
                passo = _settled(passo.andamento, StatusEmissao.CONCLUIDO, nota, "autorizada")
            voided = f"the authority voided note {anulada} for this one"
            return passo if anulada is None else replace(passo, anulada=anulada, motivo=passo.motivo or voided)
        case Accepted():
            return _waiting(replace(andamento, status=StatusEmissao.ENVIADO, duvida=True), None, agora, politica)
        case Unknown(motivo, recusada):
            return _undecided(in_doubt(andamento), motivo, agora, politica, recusada=recusada)
        case Rejected() as recusa:
            return _refused_now(andamento, recusa, agora, politica)
        case Duplicate(recusa=recusa):
            return _refused_as_double(andamento, recusa, agora, politica)
        case other:
            assert_never(other)


def _undecided(
    andamento: Andamento,
    motivo: str,
    agora: datetime,
    politica: Politica,
    *,
    recusada: bool,
    daqui: float | None = None,
) -> Passo:
    """Ask what became of it; what is refused again and again in unknown words is for people, and asked about on."""
    novo = replace(andamento, recusas=andamento.recusas + recusada)
    if recusada and novo.recusas >= MOST_REFUSALS:
        return _with_people(novo, politica.degrau(0), f"refused {novo.recusas} times: {motivo}")
    return _waiting(novo, motivo, agora, politica, daqui=daqui)


def _with_people(andamento: Andamento, daqui: float, motivo: str, nota: Nota | None = None) -> Passo:
    """Nothing is sent by itself any more; we only ask on."""
    return Passo(replace(andamento, status=StatusEmissao.ERRO, avisado=True), daqui, nota, "falhou", motivo)


def _heard(andamento: Andamento, answer: Outcome | Finding, agora: datetime) -> Andamento:
    """Return the standing of one that may have left: the cause for which it waited is over, its day begins anew."""
    if not andamento.asked or isinstance(answer, NotSent | Postponed | Misconfigured):
        return andamento
    return replace(andamento, retida=None, causa_fim_em=agora)


def _saying(passo: Passo, texto: str) -> Passo:
    """Tell the company's people at once why nothing goes out, or nothing is known: the repair is theirs."""
    return replace(passo, andamento=replace(passo.andamento, avisado=True), aviso="demorou", texto=texto)


def _worth(outcome: Outcome, natureza: Natureza) -> Outcome:
    """Return what an answer is worth on a channel of this nature."""
    match outcome:
        case Postponed(_, motivo) if natureza.resend_is_destructive:  # one that accepted all the same costs the note
            return Unknown(motivo)
        case Accepted() if natureza.synchronous:
            return Unknown("accepted without a note")
        case _:
            return outcome


def _refused_now(andamento: Andamento, recusa: Rejected, agora: datetime, politica: Politica) -> Passo:
    if not andamento.duvida:
        return _refused(andamento, recusa)
    motivo = f"refused while an earlier call is undecided: {recusa.mensagem}"
    return _waiting(replace(in_doubt(andamento), recusa=recusa), motivo, agora, politica)


def _refused_as_double(andamento: Andamento, recusa: Rejected | None, agora: datetime, politica: Politica) -> Passo:
    """Ask at once; its words end nothing where they may mean the call before."""
    if recusa is not None and andamento.duvida:
        recusa = replace(recusa, codigos=(), campos=())
    # Where a resend voids, the words tell of a note that a later attempt under this number may void.
    doubt = andamento.duvida or recusa is None or politica.natureza.resend_is_destructive
    novo = replace(in_doubt(andamento), duvida=doubt, recusa=recusa)
    return _undecided(novo, "the authority has a note already", agora, politica, recusada=recusa is None, daqui=0.0)


def absent_long_ago(andamento: Andamento, late: timedelta, agora: datetime, politica: Politica) -> Passo | None:
    """Ask anew about what was to go again ``late`` ago, where that may void a note made since; ``None``: it goes."""
    asked = _put_off(andamento, politica)
    if late <= ABSENCE_HOLDS or asked is andamento:
        return None
    return _waiting(asked, "absent too long ago", agora, politica, daqui=0.0)


def in_doubt(andamento: Andamento) -> Andamento:
    """Return the standing of an emission of which a call may have been accepted."""
    return replace(andamento, status=StatusEmissao.DESCONHECIDO, duvida=True)


def without_call(
    andamento: Andamento, espera: float, retida: Retida, agora: datetime, politica: Politica, *, fresh: bool = False
) -> Passo:
    """Decide when nothing may be called for ``espera`` seconds: nothing counts as an attempt, nobody is forgotten.

    ``fresh``: its own absence was seen just now and holds for so long.
    """
    andamento = andamento if fresh else _put_off(andamento, politica)
    if retida in CAUSAS and not andamento.asked:
        andamento = replace(andamento, retida=retida)
    if not andamento.avisado and (ate_avisar := (politica.avisar_apos - (agora - andamento.criado_em))) > timedelta(0):
        espera = min(espera, ate_avisar.total_seconds())  # looking again early costs no call
    passo = _waiting(andamento, None, agora, politica, daqui=espera)
    return passo if passo.daqui is None or passo.retida == "pessoa" else replace(passo, retida=retida)


def after_query(andamento: Andamento, finding: Finding, agora: datetime, politica: Politica) -> Passo:
    """Decide after asking the gateway for the note under our key."""
    andamento = _heard(replace(andamento, consultas=andamento.consultas + 1), finding, agora)
    match finding:
        case Found(nota=nota) if (irma := sibling(andamento, nota, politica.natureza)) is not None:
            return _siblings(andamento, irma, nota, politica)
        case Found(nota=nota) if is_anothers(andamento, nota, politica.natureza):
            return _number_taken(andamento, nota)
        case Found(nota, xml):
            return _with_note(replace(andamento, ausente_desde=None, recusa=None), nota, xml, agora, politica)
        case CannotTell(motivo, retry_after, texto):
            passo = _waiting(andamento, motivo, agora, politica)
            if passo.daqui is not None:
                passo = replace(passo, daqui=max(passo.daqui, retry_after or 0.0))
            if texto is None or passo.status in ASSENTADOS | COM_PESSOAS or passo.aviso not in {None, "demorou"}:
                return passo
            return _saying(passo, texto)
        case Absent():
            return _absent(andamento, agora, politica)
        case _:
            assert_never(finding)


def _siblings(andamento: Andamento, irma: str, nota: Nota, politica: Politica) -> Passo:
    """The note is that of another attempt at the same confirmation, under one number: that one must take it in.

    The authority is unique on the number, so none of our own calls was accepted; an earlier attempt settles this one.
    """
    motivo = f"the note under our number is that of {irma}"
    if andamento.status in ASSENTADOS or andamento.status is StatusEmissao.ERRO:
        return replace(_settled(andamento, andamento.status, motivo=motivo), irma=irma)
    if int(irma.rpartition("-")[2]) > int(andamento.id_integracao.rpartition("-")[2]):
        return in_conflict(andamento, nota, motivo)  # no attempt begins before this one was settled
    novo = replace(andamento, status=StatusEmissao.PENDENTE, duvida=False, recusa=None, ausente_desde=None)
    return Passo(novo, politica.degrau(andamento.consultas), motivo=motivo, retida="tentativa_anterior", irma=irma)


def _number_taken(andamento: Andamento, nota: Nota) -> Passo:
    """Another confirmation's note has our number: nothing of ours stands there, and a new attempt gets the next one."""
    motivo = "our number is taken by a note with another referencia"
    if andamento.status in ASSENTADOS:
        return _settled(andamento, andamento.status, motivo=motivo)
    if andamento.procurada or andamento.status is StatusEmissao.ERRO:
        return in_conflict(andamento, nota, motivo)
    livre = replace(andamento, duvida=False, recusa=None)
    return _settled(livre, StatusEmissao.REJEITADO, None, "renumera", motivo)


def _absent(andamento: Andamento, agora: datetime, politica: Politica) -> Passo:
    if andamento.status in ASSENTADOS:  # only a hint made us look, and there is nothing new
        return _settled(andamento, andamento.status)
    if andamento.status is StatusEmissao.ERRO:  # with people now: nothing is sent again by itself
        return _waiting(andamento, "absent at the gateway", agora, politica)
    novo, resta = count_absence(andamento, agora, politica.natureza)
    if resta and novo.ausencias == 1 and novo.ausente_desde == agora:
        degrau = politica.degrau(andamento.rodadas) if andamento.rodadas else 0.0
        duvida = novo.duvida or novo.recusa is None  # else it was refused, and nothing else ever left us
        return _waiting(
            replace(in_doubt(novo), duvida=duvida),
            "absent once",
            agora,
            politica,
            daqui=max(resta.total_seconds(), degrau),
        )
    if resta:
        return _waiting(novo, "absent", agora, politica, daqui=resta.total_seconds())
    if (recusa := andamento.recusa) is not None:
        if not andamento.duvida or recusa.codigos or recusa.campos:
            return _refused(andamento, recusa)
        spacing = politica.natureza.absence_spacing
        if novo.ausencias * spacing <= politica.natureza.lag:
            return _waiting(novo, "absent, and its search may lag", agora, politica, daqui=spacing.total_seconds())
        return _with_people(novo, politica.escada[-1], f"refused after a lost answer: {recusa.mensagem}")
    novo = replace(andamento, status=StatusEmissao.PENDENTE, ausente_desde=None, rodadas=andamento.rodadas + 1)
    return _waiting(novo, "absent twice: sending the stored bytes again", agora, politica, daqui=0.0)


def count_absence(andamento: Andamento, agora: datetime, natureza: Natureza) -> tuple[Andamento, timedelta]:
    """Count a certain absence, if it lies far enough from the one before.

    Returns the new standing, and how long until another one can count: zero when absence is sure.
    """
    young = natureza.absence_age - (agora - andamento.sent_at) if andamento.sent_at else timedelta(0)
    if young > timedelta(0):  # what was sent may still be on its way
        return andamento, young
    desde = andamento.ausente_desde
    vistas = max(andamento.ausencias, 1) if desde else 0  # another release counts none: it keeps the first one's moment
    if desde is not None and agora >= desde and (resta := natureza.absence_spacing - (agora - desde)) > timedelta(0):
        return replace(andamento, ausencias=vistas), resta
    vistas = 1 if desde is None or agora < desde else vistas + 1
    sure = vistas >= natureza.absences
    return replace(andamento, ausente_desde=agora, ausencias=vistas), timedelta(0) if sure else natureza.absence_spacing


def count_earlier(
    andamento: Andamento, agora: datetime, ausentes: Sequence[tuple[Natureza, datetime | None]]
) -> tuple[Andamento, timedelta]:
    """Count one more absence of earlier attempts, by the strictest of their natures and the last of their sendings."""
    natureza = Natureza(
        absences=max(each.absences for each, _ in ausentes),
        absence_spacing=max(each.absence_spacing for each, _ in ausentes),
        absence_age=max(each.absence_age for each, _ in ausentes),
    )
    last = max((sent for _, sent in ausentes if sent), default=None)
    novo, resta = count_absence(replace(andamento, sent_at=last), agora, natureza)
    return replace(novo, sent_at=andamento.sent_at), resta


def _with_note(andamento: Andamento, nota: Nota, xml: Arquivo | None, agora: datetime, politica: Politica) -> Passo:
    antes = andamento.status
    if antes is StatusEmissao.CONCLUIDO:
        return _settled(andamento, antes, nota)  # never backwards: an old reading may arrive after a newer one
    outro = _difference(andamento, nota, politica.natureza)
    if outro:
        return in_conflict(andamento, nota, f"the gateway's note under our key differs in {outro}")
    match nota.situacao:
        case Situacao.AUTORIZADA if nota.numero and (xml or not _content_to_come(andamento, nota, agora)):
            return _settled(andamento, StatusEmissao.CONCLUIDO, nota, "autorizada")
        case Situacao.AUTORIZADA if nota.numero:
            return _without_content(andamento, nota, agora, politica)
        case Situacao.REJEITADA if nota.ja_existe:  # there is one, so this refusal is no end
            status = antes if antes in ASSENTADOS or antes is StatusEmissao.ERRO else StatusEmissao.DESCONHECIDO
            motivo = "the authority has a note already"
            return _waiting(replace(andamento, status=status, duvida=True), motivo, agora, politica, nota=nota)
        case Situacao.REJEITADA:
            return _refused(andamento, Rejected(nota.mensagem or "", nota.codigos), nota)
        case Situacao.CANCELADA:
            return in_conflict(andamento, nota, "the note was cancelled outside of Prosa")
        case Situacao.PROCESSANDO | Situacao.AUTORIZADA:  # authorised without a number proves nothing yet
            # What was settled, or is with people, stays so: else a later absence would send it again.
            status = antes if antes in ASSENTADOS or antes is StatusEmissao.ERRO else StatusEmissao.ENVIADO
            return _waiting(replace(andamento, status=status), None, agora, politica, nota=nota)
        case _:
            assert_never(nota.situacao)


def _content_to_come(andamento: Andamento, nota: Nota, agora: datetime) -> bool:
    """Tell whether the note's text, competence and code are still to be seen before it is adopted.

    Only until its XML is there: what a layout that nobody here reads does not show today, it never will.
    """
    desde = andamento.sem_conteudo_desde
    return not mostra_conteudo(nota) and (desde is None or agora - desde < CONTENT_WITHIN)


def _without_content(andamento: Andamento, nota: Nota, agora: datetime, politica: Politica) -> Passo:
    """Authorised, and its XML is not there yet: look again soon."""
    desde = andamento.sem_conteudo_desde or agora
    daqui, motivo = max(CONTENT_PAUSE, (agora - desde).total_seconds()), "authorised, its content not shown yet"
    novo = replace(andamento, sem_conteudo_desde=desde)
    if andamento.status in ASSENTADOS or andamento.status is StatusEmissao.ERRO:
        return Passo(novo, daqui, nota, motivo=motivo)
    novo = replace(novo, status=StatusEmissao.ENVIADO)
    return _waiting(novo, motivo, agora, politica, daqui=daqui, nota=nota)


def _refused(andamento: Andamento, recusa: Rejected, nota: Nota | None = None) -> Passo:
    aviso: Aviso | None = None if andamento.status is StatusEmissao.REJEITADO else "rejeitada"
    novo = replace(andamento, recusa=None)
    return _settled(novo, StatusEmissao.REJEITADO, nota, aviso, recusa.mensagem, recusa)


def _settled(
    andamento: Andamento,
    status: StatusEmissao,
    nota: Nota | None = None,
    aviso: Aviso | None = None,
    motivo: str | None = None,
    recusa: Rejected | None = None,
) -> Passo:
    """Nothing more to do until somebody hints at news; then the ladder starts anew."""
    novo = replace(andamento, status=status, consultas=0, ausente_desde=None, sem_conteudo_desde=None)
    return Passo(novo, None, nota, aviso, motivo, recusa)


def in_conflict(andamento: Andamento, nota: Nota, motivo: str) -> Passo:
    """A human decides; the user hears it once."""
    avisar = andamento.status not in COM_PESSOAS
    return _settled(andamento, StatusEmissao.CONFLITO, nota, "falhou" if avisar else None, motivo)


def in_error(andamento: Andamento, motivo: str) -> Passo:
    """Work of our own fails again and again: people look; what was settled stays so."""
    if andamento.status in ASSENTADOS | COM_PESSOAS:
        return _settled(andamento, andamento.status, motivo=motivo)
    return _settled(andamento, StatusEmissao.ERRO, None, "falhou", motivo)


def recorded_otherwise(andamento: Andamento) -> Passo:
    """Our own records know this key with other bytes: nothing is sent, a human decides."""
    motivo = "the idempotency key was used before with other bytes"
    return _settled(andamento, StatusEmissao.CONFLITO, None, "falhou", motivo)


def dispensed(andamento: Andamento, motivo: str, *, conflito: bool = False) -> Passo:
    """An earlier attempt settled the matter: this one is never sent. A note made of it is told by its own news."""
    if conflito:
        return _settled(andamento, StatusEmissao.CONFLITO, None, "falhou", motivo)
    return _settled(andamento, StatusEmissao.DISPENSADO, None, None, motivo)


def _difference(andamento: Andamento, nota: Nota, natureza: Natureza) -> str | None:
    """Name the first field in which the gateway's note is not what the user confirmed.

    After a backup was restored a number may be given twice: then the note under our key, of equal content, may be of
    another confirmation, which its reference shows.
    """
    if nota.id_integracao != andamento.texto_da_chave:
        return "id_integracao"
    if natureza.reference is not None and nota.referencia != natureza.reference(andamento.id_integracao):
        return "referencia"
    return divergencia(andamento.conteudo, andamento.impressao, nota)


def _backoff(andamento: Andamento, politica: Politica) -> float:
    """Seconds before send number ``envios + 1``."""
    return politica.retentativas.espera(andamento.envios, andamento.id_integracao)


def _again(andamento: Andamento, daqui: float, motivo: str, agora: datetime, politica: Politica) -> Passo:
    """Nothing left the house: the same bytes may go again."""
    novo = _put_off(replace(andamento, status=StatusEmissao.PENDENTE), politica)
    return _waiting(novo, motivo, agora, politica, daqui=daqui)


def _put_off(andamento: Andamento, politica: Politica) -> Andamento:
    """Return the standing of one that is not sent now: where a resend voids the first note, absence is asked anew."""
    if politica.natureza.resend_is_destructive and andamento.duvida and may_send(andamento):
        return replace(in_doubt(andamento), ausente_desde=None, ausencias=0)
    return andamento


def _waiting(
    andamento: Andamento,
    motivo: str | None,
    agora: datetime,
    politica: Politica,
    *,
    daqui: float | None = None,
    nota: Nota | None = None,
) -> Passo:
    """Look again later; tell the user once when it takes long. After a day people decide: the user about what certainly
    nobody accepted, staff about what is unknown.
    """
    idade = agora - andamento.desde
    degrau = politica.degrau(andamento.consultas + andamento.rodadas)
    if andamento.status in ASSENTADOS:  # a hint made us look: once up the ladder, and then wait for another
        if andamento.consultas >= len(politica.escada):
            return _settled(andamento, andamento.status, nota, motivo=motivo)
        return Passo(andamento, degrau, nota, motivo=motivo)
    if andamento.status is StatusEmissao.ERRO:
        fim = idade > GIVE_UP_ASKING_AFTER
        return Passo(andamento, None if fim else daqui or degrau, nota, motivo=motivo)
    if _has_waited_long(andamento, agora):  # its person is asked once; for a cause of ours it waits whatever they say
        pausa = max(daqui or 0.0, ASKED_PAUSE) if andamento.held_back else None
        pergunta: Aviso | None = None if andamento.asked else "ainda_quer"
        novo = replace(andamento, avisado=True)
        return Passo(novo, pausa, nota, pergunta, motivo or "accepted by nobody for 20 h", retida="pessoa")
    if idade > HUMAN_AFTER and not andamento.nobodys:
        # How often anything was sent is kept in ``envios``; a person decides about sending again.
        espera = max(daqui or 0.0, politica.escada[-1])
        return _with_people(andamento, espera, motivo or "no result within 24 h", nota)
    daqui, aviso = politica.proxima(idade, degrau, daqui, avisado=andamento.avisado)
    return Passo(replace(andamento, avisado=andamento.avisado or aviso is not None), daqui, nota, aviso, motivo)


class Parecer(Enum):
    """What the earlier attempt lets the new one do."""

    ENVIA = "envia"  # it still stands refused
    AUSENTE = "ausente"  # not there now, but a call of it may have been accepted: it must be absent twice
    ESPERA = "espera"  # not known now: ask again later
    RELE = "rele"  # it has news: its own emission must take them in first; the new one waits
    DISPENSA = "dispensa"  # it became the note: the new one is never sent
    NOSSA = "nossa"  # the note under its number is the new one's own
    PESSOAS = "pessoas"  # it is in conflict: people decide, nothing is sent


@dataclass(frozen=True, slots=True)
class Anterior:
    """An earlier attempt, as we know it; ``id_externo`` when the gateway had made a note of it.

    ``numero`` is that of its note while it stands; ``reparada``: it was of another session, which this one repairs.
    """

    id: int
    andamento: Andamento
    id_externo: str | None
    numero: str | None = None
    reparada: bool = False
    canal: Canal = field(default_factory=Canal)


def judge_unasked(anterior: Anterior) -> Parecer | None:
    """Decide by what our own records say of it; ``None``: they say refused, so ask the gateway."""
    match anterior.andamento.status:
        case StatusEmissao.REJEITADO | StatusEmissao.DISPENSADO:
            return None
        case StatusEmissao.CONCLUIDO if anterior.numero is None and anterior.reparada:
            return Parecer.ENVIA  # cancelled since: mending it is what this one is for
        case StatusEmissao.CONCLUIDO:
            return Parecer.DISPENSA
        case StatusEmissao.CONFLITO:
            return Parecer.PESSOAS
        case _:  # no new attempt begins before the earlier one was settled
            return Parecer.ESPERA


def judge(anterior: Anterior, finding: Finding, agora: datetime, politica: Politica) -> Parecer:
    """Decide by the gateway's word of this moment."""
    depois = after_query(anterior.andamento, finding, agora, politica).andamento.status
    if depois in {StatusEmissao.CONCLUIDO, StatusEmissao.CONFLITO}:
        return Parecer.RELE
    match finding:
        case Found(nota=nota) if is_anothers(anterior.andamento, nota, politica.natureza):
            return Parecer.ENVIA  # its number is another's, so it has none
        case Found(nota=nota) if nota.ja_existe:  # refused because there is one: which one, people find out
            return Parecer.PESSOAS
        case Found(nota=nota) if nota.situacao is Situacao.REJEITADA:
            return Parecer.ENVIA
        case Absent() if anterior.id_externo is None:  # refused on submission: there never was a note
            return Parecer.AUSENTE if anterior.andamento.duvida else Parecer.ENVIA
        case _:
            return Parecer.ESPERA


def ask_about_both(andamento: Andamento, anterior: Anterior) -> Passo:
    """Hold a mended invoice back: the refused one became a note after all, or nobody knows; its person decides."""
    motivo = f"{anterior.andamento.id_integracao} is {anterior.andamento.status}"
    novo = replace(andamento, status=StatusEmissao.PENDENTE, avisado=True, consultas=0, ausente_desde=None)
    return Passo(novo, None, aviso="ainda_quer", motivo=motivo, retida="pessoa", outra=anterior.numero)
