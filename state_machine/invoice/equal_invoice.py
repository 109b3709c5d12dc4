"""An earlier invoice of the same content: what it is called when asking for a second one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - sessions are validated from JSON at run time
from typing import Final

from state_machine.values.text.plain import plain

_LIDO: Final = 4000  # characters of a service text; no layout takes more than 2,000


@dataclass(frozen=True, slots=True)
class NotaIgual:
    """An invoice for the same customer, amount and text, confirmed at ``criada_em`` (aware).

    ``indecisa``: nobody knows yet whether it will be issued.
    """

    id_integracao: str
    criada_em: datetime
    indecisa: bool = False


def mesmo_texto(um: str, outro: str) -> bool:
    """Tell whether two service texts say the same, whatever their case, accents, punctuation and spacing."""
    return _essencia(um) == _essencia(outro)


def _essencia(texto: str) -> str:
    return " ".join("".join(letra if letra.isalnum() else " " for letra in plain(texto, _LIDO)).split())
