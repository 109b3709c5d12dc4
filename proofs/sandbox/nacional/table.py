"""Rules of Anexo I: code by code, what of a DPS breaks it; and the few that later sheets than our copy name."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, Final

from proofs.sandbox.nacional.annex import AT_SEA, annex, said
from proofs.sandbox.nacional.model import path, same_company
from proofs.sandbox.nacional.register import COUNTRIES, elsewhere, is_city, is_document
from proofs.sandbox.plugnotas.model import BRASILIA, access_check_digit
from proofs.sandbox.plugnotas.rules import TRIGGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.sandbox.nacional.annex import Asked, Rule

    Person = Callable[[Asked, Any], bool]

_BM: Final = "valores/trib/tribMun/BM"
_FEDERAL: Final = "valores/trib/tribFed"
_PIS: Final = f"{_FEDERAL}/piscofins"
_DEDUCTION: Final = "valores/vDedRed"
_BURDEN: Final = "valores/trib/totTrib"
_NOWHERE: Final = "990101"  # the service on which there is neither ISS nor ICMS
_LEAST_RETAINED: Final = Decimal("1.8")
_REDUCIBLE: Final = ("0601", "0602", "0702", "0705")  # deductions that the Simples has
_CENT: Final = Decimal("0.01")
_OWN_SERIES: Final = range(1, 50_000)  # a taxpayer's own application
_SKEW: Final = timedelta(seconds=1)  # dhEmi has whole seconds
_CONFIRMED: Final = ("202201", "203202", "204203")
_ADDRESS: Final = "end/endNac"


def wrong_key(chave: str) -> bool:
    """Say whether the check digit of an access key is wrong."""
    return access_check_digit(chave[:-1]) != chave[-1]


def _late(d: Asked) -> bool:
    days = d.here.substitution_days
    late = d.old is not None and days is not None and d.place.now - d.old.at > timedelta(days=days)
    return late and int(d.t("subst/cMotivo")) not in {1, 2}


def _replaces_much(d: Asked) -> bool:
    """Of a company of the Simples: customer, competence and price stay; of others: competence, service and place."""
    if d.before is None:
        return False
    if d.normal:
        fixed = ("dCompet", "serv/cServ/cTribMun", "serv/locPrest/cLocPrestacao", "serv/locPrest/cPaisPrestacao")
        other = d.before.dps.codigo[:4] != d.dps.codigo[:4]
        return other or any(d.before.t(steps) != d.t(steps) for steps in fixed)
    old, new = d.before.dps, d.dps
    same_customer = old.tomador is None or old.tomador == new.tomador
    return not same_customer or (old.competencia, old.valor) != (new.competencia, new.valor)


def _misplaced(d: Asked) -> bool:
    """The issuer is of another city, by the federal register, and not enrolled here."""
    municipio = d.place.taxpayer(d.dps.prestador).municipio
    return municipio not in {None, d.dps.municipio} and not d.enrolments


DOCUMENT: Final[dict[str, Rule]] = {
    "E0001": lambda d: d.versao in d.place.expired,
    "E0004": lambda d: d.dps.id != d.dps.identity,
    "E0006": lambda d: d.t("tpAmb") != d.place.tp_amb,
    "E0008": lambda d: d.dps.emissao > d.place.now + _SKEW,
    "E0010": lambda d: int(d.dps.serie) not in _OWN_SERIES,
    "E0014": lambda d: d.taken,
    "E0015": lambda d: d.dps.competencia > d.dps.emissao.astimezone(BRASILIA).date(),
    "E0016": lambda d: not d.mei and d.here.registered and d.dps.competencia < d.here.since,
    "E0018": lambda d: d.has("prest/CNPJ") and d.dps.competencia < d.place.taxpayer(d.dps.prestador).since,
    "E0020": lambda d: d.has("prest/CPF") and d.dps.competencia < d.place.taxpayer(d.dps.prestador).since,
    "E0023": lambda d: d.enrolment is not None and d.enrolment.active and d.dps.competencia < d.enrolment.since,
    "E9996": lambda d: d.t("tpEmit") != "1",
    "E0029": lambda d: d.t("tpEmit") == "1" and d.has("cMotivoEmisTI"),
    "E0037": lambda d: not d.mei and not d.here.registered,
    "E0038": lambda d: not d.mei and d.here.registered and not d.here.active,
    "E0041": lambda d: d.mei and d.place.taxpayer(d.dps.prestador).municipio not in {None, d.dps.municipio},
}

REPLACED: Final[dict[str, Rule]] = {
    "E0042": lambda d: wrong_key(d.t("subst/chSubstda")) or not _of_issuer(d),
    "E0044": lambda d: d.old is None,
    "E0046": lambda d: d.old is not None and d.old.cancelled,
    "E0050": _late,
    "E0056": lambda d: d.old is not None and d.old.tomador is None and not d.here.substitutes_anonymous,
    "E0058": lambda d: d.old is not None and d.old.tomador != d.dps.tomador and not d.here.substitutes_customer,
    "E0060": _replaces_much,
    "E0065": lambda d: d.t("subst/chSubstda")[7] != "2",
    "E0068": lambda d: d.happened("101103") > d.happened("105104", "105105"),
    "E0070": lambda d: d.happened(*_CONFIRMED) > 0,
    "E0072": lambda d: d.happened("205204") > 0,
    "E0076": lambda d: d.happened("305102") > d.happened("305103"),
    "E0078": lambda d: d.t("subst/cMotivo") == "99" and not d.has("subst/xMotivo"),
}


def _of_issuer(d: Asked) -> bool:
    chave = d.t("subst/chSubstda")
    return (chave[:7], chave[8], chave[9:23]) == (d.dps.municipio, d.dps.kind, f"{d.dps.prestador:0>14}")


PRESTADOR: Final[dict[str, Rule]] = {
    "E0084": lambda d: d.has("prest/CNPJ") and _misplaced(d),
    "E0099": lambda d: d.has("prest/CPF") and d.enrolments is not None and not d.enrolments,
    "E0112": lambda d: d.t("tpEmit") == "1" and d.has("prest/NIF"),
    "E0114": lambda d: d.t("tpEmit") == "1" and d.has("prest/cNaoNIF"),
    "E0116": lambda d: not d.mei and bool(d.enrolments) and d.enrolment is None,
    "E0119": lambda d: not d.mei and d.enrolment is not None and not d.enrolment.issues,
    "E0120": lambda d: d.enrolments is not None and not d.enrolments and d.has("prest/IM"),
    "E0124": lambda d: (
        d.enrolment is not None and not d.enrolment.active and any(one.active for one in (d.enrolments or {}).values())
    ),
    "E0121": lambda d: d.t("tpEmit") == "1" and d.has("prest/xNome"),
    "E0128": lambda d: d.t("tpEmit") == "1" and d.has("prest/end"),
    "E0132": lambda d: d.has("prest/CNPJ") and _lives_elsewhere(d),
    "E0134": lambda d: d.has("prest/CPF") and _lives_elsewhere(d),
    "E0160": lambda d: d.place.taxpayer(d.dps.prestador).regime not in {None, d.dps.regime},
    "E0162": lambda d: d.dps.regime in {"1", "2"} and d.has("prest/regTrib/regApTribSN"),
    "E0166": lambda d: d.dps.regime == "3" and not d.has("prest/regTrib/regApTribSN"),
    "E0172": lambda d: d.special and not d.taxed,
    "E0174": lambda d: d.special and d.mei,
    "E0175": lambda d: d.special and d.simples,
    "E0177": lambda d: _refused_regime(d, d.city.special if d.city else None),
    "E0176": lambda d: d.due not in {"", d.dps.municipio} and d.t("prest/regTrib/regEspTrib") not in {"0", "5"},
    "E0178": lambda d: _refused_regime(d, d.city.special_of.get(d.dps.codigo) if d.city else None),
}


def _lives_elsewhere(d: Asked) -> bool:
    said, enrolled = d.t("prest/end/endNac/cMun"), d.place.taxpayer(d.dps.prestador)
    known = {enrolled.municipio, *(enrolled.enrolments or {})} - {None}
    return bool(said and known) and said not in known


def _refused_regime(d: Asked, admitted: frozenset[str] | None) -> bool:
    return d.special and admitted is not None and d.t("prest/regTrib/regEspTrib") not in admitted


OTHERS: Final[dict[str, Rule]] = {
    "E0202": lambda d: same_company(d.t("toma/CNPJ"), d.dps.prestador),
    "E0204": lambda d: d.m("tpRetISSQN") == "2" and d.dps.tomador is None,
    "E0234": lambda d: d.incide == "tomador" and not d.has("toma/end"),
    "E0237": lambda d: (d.m("tpRetISSQN") == "2" or d.here.retains) and not d.has("toma/end/endNac"),
    "E0242": lambda d: _foreign_without(d, "toma"),
    "E0262": lambda d: same_company(d.t("interm/CNPJ"), d.dps.prestador),
    "E0264": lambda d: d.m("tpRetISSQN") == "3" and not (d.has("interm/CNPJ") or d.has("interm/CPF")),
    "E0293": lambda d: d.m("tpRetISSQN") == "3" and not d.has("interm/end/endNac"),
    "E0298": lambda d: _foreign_without(d, "interm"),
}


def _foreign_without(d: Asked, who: str) -> bool:
    return d.has(f"{who}/NIF") and d.has("prest/CNPJ") and not d.has(f"{who}/end/endExt")


def _unknown(name: str) -> Person:
    return lambda d, p: bool(numero := said(p, name)) and not d.place.taxpayer(numero).exists


def _wrong(name: str) -> Person:
    return lambda _, p: bool(numero := said(p, name)) and not is_document(numero)


def _has(p: Any, steps: str) -> bool:
    return p.find(path(steps)) is not None


def _is_mail(mail: str) -> bool:
    name, _, host = mail.partition("@")
    return bool(name) and "." in host and all(host.split(".")) and "@" not in host and " " not in mail


def _country(_: Asked, p: Any) -> bool:
    return bool(country := said(p, "end/endExt/cPais")) and country not in COUNTRIES


_PERSON: Final[dict[str, Person]] = {
    "CNPJ": _wrong("CNPJ"),
    "CNPJ known": _unknown("CNPJ"),
    "CPF": _wrong("CPF"),
    "CPF known": _unknown("CPF"),
    "NIF": lambda _, p: _has(p, "end/endExt") and not _has(p, "NIF") and not _has(p, "cNaoNIF"),
    "cNaoNIF": lambda _, p: said(p, "cNaoNIF") == "0",
    "xNome": lambda _, p: _has(p, "NIF") and not _has(p, "xNome"),
    "cMun": lambda _, p: bool(ibge := said(p, f"{_ADDRESS}/cMun")) and not is_city(ibge),
    "CEP": lambda _, p: elsewhere(said(p, f"{_ADDRESS}/CEP"), said(p, f"{_ADDRESS}/cMun")),
    "cPais": _country,
    "email": lambda _, p: bool(mail := said(p, "email")) and not _is_mail(mail),
    "endNac": lambda _, p: (_has(p, "CNPJ") or _has(p, "CPF")) and not _has(p, _ADDRESS),
    "endExt": lambda _, p: _has(p, "NIF") and not _has(p, "end/endExt"),
}
_OF: Final = {
    "prest": "E0080 E0082 E0096 E0098 E0113 E0115 E0123 E0130 E0138 E0146 E0148",
    "toma": "E0188 E0190 E0206 E0207 E0223 E0226 E0233 E0238 E0240 E0246 E0247",
    "interm": "E0248 E0250 E0266 E0268 E0281 E0286 E0292 E0294 E0296 E0299 E0300",
    "valores/vDedRed/documentos/docDedRed/fornec": "E0478 E0482 E0484 E0488 E1538 E0490 - E0494 E0496 E0499 - E0492 "
    "E0498",
}


def _anybody(steps: str, breaks: Person) -> Rule:
    return lambda d: any(breaks(d, person) for person in d.info.findall(path(steps)))


def _people() -> dict[str, Rule]:
    """Return the rules that are the same for everybody who is named."""
    return {
        code: _anybody(steps, breaks)
        for steps, codes in _OF.items()
        for code, breaks in zip(codes.split(), _PERSON.values(), strict=False)
        if code != "-"
    }


def _only_replacing(rule: Rule) -> Rule:
    return lambda d: d.dps.substituida is not None and rule(d)


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
        and d.has("serv/atvEvento")
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

LATER: Final[dict[str, Rule]] = {
    "E0039": lambda d: not d.mei and d.here.registered and not d.here.issues,
    "E0312": lambda d: TRIGGER in d.dps.descricao,  # the word for a person at the demo
    "E0713": lambda d: d.normal and (d.has(f"{_BURDEN}/indTotTrib") or d.has(f"{_BURDEN}/pTotTribSN")),
}
_TOLD: Final[dict[str, Rule]] = {
    **DOCUMENT,
    **{code: _only_replacing(rule) for code, rule in REPLACED.items()},
    **PRESTADOR,
    **OTHERS,
    **_people(),
    **SERVICE,
    **PRICE,
    **DEDUCTIONS,
    **ISS,
    **FEDERAL,
    **BURDEN,
}
# In the order of the sheet.
RULES: Final[dict[str, Rule]] = {code: _TOLD[code] for code in annex().mensagens if code in _TOLD} | LATER
