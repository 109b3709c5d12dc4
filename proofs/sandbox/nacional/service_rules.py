"""Rules of Anexo I about the service, its price, deductions and taxes: code by code, what breaks it."""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, Final

from proofs.sandbox.nacional.annex import AT_SEA, annex, said
from proofs.sandbox.nacional.model import path
from proofs.sandbox.nacional.people_rules import wrong_key
from proofs.sandbox.nacional.register import COUNTRIES, elsewhere, is_city

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.sandbox.nacional.annex import Asked, Rule

_BM: Final = "valores/trib/tribMun/BM"
_FEDERAL: Final = "valores/trib/tribFed"
_PIS: Final = f"{_FEDERAL}/piscofins"
_DEDUCTION: Final = "valores/vDedRed"
_BURDEN: Final = "valores/trib/totTrib"
_NOWHERE: Final = "990101"  # the service on which there is neither ISS nor ICMS
_LEAST_RETAINED: Final = Decimal("1.8")
_REDUCIBLE: Final = ("0601", "0602", "0702", "0705")  # deductions that the Simples has
_CENT: Final = Decimal("0.01")


def _exports(d: Asked) -> bool:
    return d.m("tribISSQN") == "3"


def _result_abroad(d: Asked) -> bool:
    """The work is done in Brazil, but the provider's city or a foreign customer decides: its result counts."""
    foreign = d.incide == "tomador" and not d.has("toma/end/endNac")
    return _exports(d) and not d.abroad and (d.incide == "prestador" or foreign)


def _at_home(d: Asked) -> bool:
    """ISS is due where the work is done, or where the customer is, in Brazil."""
    return not d.abroad and (d.incide == "local" or (d.incide == "tomador" and d.has("toma/end/endNac")))


def _out(d: Asked) -> bool:
    foreign = d.incide == "tomador" and not d.has("toma/end/endNac")
    return d.abroad and (d.incide == "prestador" or foreign)


def _grupo(d: Asked) -> str:
    return annex().grupo.get(d.dps.codigo, "")


def _needless(d: Asked, group: str) -> bool:
    return d.has(f"serv/{group}") and _grupo(d) != group and d.dps.codigo != _NOWHERE


SERVICE: Final[dict[str, Rule]] = {
    "E0302": lambda d: d.local not in {"", AT_SEA} and not is_city(d.local),
    "E0304": lambda d: d.abroad and d.t("serv/locPrest/cPaisPrestacao") not in COUNTRIES,
    "E0310": lambda d: (
        d.dps.codigo not in annex().incide
        or (d.city is not None and d.city.services is not None and d.dps.codigo not in d.city.services)
    ),
    "E0314": lambda d: (
        d.city is not None
        and d.city.own_codes is not None
        and d.has("serv/cServ/cTribMun")
        and d.t("serv/cServ/cTribMun") not in d.city.own_codes
    ),
    "E0316": lambda d: d.has("serv/cServ/cNBS") and not d.t("serv/cServ/cNBS").startswith("1"),
    "E0318": lambda d: d.foreign and not d.has("serv/cServ/cNBS"),
    "E0330": lambda d: (d.foreign or _exports(d)) and not d.has("serv/comExt"),
    "E0333": lambda d: d.t("serv/comExt/mdPrestacao") == "0",
    "E0341": lambda d: d.t("serv/comExt/mecAFComexP") in {"0", "00"},
    "E0343": lambda d: d.t("serv/comExt/mecAFComexT") in {"0", "00"},
    "E0345": lambda d: d.t("serv/comExt/movTempBens") == "0",
    "E0352": lambda d: d.t("serv/comExt/movTempBens") == "2" and not d.has("serv/comExt/nDI"),
    "E0354": lambda d: d.t("serv/comExt/movTempBens") == "1" and (d.has("serv/comExt/nDI") or d.has("serv/comExt/nRE")),
    "E0356": lambda d: d.t("serv/comExt/movTempBens") == "3" and not d.has("serv/comExt/nRE"),
    "E0370": lambda d: _grupo(d) == "obra" and not d.has("serv/obra"),
    "E0372": lambda d: _needless(d, "obra"),
    "E0380": lambda d: bool(d.local) and elsewhere(d.t("serv/obra/end/CEP"), d.local),
    "E0382": lambda d: d.abroad and d.has("serv/obra/end/CEP"),
    "E0384": lambda d: d.abroad and d.has("serv/obra") and not d.has("serv/obra/end/endExt"),
    "E0386": lambda d: bool(d.local) and d.has("serv/obra/end/endExt"),
    "E0390": lambda d: d.dps.codigo.startswith("12") and not d.has("serv/atvEvento"),
    "E0392": lambda d: _needless(d, "atvEvento"),
    "E0398": lambda d: (
        bool(d.local)
        and d.has("serv/atvEvento/end")
        and (not d.has("serv/atvEvento/end/CEP") or elsewhere(d.t("serv/atvEvento/end/CEP"), d.local))
    ),
    "E0400": lambda d: d.abroad and d.has("serv/atvEvento/end/CEP"),
    "E0402": lambda d: d.abroad and d.has("serv/atvEvento") and not d.has("serv/atvEvento/end/endExt"),
    "E0404": lambda d: bool(d.local) and d.has("serv/atvEvento/end/endExt"),
}

