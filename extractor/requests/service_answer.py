"""Reads which of a company's own service codes words choose: its number in the list, the code, or what it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from extractor.text.folding import read
from state_machine.services.codes import digits
from state_machine.services.search import among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from state_machine.services.own import Servico

LONGEST: Final = 80  # characters; more is no answer to a list
_SAYS: Final = (
    r"(?:(?:nao|ops)[,.]? )?(?:o |a )?(?:servico|codigo(?: do servico)?|opcao|numero)(?: certo)?(?: (?:e|eh))?"
)
_NUMBER: Final = re.compile(rf"{_SAYS} (?:o |a )?(?:numero )?([0-9]{{1,2}})[.!]?")
_ALONE: Final = re.compile(r"(?:e |eh )?(?:o |a )?([0-9]{1,2})[.!]?")
_CODE: Final = re.compile(rf"(?:{_SAYS} )?(?:o |a )?([0-9]{{2}}\.[0-9]{{2}}\.[0-9]{{2}}|[0-9]{{6}})[.!]?")
_IS: Final = re.compile(r"(?:(?:nao|ops)[,.]? )?(?:o servico )?(?:e|eh) ([a-z].{2,60})")


def numbered_answer(texto: str, servicos: Sequence[Servico], *, asked: bool) -> str | None:
    """Return the code that the words name by its number in the list or as it is written, ``None`` for no code of these.

    ``asked``: the list was our last question, so that a bare number answers it. A code is taken as it is written only
    where it has its dots, is named as a code, or was asked for.
    """
    plain = _plain(texto)
    written = _CODE.fullmatch(plain)
    if written and (asked or not plain.isdigit()):
        codigo = digits(written[1])
        return codigo if codigo in {servico.codigo for servico in servicos} else None
    number = _NUMBER.fullmatch(plain) or (_ALONE.fullmatch(plain) if asked else None)
    return servicos[int(number[1]) - 1].codigo if number and 0 < int(number[1]) <= len(servicos) else None


def worded_answer(texto: str, servicos: Sequence[Servico], *, asked: bool) -> str | None:
    """Return the code of which the words say clearly what it is, bare ones only where they were ``asked`` for."""
    plain = _plain(texto)
    said = _IS.fullmatch(plain)
    words = said[1] if said else plain if asked else ""
    hits, clear = among(words, {servico.codigo: servico.descricao for servico in servicos})
    return hits[0].codigo if clear else None


def _plain(texto: str) -> str:
    return " ".join(read(texto).plain.split()) if len(texto) <= LONGEST else ""
