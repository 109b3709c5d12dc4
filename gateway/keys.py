"""The authorities' natural keys as value objects: built from their parts, read and checked.

The one way in which a key can be wrong.

What the keys are made of: fixed-width numbers, municipalities, taxpayers and the modulo 11 check digit.

The access key of a national NFS-e; SEFIN makes it, so it is read leniently, save for its check digit.

The access key of an NF-e (55) or NFC-e (65); refuses the codes that SEFAZ refuses.

The RPS's key, on which the city of São Paulo is unique.

The DPS's identity, on which SEFIN Nacional is unique, built by us from verified parts.

The identities of national NFS-e events: the request that we send and the event that SEFIN makes of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from state_machine.values.documents import CNPJ, CPF, DocumentoInvalido
from state_machine.values.errors import ProsaError


class ChaveInvalida(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """A part does not fit its place in the key, or the check digit does not match; ``campo`` names the part."""

    code = "chave_invalida"

    def __init__(self, campo: str, message: str) -> None:
        super().__init__(f"{campo}: {message}")
        self.campo = campo


CPF_TYPE: Final = "1"  # tpInsc of the national NFS-e
CNPJ_TYPE: Final = "2"
CPF_PADDING: Final = "000"  # a CPF stands in the CNPJ's fourteen places with zeros on its left
_IBGE: Final = re.compile(r"[1-9][0-9]{6}")
_AAMM: Final = re.compile(r"[0-9]{2}(0[1-9]|1[0-2])")


def check_digit(base: str) -> str:
    """Return the modulo 11 digit of ``base``: weights 2 to 9 from the right, remainders 0 and 1 give 0.

    A letter of an alphanumeric CNPJ counts as its ASCII code less 48 (NT Conjunta 2025.001; MOC 7.0 §2.2.6.2).
    """
    total = sum((ord(character) - ord("0")) * (2 + place % 8) for place, character in enumerate(reversed(base)))
    remainder = total % 11
    return "0" if remainder < 2 else str(11 - remainder)  # noqa: PLR2004 - the rule itself, as the docstring gives it


def number(campo: str, value: int, width: int, *, least: int = 1) -> str:
    """Return ``value`` with zeros on its left. Raises ``ChaveInvalida`` when it is below ``least`` or too long."""
    if not least <= value < 10**width:
        raise ChaveInvalida(campo, f"{value} is not between {least} and {10**width - 1}")
    return f"{value:0{width}}"


def municipality(code: str) -> str:
    """Return an IBGE code (7 digits) as it is. Raises ``ChaveInvalida``."""
    if not _IBGE.fullmatch(code):
        raise ChaveInvalida("cMun", f"{code!r} is not an IBGE code of 7 digits")
    return code


def month(aamm: str) -> str:
    """Return a year and month (``2611``) as they are. Raises ``ChaveInvalida``."""
    if not _AAMM.fullmatch(aamm):
        raise ChaveInvalida("AAMM", f"{aamm!r} is not a year and month")
    return aamm


def taxpayer(inscricao: CNPJ | CPF) -> str:
    """Return the fourteen places of a taxpayer."""
    return inscricao.numero if isinstance(inscricao, CNPJ) else CPF_PADDING + inscricao.numero


def read_taxpayer(kind: str, places: str) -> CNPJ | CPF:
    """Read fourteen places of the kind that ``tpInsc`` names. Raises ``ChaveInvalida``."""
    try:
        if kind == CNPJ_TYPE:
            return CNPJ(places)
        if kind == CPF_TYPE and places.startswith(CPF_PADDING):
            return CPF(places.removeprefix(CPF_PADDING))
    except DocumentoInvalido as error:
        raise ChaveInvalida("inscricao", str(error)) from error
    raise ChaveInvalida("tpInsc", f"{kind!r} does not go with {places!r}")


def split(campo: str, text: str, shape: re.Pattern[str]) -> dict[str, str]:
    """Return the named parts of ``text``. Raises ``ChaveInvalida`` when it has not the shape."""
    found = shape.fullmatch(text)
    if not found:
        raise ChaveInvalida(campo, f"{text!r} has not its shape")
    return found.groupdict()


# The XSD of bundle 20260727 lets letters stand three places too early; here they stand where the CNPJ really is.
_NFSE: Final = re.compile(
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
        parts = split("chave", text, _NFSE)
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


NFE: Final = "55"
NFCE: Final = "65"
_NFE: Final = re.compile(
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
        parts = split("chave", text, _NFE)
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


_CCM: Final = re.compile(r"[0-9]{8}|[1-9][0-9]{8,11}")  # one way to write each
_SERIE: Final = re.compile(r"[0-9A-Z]{1,5}")
_RPS: Final = re.compile(r"(?P<inscricao>[0-9]{8,12})_(?P<serie>[0-9A-Z]{1,5})_(?P<numero>[0-9]{12})")


@dataclass(frozen=True, slots=True)
class ChaveRPS:
    """Inscrição municipal (CCM) 8 to 12 + série up to 5 + número 12: ``12345678_BB_000000000042``.

    ``InscricaoPrestador``, ``SerieRPS`` and ``NumeroRPS`` of the city's ``tpChaveRPS``. Raises ``ChaveInvalida``.
    """

    inscricao: str
    serie: str
    numero: int

    def __post_init__(self) -> None:
        if not _CCM.fullmatch(self.inscricao):
            raise ChaveInvalida("inscricao", f"{self.inscricao!r} has not 8 to 12 digits")
        if not _SERIE.fullmatch(self.serie):
            raise ChaveInvalida("serie", f"{self.serie!r} is not 1 to 5 capitals and digits")
        number("numero", self.numero, 12)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``str`` wrote."""
        parts = split("chaveRPS", text, _RPS)
        return cls(parts["inscricao"], parts["serie"], int(parts["numero"]))

    def __str__(self) -> str:
        return f"{self.inscricao}_{self.serie}_{self.numero:012}"


