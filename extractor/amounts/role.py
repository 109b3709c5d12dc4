"""The roles that an amount can play in a turn, and groups of patterns that give them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Final

SEVERAL: Final = "2"  # a cue for every turn with more than one amount


class Role(StrEnum):  # strings hash in C; roles are looked up in sets all the time
    """What the words around an amount say about it; an amount may play several."""

    LABELLED = auto()  # "valor 500"
    TOTAL = auto()
    NEW = auto()  # "fechamos por 900", "na verdade 900"
    STRONG = auto()  # a bare number where people put a price: "cobra 350", "2300 manutenção"
    OLD = auto()  # "era 1000"
    NEGATED = auto()  # "não é 1500"
    QUANTITY = auto()  # "3 visitas"
    STRAY = auto()  # "corte 50 barba 30": a count would be followed by a plural
    PLURAL = auto()  # "500 panfletos": a price or a count
    UNIT = auto()  # "a 120 a hora", "3 visitas de 200"
    INSTALMENT = auto()
    DISCOUNT = auto()
    DELTA = auto()  # "mais 200"
    PART = auto()  # "300 de material"
    APPROXIMATE = auto()
    RATE = auto()  # "cotação 5,40"
    EITHER = auto()  # "1500 não 1050": which one is denied?
    SAID = auto()  # "é 1.700", "muda tudo: …, 600": a new price is announced though it stands bare


@dataclass(frozen=True, slots=True)
class Group:
    """Patterns, in no order, none of which fits a turn without one of ``cues``; with no cue, they are always tried.

    A cue is how a word begins (see ``extractor.text.cues``), the letter of a mark, a "+", or ``SEVERAL``.
    """

    cues: frozenset[str]
    patterns: tuple[tuple[Role, re.Pattern[str]], ...]


def group(cues: str, *patterns: tuple[Role, str]) -> Group:
    """Compile a group; ``cues`` are separated by spaces."""
    return Group(frozenset(cues.split()), tuple((role, re.compile(pattern)) for role, pattern in patterns))
