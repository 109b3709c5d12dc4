"""The words of a mail: those of its row or else its batch, with the row's columns in their places."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from state_machine.values.text.untrusted import single_line

if TYPE_CHECKING:
    from collections.abc import Mapping

ASSUNTO_MAX: Final = 200  # characters; programs show fewer than 80
MENSAGEM_MAX: Final = 20_000  # characters: pages of text, and bounds the memory of one mail
ASSUNTO, MENSAGEM = "assunto", "mensagem"  # columns that hold a row's own words
PLACE_MAX: Final = 60  # characters of a column's name that a text can call for
_PLACE: Final = re.compile(rf"\{{([^{{}}\n]{{1,{PLACE_MAX}}})\}}")


def templates_of(assunto: str | None, mensagem: str | None, dados: Mapping[str, str]) -> tuple[str, str]:
    """Return subject and text before columns stand in their places: the row's own, or else its batch's; or empty."""
    return (dados.get(ASSUNTO) or assunto or "").strip(), (dados.get(MENSAGEM) or mensagem or "").strip()


@lru_cache(maxsize=8)  # those of a batch are asked about for each of its rows
def places(template: str) -> Counter[str]:
    """Return how often a text calls for which column."""
    return Counter(name for place in _PLACE.finditer(template) if (name := _name(place)))


def length_of(template: str, dados: Mapping[str, str]) -> int:
    """Return a length that the filled text does not exceed, without building it: places times cells is a product."""
    return len(template) + sum(
        times * (len(dados[name]) - len(f"{{{name}}}")) for name, times in places(template).items()
    )


def text_of(assunto: str | None, mensagem: str | None, dados: Mapping[str, str]) -> tuple[str, str]:
    """Return subject and text; one that nobody gave is empty. ``{nome}`` stands for the row's column ``nome``.

    A row whose text calls for what it lacks is none that a mail goes to: the reading says so.
    """
    subject, text = (_filled(template, dados) for template in templates_of(assunto, mensagem, dados))
    return single_line(subject), text.strip()


def reason(empresa: str) -> str:
    """Return why a mail came (LGPD, art. 9)."""
    return f"Você recebe este e-mail porque é cliente de {empresa}."


def _filled(template: str, dados: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: dados.get(_name(place), place[0]), template)


def _name(place: re.Match[str]) -> str:
    return " ".join(place[1].split()).casefold()
