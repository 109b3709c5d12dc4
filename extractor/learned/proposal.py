"""Proposes an amount that the user's own numbers make: so many at so much, or less a discount. It is only asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from extractor.learned.labels import MONEY, Rotulo
from extractor.text.marks import Kind
from state_machine.invoice.fields import Motivo
from state_machine.values.money import LIMITE, formata_brl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal

    from extractor.learned.labels import Mencao
    from extractor.learned.reader import LearnedReading
    from extractor.rules import RulesReading
    from extractor.text.marks import Mark

SURE: Final = 0.5  # of the label of each number that is reckoned with
COUNTED: Final = frozenset({Motivo.POR_UNIDADE, Motivo.PARCELADO})
ADDED: Final = re.compile(r"\b[NV] (?!reais\b)[a-z]{3,}[^NVD,.;\n]{0,40}(?:\bmais|\+) [NV]\b")
MOST: Final = 1000  # pieces, hours, people: beyond that it is something else


def proposal(reading: RulesReading, learned: LearnedReading) -> tuple[str, str] | None:
    """Return an amount and how it was reckoned ("15 × R$ 70,00"), ``None`` where the numbers make none or several."""
    if ADDED.search(reading.skeleton.line):
        return None  # "3 aulas mais 200": nobody said what one of them costs
    if by_rules := _counted(reading):
        return by_rules
    counts = _values(reading, learned.of(Rotulo.QUANTIDADE))
    prices = _values(reading, learned.of(Rotulo.UNITARIO)) or _values(reading, learned.of(Rotulo.PARTE))
    wholes = _values(reading, learned.of(Rotulo.TOTAL, Rotulo.ANTERIOR))
    less = _values(reading, learned.of(Rotulo.DESCONTO))
    money = _values(reading, learned.of(*MONEY))  # all of it is reckoned with, or none
    if len(counts) == len(prices) == len(money) == 1:
        return _product(counts[0], prices[0])
    if len(wholes) == len(less) == 1 and len(money) == 1 + 1 and not counts:
        [whole], [off] = wholes, less
        if 0 < off < whole:
            return format(whole - off, ".2f"), f"{formata_brl(whole)} − {formata_brl(off)}"
    return None


def _counted(reading: RulesReading) -> tuple[str, str] | None:
    """Return what the rules' own doubt makes: "15 aulas de 70" has one count and one price."""
    doubt = next((d for d in reading.extraction.doubts if d.motivo in COUNTED), None)
    if doubt is None:
        return None
    start = reading.skeleton.text.original.find(doubt.trecho)
    inside = [m for m in _amounts(reading) if _begins(reading, m) in range(start, start + len(doubt.trecho))]
    if start < 0 or len(inside) != 1 + 1 or len(list(_amounts(reading))) != 1 + 1:
        return None
    count, price = inside[0].amount, inside[1].amount
    if inside[0].kind is not Kind.NUMBER or count is None or price is None:
        return None
    return _product(count, price)


def _product(count: Decimal, price: Decimal) -> tuple[str, str] | None:
    if not 1 < count <= MOST or count != int(count) or count * price >= LIMITE:
        return None
    return format(count * price, ".2f"), f"{int(count)} × {formata_brl(price)}"


def _amounts(reading: RulesReading) -> Iterator[Mark]:
    return (m for m in reading.skeleton.marks if m.kind in {Kind.MONEY, Kind.NUMBER} and m.amount is not None)


def _begins(reading: RulesReading, mark: Mark) -> int:
    return reading.skeleton.text.starts[mark.start]


def _values(reading: RulesReading, mentions: Sequence[Mencao]) -> list[Decimal]:
    """Return the values of these mentions, each once; nothing if one of them is unsure or no plain number."""
    skeleton = reading.skeleton
    found: dict[Decimal, None] = {}
    for mention in mentions:
        marks = [
            mark
            for mark in _amounts(reading)
            if _begins(reading, mark) < mention.end and skeleton.text.ends[mark.end - 1] > mention.start
        ]
        if len(marks) != 1 or mention.certeza < SURE or marks[0].amount is None:
            return []
        found[marks[0].amount] = None
    return list(found)
