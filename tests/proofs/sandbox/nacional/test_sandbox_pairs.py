"""Each rule of the sheet by two documents: one that breaks it and nothing else, and one that only just does not."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from gateway.nacional.layouts import Layout, check, parse
from proofs.sandbox.nacional.annex import annex
from proofs.sandbox.nacional.register import Benefit
from proofs.sandbox.nacional.rules import judge
from proofs.sandbox.nacional.table import RULES
from tests.proofs.sandbox.nacional.nacional_company import PADARIA
from tests.proofs.sandbox.nacional.nacional_pairs import (
    ABSENT,
    AGENT,
    APART,
    BY_AGENT,
    CITY,
    COMEX,
    DEDUCTED,
    DONE_ABROAD,
    EVENT,
    FEIRA,
    FOR_CUSTOMER,
    FOREIGN,
    HALL,
    HALL_ABROAD,
    HOME,
    IMMUNE,
    IN_RIO,
    JOSE,
    KEPT,
    MARIA,
    MEI,
    NBS,
    NORMAL,
    NOT_TAXED,
    PAPER,
    PAPERS,
    PERCENT,
    PERSON,
    REPLACING,
    RETAINED,
    RIO,
    SHOW,
    SITE,
    SITE_ABROAD,
    SUSPENDED,
    WORKS,
    Pair,
    abroad,
    at_home,
    at_noon,
    city,
    document,
    enrolled,
    here,
    in_rio,
    keyed,
    untaxed,
    wrong,
)
from tests.proofs.sandbox.nacional.nacional_pairs_named import DOCUMENT, OTHERS, PRESTADOR, REPLACED

GIFT, OTHER_GIFT, PERCENTUAL, VALOR = (f"3550308000000{n}" for n in range(1, 5))
LISTED = here(retaining_people=frozenset({JOSE}))
PIS = "pis/CST=01 pis/vBCPisCofins=1000.00 pis/pAliqPis=0.65 pis/pAliqCofins=3.00 pis/vPis=6.50 pis/vCofins=30.00 "
PIS += "pis/tpRetPisCofins=0"
CONTRIBUTES = f"{NORMAL} {PIS}"
AMOUNTS = f"{NORMAL} burden= burden/vTotTrib/vTotTribFed=3.00 burden/vTotTrib/vTotTribEst=0.00 "
AMOUNTS += "burden/vTotTrib/vTotTribMun=2.00"

GOODS, NO_GOODS, GOODS_BACK = (keyed("3526061122233300018155001" + f"{n:018d}") for n in (1, 2, 3))
GOODS_NOTES = {"goods_notes": {NO_GOODS: "inexistente", GOODS_BACK: "cancelada"}}

# As the sentence of E0370 has them.
OBRA = ["070201", "070202", "070401", "070501", "070502", "070601", "070602", "070701", "070801", "071701", "071901"]
EVENTO = [code for code in annex().incide if code.startswith("12")]
KEEPING = "cserv/cTribNac=110401"  # of things: ISS is due where it is done
ANYWHERE = f"{NBS} {COMEX}"


def each(codes: list[str]) -> str:
    """One document for each service."""
    return "|".join(f"cserv/cTribNac={code}" for code in codes)


SERVICE = {
    "E0302": Pair(
        "loc/cLocPrestacao=3550309|loc/cLocPrestacao=9999999", f"|loc/cLocPrestacao={RIO}|loc/cLocPrestacao=0000000"
    ),
    "E0304": Pair("loc/cPaisPrestacao=BR|loc/cPaisPrestacao=ZZ", "", DONE_ABROAD),
    "E0310": Pair("cserv/cTribNac=010201|cserv/cTribNac=000000", "", place=here(services=frozenset({"010101"}))),
    "E0312": Pair("cserv/xDescServ=REJEITAR"),
    "E0314": Pair("cserv/cTribMun=002", "|cserv/cTribMun=001", place=here(own_codes=frozenset({"001"}))),
    "E0316": Pair("cserv/cNBS=215022000", "|cserv/cNBS=115022000"),
    "E0318": Pair(
        f"{FOREIGN}|{AGENT} interm/CNPJ= interm/NIF=PT1 {abroad('interm')}|loc= loc/cPaisPrestacao=PT mun/tribISSQN=3",
        f"|{FOREIGN} {NBS}|{DONE_ABROAD}",
        COMEX,
    ),
    "E0330": Pair(
        f"{FOREIGN}|{AGENT} interm/CNPJ= interm/NIF=PT1 {abroad('interm')}|loc= loc/cPaisPrestacao=PT mun/tribISSQN=3|"
        "mun/tribISSQN=3 mun/cPaisResult=PT",
        f"|{FOREIGN} {COMEX}|{DONE_ABROAD}",
        NBS,
    ),
    "E0333": Pair("ext/mdPrestacao=0", "", COMEX),
    "E0341": Pair("ext/mecAFComexP=00", "", COMEX),
    "E0343": Pair("ext/mecAFComexT=00", "", COMEX),
    "E0345": Pair("ext/movTempBens=0", "", COMEX),
    "E0352": Pair("", "ext/nDI=1", f"{COMEX} ext/movTempBens=2"),
    "E0354": Pair("ext/nDI=1|ext/nRE=1", "", COMEX),
    "E0356": Pair("", "ext/nRE=1", f"{COMEX} ext/movTempBens=3"),
    "E0370": Pair(each(OBRA), "|".join(f"cserv/cTribNac={one} serv/obra/cObra=1" for one in OBRA)),
    "E0372": Pair("", f"{WORKS}|{NOT_TAXED}", SITE),
    "E0380": Pair("serv/obra/end/CEP=20000000", f"|serv/obra/end/CEP=20000000 loc/cLocPrestacao={RIO}", WORKS),
    "E0382": Pair("serv/obra/end/CEP=01001000", "", f"{DONE_ABROAD} {WORKS} {SITE_ABROAD}"),
    "E0384": Pair("serv/obra= serv/obra/cObra=1", SITE_ABROAD, f"{DONE_ABROAD} {WORKS}"),
    "E0386": Pair(SITE_ABROAD, "|serv/obra= serv/obra/cObra=1", WORKS),
    "E0390": Pair(each(EVENTO), "|".join(f"{EVENT} cserv/cTribNac={one}" for one in EVENTO)),
    "E0392": Pair("cserv/cTribNac=010101", f"|{NOT_TAXED}", EVENT),
    "E0398": Pair(
        "serv/atvEvento/end/CEP=20000000|serv/atvEvento/end= serv/atvEvento/idAtvEvt=1",
        f"|serv/atvEvento/end/CEP=20000000 loc/cLocPrestacao={RIO}",
        EVENT,
    ),
    "E0400": Pair("serv/atvEvento/end/CEP=01001000", "", f"{DONE_ABROAD} {EVENT} {HALL_ABROAD}"),
    "E0402": Pair("serv/atvEvento/idAtvEvt=1", f"{HALL} {HALL_ABROAD}", f"{DONE_ABROAD} {SHOW}"),
    "E0404": Pair(f"{HALL_ABROAD} serv/atvEvento/end/CEP=01001000", "", EVENT),
}

FREE = f"{NORMAL} {WORKS}"  # a service whose base may be reduced to nothing
VALUES = {
    "E0424": Pair("valores/vServPrest/vReceb=1500.10"),
    "E0428": Pair("disc/vDescCond=1000.00", "disc/vDescCond=900.10", f"{NORMAL} fed/vRetIRRF=600.00"),
    "E0429": Pair(
        "",
        f"disc/vDescIncond=300.06|cserv/cTribNac=160101|{WORKS}|cserv/cTribNac=070502 {SITE}",
        f"{NORMAL} ded/vDR=600.00 disc/vDescIncond=600.00",
    ),
    "E0431": Pair("disc/vDescIncond=0|disc/vDescIncond=1500.10", "disc/vDescIncond=1500.09"),
    "E0432": Pair("disc/vDescCond=0|disc/vDescCond=1500.10", "disc/vDescCond=1500.09"),
    "E0435": Pair(untaxed(DEDUCTED), f"{untaxed('')}|{DEDUCTED}", NORMAL),
    "E0436": Pair(DEDUCTED, "", MEI),
    "E0437": Pair(DEDUCTED, "", f"{NORMAL} {SUSPENDED}"),
    "E0438": Pair(DEDUCTED, "", f"{NORMAL} reg/regEspTrib=1"),
    "E0439": Pair(
        f"bm/nBM={GIFT}",
        f"|bm/nBM={OTHER_GIFT}",
        f"{NORMAL} {DEDUCTED}",
        here(benefits={GIFT: Benefit("isencao"), OTHER_GIFT: Benefit("aliquota")}),
    ),
    "E0441": Pair(
        "",
        f"ded=|{WORKS}|cserv/cTribNac=060101|cserv/cTribNac=060201|cserv/cTribNac=070502 {SITE}|{NORMAL}|{APART}",
        DEDUCTED,
    ),
    "E0442": Pair(
        DEDUCTED,
        f"|{WORKS} serv/obra/end/CEP=20000000 {DEDUCTED}|{NORMAL} mun/pAliq=5.00 {DEDUCTED}",
        IN_RIO,
        in_rio(active=False),
    ),
    "E0453": Pair("ded/pDR=0", f"ded/pDR=0.01|{WORKS} ded/pDR=100.00", NORMAL),
    "E0454": Pair("ded/pDR=10.00", f"|{DEDUCTED}", APART, here(deductions=frozenset({"vDR"}))),
    "E0446": Pair(DEDUCTED, "|ded/pDR=10.00", APART, here(deductions=frozenset({"pDR"}))),
    "E0449": Pair(
        PAPER,
        f"|{DEDUCTED}|{IN_RIO} mun/pAliq=5.00 {PAPER}",
        APART,
        {"cities": {CITY: city(deductions=frozenset({"vDR"})), RIO: city(active=False, deductions=frozenset())}},
    ),
    "E0456": Pair(f"doc/nDoc= doc/chNFSe={ABSENT}", f"doc/nDoc= doc/chNFSe={KEPT['living'].chave}", PAPERS),
    "E0458": Pair(
        f"doc/nDoc= doc/chNFSe={KEPT['cancelled'].chave}", f"doc/nDoc= doc/chNFSe={KEPT['living'].chave}", PAPERS
    ),
    "E0460": Pair(f"doc/chNFe={wrong(GOODS)}", f"doc/chNFe={GOODS}", f"{PAPERS} doc/nDoc="),
    "E0462": Pair(f"doc/chNFe={NO_GOODS}", f"doc/chNFe={GOODS}", f"{PAPERS} doc/nDoc=", GOODS_NOTES),
    "E0464": Pair(f"doc/chNFe={GOODS_BACK}", f"doc/chNFe={GOODS}", f"{PAPERS} doc/nDoc=", GOODS_NOTES),
    "E0466": Pair(
        "doc/NFSeMun/cMunNFSeMun=3550309",
        "",
        f"{PAPERS} doc/nDoc= doc/NFSeMun/cMunNFSeMun={CITY} doc/NFSeMun/nNFSeMun={1:015d} doc/NFSeMun/cVerifNFSeMun=A1",
    ),
    "E0468": Pair("doc/tpDedRed=99", "|doc/tpDedRed=99 doc/xDescOutDed=Frete", PAPERS),
    "E0470": Pair("doc/xDescOutDed=Frete", "|doc/tpDedRed=99 doc/xDescOutDed=Frete", PAPERS),
    "E0472": Pair("doc/dtEmiDoc=2026-06-11", "doc/dtEmiDoc=2026-06-10", PAPERS),
    "E0474": Pair("doc/vDeducaoReducao=100.01", "doc/vDeducaoReducao=100.00", PAPERS),
    "E0477": Pair("", f"doc/nDoc= doc/chNFe={GOODS}|doc/nDoc= doc/chNFSe={KEPT['living'].chave}", f"{PAPERS} fornec="),
}

KINDS = here(
    benefits={
        GIFT: Benefit("isencao"),
        OTHER_GIFT: Benefit("aliquota"),
        PERCENTUAL: Benefit("percentual", most=Decimal(30)),
        VALOR: Benefit("valor"),
    }
)
ISS = {
    "E0529": Pair(
        f"{KEEPING}|{KEEPING} {HOME}|{KEEPING} {FOREIGN}|{HOME} {FOR_CUSTOMER}",
        f"mun/cPaisResult=PT|{KEEPING} mun/tribISSQN=1|{KEEPING} {DONE_ABROAD}",
        f"mun/tribISSQN=3 {ANYWHERE}",
    ),
    "E0530": Pair(
        f"|{HOME}|{FOREIGN}|{FOREIGN} {FOR_CUSTOMER}",
        f"mun/tribISSQN=3|{HOME} {FOR_CUSTOMER}|cserv/cTribNac=110401",
        f"{DONE_ABROAD} mun/tribISSQN=1",
    ),
    "E0532": Pair("mun/tribISSQN=1", "", NOT_TAXED),
    "E0533": Pair(untaxed(f"bm/nBM={GIFT}"), f"{untaxed('')}|bm/nBM={GIFT}", NORMAL),
    "E0534": Pair(f"bm/nBM={GIFT}", f"|{NORMAL} bm/nBM={GIFT}", MEI),
    "E0535": Pair(f"bm/nBM={GIFT}", "", f"{NORMAL} reg/regEspTrib=1"),
    "E0536": Pair(f"bm/nBM={GIFT}", f"|{WORKS} bm/nBM={GIFT}|{APART} bm/nBM={GIFT}"),
    "E0537": Pair(
        f"bm/nBM={GIFT}|{NORMAL} mun/pAliq=5.00 bm/nBM={GIFT}",
        f"|{NORMAL} mun/pAliq=5.00|{NORMAL} bm/nBM={GIFT} loc/cLocPrestacao={CITY}",
        IN_RIO,
        in_rio(active=False),
    ),
    "E0538": Pair(f"bm/nBM={GIFT}", "", f"{NORMAL} {SUSPENDED}"),
    "E0539": Pair("mun/tribISSQN=4", f"|{IMMUNE}"),
    "E0540": Pair("|" + IMMUNE, "mun/tribISSQN=4|cserv/cTribNac=010201", place=here(free=frozenset({"010101"}))),
    "E0541": Pair(f"bm/nBM={GIFT}", f"bm/nBM={OTHER_GIFT}", NORMAL, here(benefits={OTHER_GIFT: Benefit("aliquota")})),
    "E0544": Pair(
        f"bm/nBM={GIFT}|bm/nBM={OTHER_GIFT} dCompet=2026-06-08",
        f"bm/nBM={OTHER_GIFT}|bm/nBM={GIFT} dCompet=2026-06-08|"
        f"bm/nBM={GIFT} dCompet=2026-06-09|bm/nBM={OTHER_GIFT} dCompet=2026-06-09",
        NORMAL,
        here(
            benefits={
                GIFT: Benefit("aliquota", until=date(2026, 6, 9)),
                OTHER_GIFT: Benefit("aliquota", since=date(2026, 6, 9)),
            }
        ),
    ),
    "E0548": Pair(
        f"bm/nBM={GIFT}",
        f"bm/nBM={OTHER_GIFT}|cLocEmi={RIO} bm/nBM={GIFT}",
        f"{NORMAL} {IN_RIO}",
        in_rio(benefits={GIFT: Benefit("aliquota", residents=True), OTHER_GIFT: Benefit("aliquota")}),
    ),
    "E0550": Pair(
        f"bm/nBM={GIFT} cserv/cTribNac=010201|bm/nBM={OTHER_GIFT}",
        f"bm/nBM={GIFT}|bm/nBM={OTHER_GIFT} prest/CNPJ={FEIRA}",
        NORMAL,
        here(
            benefits={
                GIFT: Benefit("aliquota", services=frozenset({"010101"})),
                OTHER_GIFT: Benefit("aliquota", people=frozenset({FEIRA})),
            }
        ),
    ),
    "E0565": Pair("bm/vRedBCBM=100.00", f"|bm/nBM={VALOR} bm/vRedBCBM=100.00", f"{NORMAL} bm/nBM={OTHER_GIFT}", KINDS),
    "E0567": Pair("", "bm/vRedBCBM=100.00", f"{NORMAL} bm/nBM={VALOR}", KINDS),
    "E0577": Pair(
        "bm/pRedBCBM=10.00", f"|bm/nBM={PERCENTUAL} bm/pRedBCBM=10.00", f"{NORMAL} bm/nBM={OTHER_GIFT}", KINDS
    ),
    "E0579": Pair("", "bm/pRedBCBM=10.00", f"{NORMAL} bm/nBM={PERCENTUAL}", KINDS),
    "E0580": Pair(untaxed(RETAINED), f"{untaxed(HOME)}|{RETAINED}", NORMAL),
    "E0583": Pair(RETAINED, HOME, MEI),
    "E0585": Pair(untaxed(SUSPENDED), f"{untaxed('')}|{SUSPENDED}", NORMAL),
    "E0586": Pair("bm/pRedBCBM=0|bm/pRedBCBM=30.01", "bm/pRedBCBM=30.00", f"{NORMAL} bm/nBM={PERCENTUAL}", KINDS),
    "E0588": Pair(RETAINED, HOME, f"{NORMAL} reg/regEspTrib=1"),
    "E0589": Pair(RETAINED, HOME, f"{NORMAL} {SUSPENDED}"),
    "E0590": Pair(
        f"|{FOR_CUSTOMER} {FOREIGN}",
        f"mun/cPaisResult=PT|{FOR_CUSTOMER} {FOREIGN} mun/cPaisResult=PT",
        f"mun/tribISSQN=3 {ANYWHERE}",
    ),
    "E0591": Pair(
        f"mun/cPaisResult=PT|{DONE_ABROAD} mun/cPaisResult=PT",
        f"|{ANYWHERE} mun/tribISSQN=3 mun/cPaisResult=PT|{DONE_ABROAD}",
    ),
    "E0592": Pair("mun/tribISSQN=2|mun/tpImunidade=1", f"|{IMMUNE}"),
    "E0593": Pair("mun/tpImunidade=0", "", IMMUNE),
    "E0594": Pair(f"bm/nBM={GIFT}", f"|bm/nBM={OTHER_GIFT}", f"{NORMAL} {RETAINED}", KINDS),
    "E0595": Pair("mun/pAliq=5.01|mun/pAliq=9.99", "mun/pAliq=5.00", RETAINED),
    "E0596": Pair(RETAINED, HOME, f"{NORMAL} cserv/cTribNac=220101"),
    "E0600": Pair("mun/pAliq=2.00", "", MEI),
    "E0602": Pair(
        f"{IMMUNE} mun/pAliq=2.00|{NOT_TAXED} mun/pAliq=2.00",
        f"{IMMUNE}|{NOT_TAXED}|mun/pAliq=2.00",
        f"{NORMAL} {IN_RIO}",
        in_rio(active=False),
    ),
    "E0604": Pair("mun/pAliq=2.00", "", f"{NORMAL} {IN_RIO} reg/regEspTrib=5", in_rio(active=False)),
    "E0606": Pair("mun/pAliq=2.00", "", f"{NORMAL} {IN_RIO} {SUSPENDED}", in_rio(active=False)),
    "E0612": Pair(
        f"bm/nBM={GIFT} mun/pAliq=2.00|bm/nBM={OTHER_GIFT} mun/pAliq=2.00",
        f"bm/nBM={GIFT}|bm/nBM={OTHER_GIFT}",
        WORKS,
        KINDS,
    ),
    "E0617": Pair("mun/pAliq=2.00", "", NORMAL),
    "E0619": Pair("", "mun/pAliq=2.00|reg/regEspTrib=5", f"{NORMAL} {IN_RIO}", in_rio(active=False)),
    "E0621": Pair(
        f"|mun/pAliq=1.79|{WORKS} bm/nBM={PERCENTUAL} bm/pRedBCBM=10.00",
        f"mun/pAliq=1.80|{WORKS} bm/nBM={OTHER_GIFT}|{APART}|{NORMAL}",
        RETAINED,
        KINDS,
    ),
    "E0625": Pair(
        f"mun/pAliq=2.00|{WORKS} bm/nBM={PERCENTUAL} bm/pRedBCBM=10.00 mun/pAliq=2.00",
        f"|{RETAINED} mun/pAliq=2.00",
        "",
        KINDS,
    ),
    "E0628": Pair(
        "|mun/pAliq=1.79", f"mun/pAliq=1.80|{NORMAL} mun/pAliq=1.00", f"{IN_RIO} {RETAINED}", in_rio(active=False)
    ),
    "E0631": Pair("mun/pAliq=2.00", f"|{RETAINED} mun/pAliq=2.00", IN_RIO, in_rio(active=False)),
    "E0635": Pair("mun/pAliq=2.00", "", APART),
    "E0640": Pair("", "mun/pAliq=2.00", f"{APART} {IN_RIO}", in_rio(active=False)),
    "E0667": Pair(
        "",
        f"toma/CPF={JOSE}|toma/CPF= toma/CNPJ={PADARIA}|mun/tpRetISSQN=1",
        f"{NORMAL} {RETAINED} toma/CNPJ= toma/CPF={MARIA}",
        LISTED,
    ),
    "E0670": Pair(
        "",
        f"interm/CPF={JOSE}|interm/CPF= interm/CNPJ={FEIRA}|mun/tpRetISSQN=1",
        f"{NORMAL} {BY_AGENT} interm/CNPJ= interm/CPF={MARIA}",
        LISTED,
    ),
}

ZERO = "pis/pAliqPis=0.00 pis/pAliqCofins=0.00 pis/vPis=0.00 pis/vCofins=0.00"
FEDERAL = {
    "E0675": Pair("fed/vRetIRRF=10.00", "", PERSON),
    "E0676": Pair("fed/vRetIRRF=10.00", f"|{NORMAL} fed/vRetIRRF=10.00", MEI),
    "E0678": Pair("pis= pis/CST=01 pis/tpRetPisCofins=0", "|pis= pis/CST=08", CONTRIBUTES),
    "E0680": Pair(
        f"{ZERO} pis/vBCPisCofins=0|pis/vBCPisCofins=1500.10 pis/vPis=9.75 pis/vCofins=45.00", "", CONTRIBUTES
    ),
    "E0682": Pair(
        "pis/CST=00|pis/CST=08|pis/CST=09|pis/CST=08 pis/vBCPisCofins=1500.10 pis/vPis=9.75 pis/vCofins=45.00",
        "|pis= pis/CST=08",
        CONTRIBUTES,
    ),
    "E0684": Pair("pis/pAliqPis=", "", CONTRIBUTES),
    "E0686": Pair("pis/pAliqPis=100.01 pis/vPis=1000.10", "pis/pAliqPis=99.99 pis/vPis=999.90", CONTRIBUTES),
    "E0688": Pair("pis/CST=04|pis/CST=06", f"|pis/CST=04 {ZERO}|pis/CST=06 {ZERO}", CONTRIBUTES),
    "E0690": Pair("pis/pAliqCofins=", "", CONTRIBUTES),
    "E0692": Pair(
        "pis/pAliqCofins=100.01 pis/vCofins=1000.10", "pis/pAliqCofins=99.99 pis/vCofins=999.90", CONTRIBUTES
    ),
    "E0694": Pair("pis/vPis=6.51|pis/vPis=", "", CONTRIBUTES),
    "E0696": Pair("pis/vCofins=29.99|pis/vCofins=", "", CONTRIBUTES),
    "E0698": Pair("pis/tpRetPisCofins=", "", CONTRIBUTES),
    "E0699": Pair("fed/vRetCP=0|fed/vRetCP=1500.10", "fed/vRetCP=1500.09", NORMAL),
    "E0700": Pair("fed/vRetIRRF=0|fed/vRetIRRF=1500.10", "fed/vRetIRRF=1500.09", NORMAL),
    "E0701": Pair("fed/vRetCSLL=0|fed/vRetCSLL=1500.10", "fed/vRetCSLL=1500.09", NORMAL),
    "E0702": Pair("burden/vTotTrib/vTotTribFed=1500.11", "burden/vTotTrib/vTotTribFed=1500.10", AMOUNTS),
    "E0703": Pair("burden/vTotTrib/vTotTribEst=1500.11", "burden/vTotTrib/vTotTribEst=1500.10", AMOUNTS),
    "E0704": Pair("burden/vTotTrib/vTotTribMun=1500.11", "burden/vTotTrib/vTotTribMun=1500.10", AMOUNTS),
    "E0706": Pair("burden/pTotTrib/pTotTribFed=100.01", "burden/pTotTrib/pTotTribFed=100.00", NORMAL),
    "E0707": Pair("burden/pTotTrib/pTotTribEst=100.01", "burden/pTotTrib/pTotTribEst=100.00", NORMAL),
    "E0708": Pair("burden/pTotTrib/pTotTribMun=100.01", "burden/pTotTrib/pTotTribMun=100.00", NORMAL),
    "E0710": Pair("burden= burden/pTotTribSN=6.00", f"|{PERCENT}", MEI),
    "E0712": Pair("burden= burden/indTotTrib=0", f"|{PERCENT}"),
    "E0713": Pair("burden= burden/indTotTrib=0|burden= burden/pTotTribSN=6.00", "", NORMAL),
}
PAIRS = {**DOCUMENT, **REPLACED, **PRESTADOR, **OTHERS, **SERVICE, **VALUES, **ISS, **FEDERAL}
# What the schema refuses before: in the layout a name, one of two kinds of address, or two digits of a rate.
BY_THE_SCHEMA = {"E0233", "E0292", "E1538", "E0382", "E0400", "E0404", "E0686", "E0692"}

NAMELESS = "a provider without CNPJ and CPF is refused by E0112 and E0114, and their name is asked for or refused"
NO_ADDRESS = "E0128 takes no address of a provider who issues"
THIN = "E0429 counts each reduction that E0430, E0444, E0447, E0575 and E0587 count alone"
BEYOND = "what is more than the price is more than the price in each of the sums"
AT_ANA = enrolled(municipio=CITY)
ONE_ADDRESS = "the schema takes a CEP or an address abroad, not both, so that the other one is missed"
# Rules that no document breaks alone, and documents in which a rule of ``PAIRS`` is broken with others: which, and why.
TOGETHER: dict[str, tuple[Pair, str, str]] = {
    "E0042": (
        Pair(REPLACING.format(wrong(KEPT["living"].chave)), REPLACING.format(KEPT["living"].chave)),
        "E0044",
        "no note has a key with a wrong check digit",
    ),
    "E0382": (Pair("", SITE_ABROAD, f"{DONE_ABROAD} {WORKS}"), "E0384", ONE_ADDRESS),
    "E0400": (Pair("", HALL_ABROAD, f"{DONE_ABROAD} {EVENT}"), "E0402", ONE_ADDRESS),
    "E0404": (Pair(HALL_ABROAD, "", EVENT), "E0398", ONE_ADDRESS),
    "E0112": (Pair("prest/CNPJ= prest/NIF=PT1"), "E0123", NAMELESS),
    "E0123": (Pair("prest/CNPJ= prest/NIF=PT1"), "E0112", NAMELESS),
    "E0113": (Pair(abroad("prest")), "E0128", NO_ADDRESS),
    "E0115": (Pair("prest/CNPJ= prest/cNaoNIF=0"), "E0114", NAMELESS),
    "E0130": (
        Pair(f"{at_home('prest')} prest/end/endNac/cMun=3550309 prest/end/endNac/CEP=60000000"),
        "E0128",
        NO_ADDRESS,
    ),
    "E0132": (
        Pair(f"{at_home('prest')} prest/end/endNac/cMun={RIO} prest/end/endNac/CEP=20000000", place=AT_ANA),
        "E0128",
        NO_ADDRESS,
    ),
    "E0134": (
        Pair(
            f"{at_home('prest')} prest/end/endNac/cMun={RIO} prest/end/endNac/CEP=20000000",
            "",
            PERSON,
            enrolled(MARIA, municipio=CITY),
        ),
        "E0128",
        NO_ADDRESS,
    ),
    "E0138": (Pair(f"{at_home('prest')} prest/end/endNac/CEP=20000000"), "E0128", NO_ADDRESS),
    "E0146": (Pair(f"{abroad('prest')} prest/end/endExt/cPais=BR"), "E0113 E0128", NO_ADDRESS),
    "E0425": (
        Pair("valores/vServPrest/vReceb=1500.09"),
        "E0424",
        "what was received is said only by an intermediary who issues, and E9996 refuses every other issuer",
    ),
    "E0427": (
        Pair("disc/vDescIncond=800.00 ded/vDR=800.00", "disc/vDescIncond=700.00 ded/vDR=800.00", FREE),
        "E0428",
        BEYOND,
    ),
    "E0430": (Pair("disc/vDescIncond=900.07", "disc/vDescIncond=900.06", NORMAL), "E0429", THIN),
    "E0440": (
        Pair(DEDUCTED, "ded/pDR=10.00", NORMAL, here(deductions=frozenset({"pDR"}))),
        "E0446",
        "it says of normal companies what E0446, E0449 and E0454 say of each kind of deduction",
    ),
    "E0441": (
        Pair(DEDUCTED, "ded/pDR=10.00", WORKS, here(deductions=frozenset({"pDR"}))),
        "E0446",
        "a city that takes no deduction of this kind takes none of the Simples either",
    ),
    "E0444": (Pair("ded/pDR=60.01", "ded/pDR=60.00", NORMAL), "E0429", THIN),
    "E0447": (Pair("ded/vDR=900.07", "ded/vDR=900.06", NORMAL), "E0429", THIN),
    "E0455": (
        Pair(
            f"doc/nDoc= doc/chNFSe={wrong(KEPT['living'].chave)}",
            f"doc/nDoc= doc/chNFSe={KEPT['living'].chave}",
            PAPERS,
        ),
        "E0456",
        "no note has a key with a wrong check digit",
    ),
    "E0476": (
        Pair(
            "doc/vDedutivelRedutivel=2000.00 doc/vDeducaoReducao=1500.11",
            "doc/vDedutivelRedutivel=2000.00 doc/vDeducaoReducao=1500.10",
            f"{PAPERS} {WORKS}",
        ),
        "E0427 E0428",
        BEYOND,
    ),
    "E0574": (
        Pair("bm/vRedBCBM=1500.11", "bm/vRedBCBM=1500.10", f"{FREE} bm/nBM={VALOR}", KINDS),
        "E0427 E0428",
        BEYOND,
    ),
    "E0575": (Pair("bm/vRedBCBM=900.07", "bm/vRedBCBM=900.06", f"{NORMAL} bm/nBM={VALOR}", KINDS), "E0429", THIN),
    "E0587": (
        Pair(
            "bm/pRedBCBM=60.01",
            "bm/pRedBCBM=60.00",
            f"{NORMAL} bm/nBM={GIFT}",
            here(benefits={GIFT: Benefit("percentual")}),
        ),
        "E0429",
        THIN,
    ),
    "E0677": (
        Pair("pis/vBCPisCofins=1600.00 pis/vPis=10.40 pis/vCofins=48.00", "", CONTRIBUTES),
        "E0680",
        "where a base is admitted at all, E0680 wants it below the price",
    ),
}


def judged(edits: str, pair: Pair) -> list[str]:
    """What SEFIN says of a document."""
    xml, facts = document(edits), dict(pair.place)
    taken = facts.pop("taken", None)
    return judge(xml, at_noon(**facts), taken=taken == parse(xml)[0].get("Id"))


def admitted(edits: str) -> bool:
    """Whether the schema takes a document."""
    try:
        check(parse(document(edits)), "DPS", Layout())
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("code", "pair"), PAIRS.items(), ids=PAIRS)
def test_a_rule_alone_refuses_a_document_and_takes_its_twin(code: str, pair: Pair) -> None:
    """The failing ones break this rule and no other, the passing ones none; the schema takes both, save a few."""
    for edits in pair.failing():
        assert judged(edits, pair) == [code], edits
        assert admitted(edits) != (code in BY_THE_SCHEMA), edits
    for edits in pair.passing():
        assert judged(edits, pair) == [], edits
        assert admitted(edits), edits


@pytest.mark.parametrize(("code", "row"), TOGETHER.items(), ids=TOGETHER)
def test_a_rule_is_broken_with_others(code: str, row: tuple[Pair, str, str]) -> None:
    """Others are broken with it, those that are named and no more."""
    pair, others, _ = row
    for edits in pair.failing():
        assert set(judged(edits, pair)) == {code, *others.split()}, edits
        assert admitted(edits), edits
    for edits in pair.passing():
        assert judged(edits, pair) == [], edits
        assert admitted(edits), edits


def test_every_rule_has_its_two_documents() -> None:
    """All that the simulator executes: none twice, none without."""
    assert set(PAIRS) | set(TOGETHER) == set(RULES)
    not_alone = set(TOGETHER) - set(PAIRS)
    assert (len(RULES), len(PAIRS), len(not_alone)) == (242, 221, 21)
