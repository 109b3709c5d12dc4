"""Cuts a message into words and numbers, with the way back to every character."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from extractor.words.lists import words

TOKEN: Final = re.compile(r"\d+(?:[.,'’]\d+)*|[^\W\d_]+|\n|[^\w\s]|_")
NUMBER_WORDS: Final = words("learned_numbers")
DIGIT: Final = re.compile(r"\d")
CHARACTERS: Final = 4096  # whose plain form is remembered: people write with a few hundred
LONG_SHAPE: Final = 10  # characters of a number; a longer one is told by its length alone


@dataclass(frozen=True, slots=True)
class Word:
    """One word, number, sign or line break; ``start`` and ``end`` are its slice of the message."""

    text: str  # lower case, without accents
    start: int
    end: int
    kind: str  # ``D`` begins with a digit, ``N`` is a number in words, ``w`` another word, ``p`` a sign
    shape: str  # the word itself, or a number with each digit as 9, by its length alone if it is long


def cut(texto: str, limit: int | None = None, most: int | None = None) -> list[Word]:
    """Return the words of the first ``limit`` characters in order, ``most`` of them at most."""
    part = texto[:limit]
    plain = part.lower() if part.isascii() else "".join(map(_plain, part))
    return [_word(found[0], found.start(), found.end()) for found in islice(TOKEN.finditer(plain), most)]


def _word(text: str, start: int, end: int) -> Word:
    if not text[0].isdigit():
        kind = "N" if text in NUMBER_WORDS else "w" if text.isalpha() else "p"
        return Word(text, start, end, kind, text)
    masked = DIGIT.sub("9", text)
    return Word(text, start, end, "D", masked if len(masked) <= LONG_SHAPE else f"9x{len(masked)}")


@lru_cache(CHARACTERS)
def _plain(character: str) -> str:
    """Return one character for one character: lower case, without its accent."""
    if character.isascii():
        return character.lower()
    return (unicodedata.normalize("NFKD", character)[0].lower() or character)[0]
