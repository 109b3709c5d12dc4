"""Owns the reading of an NFS-e of the national layout; what is not plainly one is nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from gateway.keys import ChaveInvalida, ChaveNFSe, IdDPS
from gateway.nacional.layouts import NS, parse
from state_machine.protocol.emission import Nota, Situacao

# How a note came to be, not how it is: all of them are authorised, and a cancelled note keeps its code, for its
# cancellation is an event. Of an NF-e these numbers say something else.
AUTHORISED: Final = frozenset({"100", "101", "102", "103", "107"})
_AMOUNT: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{2})?")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,12}")
_C_STAT: Final = re.compile(r"[0-9]{3}")
_MAX_TEXT: Final = 2000  # characters; xDescServ, the longest text of the layout


@dataclass(frozen=True, slots=True)
class NotaNacional:
    """A note as its XML has it, and ``c_int_contrib``: the reference that the DPS carried, ours if we made it."""

    nota: Nota
    c_int_contrib: str | None


def read(xml: bytes) -> NotaNacional | None:
    """Return the note, or ``None`` for what is no NFS-e: another document, cut, hostile, with a key that is none.

    The signature is not verified here. A cancellation does not stand in a note, so one that was cancelled is read as
    authorised; a status code that nobody knows is read as still in process. ``id_integracao`` is the ``idDPS``, empty
    where it has not the shape of one.
    """
    try:
        root = parse(xml)
        info = root.find(_path("infNFSe"))
        if root.tag != _path("NFSe") or info is None:
            return None
        chave = ChaveNFSe.parse(info.get("Id") or "")
    except (ValueError, ChaveInvalida):
        return None
    dps = info.find(_path("DPS/infDPS"))
    number = _of(info, "nNFSe", _NUMBER)
    if dps is None or number is None or int(number) != chave.numero:
        return None
    said = _of(info, "cStat", _C_STAT)
    issued = said is not None and said in AUTHORISED
    value = _of(dps, "valores/vServPrest/vServ", _AMOUNT)
    nota = Nota(
        id_externo=str(chave),
        id_integracao=_identity(dps.get("Id") or ""),
        situacao=Situacao.AUTORIZADA if issued else Situacao.PROCESSANDO,
        prestador=_of(info, "emit/CNPJ") or _of(info, "emit/CPF"),
        tomador=_of(dps, "toma/CNPJ") or _of(dps, "toma/CPF"),
        valor=Decimal(value).quantize(Decimal("0.01")) if value else None,
        numero=number,
        chave=str(chave),
        c_stat=int(said) if said else None,
        data_emissao=_of(info, "dhProc"),
        descricao=_of(dps, "serv/cServ/xDescServ"),
        competencia=_of(dps, "dCompet"),
        codigo_servico=_of(dps, "serv/cServ/cTribNac"),
        referencia=_of(dps, "serv/cServ/cIntContrib"),
    )
    return NotaNacional(nota, nota.referencia)


def _path(path: str) -> str:
    return "/".join(f"{{{NS}}}{name}" for name in path.split("/"))


def _of(element: Any, path: str, shape: re.Pattern[str] | None = None) -> str | None:
    """Return the text at a path; one that is there twice, holds elements, is too long or has not its shape is none."""
    found = element.findall(_path(path))
    if len(found) != 1 or len(found[0]):
        return None
    text = (found[0].text or "").strip()
    if not text or len(text) > _MAX_TEXT or (shape and not shape.fullmatch(text)):
        return None
    return str(text)


def _identity(text: str) -> str:
    try:
        return str(IdDPS.parse(text))
    except ChaveInvalida:
        return ""
