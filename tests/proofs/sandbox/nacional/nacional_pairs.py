"""A DPS as a list of paths, edited in one line, and the notes and registers that its rules look at."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import nfelib
from lxml import etree

from gateway.nacional.layouts import COMPLEX, NS, parse
from gateway.nacional.signature import pack
from proofs.sandbox.nacional.model import Dps, Event, Note, path
from proofs.sandbox.nacional.register import City, Place, Taxpayer
from proofs.sandbox.plugnotas.model import access_check_digit
from state_machine.protocol.channel import Ambiente
from tests.proofs.sandbox.nacional.nacional_company import ANA, invoice, unsigned

CITY, RIO = "3550308", "3304557"
NOW = datetime(2026, 6, 10, 15, 0, tzinfo=UTC)
_XS = "{http://www.w3.org/2001/XMLSchema}"
_SHORT = {
    "mun": "valores/trib/tribMun",
    "bm": "valores/trib/tribMun/BM",
    "fed": "valores/trib/tribFed",
    "pis": "valores/trib/tribFed/piscofins",
    "burden": "valores/trib/totTrib",
    "ded": "valores/vDedRed",
    "doc": "valores/vDedRed/documentos/docDedRed",
    "fornec": "valores/vDedRed/documentos/docDedRed/fornec",
    "disc": "valores/vDescCondIncond",
    "reg": "prest/regTrib",
    "cserv": "serv/cServ",
    "ext": "serv/comExt",
    "loc": "serv/locPrest",
}


class Pair(NamedTuple):
    """Edits that break a rule and edits that do not, over the same ground and in the same place; "|" is another one."""

    fails: str
    passes: str = ""
    ground: str = ""
    place: dict[str, Any] = {}  # noqa: RUF012 - never written to

    def failing(self) -> list[str]:
        """The documents that the rule refuses."""
        return [f"{self.ground} {edits}" for edits in self.fails.split("|")]

    def passing(self) -> list[str]:
        """Those that it takes."""
        return [f"{self.ground} {edits}" for edits in self.passes.split("|")]


@cache
def _types() -> dict[str, Any]:
    schema = Path(nfelib.__file__).parent / "nfse" / "schemas" / "v1_0" / COMPLEX
    return {one.get("name"): one for one in etree.parse(schema).getroot().findall(f"{_XS}complexType")}


def _ordinary() -> dict[str, str]:
    """Return the DPS that the product makes of an ordinary invoice, leaf by leaf."""
    root = parse(unsigned(invoice(competencia=date(2026, 6, 10)), dh_emi=NOW - timedelta(minutes=1)))[0]
    tree = root.getroottree()
    leaves = [leaf for leaf in root.iter() if len(leaf) == 0]
    return {"/".join(tree.getelementpath(leaf).replace(f"{{{NS}}}", "").split("/")[1:]): leaf.text for leaf in leaves}


def _long(steps: str) -> str:
    first, _, rest = steps.partition("/")
    return "/".join(filter(None, (_SHORT.get(first, first), rest)))


def document(edits: str) -> bytes:
    """Return the ordinary DPS after edits: ``path=value`` says it, ``path=`` takes it and what is below it away.

    Elements stand in the schema's order; ``Id`` is made of the parts, unless the edits say it.
    """
    said = _ordinary()
    for edit in edits.split():
        steps, _, value = edit.partition("=")
        steps = _long(steps)
        said = {name: told for name, told in said.items() if name != steps and not name.startswith(f"{steps}/")}
        if value:
            said[steps] = value
    identity, versao = said.pop("Id", None), said.pop("versao", "1.01")
    root = etree.Element(f"{{{NS}}}DPS", nsmap={None: NS}, versao=versao)
    info = _filled(etree.SubElement(root, f"{{{NS}}}infDPS"), "TCInfDPS", "", said)
    assert not said, f"not in the layout: {said}"
    info.set("Id", identity or Dps.of(info).identity)
    made: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return made


def _filled(element: Any, kind: str, prefix: str, said: dict[str, str]) -> Any:
    for child in _types()[kind].iter(f"{_XS}element"):
        steps = prefix + str(child.get("name"))
        if steps in said:
            etree.SubElement(element, f"{{{NS}}}{child.get('name')}").text = said.pop(steps)
        elif any(name.startswith(f"{steps}/") for name in said):
            _filled(etree.SubElement(element, f"{{{NS}}}{child.get('name')}"), child.get("type"), f"{steps}/", said)
    return element


def note(
    numero: int, edits: str = "", *events: str, at: datetime = NOW - timedelta(days=1), by_city: bool = False
) -> Note:
    """Return a note made of an edited DPS, with events of these kinds; ``by_city``: the city's own system made it."""
    xml = document(edits)
    root = parse(xml)
    dps = Dps.of(root.find(path("infDPS")))
    key = dps.access_key(numero)[:-1]
    key = f"{key[:7]}{1 if by_city else 2}{key[8:]}"
    whole = etree.Element(f"{{{NS}}}NFSe")
    etree.SubElement(whole, f"{{{NS}}}infNFSe").append(root)
    return Note(
        nsu=numero,
        at=at,
        id_dps=dps.id,
        chave=key + access_check_digit(key),
        numero=numero,
        municipio=dps.municipio,
        prestador=dps.prestador,
        tomador=dps.tomador,
        valor=dps.valor,
        descricao=dps.descricao,
        competencia=dps.competencia.isoformat(),
        codigo=dps.codigo,
        c_int_contrib=None,
        dps_sha256="",
        by="api",
        packed=pack(etree.tostring(whole)),
        events=tuple(Event(numero, at, kind, "", None, "api") for kind in events),
    )