PRICE: Final[dict[str, Rule]] = {
    "E0424": lambda d: d.t("tpEmit") != "3" and d.has("valores/vServPrest/vReceb"),
    "E0425": lambda d: d.has("valores/vServPrest/vReceb") and d.n("valores/vServPrest/vReceb") < d.price,
    "E0427": lambda d: d.price < d.discount + d.deducted + d.relieved,
    "E0428": lambda d: (
        d.price < d.discount + d.n("valores/vDescCondIncond/vDescCond") + d.deducted + d.relieved + d.kept
    ),
    "E0429": lambda d: d.thin(d.discount + d.deducted + d.relieved),
    "E0431": lambda d: d.not_within("valores/vDescCondIncond/vDescIncond"),
    "E0430": lambda d: d.thin(d.discount),
    "E0432": lambda d: d.not_within("valores/vDescCondIncond/vDescCond"),
}


def _not_admitted(kind: str) -> Rule:
    return lambda d: d.active and d.city is not None and kind not in d.city.deductions and d.has(f"{_DEDUCTION}/{kind}")


def _no_kind_admitted(d: Asked) -> bool:
    return any(_not_admitted(kind)(d) for kind in ("pDR", "vDR", "documentos"))


def _document(breaks: Callable[[Asked, Any], bool]) -> Rule:
    """Return the rule that any document of the deductions breaks."""
    return lambda d: any(breaks(d, one) for one in d.documents())


def _amount(one: Any, name: str) -> Decimal:
    return Decimal(said(one, name) or 0)


def _note_key(one: Any) -> str:
    return said(one, "chNFSe")


def _goods(state: str) -> Rule:
    return _document(lambda d, one: d.place.goods_notes.get(said(one, "chNFe")) == state)


