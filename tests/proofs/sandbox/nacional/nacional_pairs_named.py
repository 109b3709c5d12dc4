"""Pairs of the document itself, of the note that it takes the place of, and of everybody who is named in it."""

from __future__ import annotations

from datetime import date

from proofs.sandbox.nacional.register import Enrolment, Taxpayer
from tests.proofs.sandbox.nacional.nacional_company import ANA, PADARIA
from tests.proofs.sandbox.nacional.nacional_pairs import (
    ABSENT,
    AGENT,
    APART,
    APRIL,
    BY_AGENT,
    CITY,
    COMEX,
    FEIRA,
    FOR_CUSTOMER,
    FOREIGN,
    HOME,
    IN_RIO,
    JOSE,
    KEPT,
    MARIA,
    MEI,
    NBS,
    NORMAL,
    PAPERS,
    PERSON,
    REPLACING,
    RETAINED,
    RIO,
    Pair,
    abroad,
    at_home,
    enrolled,
    here,
    untaxed,
)


def instead(name: str) -> str:
    """Take the place of one of those notes."""
    return REPLACING.format(KEPT[name].chave)


DOCUMENT = {
    "E0001": Pair("versao=1.00", place={"expired": frozenset({"1.00"})}),
    "E0004": Pair(f"Id=DPS{CITY}2{ANA}00900{2:015d}", "nDPS=2"),
    "E0006": Pair("tpAmb=1"),
    "E0008": Pair("dhEmi=2026-06-10T12:01:00-03:00", "dhEmi=2026-06-10T12:00:00-03:00"),
    "E0010": Pair("serie=50000|serie=79999|serie=0", "serie=49999|serie=1"),
    "E0014": Pair("", "nDPS=2|serie=901", place={"taken": f"DPS{CITY}2{ANA}00900{1:015d}"}),
    "E0015": Pair("dCompet=2026-06-11"),
    "E0016": Pair("dCompet=2026-06-09", f"|{MEI} dCompet=2026-06-09", place=here(since=date(2026, 6, 10))),
    "E0018": Pair("dCompet=2026-06-09", place=enrolled(since=date(2026, 6, 10))),
    "E0020": Pair("dCompet=2026-06-09", ground=PERSON, place=enrolled(MARIA, since=date(2026, 6, 10))),
    "E0023": Pair(
        "prest/IM=1",
        "prest/IM=2|prest/IM=1 dCompet=2026-06-10",
        "dCompet=2026-06-09",
        enrolled(enrolments={CITY: {"1": Enrolment(since=date(2026, 6, 10)), "2": Enrolment()}}),
    ),
    "E9996": Pair(
        f"tpEmit=2|tpEmit=3|tpEmit=2 cMotivoEmisTI=4|tpEmit=2 prest/xNome=Ana|tpEmit=2 {at_home('prest')}|"
        "tpEmit=2 prest/CNPJ= prest/cNaoNIF=1|tpEmit=3 valores/vServPrest/vReceb=1500.10|"
        f"tpEmit=2 prest/CNPJ= prest/NIF=PT1 prest/xNome=Ana {abroad('prest')}"
    ),
    "E0029": Pair("cMotivoEmisTI=4"),
    "E0037": Pair(
        "", f"cLocEmi={RIO}|{MEI}", place=here(registered=False, active=False, issues=False, since=date(2030, 1, 1))
    ),
    "E0038": Pair("", f"cLocEmi={RIO}|{MEI}", place=here(active=False)),
    "E0039": Pair("", f"cLocEmi={RIO}|{MEI}", place=here(issues=False)),
    "E0041": Pair(
        f"{MEI} prest/IM=1",
        f"prest/IM=1|{MEI} cLocEmi={RIO}",
        place=enrolled(municipio=RIO, enrolments={CITY: {"1": Enrolment()}}),
    ),
}

