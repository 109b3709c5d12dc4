"""Anexo I as data, and a DPS as its rules ask about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from gateway.nacional.layouts import parse
from gateway.nacional.signature import unpack
from proofs.sandbox.nacional.model import MEI, NORMAL, SIMPLES, Dps, path, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.sandbox.nacional.model import Note
    from proofs.sandbox.nacional.register import Benefit, City, Enrolment, Place

    Rule = Callable[["Asked"], bool]

AT_SEA: Final = "0000000"
_TRIB: Final = "valores/trib/tribMun/"
_WORKS: Final = ("0702", "0705")
_LEAST: Final = 2  # percent of the price that ISS must come to
_RETAINED: Final = {"vPis": "13459", "vCofins": "13467"}  # tpRetPisCofins


@dataclass(frozen=True, slots=True)
class Annex:
    """What the sheets say: the message of each rule that SEFIN executes, in order, and each service's incidence."""

    mensagens: Mapping[str, str]
    caminhos: Mapping[str, str]
    incide: Mapping[str, str]  # "prestador", "local", "tomador", or "" for nowhere
    grupo: Mapping[str, str]


@cache
def annex() -> Annex:
    """Return the copy of the sheets that comes with the simulator."""
    told = json.loads(files("proofs.sandbox.nacional").joinpath("anexo1.json").read_text("utf-8"))
    rules, services = told["regras"], told["incidencia"]
    return Annex(
        {codigo: mensagem for codigo, *_, mensagem in rules},
        {codigo: caminho for codigo, caminho, *_ in rules},
        {codigo: incide for codigo, incide, _ in services},
        {codigo: grupo for codigo, _, grupo in services},
    )


def said(element: Any, steps: str) -> str:
    """Return the text at a path, nothing where there is none."""
    return text(element, steps) or ""


