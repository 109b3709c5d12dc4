"""Owns the reduction of free text to what fiscal layouts accept: printable Latin-1 on one line."""

from __future__ import annotations

import unicodedata

_REPLACEMENTS = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−⁃", "-"),
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("•‣●▪◦∙", "-"),
        "…": "...",
        "€": "EUR",
        "™": "(TM)",
        "œ": "oe",
        "Œ": "OE",
        "×": "x",
        "→": "->",
        "≤": "<=",
        "≥": ">=",
        "\ufffd": "?",  # stands for what could not be stored: left out, two words would become another one
    }
)
_LAST_LATIN1 = 0xFF


def latin1(text: str) -> str:
    """Return ``text`` in printable Latin-1: typographic marks spelt plainly, emoji dropped, white space collapsed.

    The national layout rejects em dashes, curly quotes and emoji (Anexo I, free-text pattern). Letters of other
    alphabets keep their base letter where they have one. Applying it twice changes nothing.
    """
    plain = unicodedata.normalize("NFC", text).translate(_REPLACEMENTS)
    return " ".join("".join(_character(c) for c in plain).split())


def _character(char: str) -> str:
    if char.isspace():
        return " "
    if ord(char) <= _LAST_LATIN1:
        return char if char.isprintable() else ""
    return "".join(c for c in unicodedata.normalize("NFKD", char) if c.isprintable() and ord(c) <= _LAST_LATIN1)
