"""Turns the answer to "which notes has this prestador?" into a page; refuses one that it cannot read whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.http.json_body import as_dict, json_object, parse_json, text
from gateway.http.retry_after import retry_after
from gateway.http.wire import Answer, NoAnswerError
from gateway.plugnotas.note import parse_any_nota
from gateway.plugnotas.outcome import says, says_absent
from state_machine.protocol.audit import Pagina
from state_machine.protocol.emission import CannotTell

if TYPE_CHECKING:
    from state_machine.protocol.audit import Listagem

_OK, _NOT_FOUND = 200, 404
# The page's shape is not published: the list has one of these names, or is the whole answer.
_NAMES = ("notas", "nfse", "nfses", "documents", "data")
_CURSOR = "hashProximaPagina"
_MAX_CURSOR = 512  # it becomes part of a path


def listing_of(result: Answer | NoAnswerError) -> Listagem:
    """Classify the answer; a listing that is not whole tells nothing, since what it lacks would look like a loss."""
    if not isinstance(result, Answer):
        return CannotTell(result.reason)
    if result.status == _NOT_FOUND and says_absent(json_object(result.body)):
        return Pagina((), None)
    if result.status != _OK:
        return CannotTell(says(result), retry_after(result.headers))
    try:
        body = parse_json(result.body)
    except ValueError:
        return CannotTell("HTTP 200 without JSON")
    lines = _lines(body)
    if lines is None:
        return CannotTell("the answer is no list of notes")
    notas = [parse_any_nota(line) for line in lines]
    known = [nota for nota in notas if nota is not None]
    cursor = text(as_dict(body).get(_CURSOR))
    if len(known) != len(notas) or len(cursor or "") > _MAX_CURSOR:
        return CannotTell("the list has something that is no note")
    return Pagina(tuple(known), cursor)


def _lines(body: Any) -> list[Any] | None:
    if isinstance(body, list):
        return body
    lists = [found for name in _NAMES if isinstance(found := as_dict(body).get(name), list)]
    return lists[0] if len(lists) == 1 else None
