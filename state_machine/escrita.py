"""Which of a turn's messages some words stand in; knows nothing of what they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Escrita:
    """One message in the user's own words; ``mensagem`` is its wamid, under which the inbox keeps it."""

    mensagem: str
    texto: str


def mensagem_de(trecho: str, escritas: Sequence[Escrita]) -> str | None:
    """Return the wamid of the last message in which ``trecho`` stands, ``None`` when no message was given.

    A whole word or number counts more than a piece of one ("500" in "1.500"). Words that no single message holds were
    complete only with the last one.
    """
    inteiro = re.compile(rf"(?<!\w)(?<!\d[.,]){re.escape(trecho)}(?!\w)(?![.,]\d)")
    for contem in (inteiro.search, lambda texto: trecho in texto):
        for escrita in reversed(escritas):
            if trecho and contem(escrita.texto):
                return escrita.mensagem
    return escritas[-1].mensagem if escritas else None