class Asked:
    """A DPS that the schema accepts, before what SEFIN knows. ``taken``: its number has a note already."""

    def __init__(self, root: Any, place: Place, *, taken: bool = False) -> None:
        self.info = root.find(path("infDPS"))
        self.versao = root.get("versao")
        self.place, self.taken = place, taken
        self.dps = Dps.of(self.info)

    def t(self, steps: str) -> str:
        """Return the text at a path, nothing where there is none."""
        return said(self.info, steps)

    def m(self, steps: str) -> str:
        """Return the text at a path of the city's tax."""
        return self.t(_TRIB + steps)

    def n(self, steps: str) -> Decimal:
        """Return the number at a path, 0 where there is none."""
        return Decimal(self.t(steps) or 0)

    def has(self, steps: str) -> bool:
        """Say whether a path is there."""
        return self.info.find(path(steps)) is not None

    def over(self, steps: str, most: Decimal | int) -> bool:
        """Say whether the number at a path is beyond 0 to ``most``."""
        return self.has(steps) and not 0 <= self.n(steps) <= most

    def not_within(self, steps: str) -> bool:
        """Say whether the number at a path is not above 0 and below the price."""
        return self.has(steps) and not 0 < self.n(steps) < self.price

    def documents(self) -> list[Any]:
        """Return the documents of the deductions."""
        return list(self.info.findall(path("valores/vDedRed/documentos/docDedRed")))

    # who, and how they are taxed

    @cached_property
    def mei(self) -> bool:
        """A MEI."""
        return self.dps.regime == MEI

    @cached_property
    def normal(self) -> bool:
        """Not of the Simples."""
        return self.dps.regime == NORMAL

    @cached_property
    def simples(self) -> bool:
        """Of the Simples, which collects the ISS too."""
        return self.dps.regime == SIMPLES and self.t("prest/regTrib/regApTribSN") == "1"

    @cached_property
    def apart(self) -> bool:
        """Of the Simples, with the ISS outside it."""
        return self.dps.regime == SIMPLES and self.t("prest/regTrib/regApTribSN") in {"2", "3"}

    @cached_property
    def special(self) -> bool:
        """With a special regime of ISS."""
        return self.t("prest/regTrib/regEspTrib") != "0"

    @cached_property
    def taxed(self) -> bool:
        """An operation on which ISS is due."""
        return self.m("tribISSQN") == "1"

    @cached_property
    def suspended(self) -> bool:
        """The tax may not be asked for now."""
        return self.has(_TRIB + "exigSusp")

    @cached_property
    def retained(self) -> bool:
        """Customer or intermediary retain the ISS."""
        return self.m("tpRetISSQN") in {"2", "3"}

    @cached_property
    def rated(self) -> bool:
        """A rate is said."""
        return self.has(_TRIB + "pAliq")

    @cached_property
    def benefit(self) -> Benefit | None:
        """The city's benefit that is named, where it is known."""
        known = self.city.benefits if self.city else None
        return (known or {}).get(self.m("BM/nBM"))

    @cached_property
    def enrolments(self) -> Mapping[str, Enrolment] | None:
        """The issuer's, in the city where they issue."""
        return self.place.taxpayer(self.dps.prestador).enrolled(self.dps.municipio)

    @cached_property
    def enrolment(self) -> Enrolment | None:
        """The one that is named."""
        return (self.enrolments or {}).get(self.t("prest/IM"))

    # where

    @cached_property
    def here(self) -> City:
        """The issuer's city."""
        return self.place.city(self.dps.municipio)

    @cached_property
    def local(self) -> str:
        """Where in Brazil the work is done."""
        return self.t("serv/locPrest/cLocPrestacao")

    @cached_property
    def abroad(self) -> bool:
        """The work is done in another country."""
        return self.has("serv/locPrest/cPaisPrestacao")

    @cached_property
    def foreign(self) -> bool:
        """The work, the customer or the intermediary is in another country."""
        return self.abroad or self.has("toma/end/endExt") or self.has("interm/end/endExt")

    @cached_property
    def incide(self) -> str:
        """Where ISS on this service is due."""
        return annex().incide.get(self.dps.codigo, "")

    @cached_property
    def due(self) -> str:
        """The city to which ISS is due, nothing where there is none."""
        at_sea = self.local == AT_SEA and self.dps.codigo != "200101"
        local = self.dps.municipio if at_sea else self.local
        places = {"prestador": self.dps.municipio, "local": local, "tomador": self.t("toma/end/endNac/cMun")}
        return places.get(self.incide, "")

    @cached_property
    def city(self) -> City | None:
        """That city."""
        return self.place.city(self.due) if self.due else None

    @cached_property
    def active(self) -> bool:
        """Its agreement is in force."""
        return self.city is not None and self.city.registered and self.city.active

    @cached_property
    def inactive(self) -> bool:
        """There is a city, and its agreement is not in force."""
        return self.city is not None and not self.active

    # amounts

    @cached_property
    def price(self) -> Decimal:
        """Of the service."""
        return self.dps.valor

    @cached_property
    def discount(self) -> Decimal:
        """Without condition."""
        return self.n("valores/vDescCondIncond/vDescIncond")

    @cached_property
    def deducted(self) -> Decimal:
        """By percentage, amount or documents."""
        share = self.n("valores/vDedRed/pDR") * (self.price - self.discount) / 100
        papers = sum(Decimal(said(one, "vDeducaoReducao") or 0) for one in self.documents())
        return share + self.n("valores/vDedRed/vDR") + papers

    @cached_property
    def relieved(self) -> Decimal:
        """By a benefit of the city."""
        share = self.n(_TRIB + "BM/pRedBCBM") * (self.price - self.discount - self.deducted) / 100
        return share + self.n(_TRIB + "BM/vRedBCBM")

    @cached_property
    def kept(self) -> Decimal:
        """All taxes that others keep back."""
        federal = sum(self.n(f"valores/trib/tribFed/{name}") for name in ("vRetCP", "vRetIRRF", "vRetCSLL"))
        group = "valores/trib/tribFed/piscofins"
        kind = self.t(f"{group}/tpRetPisCofins") or "0"
        shared = sum(self.n(f"{group}/{name}") for name, kinds in _RETAINED.items() if kind in kinds)
        base = self.price - self.discount - self.deducted - self.relieved
        return federal + shared + (base * self.rate / 100 if self.retained else Decimal(0))

    @cached_property
    def rate(self) -> Decimal:
        """Of ISS in percent: as said, or the city's where it is the city's that holds; 0 where nobody knows it."""
        if self.rated or not self.active or not (self.normal or self.apart):
            return self.n(_TRIB + "pAliq")
        return self.city.rate if self.city else Decimal(0)

    def thin(self, less: Decimal) -> bool:
        """Say whether a reduction leaves less tax than the least."""
        free = self.dps.codigo[:4] in {*_WORKS, "1601"}
        return (
            less > 0 < self.rate and self.taxed and not free and (self.price - less) * self.rate < self.price * _LEAST
        )

    @property
    def works(self) -> bool:
        """Building, whose base the Simples may reduce too."""
        return self.dps.codigo[:4] in _WORKS

    # the note that this one takes the place of

    @cached_property
    def old(self) -> Note | None:
        """It, where it exists."""
        return self.place.notes.get(self.dps.substituida or "")

    @cached_property
    def before(self) -> Asked | None:
        """Its DPS."""
        if self.old is None:
            return None
        return Asked(parse(unpack(self.old.packed)).find(path("infNFSe/DPS")), self.place)

    def happened(self, *kinds: str) -> int:
        """Count what was registered against it."""
        return sum(event.tipo in kinds for event in self.old.events) if self.old else 0
