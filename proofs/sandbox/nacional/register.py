"""What the simulated SEFIN knows beside a document: cities, taxpayers, its notes. What nobody spoke of, passes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from stdnum.br import cnpj, cpf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.sandbox.nacional.model import Note
    from state_machine.protocol.channel import Ambiente

_ALWAYS: Final = date(1900, 1, 1)
_DEDUCTIONS: Final = frozenset({"pDR", "vDR", "documentos"})
# Codes of cities whose last digit is not the check digit of the others.
_ODD_CITIES: Final = frozenset(
    {"2201919", "2201988", "2202251", "2611533", "3117836", "3152131", "4305871", "5203939", "5203962"}
)
_CEPS: Final = {
    "3550308": ("01000000", "05999999"),
    "3304557": ("20000000", "23799999"),
    "3106200": ("30000000", "31999999"),
    "3515186": ("13990000", "13999999"),
    "4106902": ("80000000", "82999999"),
}  # some of the ranges by city
_COUNTRIES: Final = """
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BS BT BV BW BY BZ CA CC CD CF
CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG
GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP
KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC
NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ
SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN
VU WF WS YE YT ZA ZM ZW
"""  # ISO 3166, but Brazil
COUNTRIES: Final = frozenset(_COUNTRIES.split())


@dataclass(frozen=True, slots=True)
class Benefit:
    """A city's benefit (``BM``): ``kind`` is ``isencao``, ``aliquota``, ``percentual`` or ``valor``."""

    kind: str
    since: date = _ALWAYS
    until: date = date.max
    residents: bool = False  # only of companies of the city
    services: frozenset[str] | None = None  # None: of all
    people: frozenset[str] | None = None
    most: Decimal = Decimal(100)  # percent of the base


@dataclass(frozen=True, slots=True)
class City:
    """What a city has agreed to. ``rate`` is its ISS in percent, ``since`` the day of the agreement; None: anything."""

    registered: bool = True  # in the national register of agreements at all: E0037
    issues: bool = True  # its taxpayers may use the national emitters: E0039
    active: bool = True  # the agreement is in force
    since: date = date(2023, 1, 1)
    rate: Decimal = Decimal(2)
    retains: bool = False  # as of a service whose tax the customer retains, it wants the customer's address: E0237
    services: frozenset[str] | None = None  # national codes that it administers
    own_codes: frozenset[str] | None = None  # its cTribMun
    free: frozenset[str] = frozenset()  # national codes on which it has no ISS
    special: frozenset[str] | None = None  # regEspTrib that it admits
    special_of: Mapping[str, frozenset[str]] = field(default_factory=dict)  # the same by national code
    deductions: frozenset[str] = _DEDUCTIONS
    benefits: Mapping[str, Benefit] | None = None  # by nBM
    retaining_people: frozenset[str] | None = None  # CPFs that may retain
    substitution_days: int | None = None
    substitutes_anonymous: bool = True  # notes without customer: E0056
    substitutes_customer: bool = True  # with another customer: E0058


@dataclass(frozen=True, slots=True)
class Enrolment:
    """An ``IM`` in the national complementary register."""

    active: bool = True
    issues: bool = True
    since: date = _ALWAYS


@dataclass(frozen=True, slots=True)
class Taxpayer:
    """A CNPJ or CPF of the federal registers; None: whatever the document says."""

    exists: bool = True
    since: date = _ALWAYS
    municipio: str | None = None
    regime: str | None = None  # opSimpNac
    enrolments: Mapping[str, Mapping[str, Enrolment]] | None = None  # by city, then by IM

    def enrolled(self, municipio: str) -> Mapping[str, Enrolment] | None:
        """Return the enrolments in a city; None where nobody spoke of any city."""
        return None if self.enrolments is None else self.enrolments.get(municipio, {})


@dataclass(frozen=True, slots=True)
class Checks:
    """Checks that a test turns off, to see that it would notice."""

    schema: bool = True
    signature: bool = True
    without: frozenset[str] = frozenset()  # rules of the annex
    explained: bool = False  # a document that the schema refuses is told why; the real one seldom does


@dataclass(frozen=True, slots=True)
class Place:
    """What the rules look at beside the document."""

    ambiente: Ambiente
    tp_amb: str
    now: datetime
    cities: Mapping[str, City] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    checks: Checks = field(default_factory=Checks)
    nt009: date | None = None  # its first day here
    notes: Mapping[str, Note] = field(default_factory=dict)  # by key
    taxpayers: Mapping[str, Taxpayer] = field(default_factory=dict)
    goods_notes: Mapping[str, str] = field(default_factory=dict)  # NF-e by key: "inexistente" or "cancelada"
    expired: frozenset[str] = frozenset()  # versions of the layout

    def city(self, ibge: str) -> City:
        """Return a city; one that nobody spoke of has agreed to everything."""
        return self.cities.get(ibge, City())

    def taxpayer(self, document: str) -> Taxpayer:
        """Return a company or a person; one that nobody spoke of exists."""
        return self.taxpayers.get(document, Taxpayer(exists=document not in self.closed))


def is_city(ibge: str) -> bool:
    """Say whether a code may be of a city: its check digit."""
    if len(ibge) != 7 or not ibge.isdigit():  # noqa: PLR2004 - the form of the code
        return False
    products = (int(digit) * (1 + place % 2) for place, digit in enumerate(ibge[:6]))
    return ibge in _ODD_CITIES or (10 - sum(n // 10 + n % 10 for n in products) % 10) % 10 == int(ibge[6])


def elsewhere(cep: str, ibge: str) -> bool:
    """Say whether a CEP is known to be of another city."""
    return any(low <= cep <= high and city != ibge for city, (low, high) in _CEPS.items())


def is_document(numero: str) -> bool:
    """Say whether a CNPJ's or CPF's check digits are right."""
    return bool((cnpj if len(numero) == 14 else cpf).is_valid(numero))  # noqa: PLR2004 - the length of a CNPJ