def city(**facts: Any) -> City:
    """Return a city whose ISS is 5 %, so that a base may be reduced."""
    return City(**{"rate": Decimal(5), **facts})


def here(**facts: Any) -> dict[str, Any]:
    """Say what the issuer's city has agreed to."""
    return {"cities": {CITY: city(**facts)}}


def in_rio(**facts: Any) -> dict[str, Any]:
    """Say what another city has agreed to."""
    return {"cities": {CITY: city(), RIO: city(**facts)}}


def enrolled(document: str = ANA, **facts: Any) -> dict[str, Any]:
    """Say what the registers know of an issuer."""
    return {"taxpayers": {document: Taxpayer(**facts)}}


def at_noon(**changes: Any) -> Place:
    """Return SEFIN at noon in São Paulo, with those notes."""
    facts = {"cities": {CITY: city()}, "notes": {one.chave: one for one in KEPT.values()}, **changes}
    return Place(Ambiente.HOMOLOGACAO, "2", NOW, **facts)


FEIRA, MARIA, JOSE = "33000167000101", "11144477735", "52998224725"
# Who issues, and how they are taxed: the ordinary one is of the Simples.
PERCENT = "burden= burden/pTotTrib/pTotTribFed=3.00 burden/pTotTrib/pTotTribEst=0.00 burden/pTotTrib/pTotTribMun=2.00"
NORMAL = f"reg/opSimpNac=1 reg/regApTribSN= {PERCENT}"
MEI = "reg/opSimpNac=2 reg/regApTribSN= burden= burden/indTotTrib=0"
APART = "reg/regApTribSN=2"  # of the Simples, with the ISS outside it
PERSON = f"{NORMAL} prest/CNPJ= prest/CPF={MARIA}"
# What is taxed, where, and by whom.
IMMUNE = "mun/tribISSQN=2 mun/tpImunidade=1"
SUSPENDED = f"mun/exigSusp/tpSusp=1 mun/exigSusp/nProcesso={'1' * 30}"
COMEX = "ext/mdPrestacao=1 ext/vincPrest=0 ext/tpMoeda=220 ext/vServMoeda=300.00 ext/mecAFComexP=01 ext/mecAFComexT=01 "
COMEX += "ext/movTempBens=1 ext/mdic=0"
NBS = "cserv/cNBS=115022000"
NOT_TAXED = "cserv/cTribNac=990101 mun/tribISSQN=4"  # neither ISS nor ICMS
EXPORTED = f"mun/tribISSQN=3 mun/cPaisResult=PT {NBS} {COMEX}"
DONE_ABROAD = f"loc= loc/cPaisPrestacao=PT mun/tribISSQN=3 {NBS} {COMEX}"
IN_RIO = f"cserv/cTribNac=110401 loc/cLocPrestacao={RIO}"  # guarding of things: ISS is due where it is done
FOR_CUSTOMER = "cserv/cTribNac=170501"  # ISS is due where the customer is
STREET = "{0}/xLgr=Rua {0}/nro=1 {0}/xBairro=Centro"
SITE = f"{STREET.format('serv/obra/end')} serv/obra/end/CEP=01001000"
WORKS = f"cserv/cTribNac=070202 {SITE}"
ABROAD_END = "endExt/cEndPost=1000 {0}/endExt/xCidade=Lisboa {0}/endExt/xEstProvReg=Lisboa"
SITE_ABROAD = f"serv/obra/end/CEP= serv/obra/end/{ABROAD_END.format('serv/obra/end')}"
SHOW = (
    "cserv/cTribNac=120101 serv/atvEvento/xNome=Festa serv/atvEvento/dtIni=2026-06-10 serv/atvEvento/dtFim=2026-06-10"
)
HALL = f"{STREET.format('serv/atvEvento/end')} serv/atvEvento/end/CEP=01001000"
EVENT = f"{SHOW} {HALL}"
HALL_ABROAD = f"serv/atvEvento/end/CEP= serv/atvEvento/end/{ABROAD_END.format('serv/atvEvento/end')}"


