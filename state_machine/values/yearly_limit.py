"""The yearly limit of a MEI: LC 123/2006, art. 18-A, §§ 1º and 2º; of transport art. 18-F."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from state_machine.values.money import centavos

if TYPE_CHECKING:
    from datetime import date

MESES: Final = 12
AVISA: Final = Decimal("0.8")  # of the limit: from here on a person is told after every note


@dataclass(frozen=True, slots=True)
class LimitesMei:
    """The limits of a whole year in BRL, of a MEI and of one of transport."""

    geral: Decimal
    transporte: Decimal


@dataclass(frozen=True, slots=True)
class Medidor:
    """How much of the year's limit is used, BRL; ``meses`` of it count (12: all), ``abertura`` is known or not."""

    ano: int
    emitido: Decimal
    limite: Decimal
    meses: int
    abertura: bool

    @property
    def parte(self) -> Decimal:
        """The part of the limit that is used; 1 is all of it."""
        return self.emitido / self.limite


def medidor(limite_anual: Decimal, ano: int, emitido: Decimal, abertura: date | None) -> Medidor:
    """Measure what was issued in a year against its limit.

    In the opening year it is a twelfth for each month from the opening on; a part of a month counts as a whole one.
    """
    meses = MESES - abertura.month + 1 if abertura and abertura.year == ano else MESES
    limite = limite_anual if meses == MESES else centavos(limite_anual / MESES) * meses
    return Medidor(ano, emitido, limite, meses, abertura is not None)
