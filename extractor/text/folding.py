"""The user's words made comparable, with the way back to every verbatim span."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from extractor.text.cues import stems
from extractor.text.lexicon import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDED: Final = 4096  # characters whose plain form is remembered: people write with a few hundred
MAX_CHARS: Final = 1500  # an order fits in a tenth of this; longer text is pasted matter that only costs time
KEEP_AS_TYPED: Final = frozenset("ºª°²³¹½¼¾")  # NFKC would turn "nº" into "no" and "m²" into "m2"
DASHES: Final = frozenset("‐‑‒–—―−﹘﹣－")
EMOJI: Final = "\u2190-\u21ff\u2300-\u2bff\U0001f000-\U0001faff"  # inside [...]: arrows, symbols, pictographs
QUOTES: Final = {"“": '"', "”": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "´": "'"}
CONTROL_TOKEN: Final = re.compile(r"<\|[^|<>]{0,40}\|>")  # self-hosted servers read these as turn boundaries
CONTROL: Final = "\ue000"  # stands in for a control token, so that ``hostile`` still sees where one was
CODE: Final = re.compile(
    r"(?<![0-9a-z])(?=[a-z./-]{0,60}[0-9])[0-9a-z]+(?:[./-][0-9a-z]+){2,}"
)  # "b6.nfe.rju/vupp-65" is no sentence
# A point or a slash belongs to what it shortens ("p/"); in "S/A" it shortens nothing.
WORD: Final = re.compile(r"(?<![\w])[a-zéª]+(?![\wéª])(?:\.(?=[\s\d])|(?<!\bs)/(?=\s|[a-z]|$)|/(?=\s|(?!a\b)[a-z]|$))?")


@dataclass(frozen=True, slots=True)
class Text:
    """One turn, twice: ``original`` as typed, ``plain`` lower case, without accents, abbreviations spelled out.

    ``starts[i]`` and ``ends[i]`` are the slice of ``original`` that the character ``plain[i]`` came from; ``stems``
    are those of ``plain``.
    """

    original: str
    plain: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    stems: frozenset[str]

    def verbatim(self, start: int, end: int) -> str:
        """Return what the user typed for ``plain[start:end]``."""
        if start >= end:
            return ""
        return self.original[self.starts[start] : self.ends[end - 1]]


def read(original: str) -> Text:
    """Fold width, case, accents, dashes and invisible characters; spell out abbreviations and typed-wrong cue words."""
    original = original[:MAX_CHARS]
    if "<|" in original:
        original = CONTROL_TOKEN.sub(lambda m: CONTROL.ljust(len(m[0])), original)
    folded = list(map(_fold, original))
    plain = "".join(folded)
    alone = original.isascii() or not any(map(unicodedata.combining, original))
    if alone and len(plain) == len(original) and "" not in folded:  # one for one, as in nearly every message
        return _spell_out(original, plain, range(len(plain)), range(1, len(plain) + 1))
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(original):
        if len(chars) >= MAX_CHARS:  # one character may fold to eighteen
            break
        for char in _fold(original[start:end]):
            chars.append(char)
            starts.append(start)
            ends.append(end)
    return _spell_out(original, "".join(chars[:MAX_CHARS]), starts[:MAX_CHARS], ends[:MAX_CHARS])


def _clusters(original: str) -> list[tuple[int, int]]:
    """Slices of a base character with its combining marks, so that decomposed accents fold like composed ones."""
    bounds = [i for i, c in enumerate(original) if i == 0 or not unicodedata.combining(c)]
    return list(zip(bounds, [*bounds[1:], len(original)], strict=False))  # the last one ends where the text ends


@lru_cache(FOLDED)
def _fold(cluster: str) -> str:
    first = cluster[0]
    if first in KEEP_AS_TYPED:
        return first
    if first in "\n\r":
        return "\n"
    if first in DASHES:
        return "-"
    if first in QUOTES:
        return QUOTES[first]
    category = unicodedata.category(first)
    if category in {"Zs", "Zl", "Zp"} or first == "\t":
        return " "
    if category in {"Cf", "Cc", "Mn", "Me"}:
        return ""
    folded = unicodedata.normalize("NFKC", cluster).lower()
    if folded == "é":
        return folded  # the copula "é" and the conjunction "e" differ by this accent alone: see ``_spell_out``
    bare = unicodedata.normalize("NFD", folded)
    return "".join(c for c in bare if not unicodedata.combining(c))


def _spell_out(original: str, folded: str, starts: Sequence[int], ends: Sequence[int]) -> Text:
    found = _spelled(folded)
    if not found:
        plain = folded.replace("é", "e")
        return Text(original, plain, tuple(starts), tuple(ends), stems(plain))
    out: list[str] = []
    out_starts: list[int] = []
    out_ends: list[int] = []

    def keep(a: int, b: int) -> None:
        out.append(folded[a:b].replace("é", "e"))
        out_starts.extend(starts[a:b])
        out_ends.extend(ends[a:b])

    at = 0
    for start, stop, whole in found:
        keep(at, start)
        out.append(whole)
        out_starts.extend([starts[start]] * len(whole))
        out_ends.extend([ends[stop - 1]] * len(whole))
        at = stop
    keep(at, len(folded))
    plain = "".join(out)
    return Text(original, plain, tuple(out_starts), tuple(out_ends), stems(plain))


def _spelled(folded: str) -> list[tuple[int, int, str]]:
    """Return the slices that stand for another word, and that word."""
    found: list[tuple[int, int, str]] = []
    separated = sum(map(folded.count, "./-")) > 1  # a code has two separators
    codes = [m.span() for m in CODE.finditer(folded)] if separated else []
    for match in WORD.finditer(folded):
        if codes and any(a <= match.start() < b for a, b in codes):
            continue
        word = match[0]
        whole = canonical(word)
        if whole is None and word[-1] in "./":
            word = word[:-1]
            whole = canonical(word)
        if whole is None:
            continue
        whole += " " if word.endswith("/") else ""
        found.append((match.start(), match.start() + len(word), whole))
    return found
