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

    @property
    def depois(self) -> date:
        """The first day after it."""
        return date(self.ano + (self.mes in {None, len(_MESES)}), (self.mes or 0) % len(_MESES) + 1, 1)

    @property
    def prefixo(self) -> str:
        """How its days begin in ISO 8601: "2026-10-", "2026-"."""
        return f"{self.ano}-{self.mes:02}-" if self.mes else f"{self.ano}-"

    def __str__(self) -> str:
        """Return its name: "outubro de 2026", "2026"."""
        return f"{_MESES[self.mes - 1]} de {self.ano}" if self.mes else str(self.ano)