DEDUCTIONS: Final[dict[str, Rule]] = {
    "E0435": lambda d: d.has(_DEDUCTION) and not d.taxed,
    "E0436": lambda d: d.has(_DEDUCTION) and d.mei,
    "E0437": lambda d: d.has(_DEDUCTION) and d.suspended,
    "E0438": lambda d: d.has(_DEDUCTION) and d.special,
    "E0439": lambda d: d.has(_DEDUCTION) and _benefits(d, "isencao"),
    "E0440": lambda d: d.normal and _no_kind_admitted(d),
    "E0441": lambda d: (
        d.has(_DEDUCTION) and d.simples and d.active and (d.dps.codigo[:4] not in _REDUCIBLE or _no_kind_admitted(d))
    ),
    "E0442": lambda d: d.has(_DEDUCTION) and d.simples and d.inactive and d.dps.codigo[:4] not in _REDUCIBLE,
    "E0453": lambda d: d.has(f"{_DEDUCTION}/pDR") and not 0 < d.n(f"{_DEDUCTION}/pDR") <= 100,  # noqa: PLR2004 - percent
    "E0454": _not_admitted("pDR"),
    "E0444": lambda d: d.has(f"{_DEDUCTION}/pDR") and d.thin(d.deducted),
    "E0446": _not_admitted("vDR"),
    "E0447": lambda d: d.has(f"{_DEDUCTION}/vDR") and d.thin(d.deducted),
    "E0449": _not_admitted("documentos"),
    "E0455": _document(lambda _, one: bool(_note_key(one)) and wrong_key(_note_key(one))),
    "E0456": _document(lambda d, one: bool(_note_key(one)) and _note_key(one) not in d.place.notes),
    "E0458": _document(lambda d, one: (note := d.place.notes.get(_note_key(one))) is not None and note.cancelled),
    "E0460": _document(lambda _, one: bool(key := said(one, "chNFe")) and wrong_key(key)),
    "E0462": _goods("inexistente"),
    "E0464": _goods("cancelada"),
    "E0466": _document(lambda _, one: bool(ibge := said(one, "NFSeMun/cMunNFSeMun")) and not is_city(ibge)),
    "E0468": _document(lambda _, one: said(one, "tpDedRed") == "99" and not said(one, "xDescOutDed")),
    "E0470": _document(lambda _, one: said(one, "tpDedRed") != "99" and bool(said(one, "xDescOutDed"))),
    "E0472": _document(lambda d, one: date.fromisoformat(said(one, "dtEmiDoc")[:10]) > d.dps.competencia),
    "E0474": _document(lambda _, one: _amount(one, "vDeducaoReducao") > _amount(one, "vDedutivelRedutivel")),
    "E0476": _document(lambda d, one: _amount(one, "vDeducaoReducao") > d.price),
    "E0477": _document(lambda _, one: one.find(path("fornec")) is None and not (_note_key(one) or said(one, "chNFe"))),
}


def _benefits(d: Asked, *kinds: str) -> bool:
    return d.benefit is not None and d.benefit.kind in kinds


def _unlike(d: Asked, kind: str, name: str) -> bool:
    """An amount is said that a benefit of another kind has."""
    return d.has(f"{_BM}/{name}") and d.benefit is not None and d.benefit.kind != kind


def _not_for(d: Asked) -> bool:
    one = d.benefit
    if one is None:
        return False
    other_service = one.services is not None and d.dps.codigo not in one.services
    return other_service or (one.people is not None and d.dps.prestador not in one.people)


BENEFIT: Final[dict[str, Rule]] = {
    "E0533": lambda d: d.has(_BM) and not d.taxed,
    "E0534": lambda d: d.has(_BM) and d.mei,
    "E0535": lambda d: d.has(_BM) and d.special,
    "E0538": lambda d: d.has(_BM) and d.suspended,
    "E0537": lambda d: d.has(_BM) and d.inactive,
    "E0536": lambda d: d.has(_BM) and d.simples and d.active and not d.works,
    "E0541": lambda d: d.has(_BM) and d.city is not None and d.city.benefits is not None and d.benefit is None,
    "E0544": lambda d: d.benefit is not None and not d.benefit.since <= d.dps.competencia <= d.benefit.until,
    "E0548": lambda d: d.benefit is not None and d.benefit.residents and d.due != d.dps.municipio,
    "E0550": _not_for,
    "E0565": lambda d: _unlike(d, "valor", "vRedBCBM"),
    "E0567": lambda d: _benefits(d, "valor") and not d.has(f"{_BM}/vRedBCBM"),
    "E0574": lambda d: d.n(f"{_BM}/vRedBCBM") > d.price,
    "E0575": lambda d: d.has(f"{_BM}/vRedBCBM") and d.thin(d.relieved),
    "E0577": lambda d: _unlike(d, "percentual", "pRedBCBM"),
    "E0579": lambda d: _benefits(d, "percentual") and not d.has(f"{_BM}/pRedBCBM"),
    "E0586": lambda d: (
        d.has(f"{_BM}/pRedBCBM") and not 0 < d.n(f"{_BM}/pRedBCBM") <= (d.benefit.most if d.benefit else 100)
    ),
    "E0587": lambda d: d.has(f"{_BM}/pRedBCBM") and d.thin(d.relieved),
}


