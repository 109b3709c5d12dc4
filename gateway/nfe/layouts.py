"""Owns the official schemas of NF-e and NFC-e, the days on which rules begin, and what is known of each state.

The schemas are those that nfelib 3.2.0 ships (some PL_010 of August 2026; the package does not name it). Its events,
its request to close numbers and the events inside of an answer know digits only; NT Conjunta 2025.001 lets letters in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import nfelib
from lxml import etree

from gateway.keys import NFCE
from gateway.nacional.layouts import compiled, held
from state_machine.protocol.channel import Ambiente

NS: Final = "http://www.portalfiscal.inf.br/nfe"
VERSAO: Final = "4.00"
VERSAO_EVENTO: Final = "1.00"
Document = Literal[
    "NFe", "enviNFe", "nfeProc", "consSitNFe", "consReciNFe", "consStatServ", "inutNFe", "cancelamento", "correcao"
]

_SCHEMAS: Final = Path(nfelib.__file__).parent
_NOTE, _CANCEL, _LETTER = "nfe/schemas/v4_0", "nfe_evento_cancel/schemas/v1_0", "nfe_evento_cce/schemas/v1_0"
_FILES: Final[dict[Document, tuple[str, str]]] = {
    "NFe": (_NOTE, "nfe_v4.00.xsd"),
    "enviNFe": (_NOTE, "enviNFe_v4.00.xsd"),
    "nfeProc": (_NOTE, "procNFe_v4.00.xsd"),
    "consSitNFe": (_NOTE, "consSitNFe_v4.00.xsd"),
    "consReciNFe": (_NOTE, "consReciNFe_v4.00.xsd"),
    "consStatServ": (_NOTE, "consStatServ_v4.00.xsd"),
    "inutNFe": (_NOTE, "inutNFe_v4.00.xsd"),
    "cancelamento": (_CANCEL, "envEventoCancNFe_v1.00.xsd"),
    "correcao": (_LETTER, "envCCe_v1.00.xsd"),
}
_XS: Final = "{http://www.w3.org/2001/XMLSchema}"
_KEY: Final = "[0-9]{6}[0-9A-Z]{12}[0-9]{26}"
_CNPJ: Final = "[0-9A-Z]{12}[0-9]{2}"
# By the type's name where a pattern is written in several ways, else by the pattern; the letters stand where the CNPJ
# is. The values are those of the official PL_010, as sped-nfe republishes it.
_BY_TYPE: Final = {"TChNFe": _KEY, "TCnpj": _CNPJ, "TCnpjOpc": f"|{_CNPJ}"}
_BY_PATTERN: Final = {
    "ID[0-9]{52}": "ID[0-9]{12}[0-9A-Z]{12}[0-9]{28}",
    "ID[0-9]{41}": "ID[0-9]{4}[0-9A-Z]{12}[0-9]{25}",
}
_CHANGED: Final = {_NOTE: 3, _CANCEL: 4, _LETTER: 4}  # patterns of each folder; another number is another nfelib


def check(root: Any, document: Document) -> None:
    """Hold a parsed document against the official XSD. Raises ``ValueError`` with what the schema says."""
    held(root, document, _schema(document))


@cache
def conditions_of_use() -> str:
    """Return the fixed text of a letter of correction (xCondUso), the one without accents."""
    root = etree.fromstring(_files(_LETTER)["e110110_v1.00.xsd"])
    said = root.findall(f".//{_XS}element[@name='xCondUso']//{_XS}enumeration")
    return str(said[-1].get("value"))


@cache
def _schema(document: Document) -> Any:
    folder, name = _FILES[document]
    return compiled(_files(folder), name)


@cache
def _files(folder: str) -> dict[str, bytes]:
    """Read a folder's schemas with letters in them. Raises ``RuntimeError`` if nfelib ships others than it did."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    files, changed = {}, 0
    for path in sorted((_SCHEMAS / folder).glob("*.xsd")):
        root = etree.fromstring(path.read_bytes(), parser)
        for kind in root.iter(f"{_XS}simpleType"):
            for pattern in kind.iter(f"{_XS}pattern"):
                better = _BY_TYPE.get(kind.get("name")) or _BY_PATTERN.get(pattern.get("value"))
                if better is not None and better != pattern.get("value"):
                    pattern.set("value", better)
                    changed += 1
        files[path.name] = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    if changed != _CHANGED[folder]:
        raise RuntimeError(f"{folder}: {changed} patterns with digits only, not {_CHANGED[folder]}")
    return files


@dataclass(frozen=True, slots=True)
class Milestone:
    """From ``desde`` on (production, a local day of emission) something holds; ``fonte`` says who says so."""

    desde: date
    fonte: str


CALENDARIO: Final = {
    "lote de um é síncrono": Milestone(date(2025, 10, 13), "NT 2025.001, rejection 452"),
    "cStat 120 autoriza": Milestone(date(2026, 10, 5), "NT 2026.002"),
    "CRT confere com a Receita": Milestone(date(2026, 11, 3), "NT 2026.007, rejections 178, 179, 180"),
    "DANFE novo": Milestone(date(2026, 12, 1), "NT 2026.010; brazilfiscalreport chooses by dhEmi"),
    "IBS e CBS do Simples": Milestone(
        date(2027, 1, 1), "Ato Conjunto RFB/CGIBS 4 of 2026-07-30; its layout is not out"
    ),
}
FIM: Final = CALENDARIO["IBS e CBS do Simples"].desde
"""The first day on which what is made here is no longer what the law asks of the Simples and the MEI."""


@dataclass(frozen=True, slots=True)
class UF:
    """A state: its IBGE code, who authorizes each model, and where people look at an NFC-e (by environment)."""

    code: str
    ibge: str
    nfe: str
    nfce: str
    qrcode: dict[Ambiente, str]
    consulta: dict[Ambiente, str]

    def authorizer(self, modelo: str) -> str:
        """Return who authorizes a model: a state's own service, ``SVRS`` or ``SVAN``."""
        return self.nfce if modelo == NFCE else self.nfe


@cache
def hosts() -> dict[str, Any]:
    """Return addresses by authorizer, model, environment and service, as ``hosts.json`` has them; never tried."""
    told = json.loads(Path(__file__).with_name("hosts.json").read_text(encoding="utf-8"))
    return dict(told["hosts"])


@cache
def states() -> dict[str, UF]:
    """Return the states by their two letters, as ``states.json`` has them; its head says of which day and whose."""
    told = json.loads(Path(__file__).with_name("states.json").read_text(encoding="utf-8"))["states"]
    return {
        code: UF(
            code,
            row["ibge"],
            row["nfe"],
            row["nfce"],
            {ambiente: row[ambiente]["qrcode"] for ambiente in Ambiente if ambiente in row},
            {ambiente: row[ambiente]["consulta"] for ambiente in Ambiente if ambiente in row},
        )
        for code, row in told.items()
    }
