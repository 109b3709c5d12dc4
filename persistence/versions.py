"""Tells what another version of us wrote and this one does not know: it is left, untouched, for who does.

Two releases run side by side while one takes over from the other, or back. Claims take only what they know, whole
(``literals``); whoever meets something else in a row that is already in hand raises ``AnotherVersionError``, and its
lane is given back as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from state_machine.values.errors import ProsaError

Word = TypeVar("Word", bound=StrEnum)


_EMPTY: tuple[Any, ...] = (None, "", "null", [], {}, False)  # what a field says that nobody has filled


class AnotherVersionError(ProsaError):
    """A row says something that this version of us does not know; whoever wrote it does."""

    code = "another_version"


def known(words: type[Word], value: str) -> Word:
    """Return the member of ``words`` that a row names. Raises ``AnotherVersionError``."""
    try:
        return words(value)
    except ValueError:
        raise AnotherVersionError(f"{words.__name__} {value}") from None


def literals(words: Iterable[str]) -> str:
    """Return the words of a closed set as SQL literals, for ``IN (…)``; they are our own constants."""
    return ", ".join(f"'{word}'" for word in sorted(words))


class Strict:
    """Reads values of one type from JSON of ours; a field that this version does not know must say nothing.

    What is issued must be what its person confirmed: a version that dropped a field in silence would issue less.
    """

    def __init__(self, kind: Any) -> None:
        # a list of one: pydantic gives its own configuration only to dataclasses inside of something
        self._adapter: TypeAdapter[Any] = TypeAdapter(list[kind], config=ConfigDict(extra="forbid"))

    def load(self, value: Any) -> Any:
        """Return the value. Raises ``AnotherVersionError`` for unknown words, and unknown fields that say something."""
        try:
            return self._adapter.validate_python([value])[0]
        except ValidationError as error:
            unknown = [found for found in error.errors() if found["type"] == "unexpected_keyword_argument"]
            if len(unknown) != error.error_count() or any(_says_something(found["input"]) for found in unknown):
                raise AnotherVersionError(f"{error.error_count()} unknown fields or words") from None
            return self._adapter.validate_python([_without(value, [found["loc"][1:] for found in unknown])])[0]

    def load_json(self, raw: bytes) -> Any:
        """Return the value of JSON text. Raises ``AnotherVersionError`` for any unknown field or word."""
        try:
            return self._adapter.validate_json(b"[" + raw + b"]")[0]
        except ValidationError as error:
            raise AnotherVersionError(f"{error.error_count()} unknown fields or words") from None


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_says_something, value.values()))
    return value not in _EMPTY


def _without(value: Any, places: list[tuple[int | str, ...]]) -> Any:
    if not isinstance(value, dict):
        return value
    gone = {place[0] for place in places if len(place) == 1}
    return {
        key: _without(item, [place[1:] for place in places if place[0] == key and len(place) > 1])
        for key, item in value.items()
        if key not in gone
    }
