"""Reads the lists of words beside this module: what people say, apart from the code that decides by it.

A file holds lists, each with its name, what it is for, where its words are from, and the words, parted by commas; a
phrase is one of them. Lower case without accents, as ``folding`` writes it, save a lone "é"; "#" begins a remark::

    [scales]
    for: what multiplies the number before it
    from: written by the project
    1000 = mil, k

What stands before "=" is what each word of its line means. A list has either meanings or none. What is not as
described raises ``ValueError``, a name that no list has ``LookupError``; both stop the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
_REMARK: Final = re.compile(r"(?m)^#.*\n")
_LIST: Final = re.compile(r"\[([a-z_]+)\]\nfor: \S.*\nfrom: \S.*\n((?:[^\[\n].*\n?)+)")
_MEANS: Final = re.compile(r"(?:(?P<meaning>[^=,]+) = )?(?P<words>[^=]+)")
_WORD: Final = re.compile(r"[a-z0-9]+(?:[ /.-][a-z0-9]+)*[/.]?|é")


def lists(folder: Path) -> dict[str, dict[str, str]]:
    """Return each list by its name: every word in the order of writing with its meaning, empty where it has none."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.txt")):
        text = _REMARK.sub("", path.read_text(encoding="utf-8"))
        for section in re.split(r"\n{2,}", text.strip("\n")):
            match = _LIST.fullmatch(section)
            if match is None or match[1] in found:
                raise ValueError(f"{path.name}: {section[:60]!r}")
            found[match[1]] = _read(match[1], match[2])
    return found


@lru_cache(1)
def known() -> dict[str, dict[str, str]]:
    """Return the lists that the readers know, read once for a process."""
    return lists(FOLDER)


def words(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(meanings(name))


def meanings(name: str) -> Mapping[str, str]:
    """Return each word of a list with what it means, in the order of writing."""
    try:
        return known()[name]
    except KeyError:
        raise LookupError(f"there is no list {name}") from None


def numbers(name: str) -> dict[str, int]:
    """Return each word of a list whose meanings are whole numbers."""
    return {word: int(meaning) for word, meaning in meanings(name).items()}


def _read(name: str, body: str) -> dict[str, str]:
    pairs = list(_pairs(name, body))
    read = dict(pairs)
    wrong = [word for word in read if _WORD.fullmatch(word) is None]
    if wrong or len(read) < len(pairs) or len({not meaning for meaning in read.values()}) > 1:
        raise ValueError(f"{name}: {wrong or 'a word stands twice, or only some have a meaning'}")
    return read


def _pairs(name: str, body: str) -> Iterator[tuple[str, str]]:
    for line in body.splitlines():
        match = _MEANS.fullmatch(line.removesuffix(","))
        if match is None:
            raise ValueError(f"{name}: {line!r}")
        for word in match["words"].split(", "):
            yield word, match["meaning"] or ""
