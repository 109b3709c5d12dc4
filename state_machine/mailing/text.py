"""The words of a mail: those of its row or else its batch, with the row's columns in their places."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ASSUNTO_MAX: Final = 200  # characters; programs show fewer than 80
MENSAGEM_MAX: Final = 20_000  # characters: pages of text, and bounds the memory of one mail
ASSUNTO, MENSAGEM = "assunto", "mensagem"  # columns that hold a row's own words
_PLACE: Final = re.compile(r"\{([^{}\n]{1,60})\}")


def text_of(assunto: str | None, mensagem: str | None, dados: Mapping[str, str]) -> tuple[str, str]:
    """Return subject and text; one that nobody gave is empty.

    ``{nome}`` stands for the row's column ``nome``; what names no column stays as it is written.
    """
    subject = _filled(dados.get(ASSUNTO) or assunto or "", dados)
    return " ".join(subject.split()), _filled(dados.get(MENSAGEM) or mensagem or "", dados).strip()


def reason(empresa: str) -> str:
    """Return why a mail came (LGPD, art. 9)."""
    return f"Você recebe este e-mail porque é cliente de {empresa}."


def _filled(text: str, dados: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: dados.get(place[1].strip().casefold(), place[0]), text)
