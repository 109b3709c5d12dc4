"""The XML of a simulated note, in the manner of the national NFS-e; unsigned and of no fiscal value."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from proofs.sandbox.plugnotas.model import BRASILIA

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from proofs.sandbox.plugnotas.model import Note

_NS = "http://www.sped.fazenda.gov.br/nfse"
_CNPJ = 14  # characters
STAMP = "DOCUMENTO DE DEMONSTRAÇÃO — SEM VALOR FISCAL"


def render_xml(note: Note) -> bytes:
    """Return UTF-8 bytes with declaration; raises ``ValueError`` for a note without number."""
    if note.numero is None or note.chave is None or note.settled_at is None:
        raise ValueError(f"a nota {note.id} não foi autorizada")
    root = ET.Element("NFSe", {"xmlns": _NS, "versao": "1.01"})
    root.append(ET.Comment(f" {STAMP} "))
    inf = ET.SubElement(root, "infNFSe", {"Id": f"NFS{note.chave}"})
    _leaf(inf, "xLocEmi", note.municipio)
    _leaf(inf, "nNFSe", note.numero)
    _leaf(inf, "verAplic", "sandbox")
    _leaf(inf, "ambGer", "2")
    _leaf(inf, "cStat", "100")
    _leaf(inf, "dhProc", _local(note.settled_at))
    emit = ET.SubElement(inf, "emit")
    _party(emit, note.prestador, note.prestador_nome)
    valores = ET.SubElement(inf, "valores")
    _leaf(valores, "vLiq", _money(note.valor))
    _dps(inf, note)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _dps(inf: ET.Element, note: Note) -> None:
    dps = ET.SubElement(inf, "DPS", {"versao": "1.01"})
    kind = "2" if len(note.prestador) == _CNPJ else "1"
    number = (note.numero or "").rjust(15, "0")
    ident = f"DPS{note.municipio}{kind}{note.prestador:0>14}{note.serie:0>5}{number}"
    rps = note.payload.get("rps") or {}
    body = ET.SubElement(dps, "infDPS", {"Id": ident})
    _leaf(body, "tpAmb", "2")
    _leaf(body, "dhEmi", _local(note.created_at))
    _leaf(body, "serie", note.serie)
    _leaf(body, "nDPS", str(rps.get("numero") or note.numero or ""))
    competence = rps.get("competencia") or _local(note.created_at)
    _leaf(body, "dCompet", str(competence)[:10])
    _leaf(body, "cLocEmi", note.municipio)
    _party(ET.SubElement(body, "prest"), note.prestador, None)
    if note.tomador:
        _party(ET.SubElement(body, "toma"), note.tomador, note.payload["tomador"].get("razaoSocial"))
    serv = ET.SubElement(ET.SubElement(body, "serv"), "cServ")
    _leaf(serv, "cTribNac", str(note.servico.get("codigo", "")))
    _leaf(serv, "xDescServ", str(note.servico.get("discriminacao", "")))
    prices = ET.SubElement(ET.SubElement(body, "valores"), "vServPrest")
    _leaf(prices, "vServ", _money(note.valor))


def _party(parent: ET.Element, document: str, name: str | None) -> None:
    _leaf(parent, "CNPJ" if len(document) == _CNPJ else "CPF", document)
    if name:
        _leaf(parent, "xNome", name)


def _leaf(parent: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(parent, tag).text = text


def _money(value: Decimal) -> str:
    return f"{value:.2f}"


def _local(at: datetime) -> str:
    return at.astimezone(BRASILIA).isoformat(timespec="seconds")