REPLACED = {
    "E0042": Pair(instead("of another"), instead("living")),
    "E0044": Pair(
        REPLACING.format(ABSENT), f"{instead('living')}|{instead('anonymous')}", place=here(substitution_days=30)
    ),
    "E0046": Pair(f"{instead('cancelled')}|{instead('cancelled by the city')}", instead("living")),
    "E0050": Pair(
        instead("old"),
        f"{instead('old')} subst/cMotivo=01|{instead('old')} subst/cMotivo=02|"
        f"{instead('of April, made now')}|{instead('of the last day')}",
        APRIL,
        here(substitution_days=30),
    ),
    "E0056": Pair(instead("anonymous"), instead("living"), place=here(substitutes_anonymous=False)),
    "E0058": Pair(f"toma/CNPJ={FEIRA}", "", f"{NORMAL} {instead('living')}", here(substitutes_customer=False)),
    "E0060": Pair(
        "valores/vServPrest/vServ=1500.00|dCompet=2026-06-09|"
        f"toma/CNPJ={FEIRA}|{NORMAL} dCompet=2026-06-09|{NORMAL} cserv/cTribNac=010201|{NORMAL} cserv/cTribMun=001|"
        f"{NORMAL} loc/cLocPrestacao={RIO}|{MEI} dCompet=2026-06-09",
        f"cserv/cTribNac=010201|loc/cLocPrestacao={RIO}|{NORMAL} valores/vServPrest/vServ=1500.00|"
        f"{NORMAL} toma/CNPJ={FEIRA}",
        instead("living"),
    ),
    "E0065": Pair(instead("by the city"), instead("living")),
    "E0068": Pair(instead("asked"), instead("asked and answered")),
    "E0070": Pair(instead("confirmed"), instead("living")),
    "E0072": Pair(instead("confirmed by silence"), instead("living")),
    "E0076": Pair(instead("blocked"), instead("freed")),
    "E0078": Pair("subst/xMotivo=", "|subst/cMotivo=05 subst/xMotivo=", instead("living")),
}


CLOSED = Enrolment(active=False, since=date(2030, 1, 1))
TWO = enrolled(enrolments={CITY: {"1": Enrolment(), "2": Enrolment()}})
PRESTADOR = {
    "E0080": Pair("prest/CNPJ=11222333000180"),
    "E0082": Pair("", f"prest/CNPJ={FEIRA}", place={"closed": frozenset({ANA})}),
    "E0084": Pair(
        "", f"cLocEmi={RIO}|{PERSON}", place={"taxpayers": dict.fromkeys((ANA, MARIA), Taxpayer(municipio=RIO))}
    ),
    "E0096": Pair(f"prest/CPF={MARIA[:-1]}4", ground=PERSON),
    "E0098": Pair("", f"prest/CPF={JOSE}", PERSON, {"closed": frozenset({MARIA})}),
    "E0099": Pair("", f"cLocEmi={RIO} prest/IM=1", PERSON, enrolled(MARIA, enrolments={RIO: {"1": Enrolment()}})),
    "E0114": Pair("prest/CNPJ= prest/cNaoNIF=1"),
    "E0116": Pair("|prest/IM=3", f"prest/IM=1|{MEI}", place=TWO),
    "E0119": Pair(
        "prest/IM=1",
        f"prest/IM=2|{MEI} prest/IM=1",
        place=enrolled(enrolments={CITY: {"1": Enrolment(issues=False), "2": Enrolment()}}),
    ),
    "E0120": Pair("prest/IM=1", place=enrolled(enrolments={})),
    "E0121": Pair("prest/xNome=Ana", "|prest/IM=9"),
    "E0124": Pair(
        "prest/IM=1",
        f"prest/IM=2|cLocEmi={RIO} prest/IM=1",
        place=enrolled(enrolments={CITY: {"1": CLOSED, "2": Enrolment()}, RIO: {"1": CLOSED}}),
    ),
    "E0128": Pair(
        f"prest/IM=1 {at_home('prest')}|{PERSON} {at_home('prest')}",
        "prest/IM=1|" + PERSON,
        "",
        enrolled(municipio=RIO, enrolments={CITY: {"1": Enrolment()}}),
    ),
    "E0148": Pair("prest/email=ana|prest/email=ana@exemplo", "prest/email=ana@exemplo.com.br"),
    "E0160": Pair(f"|{MEI}", NORMAL, place=enrolled(regime="1")),
    "E0162": Pair(f"{NORMAL} reg/regApTribSN=1|{MEI} reg/regApTribSN=1", f"{NORMAL}|{MEI}"),
    "E0166": Pair("reg/regApTribSN="),
    "E0172": Pair(untaxed("reg/regEspTrib=1"), f"{untaxed('')}|reg/regEspTrib=1", NORMAL),
    "E0174": Pair(f"{MEI} reg/regEspTrib=1", f"{MEI}|{NORMAL} reg/regEspTrib=1"),
    "E0175": Pair("reg/regEspTrib=1", f"|{APART} reg/regEspTrib=1"),
    "E0176": Pair(
        "reg/regEspTrib=1|reg/regEspTrib=4|reg/regEspTrib=9",
        f"|reg/regEspTrib=5|loc/cLocPrestacao={CITY} reg/regEspTrib=1",
        f"{NORMAL} {IN_RIO}",
    ),
    "E0177": Pair("reg/regEspTrib=4", "|reg/regEspTrib=1", NORMAL, here(special=frozenset({"1"}))),
    "E0178": Pair(
        "reg/regEspTrib=4",
        "|reg/regEspTrib=1|cserv/cTribNac=010201 reg/regEspTrib=4",
        NORMAL,
        here(special_of={"010101": frozenset({"1"})}),
    ),
}

