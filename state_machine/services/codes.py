"""The national service codes (cTribNac) as the official table has them, and how they are written for people.

A company's own service codes: which they are, and how people are told of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final

_CODE: Final = re.compile(r"([0-9]{2})(\.?)([0-9]{2})\2([0-9]{2})")
_NBS: Final = re.compile(r"1\.?[0-9]{4}\.?[0-9]{2}\.?[0-9]{2}")


@dataclass(frozen=True, slots=True)
class ServiceCode:
    """A row of the table: six digits, its text, and the group that a DPS of it must have (``obra``, ``atvEvento``).

    ``incide`` is where its ISS is due: ``prestador``, ``local`` (where the work is done), ``tomador``, "" for nowhere.
    """

    codigo: str
    texto: str
    grupo: str | None = None
    incide: str = "prestador"


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
    rows = [ServiceCode(codigo, texto, grupo or None, incide) for codigo, texto, grupo, incide in told["servicos"]]
    return ServiceTable(
        told["fonte"],
        told["versao"],
        told["data"],
        told["completa"],
        told["sha256"],
        {row.codigo: row for row in rows},
    )


def digest(rows: Sequence[Sequence[str]]) -> str:
    """Return the SHA-256 (hex) of rows of code, text, group and incidence, as compact JSON in UTF-8."""
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


class Onde(StrEnum):
    """What a note of a code must say of the place where the work was done."""

    CIDADE = "cidade"  # ISS is due there
    OBRA = "obra"  # the group ``obra``: the address of the work, or its CNO (E0370)
    EVENTO = "evento"  # the group ``atvEvento``: name, days and address (E0390)
    CLIENTE = "cliente"  # ISS is due where the customer is: its address (E0234)


_OF_GROUP: Final = {"obra": Onde.OBRA, "atvEvento": Onde.EVENTO}
_OF_INCIDENCE: Final = {"local": Onde.CIDADE, "tomador": Onde.CLIENTE}


def onde(codigo: str | None) -> Onde | None:
    """Return what a note of this code says of its place; ``None`` where nothing is asked for."""
    row = table().codigos.get(codigo or "")
    if row is None:
        return None
    return _OF_GROUP.get(row.grupo or "") or _OF_INCIDENCE.get(row.incide)


# Codes of NT 009 and what they mean, of a company of the Simples.
ATIVIDADES_SN: Final = {  # cAtvSN
    "07": "serviços só do Anexo III",
    "08": "escritório contábil com ISS fixo",
    "09": "serviços sujeitos ao Fator R",
    "10": "transporte municipal de passageiros",
    "11": "locação de bens móveis e o que não paga ISS",
    "12": "construção do Anexo III",
    "13": "construção do Anexo IV",
    "14": "serviços do Anexo IV",
    "90": "não tributado",
}
APURACOES_IBSCBS: Final = {  # regApIBSCBSSN
    "1": "os dois no Simples",
    "2": "a CBS no Simples, o IBS fora",
    "3": "os dois fora do Simples",
}


@dataclass(frozen=True, slots=True)
class IbsCbs:
    """How IBS and CBS see a service: ``cIndOp`` (six digits), ``CST`` (three) and ``cClassTrib`` (six)."""

    ind_op: str
    cst: str
    class_trib: str


@dataclass(frozen=True, slots=True)
class Servico:
    """A national code (six digits) of a company, what the company calls it, its cNBS (nine digits) and IBS/CBS.

    ``atividade_sn`` is its cAtvSN (two digits), of a company of the Simples.
    """

    codigo: str
    descricao: str | None = None
    nbs: str | None = None
    ibs_cbs: IbsCbs | None = None
    atividade_sn: str | None = None

    @property
    def grupo(self) -> IbsCbs | None:
        """What a note says of IBS and CBS: nothing without the cNBS, which the group asks for (E0322)."""
        return self.ibs_cbs if self.nbs else None

    @property
    def nome(self) -> str:
        """What people read beside the code: the company's own words, else the table's."""
        return self.descricao or text_of(self.codigo) or "código que a lista nacional não tem"


def named(codigo: str) -> str:
    """Return "01.07.01 – Suporte técnico …", or the code alone where the table does not have it."""
    texto = text_of(codigo)
    return f"{dotted(codigo)} – {texto}" if texto else dotted(codigo)
