"""Owns the reading of JSON that strangers send: exact decimals, no surprises; refuses NaN and bottomless nesting."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NoReturn


def parse_json(body: bytes) -> Any:
    """Return the JSON value of ``body`` with exact decimals; raises ``ValueError`` for everything that is not JSON."""
    try:
        return json.loads(body, parse_float=Decimal, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def json_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of ``body``; an empty one for anything else."""
    try:
        return as_dict(parse_json(body))
    except ValueError:
        return {}


def as_dict(value: Any) -> dict[str, Any]:
    """Return ``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """Return a non-empty text, or ``None``; whole numbers count as text, since APIs differ about ids and numbers."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip() or None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
