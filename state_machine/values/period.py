"""A month or a year that people speak of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

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

    def __contains__(self, dia: date) -> bool:
        """Tell whether a day is in it."""
        return dia.year == self.ano and self.mes in {None, dia.month}

    def __str__(self) -> str:
        """Return its name: "outubro de 2026", "2026"."""
        return f"{_MESES[self.mes - 1]} de {self.ano}" if self.mes else str(self.ano)
