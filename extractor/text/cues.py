"""Patterns that know which words they cannot do without, so that most of them are never run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

STEM: Final = re.compile(r"([a-z]{1,3})[a-z]*")


def stems(text: str) -> frozenset[str]:
    r"""Return how the words of ``text`` begin: up to three letters of every unbroken run of a to z.

    Plain text and skeletons share their words, for a mark stands where other characters stood: a pattern that asks
    for a word's boundary (``\b``, a space) before a cue finds no more words in a skeleton than its plain text has.
    """
    return frozenset(STEM.findall(text))


class Cued:
    """A pattern, and the cues one of which is in every text that it matches.

    A cue is the beginning of a word (three letters, or all of a shorter word) that the pattern has at a word's
    boundary; ``signs`` are cues of any other kind, found wherever they stand. Between them they speak for every
    alternative of the pattern: ``tests/extractor/text/test_cues.py`` looks for texts that break this.
    """

    __slots__ = ("cues", "pattern", "signs")

    def __init__(self, cues: str, pattern: str, *, signs: tuple[str, ...] = ()) -> None:
        self.cues: Final = frozenset(cues.split())
        self.signs: Final = signs
        self.pattern: Final = re.compile(pattern)

    def search(self, text: str, words: AbstractSet[str]) -> re.Match[str] | None:
        """Search ``text``, whose stems are among ``words``."""
        if self.cues.isdisjoint(words) and not self._signed(text):
            return None
        return self.pattern.search(text)

    def finditer(self, text: str, words: AbstractSet[str]) -> Iterable[re.Match[str]]:
        """Find every match in ``text``, whose stems are among ``words``."""
        if self.cues.isdisjoint(words) and not self._signed(text):
            return ()
        return self.pattern.finditer(text)

    def _signed(self, text: str) -> bool:
        for sign in self.signs:  # noqa: SIM110 - a generator costs more than most of the searches it would spare
            if sign in text:
                return True
        return False
