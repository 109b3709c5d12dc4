"""The DPS's identity, on which SEFIN Nacional is unique, built by us from verified parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from gateway.keys.errors import ChaveInvalida
from gateway.keys.parts import CNPJ_TYPE, CPF_TYPE, municipality, number, read_taxpayer, split, taxpayer
from state_machine.values.documents import CNPJ, CPF

_SHAPE: Final = re.compile(
    r"DPS(?P<municipio>[0-9]{7})(?P<tipo>[12])(?P<inscricao>[0-9A-Z]{14})(?P<serie>[0-9]{5})(?P<numero>[0-9]{15})"
)
LAST_SERIE: Final = 89_999  # TSSerieDPS of the XSD 1.01
OWN_SERIES: Final = range(1, 50_000)  # for a taxpayer's own application; from any other SEFIN answers E0010


@dataclass(frozen=True, slots=True)
class IdDPS:
    """``DPS`` + cMun 7 + tpInsc 1 + inscrição 14 + série 5 + nDPS 15 = 45 characters. Raises ``ChaveInvalida``.

    Source: Anexo I of the national NFS-e manual, XSD 1.01 (alphanumeric CNPJ since bundle 20260727).
    """

    municipio: str  # IBGE, of the issuer
    inscricao: CNPJ | CPF
    serie: int
    numero: int

    def __post_init__(self) -> None:
        municipality(self.municipio)
        if not 1 <= self.serie <= LAST_SERIE:
            raise ChaveInvalida("serie", f"{self.serie} is not between 1 and {LAST_SERIE}")
        number("nDPS", self.numero, 15)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the 45 characters, as they stand in ``infDPS/@Id``."""
        parts = split("idDPS", text, _SHAPE)
        inscricao = read_taxpayer(parts["tipo"], parts["inscricao"])
        return cls(parts["municipio"], inscricao, int(parts["serie"]), int(parts["numero"]))

    def __str__(self) -> str:
        kind = CNPJ_TYPE if isinstance(self.inscricao, CNPJ) else CPF_TYPE
        return f"DPS{self.municipio}{kind}{taxpayer(self.inscricao)}{self.serie:05}{self.numero:015}"