def at_home(who: str) -> str:
    """An address in São Paulo."""
    return f"{STREET.format(who + '/end')} {who}/end/endNac/cMun={CITY} {who}/end/endNac/CEP=01001000"


def abroad(who: str) -> str:
    """An address in Lisbon."""
    end = f"{who}/end"
    return f"{end}= {STREET.format(end)} {end}/endExt/cPais=PT {end}/{ABROAD_END.format(end)}"


def untaxed(edits: str) -> str:
    """Return the same edits for what is immune, exported, or taxed by nobody."""
    return "|".join(f"{why} {edits}" for why in (IMMUNE, EXPORTED, NOT_TAXED))


HOME = at_home("toma")
FOREIGN = f"toma/CNPJ= toma/NIF=PT1 {abroad('toma')}"
AGENT = f"interm/CNPJ={FEIRA} interm/xNome=Feira"
RETAINED = f"mun/tpRetISSQN=2 {HOME}"
BY_AGENT = f"mun/tpRetISSQN=3 {AGENT} {at_home('interm')}"
DEDUCTED = "ded/vDR=100.00"
PAPER = "doc/nDoc=7 doc/tpDedRed=1 doc/dtEmiDoc=2026-06-01 doc/vDedutivelRedutivel=100.00 doc/vDeducaoReducao=50.00 "
PAPER += f"fornec/CNPJ={FEIRA} fornec/xNome=Feira {at_home('fornec')}"
PAPERS = f"{NORMAL} {PAPER}"

APRIL = "dCompet=2026-04-01 dhEmi=2026-04-01T12:00:00-03:00"
KEPT = {
    "living": note(1),
    "of another": note(2, f"prest/CNPJ={FEIRA}"),
    "cancelled": note(3, "", "101101"),
    "cancelled by the city": note(4, "", "305101"),
    "old": note(5, APRIL, at=datetime(2026, 4, 1, 15, 0, tzinfo=NOW.tzinfo)),
    "anonymous": note(6, "toma="),
    "by the city": note(7, by_city=True),
    "asked": note(8, "", "101103"),
    "asked and answered": note(9, "", "101103", "105105"),
    "confirmed": note(10, "", "203202"),
    "confirmed by silence": note(11, "", "205204"),
    "blocked": note(12, "", "305102"),
    "freed": note(13, "", "305102", "305103"),
    "of April, made now": note(14, APRIL),
    "of the last day": note(15, APRIL, at=NOW - timedelta(days=30)),
}


def keyed(body: str) -> str:
    """Return a key with its check digit."""
    return body + access_check_digit(body)


ABSENT = keyed(KEPT["living"].chave[:30] + "9" * 19)  # a key of no note


def wrong(key: str) -> str:
    """A key whose check digit is another one."""
    return key[:-1] + str((int(key[-1]) + 1) % 10)


REPLACING = "nDPS=2 subst/chSubstda={} subst/cMotivo=99 subst/xMotivo=Valor_corrigido_depois"
