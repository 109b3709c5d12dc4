"""Owns how free text becomes what fiscal layouts accept, printable Latin-1 on one line, without another meaning."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Each means the same in what stands for it; nothing that is not in here, or said in ``_same``, is replaced.
_REPLACEMENTS: Final = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−⁃", "-"),
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("•‣●▪◦", "-"),
        **dict.fromkeys("∙⋅", "·"),
        **dict.fromkeys("⁄∕", "/"),
        "…": "...",
        "€": "EUR",
        "™": "(TM)",
        "№": "nº",
        "‰": " por mil",
        "㎡": "m²",
        "㎥": "m³",
        "×": "x",
        "→": "->",
        "≤": "<=",
        "≥": ">=",
        "μ": "µ",
        "Ł": "L",
        "ł": "l",
        "ı": "i",
        "Đ": "D",
        "đ": "d",
        "Ħ": "H",
        "ħ": "h",
        "Ŧ": "T",
        "ŧ": "t",
        "œ": "oe",
        "Œ": "OE",
        "ẞ": "SS",
        "\ufffd": "?",  # stands for what could not be stored: left out, two words would become another one
    }
)
_LAST_LATIN1: Final = 0xFF
_INVISIBLE: Final = re.compile("[\u00ad\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_KEYCAP: Final = re.compile("(?<=[0-9#*])\u20e3")
_SUPERSCRIPT: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUBSCRIPT: Final = "₀₁₂₃₄₅₆₇₈₉"
_DIGITS: Final = str.maketrans(f"{_SUPERSCRIPT}{_SUBSCRIPT}⁺⁻", "01234567890123456789+-")
_FRACTION: Final = re.compile(f"([{_SUPERSCRIPT}]{{1,9}})[⁄∕/]([{_SUBSCRIPT}]{{1,9}})|[⅐-⅞↉]")
_POWER: Final = re.compile(f"([⁺⁻]?[{_SUPERSCRIPT}]+)([0-9]?)")
_INDEX: Final = re.compile(f"(?<=[^\\W\\d_])[{_SUBSCRIPT}]+(?![0-9])")  # as in H₂O
_ACCENTS: Final = range(0x300, 0x370)  # Combining Diacritical Marks
_OVERLAYS: Final = range(0x334, 0x339)  # of these, what strikes a letter out
_ALIKE: Final = ("<wide>", "<narrow>", "<font>")  # the same character in another shape
_LIGATURE: Final = "<compat>"


def plain(text: str) -> str:
    """Return ``text`` spelt in printable Latin-1 where that keeps its meaning, with white space collapsed.

    A character that has no such spelling stays, and ``unfit`` names it. The national layout rejects em dashes, curly
    quotes and emoji (Anexo I, free-text pattern). Applying it twice changes nothing.
    """
    text = unicodedata.normalize("NFC", _KEYCAP.sub("", _INVISIBLE.sub("", text)))
    text = _INDEX.sub(_plain_digits, _POWER.sub(_power, _FRACTION.sub(_fraction, text))).translate(_REPLACEMENTS)
    spelt, before = [], ""
    for char in text:
        same = _same(char, before)
        spelt.append(same)
        before = same[-1:] or before
    return " ".join("".join(spelt).split())


def unfit(text: str) -> tuple[str, ...]:
    """Return the characters of ``text``, each once, that no printable Latin-1 says."""
    return tuple(dict.fromkeys(char for char in plain(text) if not _fits(char)))


def latin1(text: str) -> str:
    """Return ``plain`` of a text without its unfit: to draw or to compare what others wrote, never to send."""
    return " ".join("".join(char for char in plain(text) if _fits(char)).split())


def _fits(char: str) -> bool:
    return ord(char) <= _LAST_LATIN1 and char.isprintable()


def _same(char: str, before: str) -> str:
    """Return the spelling that means the same as ``char`` after ``before``, else ``char`` itself."""
    if char.isspace():
        return " "
    if ord(char) <= _LAST_LATIN1:
        return char
    if _is_accent(char):  # one that no letter of Latin-1 has
        return "" if before.isalpha() else char
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    if (base := _base(char)) is not None:
        return base
    kind = unicodedata.decomposition(char).partition(" ")[0]
    spelt = unicodedata.normalize("NFKC", char)
    if kind in _ALIKE and all(map(_fits, spelt)):
        return spelt.translate(_REPLACEMENTS)
    if kind == _LIGATURE and spelt.isalpha() and all(map(_fits, spelt)):
        return spelt
    return char


def _base(char: str) -> str | None:
    """Return the letter of Latin-1 that carries the accents of ``char``, ``None`` where it is no such letter."""
    whole = unicodedata.normalize("NFD", char)
    base, accents = whole[0], whole[1:]
    if not accents or not base.isalpha() or not _fits(base):
        return None
    return base if all(map(_is_accent, accents)) else None


def _is_accent(char: str) -> bool:
    """Tell what a letter may lose from vowel signs, and from strokes that say that it does not count."""
    return ord(char) in _ACCENTS and ord(char) not in _OVERLAYS


def _plain_digits(found: re.Match[str]) -> str:
    return found[0].translate(_DIGITS)


def _power(found: re.Match[str]) -> str:
    """Write 10⁵ as 10^5; what Latin-1 has (m², m³) stays."""
    power, after = found.groups()
    if all(map(_fits, power)):
        return found[0]
    return f"^{power.translate(_DIGITS)}{' ' if after else ''}{after}"


def _fraction(found: re.Match[str]) -> str:
    """Write 1⅔ as 1 2/3: without the space it would be another number."""
    text, start, end = found.string, *found.span()
    written = unicodedata.normalize("NFKC", found[0]).replace("⁄", "/").replace("∕", "/")
    before = " " if text[:start][-1:].isdecimal() else ""
    return f"{before}{written}{' ' if text[end : end + 1].isdecimal() else ''}"
