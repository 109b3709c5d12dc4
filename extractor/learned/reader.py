"""Reads a message with the trained models: the speech act, and the role of every number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pycrfsuite

from extractor.contract import Ato
from extractor.learned.features import act_features, role_features
from extractor.learned.labels import Mencao, Rotulo
from extractor.learned.words import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extractor.learned.words import Word

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
