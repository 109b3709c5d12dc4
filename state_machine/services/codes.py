"""The national service codes (cTribNac) as the official table has them, and how they are written for people."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CODE: Final = re.compile(r"([0-9]{2})(\.?)([0-9]{2})\2([0-9]{2})")
_NBS: Final = re.compile(r"1\.?[0-9]{4}\.?[0-9]{2}\.?[0-9]{2}")


@dataclass(frozen=True, slots=True)
class ServiceCode:
    """A row of the table: six digits, its text, and the group that a DPS of it must have (``obra``, ``atvEvento``)."""

    codigo: str
    texto: str
    grupo: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceTable:
    """The table by code, and where it comes from; ``sha256`` is of its rows (``digest``)."""

    fonte: str
    versao: str
    data: str
    completa: bool
    sha256: str
    codigos: Mapping[str, ServiceCode]


@cache
def table() -> ServiceTable:
    """Return the table of Anexo I that comes with this release."""
    told = json.loads(files("state_machine.services").joinpath("national_codes.json").read_text("utf-8"))
    rows = [ServiceCode(codigo, texto, grupo or None) for codigo, texto, grupo in told["servicos"]]
    return ServiceTable(
        told["fonte"],
        told["versao"],
        told["data"],
        told["completa"],
        told["sha256"],
        {row.codigo: row for row in rows},
    )


def digest(rows: Sequence[Sequence[str]]) -> str:
    """Return the SHA-256 (hex) of rows of code, text and group, as compact JSON in UTF-8."""
    canonical = json.dumps([list(row) for row in rows], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def digits(codigo: str) -> str:
    """Return the six digits of a code, given with or without its dots. Raises ``ValueError``."""
    found = _CODE.fullmatch(codigo.strip())
    if not found:
        raise ValueError(f"{codigo!r} is not the six digits of a national code (01.01.01)")
    return found[1] + found[3] + found[4]


def nbs(codigo: str) -> str:
    """Return the nine digits of a cNBS, given with or without its dots ("1.1506.10.00"). Raises ``ValueError``."""
    if not _NBS.fullmatch(codigo.strip()):
        raise ValueError(f"{codigo!r} is no NBS code (1.1506.10.00)")
    return codigo.strip().replace(".", "")


def plain_digits(codigo: str, count: int) -> str:
    """Return a code of so many digits, as typed. Raises ``ValueError``."""
    said = codigo.strip()
    if not (said.isascii() and said.isdecimal() and len(said) == count):
        raise ValueError(f"{codigo!r} has not {count} digits")
    return said


def dotted(codigo: str) -> str:
    """Return a code as people write it: "01.07.01"; what has no six digits stays as it is."""
    return f"{codigo[:2]}.{codigo[2:4]}.{codigo[4:]}" if _CODE.fullmatch(codigo) and "." not in codigo else codigo


def text_of(codigo: str) -> str | None:
    """Return a code's text without its full stop, ``None`` for one that the table does not have."""
    row = table().codigos.get(codigo)
    return row.texto.rstrip(".") if row else None
