"""What asking the model takes, for the dashboard: requests and tokens by day, and money where a price is set."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from console.render.charts import columns
from state_machine.values.money import formata_brl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from markupsafe import Markup

MILLION: Final = Decimal(1_000_000)
CENT: Final = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Preco:
    """What the operator says that a model costs: R$ per million tokens read and written."""

    modelo: str
    entrada: Decimal
    saida: Decimal

    def de(self, entrada: int, saida: int) -> Decimal:
        """Return the price of so many tokens in R$, not rounded."""
        return (entrada * self.entrada + saida * self.saida) / MILLION


@dataclass(frozen=True, slots=True)
class Dia:
    """One model's day; ``custo`` as a text in R$, ``None`` where no price is known for this model."""

    dia: date
    modelo: str
    chamadas: int
    sem_conta: int
    entrada: int
    saida: int
    custo: str | None


@dataclass(frozen=True, slots=True)
class Gasto:
    """A period's sums; ``custo`` counts only the models with a price, ``None`` where there is none."""

    dias: tuple[Dia, ...]
    chamadas: int
    sem_conta: int
    entrada: int
    saida: int
    custo: str | None

    @property
    def grafico(self) -> Markup:
        """The tokens of each day as columns."""
        tokens: dict[str, int] = {}
        for dia in self.dias:
            key = dia.dia.isoformat()
            tokens[key] = tokens.get(key, 0) + dia.entrada + dia.saida
        return columns(list(tokens.items()))


def spend(rows: Sequence[Any], preco: Preco | None) -> Gasto:
    """Return the page's part of ``persistence.conversations.model_use`` rows."""
    priced = [(row, preco.de(row.entrada, row.saida) if preco and preco.modelo == row.modelo else None) for row in rows]
    known = [cost for _, cost in priced if cost is not None]
    return Gasto(
        tuple(
            Dia(row.dia, row.modelo, row.chamadas, row.sem_conta, row.entrada, row.saida, _reais(cost))
            for row, cost in priced
        ),
        sum(row.chamadas for row in rows),
        sum(row.sem_conta for row in rows),
        sum(row.entrada for row in rows),
        sum(row.saida for row in rows),
        _reais(sum(known, Decimal(0)) if known else None),
    )


def _reais(cost: Decimal | None) -> str | None:
    if cost is None:
        return None
    if cost < CENT:
        return f"menos de {formata_brl(CENT)}" if cost else "R$ 0,00"
    return formata_brl(cost)
