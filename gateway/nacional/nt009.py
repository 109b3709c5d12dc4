"""Owns the layout of NT 009 as far as an ordinary note has it: its schema, and its shape made of today's DPS.

No official XSD of it was at hand. This is Anexo VI 1.04.01 of NT 009 v1.01 (portal, 2026-10-01; SHA-256 of the sheet
103a150dd6f56ec8edcaa3a453b59a1b0e096d7cd5025d7bd06a387f141ddf39), read as the list of fields and their order, put over
the schemas of layout 1.01. With the official file ``overlaid`` goes, and ``reshaped`` stays.
"""

from __future__ import annotations

from typing import Any, Final

from lxml import etree

from state_machine.services.own import ATIVIDADES_SN

_XS: Final = "{http://www.w3.org/2001/XMLSchema}"
COMPLEX: Final = "tiposComplexos_v1.01.xsd"
SIMPLE: Final = "tiposSimples_v1.01.xsd"
# The children of each changed type in their order: "?" may be absent, and a new one has its type behind ":". What is
# not named is gone from the type.
_SEQUENCES: Final = {
    "TCInfDPS": "tpAmb dhEmi verAplic serie nDPS dCompet tpEmit cMotivoEmisTI? finNFSe:TSRTCFinNFSe chNFSeRej? cLocEmi "
    "subst? prest toma? indDest:TSRTCIndDest dest?:TCRTCInfoDest interm? serv? valores? IBSCBS?",
    "TCRegTrib": "opSimpNac regApTribSN? regApIBSCBSSN?:TSRegimeApuracaoSimpNac regEspTrib?",
    "TCCServ": "cTribNac cTribMun? cNBS? cAtvSN?:TSCodAtvSN cIntContrib? xDescServ",
    "TCInfoValores": "vServPrest vDescCondIncond? trib?",
    "TCRTCInfoIBSCBS": "indFinal? cIndOp? tpOper? gRefNFSe? tpEnteGov? imovel? valores",
    "TCRTCInfoValoresIBSCBS": "trib",
    "TCRTCInfoTributosIBSCBS": "CST:TSRTCCodSitTrib cClassTrib:TSRTCCodClassTrib gIBSCBS?",
    "TCRTCInfoTributosSitClas": "cCredPres? gTribRegular? gDif?",
    "TCInfNFSe": "xLocEmi xLocPrestacao? nNFSe cLocIncid? xLocIncid? xTribNac? xTribMun? xNBS? verAplic "
    "verCalcIBSCBS?:TSVerAplic ambGer tpEmis procEmi? cStat dhProc nDFSe emit valores xOutInf? IBSCBS? DPS",
    "TCRTCIBSCBS": "cLocalidadeIncid? xLocalidadeIncid? pRedutor? valores? totCIBS",
    "TCRTCTotalCIBS": "vTotNF gIBS gCBS gTribRegular? gTribCompraGov? gTribSN?:TCRTCTotalTribSN",
    "TCRTCTotalIBS": "vIBSTot? gIBSCredPres? gIBSUFTot? gIBSMunTot?",
    "TCRTCTotalCBS": "gCBSCredPres? vDifCBS? vCBS?",
}
_NEW_TYPES: Final = """
<xs:complexType xmlns:xs="http://www.w3.org/2001/XMLSchema" name="TCRTCTotalTribSN"><xs:sequence>
  <xs:element name="pIBSSN" type="TSDec2V2" minOccurs="0"/><xs:element name="vIBSSN" type="TSDec15V2" minOccurs="0"/>
  <xs:element name="pCBSSN" type="TSDec2V2"/><xs:element name="vCBSSN" type="TSDec15V2"/>
</xs:sequence></xs:complexType>
"""
_VALUES: Final = {
    "TSRTCFinNFSe": ("0", "1", "2"),
    "TSOpSimpNac": ("1", "2", "3", "4"),
    "TSCodAtvSN": tuple(ATIVIDADES_SN),
}


def overlaid(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the schema files of layout 1.01 with the types of NT 009, for notes such as ours.

    Raises ``RuntimeError`` where a type or an element is not in the file.
    """
    return {**files, COMPLEX: _complex(files[COMPLEX]), SIMPLE: _simple(files[SIMPLE])}


def _complex(xsd: bytes) -> bytes:
    root = etree.fromstring(xsd, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))
    for name, words in _SEQUENCES.items():
        sequence = root.find(f"{_XS}complexType[@name='{name}']/{_XS}sequence")
        if sequence is None:
            raise RuntimeError(f"the shipped schema has no sequence of {name}")
        known = {child.get("name"): child for child in sequence}
        sequence[:] = [_element(known, word) for word in words.split()]
    root.append(etree.fromstring(_NEW_TYPES))
    made: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return made


def _element(known: dict[str, Any], word: str) -> Any:
    said, _, of = word.partition(":")
    name = said.rstrip("?")
    found = etree.Element(f"{_XS}element", name=name, type=of) if of else known.get(name)
    if found is None:
        raise RuntimeError(f"the shipped schema has no {name}")
    found.set("minOccurs", "0" if said.endswith("?") else "1")
    return found


def _simple(xsd: bytes) -> bytes:
    root = etree.fromstring(xsd, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))
    for name, values in _VALUES.items():
        found = root.find(f"{_XS}simpleType[@name='{name}']")
        if found is not None:
            root.remove(found)
        kind = etree.SubElement(root, f"{_XS}simpleType", name=name)
        restriction = etree.SubElement(kind, f"{_XS}restriction", base="xs:string")
        for value in values:
            etree.SubElement(restriction, f"{_XS}enumeration", value=value)
    made: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return made


def reshaped(dps: Any, *, apuracao: str | None, atividade: str | None) -> None:
    """Turn a DPS of layout 1.01 (its root) into one of NT 009, in place: the same invoice, its parts moved.

    ``apuracao`` (regApIBSCBSSN) and ``atividade`` (cAtvSN) are said only in this layout; ``None`` leaves them out.
    """
    info = dps[0]
    ns = f"{{{etree.QName(dps).namespace}}}"

    def at(path: str) -> Any:
        return info.find("/".join(f"{ns}{name}" for name in path.split("/")))

    def new(name: str, value: str) -> Any:
        made = etree.Element(f"{ns}{name}")
        made.text = value
        return made

    group = at("IBSCBS")
    said = dict.fromkeys(("finNFSe", "indDest"), "0")  # a regular note, received by the customer
    if group is not None:
        for name in said:
            moved = group.find(f"{ns}{name}")
            said[name] = moved.text
            group.remove(moved)
        of_tax = at("IBSCBS/valores/trib/gIBSCBS")  # stays, empty: the code says that it must be there
        for place, name in enumerate(("CST", "cClassTrib")):
            of_tax.getparent().insert(place, of_tax.find(f"{ns}{name}"))
    at("cLocEmi").addprevious(new("finNFSe", said["finNFSe"]))
    (at("prest") if at("toma") is None else at("toma")).addnext(new("indDest", said["indDest"]))
    if apuracao is not None:
        at("prest/regTrib/regEspTrib").addprevious(new("regApIBSCBSSN", apuracao))
    if atividade is not None:
        at("serv/cServ/cIntContrib").addprevious(new("cAtvSN", atividade))
    at("serv/cServ").append(at("serv/cServ/xDescServ"))
