"""Which of a turn's messages some words stand in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - part of a stored event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


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
