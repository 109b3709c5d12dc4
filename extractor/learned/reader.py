"""Reads a message with the trained models: the speech act, and the role of every number.

What the second reader tells apart beside the speech act: the role of every number, document and date.

Cuts a message into words and numbers, with the way back to every character.

What the models see of a message: for each word its neighbourhood, for the act the words of the whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

import pycrfsuite

from extractor.contract import Ato
from extractor.words.lists import words


class Rotulo(StrEnum):
    """The label of a number, a document, a date or words in a message."""

    TOTAL = "num-total"  # the invoice's amount
    PARTE = "num-parte"  # an instalment, a deposit, one item of several
    UNITARIO = "num-unitario"
    DESCONTO = "num-desconto"
    IMPOSTO = "num-imposto"
    ANTERIOR = "num-anterior"  # replaced, or denied
    ALHEIO = "num-alheio"  # money that is not the invoice's
    QUANTIDADE = "num-quantidade"
    OUTRO = "num-outro"
    DOC_CLIENTE = "doc-cliente"
    DOC_PROPRIO = "doc-proprio"
    DOC_OUTRO = "doc-outro"
    DOC_ERRADO = "doc-errado"
    DATA_SERVICO = "dat-servico"
    DATA_VENCIMENTO = "dat-vencimento"
    DATA_FUTURA = "dat-futuro"
    DATA_OUTRA = "dat-outra"
    SERVICO = "servico"
    NOME = "nome"


MONEY = frozenset(
    {Rotulo.TOTAL, Rotulo.PARTE, Rotulo.UNITARIO, Rotulo.DESCONTO, Rotulo.IMPOSTO, Rotulo.ANTERIOR, Rotulo.ALHEIO}
)


@dataclass(frozen=True, slots=True)
class Mencao:
    """A stretch of the message, its role, and how sure that is (0 to 1: the least sure of its words)."""

    rotulo: Rotulo
    start: int
    end: int
    certeza: float


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


NEAR: Final = (-4, -3, -2, -1, 1, 2, 3, 4)
EDGE: Final = ("<>",) * max(NEAR)  # what stands before and after a message
BEFORE, AFTER = 9, 7  # words before and after a number that are seen without their place
READ_FOR_ACT: Final = 120  # words
TOGETHER: Final = 2  # words from one number to the next that may be parts of one
SHORT: Final = 4  # words: such a message is seen as a whole too


def role_features(words: Sequence[Word], situacao: str) -> list[list[str]]:
    """Return the features of each word, for its role."""
    shapes = [word.shape for word in words]
    kinds = [word.kind for word in words]
    numbers = [at for at, kind in enumerate(kinds) if kind in "DN"]
    groups = 1 + sum(after - before > TOGETHER for before, after in pairwise(numbers))
    whole = [
        f"situacao={situacao}",
        f"grupos={min(groups, 4)}",
        f"situacao+grupos={situacao}{min(groups, 4)}",
        f"primeira={words[0].text}",
        f"ultima={words[-1].text}",
        f"pergunta={'?' in shapes}",
    ]
    edged = [*EDGE, *shapes, *EDGE]
    found, line, seen = [], words[0].text, 0
    for at, word in enumerate(words):
        if at and words[at - 1].text == "\n":
            line = word.text
        features = [*_own(word, kinds[at]), *_around(edged, at + len(EDGE))]
        if kinds[at] in "DN":
            seen += 1
            features += [*whole, f"linha={line}", f"ordem={min(seen, 6)}"]
            features += [f"antes:{shapes[i]}" for i in range(max(0, at - BEFORE), at) if kinds[i] == "w"]
            features += [
                f"depois:{shapes[i]}" for i in range(at + 1, min(len(words), at + 1 + AFTER)) if kinds[i] == "w"
            ]
        found.append(features)
    return found


def _own(word: Word, kind: str) -> Iterator[str]:
    yield f"forma={word.shape}"
    yield f"tipo={kind}"
    if kind == "w":
        yield f"comeca={word.text[:3]}"
        yield f"acaba={word.text[-3:]}"
    elif kind == "D":
        digits = [c for c in word.text if c.isdigit()]
        yield f"digitos={len(digits)}"
        if digits[-2:] == ["0", "0"]:
            yield "redondo"


def _around(shapes: Sequence[str], at: int) -> Iterator[str]:
    """Tell the neighbours of the word at ``at``; ``shapes`` has the ``EDGE`` at both ends."""
    before, own, after = shapes[at - 1], shapes[at], shapes[at + 1]
    for offset in NEAR:
        yield f"{offset}:{shapes[at + offset]}"
    yield f"-1|0:{before}|{own}"
    yield f"0|1:{own}|{after}"
    yield f"-2|-1:{shapes[at - 2]}|{before}"
    yield f"1|2:{after}|{shapes[at + 2]}"


def act_features(words: Sequence[Word], situacao: str) -> list[str]:
    """Return the features of the whole message, for its act."""
    shapes = [word.shape for word in words[:READ_FOR_ACT]]
    amount = sum(word.kind == "D" for word in words)
    found = {
        f"situacao={situacao}",
        f"palavras={min(len(words), 12)}",
        f"numeros={min(amount, 3)}",
        f"primeira={shapes[0]}",
        f"primeiras={' '.join(shapes[:2])}",
        f"tres={' '.join(shapes[:3])}",
        f"ultima={shapes[-1]}",
        f"ultimas={' '.join(shapes[-2:])}",
    }
    if len(shapes) <= SHORT:
        found.add(f"tudo={' '.join(shapes)}")
    for at, shape in enumerate(shapes):
        found |= {shape, f"{situacao}:{shape}"}
        found.add(f"2:{' '.join(shapes[at : at + 2])}")
        found.add(f"3:{' '.join(shapes[at : at + 3])}")
        found.add(f"salta:{shape} {shapes[at + 2] if at + 2 < len(shapes) else '<>'}")
        found |= {f"raiz:{shape[:n]}" for n in (4, 5) if len(shape) > n}
    return sorted(found)


WEIGHTS: Final = Path(__file__).parent / "weights"
ROLES, ACTS, CERTAINTY = "papeis.crfsuite", "atos.crfsuite", "certeza.crfsuite"
RIGHT, WRONG = "certo", "errado"
LONGEST: Final = 1500  # characters that are read, as by the rules
MOST_WORDS: Final = 200  # of these; the longest message that it learned from has 121


@dataclass(frozen=True, slots=True)
class LearnedReading:
    """What the second reader sees: the act and how sure it is (0 to 1), and the mentions in their order."""

    ato: Ato
    certeza: float
    mencoes: tuple[Mencao, ...]

    def of(self, *rotulos: Rotulo) -> list[Mencao]:
        """Return the mentions of these roles."""
        return [mencao for mencao in self.mencoes if mencao.rotulo in rotulos]


class LearnedReader:
    """The two models, open. Not for several threads at once: a tagger remembers the message that it reads."""

    def __init__(self, folder: Path = WEIGHTS) -> None:
        """Open the models of ``folder``. Raises ``OSError`` when one is missing."""
        self._roles, self._acts = pycrfsuite.Tagger(), pycrfsuite.Tagger()
        self._roles.open(str(folder / ROLES))
        self._acts.open(str(folder / ACTS))
        self._certainty: pycrfsuite.Tagger | None = None
        if (folder / CERTAINTY).exists():  # it is learned last, from readings by the other two
            self._certainty = pycrfsuite.Tagger()
            self._certainty.open(str(folder / CERTAINTY))

    def read(self, texto: str, situacao: str) -> LearnedReading:
        """Read one message; ``situacao`` is what was said before it, as in the corpus: "inicio", "resumo" …"""
        words = cut(texto, LONGEST, MOST_WORDS)
        if not words:
            return LearnedReading(Ato.SOCIAL, 0.0, ())
        ato, certeza = self._act(words, situacao)
        return LearnedReading(ato, certeza, tuple(self._mentions(words, situacao)))

    def certainty(self, features: Sequence[str]) -> float:
        """Return how sure it is (0 to 1) that an amount with these features is the invoice's."""
        if self._certainty is None:
            raise FileNotFoundError(CERTAINTY)
        self._certainty.set([list(features)])
        return float(self._certainty.marginal(RIGHT, 0))

    def _act(self, words: Sequence[Word], situacao: str) -> tuple[Ato, float]:
        self._acts.set([act_features(words, situacao)])
        best = self._acts.tag()[0]
        return Ato(best), self._acts.marginal(best, 0)

    def _mentions(self, words: Sequence[Word], situacao: str) -> list[Mencao]:
        self._roles.set(role_features(words, situacao))
        found: list[Mencao] = []
        for number, tag in enumerate(self._roles.tag()):
            if tag == "O":
                continue
            word, rotulo, sure = words[number], Rotulo(tag[2:]), self._roles.marginal(tag, number)
            last = found[-1] if found else None
            if tag.startswith("I-") and last and last.rotulo is rotulo and number and last.end == words[number - 1].end:
                found[-1] = Mencao(rotulo, last.start, word.end, min(last.certeza, sure))
            else:
                found.append(Mencao(rotulo, word.start, word.end, sure))
        return found


@lru_cache(1)
def learned_reader() -> LearnedReader:
    """Return the reader with the weights of this version, opened once for a process."""
    return LearnedReader()
