"""Text as a value: its length, its forms, and where it came from.

How long a text is to WhatsApp, and how to cut it.

Owns how free text becomes what fiscal layouts accept, printable Latin-1 on one line, without another meaning.

Owns the comparison form of a text: lower case, without accents, of a stated length.

Which of a turn's messages some words stand in.

Turns what strangers send into values that PostgreSQL can store: text, and JSON; every answer is read through it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, Final, NoReturn

TEXTO_MAX = 4096  # UTF-16 units of a plain text (Cloud API reference, "text.body")
TEXTO_COM_BOTOES_MAX = 1024  # UTF-16 units of a text with buttons, and of a caption (ibid., "interactive.body.text")
_UTF16 = "utf-16-le"


def tamanho(texto: str) -> int:
    """Return the length in UTF-16 units, as Meta counts: most emoji are two."""
    return len(texto.encode(_UTF16, "replace")) // 2


def apara(texto: str, limite: int) -> str:
    """Return ``texto`` on one line with single spaces and at most ``limite`` UTF-16 units, "…" where it was cut."""
    inteiro = " ".join(texto.split())
    if tamanho(inteiro) <= limite:
        return inteiro
    # What is cut in the middle of a pair is no character and goes too.
    inicio = inteiro.encode(_UTF16, "replace")[: 2 * (limite - 1)].decode(_UTF16, "ignore")
    return f"{inicio.rstrip()}…"


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


def as_latin(text: str) -> str:
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
    return tuple(dict.fromkeys(char for char in as_latin(text) if not _fits(char)))


def latin1(text: str) -> str:
    """Return ``plain`` of a text without its unfit: to draw or to compare what others wrote, never to send."""
    return " ".join("".join(char for char in as_latin(text) if _fits(char)).split())


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


def plain(text: str, most: int) -> str:
    """Return the first ``most`` characters in lower case and without accents.

    Unicode's normalisation takes the square of a run of combining marks: no text goes into it whole.
    """
    if text.isascii():
        return text[:most].lower()
    decomposed = unicodedata.normalize("NFKD", text[:most].casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


# Where a whole word or number begins and ends. One pattern for all words: to compile one costs a hundred searches.
_COMECA = re.compile(r"(?<!\w)(?<!\d[.,])")
_TERMINA = re.compile(r"(?!\w)(?![.,]\d)")


@dataclass(frozen=True, slots=True)
class Escrita:
    """One message in words; ``mensagem`` is its wamid, under which the inbox keeps it, ``em`` when it was written.

    ``so_informa``: forwarded or edited. Such words may fill fields; they confirm and cancel nothing.
    """

    mensagem: str
    texto: str
    em: datetime | None = None
    so_informa: bool = False


def escrita_de(trecho: str, escritas: Sequence[Escrita]) -> Escrita | None:
    """Return the last message in which ``trecho`` stands, ``None`` when no message was given.

    A whole word or number counts more than a piece of one ("500" in "1.500"). Words that no single message holds were
    complete only with the last one.
    """
    com_ele = [escrita for escrita in reversed(escritas) if trecho and trecho in escrita.texto]
    for escrita in com_ele:
        if _inteiro(trecho, escrita.texto):
            return escrita
    ultima = com_ele or escritas[-1:]
    return ultima[0] if ultima else None


def _inteiro(trecho: str, texto: str) -> bool:
    onde = texto.find(trecho)
    while onde >= 0:
        if _COMECA.match(texto, onde) and _TERMINA.match(texto, onde + len(trecho)):
            return True
        onde = texto.find(trecho, onde + 1)
    return False


MAX_DEPTH = 100  # levels; what people send has a dozen, and the writer of JSON takes 254
REPLACEMENT = "\ufffd"  # stands for what cannot be stored: an id that has one is nobody's
_INT64 = 1 << 63
_INT_DIGITS = 20  # characters of the longest 64-bit number, sign included
_EXPONENT = 300  # a float's range; beyond it even comparing two decimals may fail
_EMOJI = "\u2190-\u21ff\u2300-\u2bff\ufe0f\U0001f000-\U0001faff"
# Bidirectional controls, zero-width characters, tags: they change what a person reads and no word. A joiner between two
# emoji makes them one.
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    f"\ufff9-\ufffb\U000e0000-\U000e007f]|(?<![{_EMOJI}])\u200d|\u200d(?![{_EMOJI}])"
)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_LEVELS = 12  # of a message that hold words; deeper there is nothing that anybody reads


def legible(text: str) -> str:
    """Leave out what nobody sees in a text for people: bidirectional controls and zero-width characters.

    Not for what names something, such as an id: there two texts must not become one.
    """
    return text if text.isascii() else _UNSEEN.sub("", text)


def single_line(text: str) -> str:
    """Return a text for people on one line: without breaks, controls, and what nobody sees."""
    return " ".join(_CONTROL.sub(" ", legible(text)).split())


def legible_values(value: Any, levels: int = _LEVELS) -> Any:
    """Return a JSON value with all its texts legible, keys and what is nested deeper than ``levels`` as they are."""
    if isinstance(value, str):
        return legible(value)
    if levels and isinstance(value, dict):
        return {key: legible_values(item, levels - 1) for key, item in value.items()}
    if levels and isinstance(value, list):
        return [legible_values(item, levels - 1) for item in value]
    return value


def clean(text: str) -> str:
    """Replace what ``text`` and ``jsonb`` cannot hold: NUL and lone surrogates. Split pairs are joined again.

    Nothing is left out: two texts that differ in such a character only must not become one that names something.
    """
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def cleaned(value: Any) -> Any:
    """Return a JSON value with all its texts and keys clean, and integers beyond 64 bits as text.

    Of two keys that become one, the last counts. Raises ``ValueError`` beyond ``MAX_DEPTH`` levels.
    """
    return _cleaned(value, 0)


def read_json(raw: bytes, *, exact: bool, once: bool = False) -> Any:
    """Return the JSON value of ``raw``, storable and legible; of two equal keys the last counts, unless ``once``.

    ``exact``: fractions are ``Decimal``, and NaN and Infinity are refused; else ``float``, and these are ``None``.
    A number out of every range is its own text. Raises ``ValueError`` for what is no JSON or has no bottom, and with
    ``once`` for an object with a name twice: who reads the first and who reads the last would not agree.
    """
    try:
        return legible_values(cleaned(parse_json(raw, exact=exact, once=once)))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse_json(raw: bytes, *, exact: bool, once: bool = False) -> Any:
    """Do the same, but leave texts and depth as they are. Raises ``RecursionError`` too."""
    pairs = _each_once if once else None
    if exact:
        return json.loads(
            raw, parse_int=_integer, parse_float=_decimal, parse_constant=_refuse, object_pairs_hook=pairs
        )
    return json.loads(
        raw, parse_int=_integer, parse_float=_float, parse_constant=lambda _: None, object_pairs_hook=pairs
    )


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _cleaned(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict | list | tuple) and depth == MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        whole = {}
        for key, item in value.items():  # no comprehension: it would take a second frame for each level
            whole[clean(str(key))] = _cleaned(item, depth + 1)
        return whole
    if isinstance(value, list | tuple):
        items = []
        for item in value:
            items.append(_cleaned(item, depth + 1))  # noqa: PERF401 - as above
        return items
    if isinstance(value, int) and not isinstance(value, bool) and not -_INT64 <= value < _INT64:
        return str(value)
    return value


def _integer(text: str) -> int | str:
    if len(text) <= _INT_DIGITS and -_INT64 <= (number := int(text)) < _INT64:
        return number
    return text


def _decimal(text: str) -> Decimal | str:
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent of many digits
        return text
    return number if abs(number.adjusted()) <= _EXPONENT else text


def _float(text: str) -> float | str:
    number = float(text)
    return number if isfinite(number) else text


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
