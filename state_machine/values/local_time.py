"""The local time of the people who issue invoices: America/Sao_Paulo, and the day of a company's city.

A month or a year that people speak of.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from zoneinfo import ZoneInfo

SAO_PAULO = ZoneInfo("America/Sao_Paulo")  # "today" where no city is known, and every time that people read

_ACRE, _AMAZONAS = ZoneInfo("America/Rio_Branco"), ZoneInfo("America/Manaus")  # UTC-5, UTC-4
# Law 11.662 of 2008 and law 12.876 of 2013. The key is the state: the first two digits of a city's IBGE code.
_OF_STATE: Final = {
    "11": ZoneInfo("America/Porto_Velho"),
    "12": _ACRE,
    "13": _AMAZONAS,
    "14": ZoneInfo("America/Boa_Vista"),
    "50": ZoneInfo("America/Campo_Grande"),
    "51": ZoneInfo("America/Cuiaba"),
}
_OF_CITY: Final = {
    "2605459": ZoneInfo("America/Noronha"),
    # The west of Amazonas has the time of Acre.
    **dict.fromkeys(
        (
            "1300201",  # Atalaia do Norte
            "1300607",  # Benjamin Constant
            "1300706",  # Boca do Acre
            "1301407",  # Eirunepé
            "1301506",  # Envira
            "1301654",  # Guajará
            "1301803",  # Ipixuna
            "1301951",  # Itamarati
            "1302306",  # Jutaí
            "1302405",  # Lábrea
            "1303502",  # Pauini
            "1303908",  # São Paulo de Olivença
            "1304062",  # Tabatinga
        ),
        _ACRE,
    ),
}


def zone_of(municipio_ibge: str) -> ZoneInfo:
    """Return the zone of a city, by its IBGE code of seven digits."""
    return _OF_CITY.get(municipio_ibge) or _OF_STATE.get(municipio_ibge[:2], SAO_PAULO)


def local_day(municipio_ibge: str, moment: datetime) -> date:
    """Return the day that an aware moment has in a city.

    It is never after the day in São Paulo, in whose time a document says when it was made: a competence after that day
    is refused (E0015). This concerns Fernando de Noronha, in the hour after its midnight.
    """
    return min(moment.astimezone(zone_of(municipio_ibge)).date(), moment.astimezone(SAO_PAULO).date())


_MESES = (
    *("janeiro", "fevereiro", "março", "abril", "maio", "junho"),
    *("julho", "agosto", "setembro", "outubro", "novembro", "dezembro"),
)


@dataclass(frozen=True, slots=True)
class MesOuAno:
    """A month of a year, or with ``mes`` ``None`` the whole year."""

    ano: int
    mes: int | None = None

    @property
    def inicio(self) -> date:
        """Its first day."""
        return date(self.ano, self.mes or 1, 1)

    @property
    def depois(self) -> date:
        """The first day after it."""
        return date(self.ano + (self.mes in {None, len(_MESES)}), (self.mes or 0) % len(_MESES) + 1, 1)

    @property
    def anterior(self) -> MesOuAno:
        """The one before."""
        if self.mes is None:
            return MesOuAno(self.ano - 1)
        return MesOuAno(self.ano - (self.mes == 1), (self.mes - 2) % len(_MESES) + 1)

    @property
    def prefixo(self) -> str:
        """How its days begin in ISO 8601: "2026-10-", "2026-"."""
        return f"{self.ano}-{self.mes:02}-" if self.mes else f"{self.ano}-"

    def __str__(self) -> str:
        """Return its name: "outubro de 2026", "2026"."""
        return f"{_MESES[self.mes - 1]} de {self.ano}" if self.mes else str(self.ano)
