"""The access key of a national NFS-e; SEFIN makes it, so it is read leniently, save for its check digit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from gateway.keys.errors import ChaveInvalida
from gateway.keys.parts import CNPJ_TYPE, CPF_TYPE, check_digit, month, municipality, number, split

# The XSD of bundle 20260727 lets letters stand three places too early; here they stand where the CNPJ really is.
_SHAPE: Final = re.compile(
    r"(?:NFS)?(?P<municipio>[0-9]{7})(?P<ambiente>[0-9])(?P<tipo>[0-9])(?P<inscricao>[0-9A-Z]{14})"
    r"(?P<numero>[0-9]{13})(?P<aamm>[0-9]{4})(?P<codigo>[0-9]{9})(?P<digito>[0-9])"
)
_PLACES: Final = re.compile(r"[0-9A-Z]{14}")
CITY: Final = "1"  # ambGer: made by the city's own system
NATIONAL: Final = "2"  # ambGer: made by SEFIN Nacional


@dataclass(frozen=True, slots=True)
class ChaveNFSe:
    """cMun 7 + ambGer 1 + tpInsc 1 + inscrição 14 + nNFSe 13 + AAMM 4 + cNum 9 + DV = 50. Raises ``ChaveInvalida``.

    ``inscricao`` is the fourteen places as they stand; they name a CNPJ or a CPF with three zeros on its left.
    """

    municipio: str
    ambiente: str
    tipo: str
    inscricao: str
    numero: int
    aamm: str
    codigo: int

    def __post_init__(self) -> None:
        municipality(self.municipio)
        if self.ambiente not in {CITY, NATIONAL}:
            raise ChaveInvalida("ambGer", f"{self.ambiente!r} is neither city nor national")
        if self.tipo not in {CPF_TYPE, CNPJ_TYPE}:
            raise ChaveInvalida("tpInsc", f"{self.tipo!r} is neither CPF nor CNPJ")
        if not _PLACES.fullmatch(self.inscricao):
            raise ChaveInvalida("inscricao", f"{self.inscricao!r} has not 14 places")
        number("nNFSe", self.numero, 13)
        month(self.aamm)
        number("cNum", self.codigo, 9, least=0)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read 50 characters, or the 53 of ``infNFSe/@Id``."""
        parts = split("chave", text, _SHAPE)
        chave = cls(
            parts["municipio"],
            parts["ambiente"],
            parts["tipo"],
            parts["inscricao"],
            int(parts["numero"]),
            parts["aamm"],
            int(parts["codigo"]),
        )
        if chave.digito != parts["digito"]:
            raise ChaveInvalida("DV", f"{parts['digito']} should be {chave.digito}")
        return chave

    @property
    def _base(self) -> str:
        issuer = f"{self.municipio}{self.ambiente}{self.tipo}{self.inscricao}"
        return f"{issuer}{self.numero:013}{self.aamm}{self.codigo:09}"

    @property
    def digito(self) -> str:
        """Return the check digit."""
        return check_digit(self._base)

    def __str__(self) -> str:
        return self._base + self.digito
