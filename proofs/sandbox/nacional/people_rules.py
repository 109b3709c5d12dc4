"""Rules of Anexo I about the DPS itself, what it replaces, and its people: code by code, what breaks it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from proofs.sandbox.nacional.annex import said
from proofs.sandbox.nacional.model import path, same_company
from proofs.sandbox.nacional.register import COUNTRIES, elsewhere, is_city, is_document
from proofs.sandbox.plugnotas.model import BRASILIA, access_check_digit

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.sandbox.nacional.annex import Asked, Rule

    Person = Callable[[Asked, Any], bool]

_OWN_SERIES: Final = range(1, 50_000)  # a taxpayer's own application
_SKEW: Final = timedelta(seconds=1)  # dhEmi has whole seconds
_MAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
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
    "E0099": lambda d: d.has("prest/CPF") and _misplaced(d),
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
    "E0177": lambda d: _not_admitted(d, d.city.special if d.city else None),
    "E0176": lambda d: d.due not in {"", d.dps.municipio} and d.t("prest/regTrib/regEspTrib") not in {"0", "5"},
    "E0178": lambda d: _not_admitted(d, d.city.special_of.get(d.dps.codigo) if d.city else None),
}


def _lives_elsewhere(d: Asked) -> bool:
    said, enrolled = d.t("prest/end/endNac/cMun"), d.place.taxpayer(d.dps.prestador)
    known = {enrolled.municipio, *(enrolled.enrolments or {})} - {None}
    return bool(said and known) and said not in known


def _not_admitted(d: Asked, admitted: frozenset[str] | None) -> bool:
    return d.special and admitted is not None and d.t("prest/regTrib/regEspTrib") not in admitted


OTHERS: Final[dict[str, Rule]] = {
    "E0202": lambda d: same_company(d.dps.tomador, d.dps.prestador),
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
    "email": lambda _, p: bool(mail := said(p, "email")) and not _MAIL.fullmatch(mail),
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


RULES: Final[dict[str, Rule]] = {
    **DOCUMENT,
    **{code: _only_replacing(rule) for code, rule in REPLACED.items()},
    **PRESTADOR,
    **OTHERS,
    **_people(),
}
