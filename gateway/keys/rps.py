"""The RPS's key, on which the city of São Paulo is unique."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from gateway.keys.errors import ChaveInvalida
from gateway.keys.parts import number, split

_CCM: Final = re.compile(r"[0-9]{8}")
_SERIE: Final = re.compile(r"[0-9A-Z]{1,5}")
_SHAPE: Final = re.compile(r"(?P<inscricao>[0-9]{8})_(?P<serie>[0-9A-Z]{1,5})_(?P<numero>[0-9]{12})")


@dataclass(frozen=True, slots=True)
class ChaveRPS:
    """Inscrição municipal (CCM) 8 + série up to 5 + número 12: ``12345678_BB_000000000042``.

    ``InscricaoPrestador``, ``SerieRPS`` and ``NumeroRPS`` of the city's ``tpChaveRPS``. Raises ``ChaveInvalida``.
    """

    inscricao: str
    serie: str
    numero: int

    def __post_init__(self) -> None:
        if not _CCM.fullmatch(self.inscricao):
            raise ChaveInvalida("inscricao", f"{self.inscricao!r} has not 8 digits")
        if not _SERIE.fullmatch(self.serie):
            raise ChaveInvalida("serie", f"{self.serie!r} is not 1 to 5 capitals and digits")
        number("numero", self.numero, 12)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``str`` wrote."""
        parts = split("chaveRPS", text, _SHAPE)
        return cls(parts["inscricao"], parts["serie"], int(parts["numero"]))

    def __str__(self) -> str:
        return f"{self.inscricao}_{self.serie}_{self.numero:012}"
