"""What asking the model takes, for the dashboard: requests and tokens by day, and money where a price is set.

Charts as SVG elements: bars with their figures written on them, readable without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from markupsafe import Markup

from state_machine.values.money import formata_brl
from state_machine.values.text import apara
from webhooks.console.render.format import number

WIDTH: Final = 460
_ROW: Final = 42
_LABEL_AT: Final = 16  # the letters are larger on a phone
_LABEL: Final = 38  # UTF-16 units
_BAR: Final = 12
_HEIGHT: Final = 120
_TOP: Final = 24  # above a chart, where its highest figure is written


_FEWEST: Final = 7  # columns that there is room for: one day's does not fill the card


def bars(rows: Sequence[tuple[str, int]], *, de: int | None = None) -> Markup:
    """Return horizontal bars, a label and its figure above each; with ``de`` the figure has its share of that whole."""
    top = max((value for _, value in rows), default=0) or 1
    parts = [Markup('<svg viewBox="0 0 {} {}" role="img" aria-hidden="true">').format(WIDTH, len(rows) * _ROW)]
    for place, (label, value) in enumerate(rows):
        y = place * _ROW
        share = f" · {value / de:.0%}" if de else ""
        parts.append(Markup('<text x="0" y="{}">{}</text>').format(y + _LABEL_AT, apara(label, _LABEL)))
        shown = f"{number(value)}{share}"
        parts.append(
            Markup('<text class="value" x="{}" y="{}" text-anchor="end">{}</text>').format(WIDTH, y + _LABEL_AT, shown)
        )
        bar = Markup('<rect class="{}" x="0" y="{}" width="{}" height="{}" rx="3"/>')
        parts.append(bar.format("rail", y + 22, WIDTH, _BAR))
        parts.append(bar.format("bar", y + 22, max(2 if value else 0, round(WIDTH * value / top)), _BAR))
    return Markup("").join([*parts, Markup("</svg>")])


def columns(rows: Sequence[tuple[str, int]]) -> Markup:
    """Return one column for each day (``AAAA-MM-DD``); the first, the last and the highest are named."""
    top = max((value for _, value in rows), default=0) or 1
    step = WIDTH / max(len(rows), _FEWEST)
    parts = [Markup('<svg viewBox="0 0 {} {}" role="img" aria-hidden="true">').format(WIDTH, _HEIGHT + _TOP + 22)]
    for place, (day, value) in enumerate(rows):
        height = round(_HEIGHT * value / top)
        column = Markup('<rect class="bar" x="{}" y="{}" width="{}" height="{}" rx="1"><title>{}: {}</title></rect>')
        x = round(place * step, 1)
        parts.append(column.format(x, _TOP + _HEIGHT - height, round(max(step - 2, 1), 1), height, _day(day), value))
    if rows:
        text = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
        parts.append(text.format(0, _HEIGHT + _TOP + 18, "start", _day(rows[0][0])))
        if len(rows) > 1:
            parts.append(text.format(round(len(rows) * step), _HEIGHT + _TOP + 18, "end", _day(rows[-1][0])))
        parts.append(text.format(0, 13, "start", f"até {number(top)} por dia"))
    return Markup("").join([*parts, Markup("</svg>")])


def line(rows: Sequence[tuple[str, int]]) -> Markup:
    """Return one line over the rows; the first, the last and the highest are named, each point has its figure."""
    top = max((value for _, value in rows), default=0) or 1
    step = WIDTH / max(len(rows) - 1, 1)
    points = [
        (label, value, round(place * step, 1), _TOP + _HEIGHT - round(_HEIGHT * value / top))
        for place, (label, value) in enumerate(rows)
    ]
    path = " ".join(f"{x},{y}" for _, _, x, y in points)
    parts = [
        Markup('<svg viewBox="-4 0 {} {}" role="img" aria-hidden="true">').format(WIDTH + 8, _HEIGHT + _TOP + 22),
        Markup('<polyline class="stroke" points="{}"/>').format(path),
    ]
    dot = Markup('<circle class="bar" cx="{}" cy="{}" r="3.5"><title>{}: {}</title></circle>')
    parts += [dot.format(x, y, label, value) for label, value, x, y in points if value]
    if rows:
        text = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
        parts.append(text.format(0, _HEIGHT + _TOP + 18, "start", rows[0][0]))
        parts.append(text.format(WIDTH, _HEIGHT + _TOP + 18, "end", rows[-1][0]))
        parts.append(text.format(0, 13, "start", f"até {number(top)} por hora"))
    return Markup("").join([*parts, Markup("</svg>")])


def _day(day: str) -> str:
    return f"{day[8:10]}/{day[5:7]}"


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
    """Return the page's part of ``persistence.outside`` rows."""
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
