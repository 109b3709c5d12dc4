"""Owns the comparison form of a text: lower case, without accents, of a stated length."""

from __future__ import annotations

import unicodedata


def plain(text: str, most: int) -> str:
    """Return the first ``most`` characters in lower case and without accents.

    Unicode's normalisation takes the square of a run of combining marks: no text goes into it whole.
    """
    if text.isascii():
        return text[:most].lower()
    decomposed = unicodedata.normalize("NFKD", text[:most].casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))
