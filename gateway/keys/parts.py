"""What the keys are made of: fixed-width numbers, municipalities, taxpayers and the modulo 11 check digit."""

from __future__ import annotations

import re
from typing import Final

from gateway.keys.errors import ChaveInvalida
from state_machine.values.documents import CNPJ, CPF, DocumentoInvalido

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
