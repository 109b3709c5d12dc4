"""Reads which of several shown amounts words choose, and the wish for the one from before."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from extractor.text.folding import read

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST: Final = 40  # characters; more says something else, too
_SAYS: Final = (
    r"(?:(?:nao|eh?|quero|pode ser|vai|fica|usa|emite|manda|com|por|sim)[,.]? ){0,3}(?:o |pelo |no )?(?:valor )?"
)
PLACE: Final = re.compile(rf"{_SAYS}(?:(?P<first>primeiro|1[oº°])|(?P<second>segundo|2[oº°])|(?P<last>ultimo))[.!]?")
SIZE: Final = re.compile(
    rf"{_SAYS}(?:(?P<less>liquido|menor|mais baixo)|(?P<more>bruto|maior|mais alto|cheio))(?: mesmo)?[.!]?"
)
FORMER: Final = re.compile(
    r"(?:(?:nao|ops|opa)[,.!]? )?(?:volta|volte|voltar|deixa|bota|poe|coloca)(?: (?:pro|para o|pra o|ao|no|o|como))? "
    r"(?P<named>valor )?(?:(?:que )?(?:tava|estava|era) )?(?:de antes|antes|anterior|antigo)[.!]?"
)


def chosen(texto: str, readings: Sequence[str]) -> str | None:
    """Return the reading that the words choose by its place ("o segundo") or size ("o líquido"), ``None`` for none."""
    plain = _plain(texto)
    if len(readings) > 1 and (place := PLACE.fullmatch(plain)):
        return readings[0 if place["first"] else 1 if place["second"] else -1]
    if len(readings) > 1 and (size := SIZE.fullmatch(plain)):
        return (min if size["less"] else max)(readings, key=Decimal)
    return None


def wants_former(texto: str) -> bool | None:
    """Say whether the words want the former amount back by its name, ``None`` where they want nothing back.

    False: what they want back is what was changed last ("volta pro de antes").
    """
    found = FORMER.fullmatch(_plain(texto))
    return None if found is None else found["named"] is not None


def _plain(texto: str) -> str:
    return " ".join(read(texto).plain.split()) if len(texto) <= LONGEST else ""
