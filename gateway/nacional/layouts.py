"""Owns which layout holds where and when, the official schemas, and the bounds under which XML is parsed.

Owns the layout of NT 009 as far as an ordinary note has it: its schema, and its shape made of today's DPS.

No official XSD of it was at hand. This is Anexo VI 1.04.01 of NT 009 v1.01 (portal, 2026-10-01; SHA-256 of the sheet
103a150dd6f56ec8edcaa3a453b59a1b0e096d7cd5025d7bd06a387f141ddf39), read as the list of fields and their order, put over
the schemas of layout 1.01. With the official file ``overlaid`` goes, and ``reshaped`` stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

import nfelib
from lxml import etree

from state_machine.protocol.channel import Ambiente, Leiaute
from state_machine.protocol.emission import Rejected
from state_machine.services.codes import ATIVIDADES_SN
from state_machine.values.local_time import SAO_PAULO

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


NS: Final = "http://www.sped.fazenda.gov.br/nfse"
MAX_BYTES: Final = 1_000_000  # of a document; a note has some 20 kB
Digest = Literal["sha256", "sha1"]
Document = Literal["DPS", "NFSe", "pedRegEvento", "evento"]

_SCHEMAS: Final = Path(nfelib.__file__).parent / "nfse" / "schemas"
# nfelib 3.2.0 ships bundle 20260209, whose CNPJ has digits only. Bundle 20260727 lets letters in: NT Conjunta 2025.001.
# It puts them three places too early in the key of a note; here they stand where the CNPJ really is.
_ALPHANUMERIC: Final = {
    "TSCNPJ": "[0-9A-Z]{12}[0-9]{2}",
    "TSIdDPS": "DPS[0-9]{7}(1[0-9]{14}|2[0-9A-Z]{12}[0-9]{2})[0-9]{20}",
    "TSChaveNFSe": "[0-9]{9}[0-9A-Z]{12}[0-9]{29}",
    "TSIdNFSe": "NFS[0-9]{9}[0-9A-Z]{12}[0-9]{29}",
    "TSIdPedRegEvt": "PRE[0-9]{9}[0-9A-Z]{12}[0-9]{35}",
    "TSIdEvento": "EVT[0-9]{9}[0-9A-Z]{12}[0-9]{38}",
}
_SHOWN: Final = 3  # complaints of a schema in one error; the first names the cause, the rest follow from it
_one_at_a_time = Lock()  # a compiled schema keeps the complaints of its last run, whoever ran it


@dataclass(frozen=True, slots=True)
class Layout:
    """One layout of the national documents: the schemas that check it and the hash under which they are signed.

    ``schemas`` is a folder of nfelib's schemas, ``versao`` the attribute of that name. ``digest``: "sha256" by default;
    schema 1.00 fixes "sha1", and an installation may choose it (``dataclasses.replace``). ``alphanumeric`` says whether
    a CNPJ may have letters, ``nt009`` whether a DPS has the shape of that note.
    """

    versao: str = "1.01"
    schemas: str = "v1_0"
    digest: Digest = "sha256"
    alphanumeric: bool = True
    nt009: bool = False


@dataclass(frozen=True, slots=True)
class Inicio:
    """From ``desde`` on (a day in São Paulo, by the emission) ``layout`` holds in ``ambiente``."""

    ambiente: Ambiente
    desde: date
    layout: Layout


# The bundles' own dates, save the second line: production takes letters since the tenth of August, says a secondary
# source. From the day of ``NT009`` on the last one has that note's shape.
CALENDARIO: Final = (
    Inicio(Ambiente.PRODUCAO, date(2026, 2, 9), Layout(alphanumeric=False)),
    Inicio(Ambiente.PRODUCAO, date(2026, 8, 10), Layout()),
    Inicio(Ambiente.HOMOLOGACAO, date(2026, 2, 9), Layout(alphanumeric=False)),
    Inicio(Ambiente.HOMOLOGACAO, date(2026, 7, 27), Layout()),
)


# The day from which NT 009 (v1.0.1) takes the place of what is built, at the authority's own hosts. For production
# secondary sources name two days, 2026-12-01 and 2027-01-01; this is the one from which no source says otherwise.
NT009: Final = {Ambiente.PRODUCAO: date(2027, 1, 1), Ambiente.HOMOLOGACAO: date(2026, 10, 31)}


# The earliest day that any source names: from then on E1235 may mean that the authority takes the other shape.
FIRST_NAMED: Final = {Ambiente.PRODUCAO: date(2026, 12, 1), Ambiente.HOMOLOGACAO: date(2026, 10, 31)}
REFUSED: Final = "E1235"  # the code of a document that fails the schema; why is seldom said


@dataclass(slots=True)
class LayoutChoice:
    """Which of the two shapes is made in an environment: by its calendar, or as an operator chose.

    ``sozinho``: the other one is chosen by itself, once, where the authority refuses this one.
    """

    ambiente: Ambiente
    calendario: date | None = None
    sozinho: bool = False
    escolha: Leiaute | None = None

    @property
    def nt009(self) -> date | None:
        """The first day of NT 009 that holds; ``None``: layout 1.01 for ever."""
        if self.escolha is None:
            return self.calendario
        return date.min if self.escolha == "nt009" else None

    def at(self, dia: date) -> Leiaute:
        """Return the layout that is made on a day."""
        return "nt009" if self.nt009 is not None and self.nt009 <= dia else "1.01"

    def refused(self, recusa: Rejected, dia: date) -> bool:
        """Say whether a refusal is of the layout and of nothing else."""
        return recusa.codigos == (REFUSED,) and dia >= FIRST_NAMED[self.ambiente]

    @staticmethod
    def of(dps: bytes) -> Leiaute:
        """Return the layout of a DPS of ours."""
        info = parse(dps)[0]
        return "1.01" if info.find(f"{{{NS}}}finNFSe") is None else "nt009"


# The regimes whose DPS has the IBS/CBS group, by the competence: the last row that began holds. Both days are of
# secondary sources, as is the third: an orientation of CGNFS-e (2026-08-07) lets the group be absent until 2026-12-31.
IBS_CBS: Final = (
    (date(2026, 8, 3), frozenset({"normal"})),
    (date(2027, 1, 1), frozenset({"normal", "simples", "simples-pendente"})),
)
IBS_CBS_MUST: Final = date(2027, 1, 1)


@dataclass(frozen=True, slots=True)
class LayoutDays:
    """From ``nt009`` on a DPS has that shape; from ``ibs_cbs`` on the normal regime makes none without that group."""

    nt009: date | None = None
    ibs_cbs: date | None = None


def has_ibs_cbs(regime: str, competencia: date) -> bool:
    """Say whether the DPS of a regime has the IBS/CBS group for a competence; another one is refused (E0850)."""
    begun = [regimes for desde, regimes in IBS_CBS if desde <= competencia]
    return bool(begun) and regime in begun[-1]


def deadlines(settings: Any, ambiente: Ambiente) -> LayoutDays:
    """Return the days of an environment."""
    must: date | None = settings.nacional_ibs_cbs_obrigatorio
    return LayoutDays(
        nt009_from(settings, ambiente), must or (None if _elsewhere(settings, ambiente) else IBS_CBS_MUST)
    )


def _elsewhere(settings: Any, ambiente: Ambiente) -> bool:
    return bool(settings.nacional_sefin_url) and ambiente == settings.fiscal_environment


def nt009_from(settings: Any, ambiente: Ambiente) -> date | None:
    """Return the first day of NT 009 in an environment; ``None`` where nobody knows one.

    A setting names production's. Without it the authority's own host has a known day; another address
    (``PROSA_NACIONAL_SEFIN_URL``, of the installation's environment) is a server with a calendar of its own.
    """
    if ambiente is Ambiente.PRODUCAO and settings.nacional_nt009_producao is not None:
        chosen: date = settings.nacional_nt009_producao
        return chosen
    return None if _elsewhere(settings, ambiente) else NT009[ambiente]


def term(settings: Any = None, hoje: date | None = None) -> str | None:
    """Say in pt-BR in which layout the channel issues until when, by environment; nothing without settings."""
    if settings is None:
        return None
    parts, hoje = [], hoje or datetime.now(SAO_PAULO).date()
    for ambiente, nome in ((Ambiente.PRODUCAO, "em produção"), (Ambiente.HOMOLOGACAO, "em homologação")):
        begins = nt009_from(settings, ambiente)
        if begins is None or begins <= hoje:
            parts.append(f"{nome}, o leiaute da NT 009" if begins else f"{nome}, o do servidor configurado")
        else:
            last = begins - timedelta(days=1)
            parts.append(f"{nome}, o leiaute 1.01 até {last:%d/%m/%Y} e o da NT 009 a partir de {begins:%d/%m/%Y}")
    return "; ".join(parts)


def layout_for(
    ambiente: Ambiente, dia: date, nt009: date | None = None, calendario: Sequence[Inicio] = CALENDARIO
) -> Layout:
    """Return the layout that holds in an environment on the day of emission; ``nt009``: the first day of that shape.

    Raises ``ValueError`` for a day before the first layout.
    """
    begun = [inicio for inicio in calendario if inicio.ambiente is ambiente and inicio.desde <= dia]
    if not begun:
        raise ValueError(f"dh_emi: no layout of {ambiente} is known for {dia}")
    layout = max(begun, key=lambda inicio: inicio.desde).layout
    return replace(layout, nt009=True) if nt009 is not None and nt009 <= dia else layout


def parse(xml: bytes) -> Any:
    """Return the root element of a document, without network, entities, comments or instructions inside.

    A comment splits a text for who reads it and not for who signs it, so a document has none. Raises ``ValueError``.
    """
    if len(xml) > MAX_BYTES:
        raise ValueError(f"the document has more than {MAX_BYTES} bytes")
    try:
        root = etree.fromstring(xml, _parser())
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise ValueError(f"no well-formed XML: {error}") from error
    if root.getroottree().docinfo.doctype:
        raise ValueError("a document of the authority declares no DOCTYPE")
    if next(root.iter(etree.Comment, etree.ProcessingInstruction, etree.Entity), None) is not None:
        raise ValueError("a document of the authority has no comments, instructions or entities")
    return root


def check(root: Any, document: Document, layout: Layout) -> None:
    """Hold a parsed document against the official XSD. Raises ``ValueError`` with what the schema says."""
    held(root, document, _schema(layout.schemas, document, alphanumeric=layout.alphanumeric, nt009=layout.nt009))


def held(root: Any, document: str, schema: Any) -> None:
    """Hold a parsed document against a compiled schema. Raises ``ValueError`` with what the schema says."""
    with _one_at_a_time:
        if schema.validate(root):
            return
        complaints = [entry.message for entry in schema.error_log][:_SHOWN]
    raise ValueError(f"{document}: " + "; ".join(complaints))


def compiled(files: dict[str, bytes], name: str) -> Any:
    """Compile the schema ``name`` of these files, whose includes are looked up among them and nowhere else."""
    parser = _parser()
    parser.resolvers.add(_Shipped(files))
    return etree.XMLSchema(etree.fromstring(files[name], parser, base_url=name))


def _parser() -> Any:
    return etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False)


@cache  # four documents of three layouts
def _schema(folder: str, document: Document, *, alphanumeric: bool, nt009: bool) -> Any:
    """Compile a schema that nfelib ships, once a process.

    The overlays are made in memory, of the files of nfelib 3.2.0 (bundle 20260209).
    """
    files = {path.name: path.read_bytes() for path in (_SCHEMAS / folder).glob("*.xsd")}
    if nt009:
        files = overlaid(files)
    if alphanumeric:
        files[SIMPLE] = _with_letters(files[SIMPLE])
    return compiled(files, next(name for name in files if name.startswith(f"{document}_v")))


def _with_letters(xsd: bytes) -> bytes:
    """Put the patterns with letters into their simple types. Raises ``RuntimeError`` if a type is not in the file."""
    root = etree.fromstring(xsd, _parser())
    for name, pattern in _ALPHANUMERIC.items():
        found = root.findall(f"{_XS}simpleType[@name='{name}']/{_XS}restriction/{_XS}pattern")
        if len(found) != 1:
            raise RuntimeError(f"the shipped schema has no one pattern of {name}")
        found[0].set("value", pattern)
    overlaid: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return overlaid


class _Shipped(etree.Resolver):  # type: ignore[misc]  # lxml ships no types
    """Answers a schema's includes from memory and from nowhere else."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__()
        self._files = files

    def resolve(self, system_url: str, _public_id: str | None, context: Any) -> Any:
        return self.resolve_string(self._files[system_url.rpartition("/")[2]], context, base_url=system_url)
