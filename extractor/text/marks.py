"""What was recognised where, and the turn with each recognised span folded to one letter.

Plain text is lower case, so an upper-case letter in a skeleton is always a mark: "era N mas fechamos por N" is the
skeleton of "era 1.500 mas fechamos por 1.200", and the roles of amounts and documents are patterns over it.

The words of services and small talk that the readers of the description and of the act share.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Final

from extractor.text.folding import Cued, Text, stems
from extractor.words.lists import words
from state_machine.invoice.fields import Motivo

GREETINGS: Final = words("greetings")
POLITE: Final = words("polite")
COMMAND: Final = words("commands")
FUNCTION: Final = words("function_words")
NOISE: Final = GREETINGS | POLITE | COMMAND | FUNCTION | words("house")

# Words of talk: a fragment with one of them and no word of work is not what stands on an invoice.
TALK: Final = words("talk")
TITLES: Final = words("titles")
NOBODY: Final = words("nobody")
WORK_SUFFIX: Final = re.compile(
    r"(?<![a-z])[a-z]{2,}(?:cao|coes|soes|mento|mentos|agem|agens|toria|torias|soria|sorias|grafia|grafias|"
    r"logia|terapia|acupuntura)"
)
NOT_WORK: Final = words("not_work")
WORK_WORDS: Final = words("work")
GREETING_LINE: Final = re.compile(
    r"(?:\W{0,9}+\b(?:oi+e*|ola|alo|opa|e ?ai|eai|bom dia|boa tarde|boa noite|tudo (?:bem|bom|certo|"
    r"joia|tranquilo|em paz|na paz|otimo)(?: (?:por ai|com voce|ai|contigo|ne))?|tem alguem ai|"
    r"alguem ai|(?:voce )?(?:ta|esta) ai|td bem|tudo|blz|beleza|hi|hello|"
    r"hey|good (?:morning|afternoon)|hola|buen[oa]s (?:dias|tardes)|como vai|como (?:voce )?(?:esta|ta)|fala|salve)\b)+"
)
NOISE_MARKS: Final = re.compile(r"k{2,}|(?:ha){2,}h?|(?:he){2,}|(?:rs)+|hu(?:hu)+")


@lru_cache(maxsize=4096)  # the same few hundred words make up most messages
def is_work(word: str) -> bool:
    """Say whether a plain word names work somebody is paid for."""
    return word in WORK_WORDS or (word not in NOT_WORK and WORK_SUFFIX.fullmatch(word) is not None)


class Kind(StrEnum):
    """What a span is; the value is its letter in the skeleton."""

    DOCUMENT = "D"
    BROKEN = "B"  # a document with wrong or missing digits
    PHONE = "F"
    EMAIL = "E"
    DAY = "T"
    MONTH = "M"
    IDENTIFIER = "X"  # order numbers, CEP, plates, lawsuits, PIX keys, service codes
    MONEY = "V"  # said with a currency
    NUMBER = "N"  # a bare number
    FOREIGN = "U"
    PERCENT = "P"
    TIME = "H"
    HEADER = "Q"  # who wrote a forwarded line, and when


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """One recognised span ``plain[start:end]``; which of the optional facts are set depends on ``kind``.

    No two marks of a turn cover the same characters, so a mark equals itself alone and hashing it reads no field.
    """

    kind: Kind
    start: int
    end: int
    value: str = ""  # normalised document, day, month or e-mail
    amount: Decimal | None = None  # of MONEY, NUMBER, FOREIGN; ``None`` where the digits are readable in two ways
    literal: str | None = None
    motivo: Motivo | None = None  # of BROKEN, and of an ambiguous DOCUMENT
    detalhe: str | None = None
    labelled: bool = False
    words: bool = False
    negative: bool = False


CLAIMED = re.compile(r"[A-Z]")  # the letter of a mark: plain text is lower case


class Canvas:
    """Collects marks stage by stage; ``masked`` shows later stages only what is still unread."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.marks: list[Mark] = []
        self.masked = text.plain

    def unread(self, pattern: Cued) -> Iterable[re.Match[str]]:
        """Find a pattern in what is still unread; a mark added on the way hides nothing from it."""
        return pattern.finditer(self.masked, self.text.stems)

    def add(self, mark: Mark) -> None:
        """Claim a span, unless something else holds a part of it: a pattern may reach over what ``masked`` shows."""
        if CLAIMED.search(self.masked, mark.start, mark.end):
            return
        self.marks.append(mark)
        self.masked = self.masked[: mark.start] + mark.kind * (mark.end - mark.start) + self.masked[mark.end :]


class Skeleton:
    """The turn with every mark folded to its letter, and the way back."""

    def __init__(self, text: Text, marks: list[Mark]) -> None:
        self.text = text
        self.marks = sorted(marks, key=lambda m: m.start)
        parts: list[str] = []
        self._sk: list[int] = []  # where each stretch begins in the skeleton
        self._plain: list[int] = []  # and in the plain text
        self.where: dict[int, Mark] = {}
        size = at = 0
        for mark in self.marks:
            self._sk.append(size)
            self._plain.append(at)
            parts.append(text.plain[at : mark.start])
            size += mark.start - at
            self.where[size] = mark
            self._sk.append(size)
            self._plain.append(mark.start)
            parts.append(mark.kind)
            size, at = size + 1, mark.end
        self._sk.append(size)
        self._plain.append(at)
        parts.append(text.plain[at:])
        self.line = "".join(parts)
        self.stems = stems(self.line)
        self._positions = {mark: pos for pos, mark in self.where.items()}

    def position(self, mark: Mark) -> int:
        """Return where ``mark`` stands in ``line``."""
        return self._positions[mark]

    def plain(self, pos: int) -> int:
        """Return the index in the plain text at which ``line[pos]`` begins."""
        i = bisect_right(self._sk, pos) - 1
        # an empty stretch shares its start with the mark after it; bisect_right chose the later, which is the mark
        mark = self.where.get(self._sk[i])
        if mark is not None and pos > self._sk[i] and self._plain[i] == mark.start:
            return mark.end + (pos - self._sk[i] - 1)
        return self._plain[i] + (pos - self._sk[i])

    def before(self, end: int) -> tuple[str, frozenset[str]]:
        """Return ``line[:end]`` and its stems."""
        return (self.line, self.stems) if end >= len(self.line) else (self.line[:end], stems(self.line[:end]))

    def verbatim(self, start: int, end: int) -> str:
        """Return what the user typed for ``line[start:end]``."""
        return self.text.verbatim(self.plain(start), self.plain(end - 1) + self._width(end - 1)) if start < end else ""

    def _width(self, pos: int) -> int:
        mark = self.where.get(pos)
        return mark.end - mark.start if mark else 1