CODES = {
    "toma": "E0188 E0190 E0206 E0207 E0223 E0226 E0233 E0238 E0240 E0246 E0247 E0242",
    "interm": "E0248 E0250 E0266 E0268 E0281 E0286 E0292 E0294 E0296 E0299 E0300 E0298",
    "fornec": "E0478 E0482 E0484 E0488 E1538 E0490 - E0494 E0496 E0499 - E0498",
}


def people(who: str) -> dict[str, Pair]:
    """What the sheet says alike of customer, intermediary and supplier."""
    ground = f"{PAPERS if who == 'fornec' else ''} {who}/CNPJ={FEIRA} {who}/xNome=Feira {at_home(who)} {NBS} {COMEX}"
    person, foreign = f"{who}/CNPJ= {who}/CPF=", f"{who}/CNPJ= {who}/NIF=PT1"
    away = f"{foreign} {abroad(who)}"
    home = f"{who}/end/endNac"
    pairs = (
        Pair(f"{who}/CNPJ={FEIRA[:-1]}2", "", ground),
        Pair("", f"{who}/CNPJ={PADARIA}", ground, {"closed": frozenset({FEIRA})}),
        Pair(f"{person}{MARIA[:-1]}4", f"{person}{MARIA}", ground),
        Pair(f"{person}{MARIA}", f"{person}{JOSE}", ground, {"closed": frozenset({MARIA})}),
        Pair(
            f"{who}/CNPJ= {abroad(who)}" if who == "fornec" else abroad(who),
            f"{away}|{who}/CNPJ= {who}/cNaoNIF=1 {abroad(who)}",
            ground,
        ),
        Pair(f"{who}/CNPJ= {who}/cNaoNIF=0", f"{who}/CNPJ= {who}/cNaoNIF=1", ground),
        Pair(f"{away} {who}/xNome=", away, ground),
        Pair(f"{home}/cMun=3550309", "", f"{ground} {home}/CEP=60000000"),
        Pair(f"{home}/CEP=20000000", "", ground),
        Pair(f"{away} {who}/end/endExt/cPais=BR|{away} {who}/end/endExt/cPais=ZZ", away, ground),
        Pair(
            f"{who}/email=feira|{who}/email=feira@com|{who}/email=@feira.com|{who}/email=a@b@feira.com|{who}/email=a@feira..com",
            f"{who}/email=feira@exemplo.com",
            ground,
        ),
        Pair(foreign, away if who == "fornec" else f"{away}|{PERSON} {foreign}", ground),
    )
    return {code: pair for code, pair in zip(CODES[who].split(), pairs, strict=True) if code != "-"}


OTHERS = {
    "E0202": Pair("toma/CNPJ=11222333000262", f"|{PERSON} toma/CNPJ= toma/CPF={MARIA}"),
    "E0204": Pair("toma/CNPJ= toma/cNaoNIF=1", f"|toma/CNPJ= toma/CPF={MARIA}", f"{RETAINED} mun/pAliq=2.00"),
    "E0234": Pair("", f"{HOME}|{FOREIGN} {NBS} {COMEX}", FOR_CUSTOMER),
    "E0237": Pair("", HOME, "mun/tpRetISSQN=2 mun/pAliq=2.00"),
    "E0262": Pair("interm/CNPJ=11222333000262", "", AGENT),
    "E0264": Pair("interm/CNPJ= interm/cNaoNIF=1", "", f"{BY_AGENT} mun/pAliq=2.00"),
    "E0293": Pair("", at_home("interm"), f"mun/tpRetISSQN=3 {AGENT} mun/pAliq=2.00"),
    "E0492": Pair(
        "|fornec/CNPJ= fornec/CPF=" + MARIA,
        f"{at_home('fornec')}|fornec/CNPJ= fornec/cNaoNIF=1",
        f"{PAPERS} fornec/end=",
    ),
    **people("toma"),
    **people("interm"),
    **people("fornec"),
}
