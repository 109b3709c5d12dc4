"""Owns the reading of a fiscal gateway's webhook: which notes to read again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.http.json_body import parse_json, text
from state_machine.values.text.untrusted import REPLACEMENT

_WRAPPERS = ("documents", "data")  # seen around the notes, besides a bare array
_MAX_DEPTH = 4  # wrapper in wrapper in array is the deepest seen
_MAX_HINTS = 1000  # far beyond any batch; the sweep finds what is cut off
_MAX_LENGTH = 100  # ids are at most 50


@dataclass(frozen=True, slots=True)
class Hint:
    """A note that may have changed. ``id_integracao`` is ours; the other two as far as they were named.

    ``parte`` is the object of the body that names it: the first, where several name it alike.
    """

    id_externo: str | None
    id_integracao: str
    protocolo: str | None
    parte: Any = field(default=None, compare=False, repr=False)


def hinted_keys(body: bytes) -> list[Hint]:
    """Return the notes that a webhook body names, each once.

    PlugNotas publishes no schema and signs nothing, so only the ids are taken. A verification ping, which names no
    note, and anything unreadable give an empty list: the answer to the sender is the same.
    """
    try:
        data = parse_json(body)
    except ValueError:
        return []
    return list(dict.fromkeys(_hints(data, _MAX_DEPTH)))[:_MAX_HINTS]


def _hints(data: Any, depth: int) -> list[Hint]:
    if isinstance(data, list) and depth:
        return [hint for item in data for hint in _hints(item, depth - 1)]
    if not isinstance(data, dict):
        return []
    id_integracao = _id(data.get("idIntegracao"))
    if id_integracao:
        protocolo = _id(data.get("protocol")) or _id(data.get("protocolo"))
        return [Hint(_id(data.get("id")), id_integracao, protocolo, data)]
    return [hint for name in _WRAPPERS if depth for hint in _hints(data.get(name), depth - 1)]


def _id(value: Any) -> str | None:
    found = text(value)
    readable = found and len(found) <= _MAX_LENGTH and found.isprintable() and REPLACEMENT not in found
    return found if readable else None
