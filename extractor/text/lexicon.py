"""The words that carry meaning in an order, with the ways people misspell and shorten them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rapidfuzz.distance import DamerauLevenshtein

from extractor.words.lists import meanings, words

# How people shorten and misspell what they type every day; exact matches only.
ABBREVIATIONS: Final = {**meanings("abbreviations"), **meanings("number_spellings")}

# Cue words that may be recognised one edit away.
CUES: Final = tuple(meanings("cues"))
# Words one edit away from a cue that mean what they say.
NOT_TYPOS: Final = words("not_typos")
MIN_FUZZY: Final = 4  # shorter words have too many neighbours


@lru_cache(maxsize=4096)  # the same few hundred words make up most messages
def canonical(word: str) -> str | None:
    """Return the cue word that ``word`` (lower case, without accents except a lone ``é``) stands for, or ``None``."""
    if word in ABBREVIATIONS:
        return ABBREVIATIONS[word]
    return None if word in NOT_TYPOS or word in CUES else near(word)


def near(word: str) -> str | None:
    """Return the first cue word that begins like ``word`` and is at most one edit away, ``None`` without any."""
    if len(word) < MIN_FUZZY or word[-1] in "./":
        return None
    alike = [c for c in CUES if c[0] == word[0] and abs(len(c) - len(word)) <= 1]
    return next((c for c in alike if DamerauLevenshtein.distance(word, c, score_cutoff=1) <= 1), None)
