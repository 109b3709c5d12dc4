"""The access key of an NF-e (55) or NFC-e (65); refuses the codes that SEFAZ refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from gateway.keys.errors import ChaveInvalida
from gateway.keys.parts import check_digit, month, number, split

NFE: Final = "55"
NFCE: Final = "65"
_SHAPE: Final = re.compile(
    r"(?:NFe)?(?P<uf>[0-9]{2})(?P<aamm>[0-9]{4})(?P<emitente>[0-9A-Z]{12}[0-9]{2})(?P<modelo>[0-9]{2})"
    r"(?P<serie>[0-9]{3})(?P<numero>[0-9]{9})(?P<emissao>[0-9])(?P<codigo>[0-9]{8})(?P<digito>[0-9])"
)
_EMITENTE: Final = re.compile(r"[0-9A-Z]{12}[0-9]{2}")
# IBGE: North, North-East, South-East (34 was never given), South, Centre-West
_UFS: Final = frozenset(map(str, [*range(11, 18), *range(21, 30), 31, 32, 33, 35, *range(41, 44), *range(50, 54)]))
# Rule B03-10 of NT 2019.001 (cStat 897): one digit repeated, or a run of digits that follow one another.
_TRIVIAL: Final = frozenset(
    [str(digit) * 8 for digit in range(10)] + ["".join(str((digit + n) % 10) for n in range(8)) for digit in range(10)]
)


@dataclass(frozen=True, slots=True)
class ChaveNFe:
    """cUF 2 + AAMM 4 + CNPJ 14 + mod 2 + série 3 + nNF 9 + tpEmis 1 + cNF 8 + DV = 44. Raises ``ChaveInvalida``.

    ``emitente`` is the fourteen places as they stand: a CNPJ, or a CPF with zeros on its left. ``codigo`` (cNF) is
    drawn once and stored before sending: another one is another key, and the first note could not be found again.
    Source: MOC 7.0 §2.2.6; letters since July 2026, NT Conjunta 2025.001.
    """

    uf: str  # IBGE, 2 digits
    aamm: str
    emitente: str
    modelo: str
    serie: int
    numero: int
    emissao: int  # tpEmis
    codigo: int  # cNF

    def __post_init__(self) -> None:
        if self.uf not in _UFS:
            raise ChaveInvalida("cUF", f"{self.uf!r} is no state")
        month(self.aamm)
        if not _EMITENTE.fullmatch(self.emitente):
            raise ChaveInvalida("CNPJ", f"{self.emitente!r} is not 12 letters or digits and 2 digits")
        if self.modelo not in {NFE, NFCE}:
            raise ChaveInvalida("mod", f"{self.modelo!r} is neither 55 nor 65")
        number("serie", self.serie, 3, least=0)
        number("nNF", self.numero, 9)
        number("tpEmis", self.emissao, 1)
        self._check_code()

    def _check_code(self) -> None:
        code = number("cNF", self.codigo, 8, least=0)
        if self.codigo == self.numero or code in _TRIVIAL:
            raise ChaveInvalida("cNF", f"{code} is the number itself or trivial, and would be refused (897)")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read 44 characters, or the 47 of ``infNFe/@Id``. A key from before 2019 may have a code refused today."""
        parts = split("chave", text, _SHAPE)
        chave = cls(
            parts["uf"],
            parts["aamm"],
            parts["emitente"],
            parts["modelo"],
            int(parts["serie"]),
            int(parts["numero"]),
            int(parts["emissao"]),
            int(parts["codigo"]),
        )
        if chave.digito != parts["digito"]:
            raise ChaveInvalida("DV", f"{parts['digito']} should be {chave.digito}")
        return chave

    @property
    def _base(self) -> str:
        note = f"{self.modelo}{self.serie:03}{self.numero:09}"
        return f"{self.uf}{self.aamm}{self.emitente}{note}{self.emissao}{self.codigo:08}"

    @property
    def digito(self) -> str:
        """Return the check digit (cDV)."""
        return check_digit(self._base)

    def __str__(self) -> str:
        return self._base + self.digito
