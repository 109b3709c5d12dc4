"""Proposes an amount that the user's own numbers make: so many at so much, or less a discount. It is only asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from extractor.amounts.role import Role
from extractor.amounts.roles import COUNTABLE_LIMIT, roles_of
from extractor.amounts.words import UNIT_WORD
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
ADDED: Final = re.compile(r"\b[NV] (?!reais\b)[a-z]{3,}[^NVD,.;\n]{0,40}(?:\bmais|\+)(?: [a-z]{3,}){0,2} [NV]\b")
HOW_MANY: Final = frozenset({Role.QUANTITY, Role.PLURAL})
NUMBERED: Final = re.compile(rf"\d ?{UNIT_WORD}\b")  # "42h", "112km": one more count
MOST: Final = 10_000  # pieces, hours, words: beyond that it is something else


def proposal(reading: RulesReading, learned: LearnedReading) -> tuple[str, str] | None:
    """Return an amount and how it was reckoned ("15 × R$ 70,00"), ``None`` where the numbers make none or several."""
    if ADDED.search(reading.skeleton.line):
        return None  # "3 aulas mais 200": nobody said what one of them costs
    if by_rules := _counted(reading):
        return by_rules
    wholes = _values(reading, learned.of(Rotulo.TOTAL, Rotulo.ANTERIOR))
    less = _values(reading, learned.of(Rotulo.DESCONTO))
    money = _values(reading, learned.of(*MONEY))  # all of it is reckoned with, or none
    if len(wholes) == len(less) == 1 and len(money) == 1 + 1 and not learned.of(Rotulo.QUANTIDADE):
        [whole], [off] = wholes, less
        if 0 < off < whole:
            return format(whole - off, ".2f"), f"{formata_brl(whole)} − {formata_brl(off)}"
    return None


def _counted(reading: RulesReading) -> tuple[str, str] | None:
    """Return what a count and the price of one make ("15 aulas de 70"); a price that nothing calls one is the whole."""
    roles = roles_of(reading.skeleton)
    if len(roles) != 1 + 1 or all(doubt.motivo not in COUNTED for doubt in reading.extraction.doubts):
        return None
    prices = [mark for mark, played in roles.items() if Role.UNIT in played and not played & HOW_MANY]
    if len(prices) != 1 or not prices[0].amount or NUMBERED.search(reading.skeleton.line):
        return None
    [(count, played)] = ((mark, played) for mark, played in roles.items() if mark is not prices[0])
    if count.kind is not Kind.NUMBER or count.amount is None or played & {Role.INSTALMENT, Role.APPROXIMATE}:
        return None
    counted = count.amount < COUNTABLE_LIMIT or played & HOW_MANY
    if not counted and count.amount % prices[0].amount == 0:
        return None  # "825 cada, 1650": the sum was said
    return _product(count.amount, prices[0].amount)


def _product(count: Decimal, price: Decimal) -> tuple[str, str] | None:
    made = count * price
    if not 1 < count <= MOST or made >= LIMITE or made != round(made, 2):
        return None
    return format(made, ".2f"), f"{format(count.normalize(), 'f').replace('.', ',')} × {formata_brl(price)}"


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