def _not_retaining(d: Asked, who: str, kind: str) -> bool:
    people = d.city.retaining_people if d.city else None
    return people is not None and d.m("tpRetISSQN") == kind and d.has(f"{who}/CPF") and d.t(f"{who}/CPF") not in people


def _no_rate(d: Asked) -> bool:
    return not d.rated and d.taxed and not d.suspended


def _low(d: Asked) -> bool:
    return d.n("valores/trib/tribMun/pAliq") < _LEAST_RETAINED


ISS: Final[dict[str, Rule]] = {
    "E0529": lambda d: _exports(d) and _at_home(d),
    "E0530": lambda d: d.taxed and _out(d),
    "E0532": lambda d: d.dps.codigo == _NOWHERE and d.m("tribISSQN") != "4",
    "E0539": lambda d: d.city is not None and d.dps.codigo not in d.city.free and d.m("tribISSQN") == "4",
    "E0540": lambda d: d.city is not None and d.dps.codigo in d.city.free and d.m("tribISSQN") != "4",
    "E0590": lambda d: _result_abroad(d) and not d.m("cPaisResult"),
    "E0591": lambda d: not _result_abroad(d) and bool(d.m("cPaisResult")),
    "E0592": lambda d: (d.m("tribISSQN") == "2") != bool(d.m("tpImunidade")),
    "E0593": lambda d: d.m("tpImunidade") == "0",
    "E0585": lambda d: d.suspended and not d.taxed,
    **BENEFIT,
    "E0580": lambda d: d.retained and not d.taxed,
    "E0583": lambda d: d.retained and d.mei,
    "E0588": lambda d: d.retained and d.special,
    "E0589": lambda d: d.retained and d.suspended,
    "E0594": lambda d: d.retained and _benefits(d, "isencao"),
    "E0596": lambda d: d.retained and d.dps.codigo == "220101",
    "E0667": lambda d: _not_retaining(d, "toma", "2"),
    "E0670": lambda d: _not_retaining(d, "interm", "3"),
    "E0595": lambda d: d.n("valores/trib/tribMun/pAliq") > 5,  # noqa: PLR2004 - the most that ISS may be
    "E0600": lambda d: d.rated and d.mei,
    "E0602": lambda d: d.rated and not d.taxed,
    "E0604": lambda d: d.rated and d.special,
    "E0606": lambda d: d.rated and d.suspended,
    "E0612": lambda d: d.rated and _benefits(d, "isencao", "aliquota"),
    "E0617": lambda d: d.rated and d.normal and d.active,
    "E0619": lambda d: _no_rate(d) and d.normal and d.inactive and not d.special,
    "E0621": lambda d: d.simples and d.active and d.retained and not _benefits(d, "isencao", "aliquota") and _low(d),
    "E0625": lambda d: (
        d.rated and d.simples and d.active and not d.retained and not _benefits(d, "isencao", "aliquota")
    ),
    "E0628": lambda d: d.simples and d.inactive and d.retained and _low(d),
    "E0631": lambda d: d.rated and d.simples and d.inactive and not d.retained,
    "E0635": lambda d: d.rated and d.apart and d.active,
    "E0640": lambda d: _no_rate(d) and d.apart and d.inactive,
}


