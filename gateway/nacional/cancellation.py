"""The one place that turns SEFIN's HTTP answer, or its absence, into what we may believe of a cancellation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from gateway.http.wire import Answer, NoAnswerError, parse_json
from gateway.keys import CANCELAMENTO, CANCELAMENTO_DEFERIDO, CANCELAMENTO_POR_OFICIO, CANCELAMENTO_POR_SUBSTITUICAO
from gateway.nacional import event
from gateway.nacional.outcome import (
    NOT_FOUND,
    OK,
    SCHEMA,
    cannot_tell,
    held_back,
    is_of_authority,
    not_answered,
    refused,
    rejection,
    says,
    says_absent,
    stopped,
    unknown,
)
from gateway.nacional.signature import unpack
from state_machine.cancellation.reconciliation import (
    AlreadyCancelled,
    CancelFinding,
    Cancelled,
    CancelOutcome,
    Stands,
    Unreadable,
)
from state_machine.protocol.audit import Ended
from state_machine.protocol.emission import CannotTell, Found, Rejected, Situacao, Unknown

_REDIRECT: Final = 300
_CANCELLING: Final = frozenset(
    {CANCELAMENTO, CANCELAMENTO_POR_SUBSTITUICAO, CANCELAMENTO_DEFERIDO, CANCELAMENTO_POR_OFICIO}
)
REGISTERED: Final = frozenset({"E0802", "E0840"})  # the authority has such an event of this note already
_DEADLINE: Final = "E0822"
_DEADLINE_PASSED: Final = (
    "o prazo da cidade para cancelar pela internet já passou. Ainda se pode pedir à prefeitura que analise o "
    "cancelamento, ou emitir uma nota que substitua esta; quem cuida da contabilidade orienta"
)
_VALUE: Final = "E0823"
_VALUE_TOO_HIGH: Final = "a nota passa do valor que a cidade deixa cancelar sem análise; o pedido é feito à prefeitura"
_PACKED: Final = frozenset({"eventoxmlgzipb64", "arquivoxml"})  # names under which an event travels
_MOST: Final = 200  # values of one answer that are looked at; a note has a handful of events


def how_it_ended(result: Answer | NoAnswerError, chave: str, tp_amb: str) -> Ended | CannotTell | None:
    """Tell by which event the note stands no more, by the answer to ``GET /nfse/{chave}/eventos``; ``None``: it stands.

    An event counts where its document can be read and names this note. That there is none counts only where the
    authority of our environment (``tp_amb``) says so, without a code.
    """
    if not isinstance(result, Answer) or result.status not in {OK, NOT_FOUND} or not is_of_authority(result.body):
        return cannot_tell(result)
    if result.status == NOT_FOUND:
        return None if says_absent(result.body, tp_amb) else cannot_tell(result)
    kinds = _kinds(result.body, chave)
    if ends := {ended for kind in kinds if kind is not None and (ended := ended_by(kind)) is not None}:
        return "substituida" if "substituida" in ends else "cancelada"
    return CannotTell(f"{says(result)} with an event that cannot be read") if None in kinds else None


def ended_by(tipo: str) -> Ended | None:
    """Return what an event of this kind makes of its note, ``None`` where the note stands as before."""
    if tipo not in _CANCELLING:
        return None
    return "substituida" if tipo == CANCELAMENTO_POR_SUBSTITUICAO else "cancelada"


def as_it_stands(found: Found | CannotTell, gone: Ended | CannotTell | None) -> Found | CannotTell:
    """Return a found note as cancelled where an event ended it; where nobody tells of events, as it was read."""
    if isinstance(found, CannotTell) or not isinstance(gone, str):
        return found
    return replace(found, nota=replace(found.nota, situacao=Situacao.CANCELADA))


def cancel_outcome(result: Answer | NoAnswerError, chave: str) -> CancelOutcome | None:
    """Classify the answer to "register this event"; ``None``: the authority has one, so look at it."""
    if not isinstance(result, Answer):
        return not_answered(result)
    if OK <= result.status < _REDIRECT:
        return (
            AlreadyCancelled()
            if _CANCELLING & _kinds(result.body, chave)
            else Unknown(f"{says(result)} without the event")
        )
    if (held := held_back(result)) is not None:
        return held
    errors = refused(result)
    if not errors:
        return unknown(result)
    codes = {error.codigo for error in errors}
    if codes & REGISTERED:
        return None
    said = rejection(errors)
    if SCHEMA in codes:
        return Unreadable(said.mensagem)
    return stopped(errors) or Rejected(_in_plain_words(codes) or said.mensagem, said.codigos)


def cancel_finding(
    events: Answer | NoAnswerError, found: Found | CannotTell, id_dps: str, id_externo: str, tp_amb: str
) -> CancelFinding:
    """Classify how the note stands, by its events and the note itself: a note does not say that it was cancelled."""
    if isinstance(found, CannotTell):
        return found
    nota = found.nota
    if nota.id_externo != id_externo or nota.id_integracao != id_dps:
        return CannotTell("another note stands under our key")
    gone = how_it_ended(events, id_externo, tp_amb)
    if isinstance(gone, CannotTell):
        return gone
    return Cancelled(replace(nota, situacao=Situacao.CANCELADA)) if gone else Stands()


def _in_plain_words(codes: set[str]) -> str | None:
    if _DEADLINE in codes:
        return _DEADLINE_PASSED
    return _VALUE_TOO_HIGH if _VALUE in codes else None


def _kinds(body: bytes, chave: str) -> set[str | None]:
    """Return the kinds of this note's events that an answer brings; ``None`` among them: one that cannot be read."""
    kinds: set[str | None] = set()
    for packed in _packed(body):
        try:
            identity = event.read(unpack(packed))
        except ValueError:
            identity = None
        if identity is None:
            kinds.add(None)
        elif str(identity.chave) == chave:
            kinds.add(identity.tipo)
    return kinds


def _packed(body: bytes) -> Iterator[str]:
    """Return the documents of an answer, wherever in it they stand: an envelope, a list in one, or a bare list."""
    try:
        waiting: list[tuple[str, Any]] = [("", parse_json(body))]
    except ValueError:
        return
    for _ in range(_MOST):
        if not waiting:
            return
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend((str(key), inner) for key, inner in value.items())
        elif isinstance(value, list):
            waiting.extend((name, inner) for inner in value)
        elif isinstance(value, str) and name.casefold() in _PACKED:
            yield value
