"""Turns what strangers send into values that PostgreSQL can store: text, and JSON; every answer is read through it."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, Final, NoReturn

MAX_DEPTH = 100  # levels; what people send has a dozen, and the writer of JSON takes 254
REPLACEMENT = "\ufffd"  # stands for what cannot be stored: an id that has one is nobody's
_INT64 = 1 << 63
_INT_DIGITS = 20  # characters of the longest 64-bit number, sign included
_EXPONENT = 300  # a float's range; beyond it even comparing two decimals may fail
_EMOJI = "\u2190-\u21ff\u2300-\u2bff\ufe0f\U0001f000-\U0001faff"
# Bidirectional controls, zero-width characters, tags: they change what a person reads and no word. A joiner between two
# emoji makes them one.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    f"\ufff9-\ufffb\U000e0000-\U000e007f]|(?<![{_EMOJI}])\u200d|\u200d(?![{_EMOJI}])"
)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_LEVELS = 12  # of a message that hold words; deeper there is nothing that anybody reads


def legible(text: str) -> str:
    """Leave out what nobody sees in a text for people: bidirectional controls and zero-width characters.

    Not for what names something, such as an id: there two texts must not become one.
    """
    return text if text.isascii() else _INVISIBLE.sub("", text)


def single_line(text: str) -> str:
    """Return a text for people on one line: without breaks, controls, and what nobody sees."""
    return " ".join(_CONTROL.sub(" ", legible(text)).split())


def legible_values(value: Any, levels: int = _LEVELS) -> Any:
    """Return a JSON value with all its texts legible, keys and what is nested deeper than ``levels`` as they are."""
    if isinstance(value, str):
        return legible(value)
    if levels and isinstance(value, dict):
        return {key: legible_values(item, levels - 1) for key, item in value.items()}
    if levels and isinstance(value, list):
        return [legible_values(item, levels - 1) for item in value]
    return value


def clean(text: str) -> str:
    """Replace what ``text`` and ``jsonb`` cannot hold: NUL and lone surrogates. Split pairs are joined again.

    Nothing is left out: two texts that differ in such a character only must not become one that names something.
    """
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def cleaned(value: Any) -> Any:
    """Return a JSON value with all its texts and keys clean, and integers beyond 64 bits as text.

    Of two keys that become one, the last counts. Raises ``ValueError`` beyond ``MAX_DEPTH`` levels.
    """
    return _cleaned(value, 0)


def read_json(raw: bytes, *, exact: bool, once: bool = False) -> Any:
    """Return the JSON value of ``raw``, storable and legible; of two equal keys the last counts, unless ``once``.

    ``exact``: fractions are ``Decimal``, and NaN and Infinity are refused; else ``float``, and these are ``None``.
    A number out of every range is its own text. Raises ``ValueError`` for what is no JSON or has no bottom, and with
    ``once`` for an object with a name twice: who reads the first and who reads the last would not agree.
    """
    try:
        return legible_values(cleaned(parse_json(raw, exact=exact, once=once)))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse_json(raw: bytes, *, exact: bool, once: bool = False) -> Any:
    """Do the same, but leave texts and depth as they are. Raises ``RecursionError`` too."""
    pairs = _each_once if once else None
    if exact:
        return json.loads(
            raw, parse_int=_integer, parse_float=_decimal, parse_constant=_refuse, object_pairs_hook=pairs
        )
    return json.loads(
        raw, parse_int=_integer, parse_float=_float, parse_constant=lambda _: None, object_pairs_hook=pairs
    )


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _cleaned(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict | list | tuple) and depth == MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        whole = {}
        for key, item in value.items():  # no comprehension: it would take a second frame for each level
            whole[clean(str(key))] = _cleaned(item, depth + 1)
        return whole
    if isinstance(value, list | tuple):
        items = []
        for item in value:
            items.append(_cleaned(item, depth + 1))  # noqa: PERF401 - as above
        return items
    if isinstance(value, int) and not isinstance(value, bool) and not -_INT64 <= value < _INT64:
        return str(value)
    return value


def _integer(text: str) -> int | str:
    if len(text) <= _INT_DIGITS and -_INT64 <= (number := int(text)) < _INT64:
        return number
    return text


def _decimal(text: str) -> Decimal | str:
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent of many digits
        return text
    return number if abs(number.adjusted()) <= _EXPONENT else text


def _float(text: str) -> float | str:
    number = float(text)
    return number if isfinite(number) else text


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
