"""The one place that turns an HTTP answer, or its absence, into what we may believe of a cancellation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gateway.http.json_body import as_dict, json_object, text
from gateway.http.masking import scrub
from gateway.http.retry_after import retry_after
from gateway.http.wire import Answer, NoAnswerError, NotSentError
from gateway.plugnotas.note import codes, parse_nota
from gateway.plugnotas.outcome import finding, postponed
from state_machine.cancellation.reconciliation import (
    AlreadyCancelled,
    CancelFinding,
    Cancelled,
    CancelOutcome,
    InProcess,
    Refused,
    Stands,
)
from state_machine.protocol.emission import (
    Absent,
    Accepted,
    CannotTell,
    Found,
    Misconfigured,
    NotSent,
    Rejected,
    Situacao,
    Unknown,
)
from state_machine.values.text.plain import plain

if TYPE_CHECKING:
    from gateway.plugnotas.payload import IntegrationKey

_OK, _REDIRECT, _BAD_REQUEST, _NOT_FOUND, _CONFLICT, _UNPROCESSABLE = 200, 300, 400, 404, 409, 422
_OURS, _REFUSALS = (401, 403), (_BAD_REQUEST, _NOT_FOUND, _CONFLICT, _UNPROCESSABLE)
_ALREADY = re.compile(r"\bja (?:esta|foi|se encontra|estava|encontra-se) cancelad[ao]")
_UNDER_WAY = re.compile(r"em (?:processamento|andamento)|processando|ja (?:foi )?solicitad[ao]|aguard")
_NO = re.compile(r"nao (?:autoriz|foi|permit|pode|e possivel)|rejeit|recus|neg(?:ad|ou)|indefer|expirad|prazo|fora do")
_MAX_MENSAGEM = 500
_READ = 4000  # characters; a city's explanation is shorter
# Codes of the national event 101101 that people can do something about, in their words.
_EXPLAINED = {
    "E0822": "o prazo que a cidade dá para cancelar já passou",
    "E0823": "a nota passa do valor que a cidade deixa cancelar sem análise",
}


def cancel_outcome(result: Answer | NoAnswerError, id_externo: str) -> CancelOutcome:
    """Classify the answer to "cancel this note"; what is not plainly something else is unknown."""
    if not isinstance(result, Answer):
        kind = NotSent if isinstance(result, NotSentError) else Unknown
        return kind(result.reason)
    says = f"HTTP {result.status}"
    if result.status in _OURS:
        return Misconfigured(says)
    if (later := postponed(result)) is not None:
        return later
    body = json_object(result.body)
    error = as_dict(body.get("error"))
    data = {**as_dict(error.get("data")), **as_dict(body.get("data"))}
    protocolo = text(data.get("protocol")) or text(body.get("protocol"))
    named = text(data.get("id")) or text(as_dict(data.get("current")).get("id"))
    if named not in {None, id_externo}:
        return Unknown(f"{says} about another note")
    if protocolo is not None and (_OK <= result.status < _REDIRECT or result.status in _REFUSALS):
        return Accepted(None, protocolo)  # a 400 that carries a protocol is being worked on all the same
    message = text(error.get("message"))
    if message is None or result.status not in _REFUSALS:
        refused = result.status in _REFUSALS
        return Unknown(f"{says} that does not speak of a cancellation", recusada=refused)
    return _refusal(message, as_dict(data.get("current")), says)


def _refusal(message: str, current: dict[str, Any], says: str) -> CancelOutcome:
    words = plain(message, _READ)
    nota = parse_nota(current)
    if _ALREADY.search(words) or (nota and nota.situacao is Situacao.CANCELADA):
        return AlreadyCancelled()
    found = codes(message)
    if _UNDER_WAY.search(words) or {"E0840", "E0802"} & set(found):  # a cancel event exists: ask what became of it
        return Unknown(f"{says}: a cancellation is under way", recusada=True)
    return Rejected(explained(message), found)


def cancel_finding(
    protocol: Answer | NoAnswerError | None,
    note: Answer | NoAnswerError,
    key: IntegrationKey,
    id_externo: str,
) -> CancelFinding:
    """Classify what the gateway says of the request (``protocol``: asked first) and of the note (asked after it).

    The note decides: cancelled is cancelled whoever did it, and a refusal counts only while the note stands.
    """
    found = finding(note, key)
    if isinstance(found, CannotTell):
        return found
    if isinstance(found, Absent):
        return CannotTell("the gateway does not know the note")
    assert isinstance(found, Found)  # noqa: S101 - the third and last of the union
    if found.nota.id_externo != id_externo:
        return CannotTell("another note stands under our key")
    match found.nota.situacao:
        case Situacao.CANCELADA:
            return Cancelled(found.nota)
        case Situacao.AUTORIZADA:
            return Stands() if protocol is None else _of_request(protocol)
        case _:  # some cities show the note as in process meanwhile
            return InProcess()


def _of_request(result: Answer | NoAnswerError) -> CancelFinding:
    if not isinstance(result, Answer):
        return CannotTell(result.reason)
    body = json_object(result.body)
    if result.status == _NOT_FOUND and text(as_dict(body.get("error")).get("message")):
        return Stands()  # it does not know the request, and the note stands
    if result.status != _OK or not body:
        return CannotTell(f"HTTP {result.status}", retry_after(result.headers))
    data = as_dict(body.get("data"))
    said = text(data.get("response")) or text(data.get("mensagem")) or text(body.get("message")) or ""
    word = plain(text(data.get("situacao")) or text(data.get("status")) or "", _READ)
    words = plain(said, _READ)
    if _UNDER_WAY.search(word or words):
        return InProcess()
    if _NO.search(word) or (not word and _NO.search(words)):
        return Refused(explained(said))
    return InProcess()  # said to be done while the note still stands, or a word that we don't know: never final


def explained(mensagem: str) -> str:
    """Return a refusal in plain words where its code is known, else as the city wrote it, without secrets."""
    known = [_EXPLAINED[code] for code in codes(mensagem) if code in _EXPLAINED]
    return known[0] if known else scrub(mensagem)[:_MAX_MENSAGEM]
