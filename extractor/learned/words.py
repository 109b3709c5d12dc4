"""Cuts a message into words and numbers, with the way back to every character."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import islice
from typing import Final

TOKEN: Final = re.compile(r"\d+(?:[.,'’]\d+)*|[^\W\d_]+|\n|[^\w\s]|_")
_NUMBERS: Final = (
    "um uma dois duas tres quatro cinco seis meia sete oito nove dez onze doze treze catorze quatorze quinze "
    "dezesseis dezessete dezoito dezenove vinte trinta quarenta cinquenta cincoenta sessenta setenta oitenta "
    "noventa cem cento duzentos duzentas trezentos trezentas quatrocentos quatrocentas quinhentos quinhentas "
    "seiscentos seiscentas setecentos setecentas oitocentos oitocentas novecentos novecentas mil milhao "
    "milhoes metade meio"
)
NUMBER_WORDS: Final = frozenset(_NUMBERS.split())
LONG_SHAPE: Final = 10  # characters of a number; a longer one is told by its length alone


@dataclass(frozen=True, slots=True)
class Word:
    """One word, number, sign or line break; ``start`` and ``end`` are its slice of the message."""

    text: str  # lower case, without accents
    start: int
    end: int

    @property
    def kind(self) -> str:
        """``D`` begins with a digit, ``N`` is a number in words, ``w`` another word, ``p`` a sign."""
        if self.text[0].isdigit():
            return "D"
        if self.text in NUMBER_WORDS:
            return "N"
        return "w" if self.text.isalpha() else "p"

    @property
    def shape(self) -> str:
        """The word itself, or a number with each digit as 9, by its length alone if it is long."""
        if not self.text[0].isdigit():
            return self.text
        masked = re.sub(r"\d", "9", self.text)
        return masked if len(masked) <= LONG_SHAPE else f"9x{len(masked)}"


def cut(texto: str, limit: int | None = None, most: int | None = None) -> list[Word]:
    """Return the words of the first ``limit`` characters in order, ``most`` of them at most."""
    plain = "".join(map(_plain, texto[:limit]))
    return [Word(found.group(), found.start(), found.end()) for found in islice(TOKEN.finditer(plain), most)]


def _plain(character: str) -> str:
    """Return one character for one character: lower case, without its accent."""
    if character.isascii():
        return character.lower()
    return (unicodedata.normalize("NFKD", character)[0].lower() or character)[0]
