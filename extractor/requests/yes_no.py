"""Tells a plain yes and a plain no from everything else; a yes is a yes only when it stands alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from extractor.requests.answer_words import FILLER, FIRM, NO, NO_FILLER, NO_YES, SOFT
from extractor.text.cues import Cued, stems

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

EMOJI_YES: Final = re.compile("[👍👌✅✔☑🆗💯🤝🙌]")
EMOJI_NO: Final = re.compile("[👎❌🚫✖⛔]")
DECORATION: Final = re.compile(r"[^\w\s?]|_")
LAUGHTER: Final = Cued("hah heh huh kk kkk rs rsr", r"\b(?:k{2,}|(?:rs)+|(?:ha){2,}h?|(?:he){2,}h?|hu(?:hu)+)\b")
MAX_WORDS: Final = 20  # no plain yes or no is longer
STRETCHED: Final = re.compile(r"(\w)\1\1|(\w)\2$")  # "issoooo", "boraa"
RUN: Final = re.compile(r"(\w)\1+")
DENIES: Final = re.compile(
    r"\b(?:nao|nem|nao+|naum|negativo|nope|not|mas|porem|so que|exceto|menos|but|espera|pera\w*|"
    r"calma|errad\w*|incorret\w*|ainda|cancel\w*|antes)\b"
)
AFTER_NO: Final = re.compile(r"^\W*nao+\s*[,.;!]\s*")
DIGIT: Final = re.compile(r"\d")
YES: Final = FIRM | SOFT
LONGEST: Final = max(len(phrase.split()) for phrase in YES | FILLER | NO | NO_FILLER)  # in words
_NO_YES: Final = tuple(re.compile(pattern) for _, pattern in NO_YES)
_WORDS: Final = frozenset(word for phrase in YES | FILLER | NO | NO_FILLER for word in phrase.split())
_SHORT: Final = {RUN.sub(r"\1", word): word for word in sorted(_WORDS)}


def standalone(plain: str) -> str:
    """Reduce a turn to its words for the yes and no grammars: emoji as words, laughter and punctuation gone."""
    spoken = plain if plain.isascii() else EMOJI_NO.sub(" nao ", EMOJI_YES.sub(" sim ", plain))
    words = DECORATION.sub(" ", spoken)
    if not LAUGHTER.cues.isdisjoint(stems(words)):
        words = LAUGHTER.pattern.sub(" ", words)
    return " ".join(words.split())


def is_yes(plain: str) -> bool:
    """Say whether the whole turn is a yes and nothing else; a question is none."""
    words = _of_yes(plain)
    return words is not None and _consists(words, YES, FILLER)


def is_firm_yes(plain: str) -> bool:
    """Say whether the whole turn is a yes whatever was said before: it neither greets nor thanks nor praises."""
    words = _of_yes(plain)
    return words is not None and _consists(words, FIRM, FILLER | SOFT)


def is_no(plain: str) -> bool:
    """Say whether the turn is a refusal or a request to wait, with nothing else; "não, tá certo" is neither."""
    if DIGIT.search(plain):
        return False
    after = AFTER_NO.match(plain)
    if after and is_yes(plain[after.end() :]):
        return False
    return _consists(standalone(plain).replace("?", "").strip(), NO, NO_FILLER)


def _of_yes(plain: str) -> str | None:
    """Return the words of a turn that may be a yes, ``None`` where something in it asks, denies or waits."""
    if DIGIT.search(plain):
        return None  # no word of the grammars has a digit
    words = standalone(plain)
    denied = "?" in words or DENIES.search(words) or any(pattern.search(words) for pattern in _NO_YES)
    return None if denied else words


def _consists(words: str, wanted: AbstractSet[str], beside: AbstractSet[str]) -> bool:
    """Say whether the words are phrases of both sets one after the other, at least one of them ``wanted``."""
    each = [_plain_word(word) for word in words.split()]
    if not 0 < len(each) <= MAX_WORDS:
        return False
    reached = [(True, False), *[(False, False)] * len(each)]  # up to each word: at all, with one wanted
    for end in range(1, len(each) + 1):
        for start in range(max(0, end - LONGEST), end):
            at_all, with_one = reached[start]
            if not at_all:
                continue
            phrase = " ".join(each[start:end])
            takes = phrase in wanted
            if takes or phrase in beside:
                before = reached[end]
                reached[end] = (True, before[1] or with_one or takes)
    return all(reached[-1])


def _plain_word(word: str) -> str:
    """Return a word of the grammars without the letters that were held for emphasis."""
    if word in _WORDS or not STRETCHED.search(word):
        return word
    return _SHORT.get(RUN.sub(r"\1", word), word)
