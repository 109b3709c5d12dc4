"""Finds the national codes that everyday Portuguese words mean, with the words that speak for each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from state_machine.services.codes import digits, table
from state_machine.services.everyday import WORDS
from state_machine.values.text.plain import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

LONGEST: Final = 2000  # characters of a query that are read: a description has no more
EVERYDAY: Final = 3.0  # points of an everyday word, which was written for its code; each further one gives two more
FURTHER: Final = 2.0
OWN: Final = 3.0  # points of a word of a company's own description of a code
RARE: Final = 1.5  # points of a word that only one text of the table has
CLEAR: Final = 1.5  # times the second: less is no clear winner
_KEPT: Final = 8192  # stems: of the official list, and of what was asked last
_SHORTEST: Final = 3  # characters of a word that says something, beside those of ``_SHORT``
_SHORT: Final = frozenset({"ti", "dj", "3d", "rh"})
_WORD: Final = re.compile(r"[a-z0-9]+")
_EXCEPT: Final = re.compile(r"\([^()]*\)|\bexceto .*")
_SILENT: Final = frozenset(
    """
    a o as os um uma uns umas de da do das dos em na no nas nos e ou com sem por pra pro para pelo pela ao aos que se
    servico servicos prestado prestados prestacao referente qualquer quaisquer natureza congeneres outros outras
    inclusive geral mes mensal meu minha cliente nova novo dia
    """.split()  # noqa: SIM905 - fifty literals are no easier to read
)
_PLURALS: Final = (("oes", "ao"), ("aes", "ao"), ("ais", "al"), ("eis", "el"), ("ois", "ol"), ("ns", "m"), ("res", "r"),
                   ("zes", "z"), ("s", ""))  # fmt: skip
_ENDINGS: Final = tuple(
    sorted(
        """
        izacao acao icao cao amento imento mento agem adora adores ador edor idor dora dor eiro eira ista aria oria
        ologia ologico ologo ando endo indo ado ada ido ida ante ente ivo iva ico ica ar er ir ei ou eu iu o a e
        """.split(),  # noqa: SIM905 - likewise
        key=lambda ending: (-len(ending), ending),
    )
)
_ROOT: Final = 4  # characters that an ending leaves at least


@dataclass(frozen=True, slots=True)
class ServiceHit:
    """A code that words may mean: ``pontos`` says how much speaks for it, ``palavras`` (folded) what of the query."""

    codigo: str
    texto: str
    pontos: float
    palavras: tuple[str, ...]


def search(busca: str, most: int = 10) -> list[ServiceHit]:
    """Return the codes that the words mean, the likeliest first, equal ones by code; a code written out is its own."""
    try:
        codigo = digits(busca)
    except ValueError:
        pass
    else:
        row = table().codigos.get(codigo)
        return [ServiceHit(codigo, row.texto, math.inf, (busca.strip(),))] if row else []
    said = stems(busca)
    hits = [hit for codigo in table().codigos if (hit := _hit(codigo, said)).pontos > 0]
    return sorted(hits, key=lambda hit: (-hit.pontos, hit.codigo))[:most]


def among(busca: str, codigos: Mapping[str, str | None]) -> tuple[list[ServiceHit], bool]:
    """Return the given codes (each with a description of its own, or none) by what speaks for them, and if one wins.

    One wins that has half as many points again as the second, and where none has any, nobody does.
    """
    said = stems(busca)
    hits = sorted((_hit(codigo, said, own or "") for codigo, own in codigos.items()), key=lambda hit: -hit.pontos)
    if not hits or hits[0].pontos == 0:
        return hits, False
    return hits, len(hits) == 1 or hits[0].pontos >= hits[1].pontos * CLEAR


def stems(texto: str) -> dict[str, str]:
    """Return the stems of what a text says, each with the folded word that it comes from, in their order."""
    words = (word for word in _WORD.findall(fold(texto)) if word not in _SILENT)
    return {stem(word): word for word in words if len(word) >= _SHORTEST or word in _SHORT}


def fold(texto: str) -> str:
    """Return a text in lower case without accents."""
    return plain(texto, LONGEST)


@lru_cache(_KEPT)  # words of people: what they wrote must not stay for ever
def stem(word: str) -> str:
    """Return what plural, gender and the ending of a folded word leave: "programação" and "programador" are one."""
    for plural, one in _PLURALS:
        if word.endswith(plural) and len(word) - len(plural) + len(one) >= _ROOT:
            word = word.removesuffix(plural) + one
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _ROOT:
            return word.removesuffix(ending)
    return word


def _hit(codigo: str, said: Mapping[str, str], own: str = "") -> ServiceHit:
    row = table().codigos.get(codigo)
    points = 0.0
    matched: dict[str, str] = {}
    for entry in _entries().get(codigo, ()):  # the longest first: a word counts once
        if all(part in said and part not in matched for part in entry):
            points += EVERYDAY + FURTHER * (len(entry) - 1)
            matched |= {part: said[part] for part in entry}
    for part in stems(own):
        if part in said and part not in matched:
            points += OWN
            matched[part] = said[part]
    text = _texts().get(codigo, ())
    inside = [part for part in text if part in said]
    if inside:
        share = len(inside) / len(text)  # a short text that is said whole speaks for itself
        points += (0.5 + share) * sum(RARE * _rarity(part) for part in inside if part not in matched)
        matched |= {part: said[part] for part in inside}
    order = [word for part, word in said.items() if part in matched]
    return ServiceHit(codigo, row.texto if row else "", round(points, 3), tuple(order))


@cache
def _entries() -> dict[str, tuple[tuple[str, ...], ...]]:
    return {codigo: _sorted(tuple(stems(entry)) for entry in text.split(",")) for codigo, text in WORDS.items()}


def _sorted(entries: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted(filter(None, dict.fromkeys(entries)), key=lambda entry: (-len(entry), entry)))


@cache
def _texts() -> dict[str, tuple[str, ...]]:
    return {codigo: tuple(stems(_EXCEPT.sub(" ", row.texto))) for codigo, row in table().codigos.items()}


@lru_cache(_KEPT)
def _rarity(part: str) -> float:
    """Return 1 for a stem that one text has, less for each further one."""
    texts = _texts().values()
    return 1 - math.log(max(1, _count(part, texts))) / math.log(len(texts))


def _count(part: str, texts: Collection[tuple[str, ...]]) -> int:
    return sum(part in text for text in texts)
