"""Where a service begins and ends: the words at its edges that say nothing of what was done."""

from __future__ import annotations

import re
from typing import Final

from extractor.text.vocabulary import COMMAND, FUNCTION, GREETINGS, NOISE, POLITE, TALK, is_work
from extractor.words.lists import words

WORD: Final = re.compile(r"[a-z0-9$]+|[A-Z]")
# Function words that no service ends in, nor begins with.
JOINTS: Final = words("joints")
PRICED: Final = words("priced")
LABELS: Final = words("labels")
_OPENING: Final = JOINTS | PRICED | LABELS | words("announcing") | GREETINGS | POLITE | COMMAND | FUNCTION
BEFORE: Final = _OPENING - words("may_begin")
AFTER: Final = JOINTS | PRICED | LABELS | POLITE | words("closing")
# "serviço: …", "o serviço é …": a label, and no word of what was done
NAMED_SERVICE: Final = re.compile(
    r"servicos?\b\s{0,9}(?:[:=]|[-]\s|prestados?\b\s{0,9}:?|(?:eh|foi|sera|era)\b)\s{0,9}"
)
# Words after which a lone "a", "e" or "o" is a name: "bloco A", "turma E"
LETTERED: Final = re.compile(
    r"(?:bloco|sala|tipo|turma|classe|lote|quadra|categoria|modulo|serie|torre|ala|plano|grupo|nivel|vitamina|letra|casa|"
    r"perfil|padrao|anexo|faixa) [aeo]$"
)
PLACES: Final = words("places")
GLUED: Final = re.compile(r"[A-Z0-9][-/][a-z]$")  # "88127-A"
OF_WHAT: Final = re.compile(r"\b(?:d[aeo]s?|a|com|para|por|e) brigada$")  # "treinamento de brigada": no thanks
ABOUT_A_LABEL: Final = re.compile(r"\b(?:aos?|d[aeo]s?|com|por)\s\w+$")  # "atendimento ao cliente"
ADDS: Final = re.compile(r"mais [NV]\b")  # an amount
PLUS: Final = 3  # characters before a stretch in which its "+" may stand
POSTFIX: Final = re.compile(r"\b(?:pra|para) (?:mim|gente|nos|ele|ela|eles|elas)$")
# Words of a clause that tells something of people, where no reader takes it for the service.
TELLS: Final = re.compile(
    r"\b(?:eu|ele|ela|eles|elas|voce|vc|gente|dele|dela|deles|delas|quem|porque|pq|nao|mas|pag[aou]\w*|deu|disse|falou|"
    r"quer\w*|pediu|mand\w+|recebi|recebeu|sou|ja|ainda|depois|amanha|hoje|ontem|obrigad\w|valeu|favor)\b"
)


def trimmed(line: str, start: int, end: int, *, label: bool = False, goes_on: bool = False) -> tuple[int, int] | None:
    """Return ``line[start:end]`` without the words at its edges that are no part of a service, ``None`` for nothing.

    ``label``: the service was announced, so that only what no text begins with is left out. ``goes_on``: it continues
    another stretch, so that it may begin with any word.
    """
    words = list(WORD.finditer(line, start, end))
    opening = frozenset() if goes_on else JOINTS if label else BEFORE
    while words and words[0][0] in opening and not _is_thing(line, words[0]):
        words.pop(0)
    if words and not goes_on and (match := NAMED_SERVICE.match(line, words[0].start(), end)):
        words = [word for word in words if word.start() >= match.end()]
        while words and words[0][0] in BEFORE:
            words.pop(0)
    while words and _ends_in_nothing(line, start, words):
        words.pop()
    if not words:
        return None
    first, last = words[0].start(), words[-1].end()
    while last < end and line[last] in ")%\"'²³°ºª" and not (line[last] == ")" and "(" not in line[first:last]):
        last += 1
    if line[first - 1 : first] == "(" and ")" in line[first:last] and first > start:
        first -= 1
    if goes_on and "+" in line[max(0, first - PLUS) : first]:
        first = line.rindex("+", 0, first)
    return first, last


def _is_thing(line: str, word: re.Match[str]) -> bool:
    """Say whether a word is one of work, or a command's that names a thing: "faca de corte"."""
    if word[0] in FUNCTION:
        return False
    return is_work(word[0]) or (word[0] in COMMAND and line.startswith(" de ", word.end()))


def _ends_in_nothing(line: str, start: int, words: list[re.Match[str]]) -> bool:
    """Say whether the last word says nothing of what was done."""
    last = words[-1]
    if GLUED.search(line, start, last.end()):
        return False
    if LETTERED.search(line, start, last.end()) or OF_WHAT.search(line, start, last.end()):
        return False
    if last[0] in LABELS and ABOUT_A_LABEL.search(line, start, last.end()):
        return False
    postfix = POSTFIX.search(line, words[max(0, len(words) - 2)].start(), last.end()) is not None
    return last[0] in AFTER or postfix or ADDS.match(line, last.start()) is not None


def has_substance(line: str, span: tuple[int, int]) -> bool:
    """Say whether a stretch says what was done: a word of work, or one that no order, greeting or label uses."""
    words = re.findall(r"[a-z]+", line[span[0] : span[1]])
    return any(is_work(word) or (len(word) > 2 and word not in NOISE) for word in words)  # noqa: PLR2004 - "kg" is none


def is_talk(line: str, span: tuple[int, int]) -> bool:
    """Say whether a stretch is conversation and no work."""
    words = re.findall(r"[a-z]+", line[span[0] : span[1]])
    if words and words[0] in PLACES:
        return False
    talk = sum(word in TALK for word in words if len(word) > 1)  # "classe I"
    return talk > 0 and not (words and is_work(words[0]))
