"""Owns the reading of an issued note's XML: service text, competence, code, status code, the issuer's number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from gateway.plugnotas.note import c_stat

if TYPE_CHECKING:
    from state_machine.protocol.emission import Nota

_MAX_BYTES = 1_000_000  # a note has some 20 kB; more is nothing that we asked for
# The national layout (infDPS of DPS 1.00 and 1.01) and the ABRASF family (1.00 to 2.04), which most cities speak.
_DESCRICAO = ("xDescServ", "Discriminacao")
_COMPETENCIA = ("dCompet", "Competencia")
_CODIGO = ("cTribNac", "ItemListaServico")
_C_STAT = ("cStat",)
_RPS = ("nDPS",)
_RPS_ABRASF = ("IdentificacaoRps",)  # whose ``Numero`` is the issuer's; the note's own and the address's are others
_MAX_RPS = 15  # digits, in both families


def with_content(nota: Nota, xml: bytes) -> Nota:
    """Return the note with what its XML says of the service and of itself; an unknown layout says nothing."""
    root = _parsed(xml)
    if root is None:
        return nota
    return replace(
        nota,
        descricao=nota.descricao or _first(root, _DESCRICAO),
        competencia=nota.competencia or _first(root, _COMPETENCIA),
        codigo_servico=nota.codigo_servico or _first(root, _CODIGO),
        c_stat=nota.c_stat or c_stat(_first(root, _C_STAT)),
        numero_rps=_numero(_first(root, _RPS) or _first(root, ("Numero",), within=_RPS_ABRASF)),
    )


def _numero(said: str | None) -> int | None:
    return int(said) if said and said.isdecimal() and len(said) <= _MAX_RPS else None


def _parsed(xml: bytes) -> ET.Element | None:
    if len(xml) > _MAX_BYTES or b"<!DOCTYPE" in xml or b"<!ENTITY" in xml:  # a note declares no entities
        return None
    try:
        return ET.fromstring(xml)  # noqa: S314 - no entities, see above
    except (ET.ParseError, ValueError, LookupError):  # also an encoding that nobody knows
        return None


def _first(root: ET.Element, names: tuple[str, ...], within: tuple[str, ...] | None = None) -> str | None:
    """Return the text of the one element of this name, in whatever namespace; several that differ say nothing.

    ``within``: only what stands directly in elements of these names counts.
    """
    every = root.iter()
    places = every if within is None else (child for place in every if _is(place, within) for child in place)
    found = {text for element in places if _is(element, names) and (text := _text(element))}
    return found.pop() if len(found) == 1 else None


def _is(element: ET.Element, names: tuple[str, ...]) -> bool:
    return isinstance(element.tag, str) and element.tag.rpartition("}")[2] in names


def _text(element: ET.Element) -> str:
    return (element.text or "").replace("\x00", "").strip()
