"""Reads JSON as leniently as it is sent, writes it so that PostgreSQL stores it; refuses only what has no bottom."""

from __future__ import annotations

import json
from typing import Any

import orjson

_REPLACEMENT = "\ufffd"
_INT64 = 1 << 63


class UnstorableError(ValueError):
    """JSON nested deeper than the database and the writer take (about 250 levels)."""


def read(raw: bytes) -> Any:
    """Parse JSON, lone surrogates and endless numbers included. Raises ``ValueError`` for anything else."""
    try:
        return orjson.loads(raw)
    except ValueError:
        try:
            return json.loads(raw)
        except RecursionError as error:
            raise ValueError("nested too deeply to be read") from error


def clean(text: str) -> str:
    """Replace what ``text`` and ``jsonb`` cannot hold: NUL and lone surrogates. Split pairs are joined again."""
    if "\x00" in text:
        text = text.replace("\x00", _REPLACEMENT)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def storable(value: object) -> str:
    """Return JSON text for a ``jsonb`` column. Raises ``UnstorableError``."""
    try:
        text = orjson.dumps(value)
        if b"\\u0000" in text:  # or an innocent backslash that looks like it: cleaning changes nothing then
            text = orjson.dumps(_cleaned(value))
    except TypeError:  # surrogates, integers beyond 64 bits, depth
        try:
            text = orjson.dumps(_cleaned(value))
        except (TypeError, RecursionError) as error:
            raise UnstorableError("nested too deeply to be stored") from error
    return text.decode()


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key)): _cleaned(item) for key, item in value.items()}
        case list() | tuple():
            return [_cleaned(item) for item in value]
        case bool():
            return value
        case int() if not -_INT64 <= value < _INT64:
            return str(value)
        case _:
            return value
