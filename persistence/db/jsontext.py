"""Reads JSON as leniently as it is sent, writes it so that PostgreSQL stores it; refuses only what has no bottom."""

from __future__ import annotations

from typing import Any

import orjson

from state_machine.values.errors import ProsaError
from state_machine.values.text.untrusted import clean, cleaned, parse_json

__all__ = ["UnstorableError", "clean", "read", "storable"]


class UnstorableError(ProsaError, ValueError):
    """JSON nested deeper than the database and the writer take (about 250 levels)."""

    code = "unstorable"


def read(raw: bytes) -> Any:
    """Parse JSON, lone surrogates and endless numbers included. Raises ``ValueError`` for anything else.

    Its texts are made storable when they are stored (``storable``, ``clean``): a webhook's key is made of them as sent.
    """
    try:
        return orjson.loads(raw)
    except ValueError:
        try:
            return parse_json(raw, exact=False)
        except RecursionError as error:
            raise ValueError("nested too deeply to be read") from error


def storable(value: object) -> str:
    """Return JSON text for a ``jsonb`` column. Raises ``UnstorableError``."""
    try:
        text = orjson.dumps(value)
        if b"\\u0000" in text:  # or an innocent backslash that looks like it: cleaning changes nothing then
            text = orjson.dumps(cleaned(value))
    except TypeError:  # surrogates, integers beyond 64 bits, depth
        try:
            text = orjson.dumps(cleaned(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise UnstorableError("nested too deeply to be stored") from error
    return text.decode()