_DPS: Final = re.compile(
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
        parts = split("idDPS", text, _DPS)
        inscricao = read_taxpayer(parts["tipo"], parts["inscricao"])
        return cls(parts["municipio"], inscricao, int(parts["serie"]), int(parts["numero"]))

    def __str__(self) -> str:
        kind = CNPJ_TYPE if isinstance(self.inscricao, CNPJ) else CPF_TYPE
        return f"DPS{self.municipio}{kind}{taxpayer(self.inscricao)}{self.serie:05}{self.numero:015}"


CANCELAMENTO: Final = "101101"
CANCELAMENTO_POR_ANALISE: Final = "101103"  # asks the city's treasury, when the plain one comes too late (E0822)
CANCELAMENTO_POR_SUBSTITUICAO: Final = "105102"
CANCELAMENTO_DEFERIDO: Final = "105104"  # the treasury granted what 101103 asked for
CANCELAMENTO_POR_OFICIO: Final = "305101"

_TIPO: Final = re.compile(r"[0-9]{6}")
_PEDIDO: Final = re.compile(r"PRE(?P<chave>[0-9A-Z]{50})(?P<tipo>[0-9]{6})")
_EVENTO: Final = re.compile(r"EVT(?P<chave>[0-9A-Z]{50})(?P<tipo>[0-9]{6})(?P<sequencia>[0-9]{3})")


@dataclass(frozen=True, slots=True)
class IdPedidoEvento:
    """``PRE`` + chave 50 + tpEvento 6 = 59 characters, as in ``infPedReg/@Id``. Raises ``ChaveInvalida``."""

    chave: ChaveNFSe
    tipo: str

    def __post_init__(self) -> None:
        _event_type(self.tipo)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the 59 characters."""
        parts = split("pedido", text, _PEDIDO)
        return cls(ChaveNFSe.parse(parts["chave"]), parts["tipo"])

    def __str__(self) -> str:
        return f"PRE{self.chave}{self.tipo}"


@dataclass(frozen=True, slots=True)
class IdEvento:
    """``EVT`` + chave 50 + tpEvento 6 + nSeqEvento 3 = 62 characters. Raises ``ChaveInvalida``."""

    chave: ChaveNFSe
    tipo: str
    sequencia: int = 1

    def __post_init__(self) -> None:
        _event_type(self.tipo)
        number("nSeqEvento", self.sequencia, 3)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the 62 characters."""
        parts = split("evento", text, _EVENTO)
        return cls(ChaveNFSe.parse(parts["chave"]), parts["tipo"], int(parts["sequencia"]))

    def __str__(self) -> str:
        return f"EVT{self.chave}{self.tipo}{self.sequencia:03}"


def _event_type(tipo: str) -> None:
    if not _TIPO.fullmatch(tipo):
        raise ChaveInvalida("tpEvento", f"{tipo!r} has not 6 digits")