def _contributes(d: Asked) -> bool:
    """PIS and COFINS are due by the code said."""
    return d.has(_PIS) and int(d.t(f"{_PIS}/CST")) not in {0, 8, 9}


def _unlike_product(d: Asked, rate: str, amount: str) -> bool:
    due = (d.n(f"{_PIS}/vBCPisCofins") * d.n(f"{_PIS}/{rate}") / 100).quantize(_CENT, ROUND_HALF_UP)
    return d.has(f"{_PIS}/{rate}") and d.n(f"{_PIS}/{amount}") != due


def _rates(d: Asked) -> bool:
    """By the code the rates are zero, and are not said so."""
    rates = [d.t(f"{_PIS}/{name}") for name in ("pAliqPis", "pAliqCofins")]
    return d.has(_PIS) and int(d.t(f"{_PIS}/CST")) in {4, 6} and not all(rate and not Decimal(rate) for rate in rates)


FEDERAL: Final[dict[str, Rule]] = {
    "E0675": lambda d: d.has(_FEDERAL) and d.has("prest/CPF"),
    "E0676": lambda d: d.has(_FEDERAL) and d.mei,
    "E0677": lambda d: d.n(f"{_PIS}/vBCPisCofins") > d.price,
    "E0678": lambda d: _contributes(d) and not d.has(f"{_PIS}/vBCPisCofins"),
    "E0680": lambda d: _contributes(d) and d.not_within(f"{_PIS}/vBCPisCofins"),
    "E0682": lambda d: d.has(f"{_PIS}/vBCPisCofins") and not _contributes(d),
    "E0684": lambda d: d.has(f"{_PIS}/vBCPisCofins") and not d.has(f"{_PIS}/pAliqPis"),
    "E0686": lambda d: d.over(f"{_PIS}/pAliqPis", 100),
    "E0688": _rates,
    "E0690": lambda d: d.has(f"{_PIS}/vBCPisCofins") and not d.has(f"{_PIS}/pAliqCofins"),
    "E0692": lambda d: d.over(f"{_PIS}/pAliqCofins", 100),
    "E0694": lambda d: _unlike_product(d, "pAliqPis", "vPis"),
    "E0696": lambda d: _unlike_product(d, "pAliqCofins", "vCofins"),
    "E0698": lambda d: _contributes(d) and not d.has(f"{_PIS}/tpRetPisCofins"),
    "E0699": lambda d: d.not_within(f"{_FEDERAL}/vRetCP"),
    "E0700": lambda d: d.not_within(f"{_FEDERAL}/vRetIRRF"),
    "E0701": lambda d: d.not_within(f"{_FEDERAL}/vRetCSLL"),
}

BURDEN: Final[dict[str, Rule]] = {
    "E0702": lambda d: d.over(f"{_BURDEN}/vTotTrib/vTotTribFed", d.price),
    "E0703": lambda d: d.over(f"{_BURDEN}/vTotTrib/vTotTribEst", d.price),
    "E0704": lambda d: d.over(f"{_BURDEN}/vTotTrib/vTotTribMun", d.price),
    "E0706": lambda d: d.over(f"{_BURDEN}/pTotTrib/pTotTribFed", 100),
    "E0707": lambda d: d.over(f"{_BURDEN}/pTotTrib/pTotTribEst", 100),
    "E0708": lambda d: d.over(f"{_BURDEN}/pTotTrib/pTotTribMun", 100),
    "E0710": lambda d: d.mei and d.has(f"{_BURDEN}/pTotTribSN"),
    "E0712": lambda d: d.dps.regime == "3" and d.has(f"{_BURDEN}/indTotTrib"),
}

RULES: Final[dict[str, Rule]] = {**SERVICE, **PRICE, **DEDUCTIONS, **ISS, **FEDERAL, **BURDEN}
