"""CNPJ and CPF as value objects, normalised and verified on construction."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from stdnum.br import cnpj as stdnum_cnpj
from stdnum.br import cpf as stdnum_cpf

from state_machine.invoice.fields import Motivo
from state_machine.values.errors import ProsaError

CPF_LENGTH: Final = 11
CNPJ_LENGTH: Final = 14
CNPJ_SHAPE: Final = re.compile(r"[0-9A-Z]{12}[0-9]{2}")  # letters allowed since July 2026: IN RFB 2.229/2024
CPF_SHAPE: Final = re.compile(r"[0-9]{11}")
INVISIBLE_CATEGORIES: Final = frozenset({"Cf", "Cc"})  # zero-width and bidi marks that travel with copied text
PUNCTUATION_CATEGORIES: Final = frozenset({"Pd", "Po", "Zs", "Pc", "Sm"})  # dots, slashes, dashes of any kind, spaces
_LIDO: Final = 4096  # characters of a text that may be one document, with whatever stands between its digits
_KEPT: Final = 1024  # documents: a turn reads and shows the same one several times, a conversation again and again


class DocumentoInvalido(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """The text is no valid CNPJ or CPF.

    ``motivo`` is ``DIGITO_NAO_BATE`` (right length, wrong check digits) or ``INCOMPLETO`` (wrong length, or a letter
    where none may stand); ``faltam`` is how many characters are missing to the kind that was tried, negative when there
    are too many.
    """

    code = "documento_invalido"

    def __init__(self, motivo: Motivo, message: str, *, faltam: int = 0) -> None:
        super().__init__(message)
        self.motivo = motivo
        self.faltam = faltam


@dataclass(frozen=True, slots=True)
class CNPJ:
    """A verified CNPJ, numeric or alphanumeric; ``numero`` is its 14 bare characters in upper case.

    Raises ``DocumentoInvalido``. Source: IN RFB 2.229/2024.
    """

    numero: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "numero", _verified(normaliza(self.numero), CNPJ_LENGTH))

    @property
    def formatado(self) -> str:
        """Return ``12.ABC.345/01DE-35``."""
        n = self.numero
        return f"{n[:2]}.{n[2:5]}.{n[5:8]}/{n[8:12]}-{n[12:]}"

    def __str__(self) -> str:
        return self.numero


@dataclass(frozen=True, slots=True)
class CPF:
    """A verified CPF; ``numero`` is its 11 bare digits. Raises ``DocumentoInvalido``."""

    numero: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "numero", _verified(normaliza(self.numero), CPF_LENGTH))

    @property
    def formatado(self) -> str:
        """Return ``123.456.789-09``."""
        n = self.numero
        return f"{n[:3]}.{n[3:6]}.{n[6:9]}-{n[9:]}"

    def __str__(self) -> str:
        return self.numero


def normaliza(texto: str) -> str:
    """Strip punctuation, spaces and invisible characters, fold width, raise case; letters and digits all survive."""
    if texto.isascii() and texto.isalnum():  # as it is once it was normalised
        return texto.upper()
    if len(texto) > _LIDO:  # no document, and normalising takes the square of a run of combining marks
        return texto
    folded = unicodedata.normalize("NFKC", texto)
    dropped = INVISIBLE_CATEGORIES | PUNCTUATION_CATEGORIES
    return "".join(c for c in folded if unicodedata.category(c) not in dropped).upper()


def parse_documento(texto: str) -> CNPJ | CPF:
    """Read one document, masked or bare; the length says which kind it is. Raises ``DocumentoInvalido``."""
    return _parsed(normaliza(texto))


@lru_cache(_KEPT)
def _parsed(numero: str) -> CNPJ | CPF:
    return CPF(numero) if len(numero) == CPF_LENGTH else CNPJ(numero)


def formata_documento(numero: str) -> str:
    """Mask a CNPJ or CPF for people; of nobody, as on some NFC-e, say so. Raises ``DocumentoInvalido``."""
    return "consumidor sem nome" if not numero else parse_documento(numero).formatado


def _verified(numero: str, length: int) -> str:
    if len(numero) != length:
        faltam = length - len(numero)
        raise DocumentoInvalido(Motivo.INCOMPLETO, f"expected {length} characters, got {len(numero)}", faltam=faltam)
    shape = CPF_SHAPE if length == CPF_LENGTH else CNPJ_SHAPE
    if not shape.fullmatch(numero):
        raise DocumentoInvalido(Motivo.INCOMPLETO, "a character stands where none of its kind may")
    module = stdnum_cpf if length == CPF_LENGTH else stdnum_cnpj
    # stdnum accepts 111.111.111-11 and its kin, whose check digits agree; Receita never issues them.
    if len(set(numero)) == 1 or not module.is_valid(numero):
        raise DocumentoInvalido(Motivo.DIGITO_NAO_BATE, "check digits do not match")
    return numero
