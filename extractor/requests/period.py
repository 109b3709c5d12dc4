"""Reads of which month or year a request speaks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from extractor.fields.dates import MONTHS
from state_machine.values.period import MesOuAno

if TYPE_CHECKING:
    from datetime import date

LAST_MONTH: Final = 12
_NAMES: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
PERIOD: Final = (
    rf"(?:{_NAMES})\b|\b(?:0?[1-9]|1[0-2])/20\d\d\b|\b(?:d?[eo]ste |d?esse |neste |nesse |do |no |o )?(?:mes|ano)\b"
)
_NAMED: Final = re.compile(rf"\b(?P<mes>{_NAMES})\b(?:\W+(?:d[eo] )?(?P<ano>20\d\d))?")
_FIGURES: Final = re.compile(r"\b(?P<mes>0?[1-9]|1[0-2])/(?P<ano>20\d\d)\b")
_YEAR: Final = re.compile(
    r"\bano (?P<passado>passado|anterior)|\bano\b(?: de (?P<ano>20\d\d))?|\b(?:em|de) (?P<so>20\d\d)\b"
)
_MONTH_BEFORE: Final = re.compile(r"\bmes (?:passado|anterior)\b|\bultimo mes\b")
_THIS_MONTH: Final = re.compile(r"\bmes\b")


@dataclass(frozen=True, slots=True)
class Quando:
    """A month or a year as it was said; ``ano`` ``None``: the newest one that is not in the future."""

    mes: int | None = None
    ano: int | None = None
    atras: int | None = None  # so many months (with ``mensal``) or years ago
    mensal: bool = False

    def em(self, hoje: date) -> MesOuAno:
        """Return the period that is meant on a day."""
        if self.mes:
            return MesOuAno(self.ano or hoje.year - (self.mes > hoje.month), self.mes)
        if self.ano:
            return MesOuAno(self.ano)
        if not self.mensal:
            return MesOuAno(hoje.year - (self.atras or 0))
        meses = hoje.year * LAST_MONTH + hoje.month - 1 - (self.atras or 0)
        return MesOuAno(meses // LAST_MONTH, meses % LAST_MONTH + 1)


def read_period(plain: str) -> Quando | None:
    """Return the month or year that folded words name, ``None`` when they name none."""
    if named := _FIGURES.search(plain):
        return Quando(int(named["mes"]), int(named["ano"]))
    if named := _NAMED.search(plain):
        return Quando(MONTHS[named["mes"]], int(named["ano"]) if named["ano"] else None)
    if _MONTH_BEFORE.search(plain):
        return Quando(atras=1, mensal=True)
    if year := _YEAR.search(plain):
        said = year["ano"] or year["so"]
        return Quando(ano=int(said)) if said else Quando(atras=1 if year["passado"] else 0)
    return Quando(atras=0, mensal=True) if _THIS_MONTH.search(plain) else None
