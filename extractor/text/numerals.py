"""Numbers as Brazilians write and say them, in digits, words or both; reads each one whole or calls it unreadable.

text2num joins across clauses ("trezentos e um de quatrocentos" becomes "301 de 400") and does not know "2 mil e 500" or
"quinhentão", so the grammar is ours; text2num and num2words are its oracles in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from extractor.words.lists import numbers, words

UNITS: Final = numbers("units")
TEENS: Final = numbers("teens")
TENS: Final = numbers("tens")
HUNDREDS: Final = numbers("hundreds")
AUGMENTATIVES: Final = numbers("augmentatives")
SCALES: Final = numbers("scales")
GLUED: Final = frozenset({"reais", "x", "para", "pra", "pro"})  # a slip of the space bar: "1500para"
AFTER_MONEY: Final = words("after_money")
THOUSAND: Final = 1000
SMALL: Final = UNITS | TEENS | TENS | HUNDREDS
BEGINNINGS: Final = frozenset({*SMALL, *AUGMENTATIVES, "mil", "meio"})  # no other word begins a number
# More than any order has: whoever pastes a statement or a sheet must say which of its numbers are the invoice's.
CROWD: Final = 200
_NUMBERS: Final = re.compile(r"\d+|[^\W\d_]+")
# Behind these a number is a name, and no thousand that a space parts: "RDC 216 770 reais", "sessão 3 de 5 600 reais".
_NAMES: Final = ("rdc", "nbr", "nr", "iso", "lei", "norma", "portaria", "sala", "apto", ",")
NAMED: Final = "".join(f"(?<!{word} )" for word in _NAMES) + r"(?<!/)(?<!\d de )"
# digits with their separators, a word, a mark, or any other character
TOKEN: Final = re.compile(
    NAMED + r"(?<![a-z0-9.,])\d{1,3}(?: \d{3})+(?:,\d{1,2})?(?![\d.,]*\d)|\d+(?:[.,']{1,2}\d+)*|[a-z]+|[A-Z]+|\S"
)
SHAPES: Final = (
    (re.compile(r"\d+"), "", ""),
    (re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d{1,2})?"), ".", ","),
    (re.compile(r"[1-9]\d{0,2}(?: \d{3})+(?:,\d{1,2})?"), " ", ","),
    (re.compile(r"\d{1,30},\d{1,2}"), "", ","),
    (re.compile(r"\d{1,30}\.\d{1,2}"), "", "."),
    (re.compile(r"[1-9]\d{0,2}(?:,\d{3})+\.\d{1,2}"), ",", "."),
    (re.compile(r"[1-9]\d{0,2}(?:,\d{3}){2,}"), ",", "."),
)  # (shape, thousands separator, decimal separator); anything else is readable in two ways and is asked


@dataclass(frozen=True, slots=True)
class Number:
    """A number at ``plain[start:end]``; ``value`` is ``None`` where the digits can be read in two ways."""

    start: int
    end: int
    value: Decimal | None
    literal: str | None = None  # the digits as typed, when it is nothing but digits and separators
    words: bool = False
    scaled: bool = False  # "2k", "3 mil": said as an amount, not as a code
    slang: bool = False  # "quinhentão"


class _Tokens:
    """What stands in a stretch of text apart from spaces; ``words`` is what each token says."""

    def __init__(self, plain: str, start: int, end: int) -> None:
        self._matches = list(TOKEN.finditer(plain, start, end))
        self.words = [match[0] for match in self._matches]

    def start(self, i: int) -> int:
        return self._matches[i].start()

    def end(self, i: int) -> int:
        return self._matches[i].end()

    def glued(self, i: int) -> bool:
        """Whether no space stands before a token that is not the first."""
        return self._matches[i - 1].end() == self._matches[i].start()


def literal(text: str) -> Decimal | None:
    """Read digits and separators as written in Brazil or, when unmistakable, in the United States; else ``None``."""
    for shape, thousands, decimal in SHAPES:
        if shape.fullmatch(text):
            if thousands:
                text = text.replace(thousands, "")
            return Decimal(text.replace(decimal, ".") if decimal else text)
    return None


def find(plain: str, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """Yield every number in ``plain[start:end]``, left to right, none overlapping another."""
    tokens = _Tokens(plain, start, len(plain) if end is None else end)
    i = 0
    while i < len(tokens.words):
        word = tokens.words[i]
        found = _number(tokens, i) if word in BEGINNINGS or word[0].isdecimal() else None
        if found is None:
            i += 1
        else:
            number, i = found
            yield number


def group(words: list[str], i: int) -> tuple[int, int] | None:
    """Read one spoken group below a thousand at ``words[i:]``: its value and the index after it."""
    if i >= len(words) or words[i] not in SMALL:
        return None
    word = words[i]
    value, at = SMALL[word], i + 1
    if word in UNITS or word in TEENS or word == "cem":
        return value, at
    smaller = UNITS | TEENS | TENS if word in HUNDREDS else UNITS
    skip = 1 if at < len(words) and words[at] == "e" else 0
    # "duzentos cinquenta" is heard for 250, but "vinte um" is two numbers as often as one
    if (
        at + skip < len(words)
        and words[at + skip] in smaller
        and words[at + skip] != "zero"
        and (skip or word in HUNDREDS)
    ):
        rest = group(words, at + skip)
        if rest is not None:
            return value + rest[0], rest[1]
    return value, at


def _number(tokens: _Tokens, i: int) -> tuple[Number, int] | None:
    first = tokens.words[i]
    if first[0].isdecimal():
        return _from_digits(tokens, i)
    if first in AUGMENTATIVES:
        return Number(tokens.start(i), tokens.end(i), Decimal(AUGMENTATIVES[first]), words=True, slang=True), i + 1
    return _from_words(tokens, i)


def _from_digits(tokens: _Tokens, i: int) -> tuple[Number, int] | None:
    words, start = tokens.words, tokens.start(i)
    first = words[i]
    if i and words[i - 1].isalpha() and tokens.glued(i):
        return None  # the digits of "covid19" or "sala2b" are part of a name
    value = literal(first)
    after = words[i + 1] if i + 1 < len(words) else None
    if after is None or after not in SCALES or value is None or (after == "mi" and not tokens.glued(i + 1)):
        if after is not None and after.isalpha() and after not in GLUED and tokens.glued(i + 1):
            if not (i and words[i - 1] == "$"):
                return None  # "16gb", "5w30"
            value = value if after in AFTER_MONEY else None  # "R$50m", "R$100hora"
        return Number(start, tokens.end(i), value, literal=first), i + 1
    if after == "mi":
        return Number(start, tokens.end(i + 1), None, scaled=True), i + 2  # millions, or "mil" cut short
    total, at = value * SCALES[after], i + 2
    if total != total.to_integral_value() or value >= THOUSAND:  # "1.500 mil": a slip, not a million and a half
        return Number(start, tokens.end(i + 1), None, scaled=True), at
    if _is_half(words, at):
        half = SCALES[after] // 2
        # "3 mil e meio" is said for 3,500 and for 3,000 and a bit: only millions have a half that everybody agrees on
        known = half >= 10**5
        return Number(start, tokens.end(at + 1), total + half if known else None, scaled=True), at + 2
    ceiling, exact = SCALES[after], "." not in first and "," not in first
    while ceiling > 1 and (rest := _remainder(tokens, at, ceiling, exact=exact)) is not None:
        value, at, ceiling = rest
        total += value
    return Number(start, tokens.end(at - 1), total.quantize(Decimal(1)), scaled=True), at


def _from_words(tokens: _Tokens, i: int) -> tuple[Number, int] | None:
    words, start = tokens.words, tokens.start(i)
    if words[i] == "meio" and i + 1 < len(words) and words[i + 1] in {"milhao", "bilhao"}:
        return Number(start, tokens.end(i + 1), Decimal(SCALES[words[i + 1]] // 2), words=True, scaled=True), i + 2
    total, at = Decimal(0), i
    part = _scaled_group(words, i, Decimal(10**12), first=True)
    while part is not None:
        value, at, scale = part
        total += value
        if scale == 1:
            break
        if _is_half(words, at):
            known = scale >= 10**6  # as of "3 mil e meio"
            half = total + scale // 2 if known else None
            return Number(start, tokens.end(at + 1), half, words=True, scaled=True), at + 2
        part = _remainder(tokens, at, scale, exact=True)
        if part is None and (joined := _joint(words, at)) is not None:
            part = _scaled_group(words, joined, Decimal(scale), first=False)
    if at == i:
        return None
    return Number(start, tokens.end(at - 1), total, words=True, scaled=total >= THOUSAND), at


def _scaled_group(words: list[str], i: int, ceiling: Decimal, *, first: bool) -> tuple[Decimal, int, int] | None:
    """Read ``[group] [mil|milhão]`` below ``ceiling``: value, index after it, scale of its last word."""
    if i < len(words) and words[i] == "mil" and ceiling > THOUSAND:
        return Decimal(1000), i + 1, 1000
    below = _tens_of(words, i) or group(words, i)
    if below is None or (not first and below[0] == 0):
        return None
    value, at = below
    scale = SCALES.get(words[at], 1) if at < len(words) and words[at] not in {"k", "mi"} else 1
    if scale >= ceiling:
        return None
    return Decimal(value * scale), at + (scale > 1), scale


def _tens_of(words: list[str], i: int) -> tuple[int, int] | None:
    """Read "vinte cinco" before "mil": only the scale after it says that these are one number."""
    if i + 2 < len(words) and words[i] in TENS and words[i + 1] in UNITS and words[i + 2] in {"mil", "milhoes"}:
        return TENS[words[i]] + UNITS[words[i + 1]], i + 2
    return None


def _is_half(words: list[str], at: int) -> bool:
    return words[at : at + 2] == ["e", "meio"]


def _joint(words: list[str], at: int) -> int | None:
    """Step over what may stand between "mil" and the group after it: nothing, "e", or a comma as on a cheque."""
    if at < len(words) and words[at] in {"e", ","}:
        return at + 1
    return at if at < len(words) else None


def _remainder(tokens: _Tokens, at: int, ceiling: int, *, exact: bool) -> tuple[Decimal, int, int] | None:
    """Read what follows "2 mil": "e 500", "500", "e quinhentos", "trezentos". Value, index after it, scale."""
    words = tokens.words
    if not exact or at >= len(words):
        return None
    joined = words[at] == "e" or (words[at] == "," and words[at + 2 : at + 3] == ["mil"])
    here = at + joined
    if here >= len(words):
        return None
    if words[here][0].isdecimal():
        value = literal(words[here])
        plain_hundreds = len(words[here].split(",")[0]) == 3  # noqa: PLR2004 - "2 mil 500": three digits, or it is another number
        after = words[here + 1] if here + 1 < len(words) else None
        if after == "mil" and ceiling > THOUSAND:  # "1 milhão e 200 mil"
            return (value * 1000, here + 2, THOUSAND) if value is not None and value < THOUSAND else None
        if value is None or value >= min(ceiling, THOUSAND) or not (joined or plain_hundreds):
            return None
        if after is not None and tokens.glued(here + 1) and (after.isalpha() or after in "%/-"):
            return None
        return value, here + 1, 1
    part = _scaled_group(words, here, Decimal(ceiling), first=False)
    if part is None or (not joined and part[0] < 100):  # noqa: PLR2004 - "2 mil um": a new phrase begins
        return None
    return part


def has_many_numbers(text: str) -> bool:
    """Say whether a text has more numbers, in digits or words, than can be read as one invoice's."""
    if len(text) < CROWD:
        return False
    words = (match[0].casefold() for match in _NUMBERS.finditer(text))
    return sum(word[0].isdigit() or word in BEGINNINGS for word in words) > CROWD
