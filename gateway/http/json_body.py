"""Owns the reading of JSON answers: exact decimals, storable texts; refuses NaN and bottomless nesting."""

from __future__ import annotations

from typing import Any, Final

from state_machine.values.text.untrusted import read_json

MOST: Final = 4000  # characters of one text; a city's explanation is shorter, and so is every id and name


def parse_json(body: bytes) -> Any:
    """Return the JSON value of ``body`` with exact decimals; raises ``ValueError`` for everything that is not JSON.

    Its texts, keys and integers can be stored as they are; a number out of every range is its own text.
    """
    return read_json(body, exact=True)


def json_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of ``body``; an empty one for anything else."""
    try:
        return as_dict(parse_json(body))
    except ValueError:
        return {}


def as_dict(value: Any) -> dict[str, Any]:
    """Return ``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: Any, most: int = MOST) -> str | None:
    """Return at most ``most`` characters of a non-empty text, or ``None``.

    Whole numbers count as text, since APIs differ about ids and numbers.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip()[:most] or None
