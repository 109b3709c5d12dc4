"""Proposes an amount that the user's own numbers make: so many at so much, or less a discount. It is only asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from extractor.learned.labels import MONEY, Rotulo
from extractor.text.marks import Kind
from state_machine.values.money import LIMITE, formata_brl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from extractor.learned.labels import Mencao
    from extractor.learned.reader import LearnedReading
    from extractor.rules import RulesReading

SURE: Final = 0.5  # of the label of each number that is reckoned with
MOST: Final = 1000  # pieces, hours, people: beyond that it is something else


def proposal(reading: RulesReading, learned: LearnedReading) -> tuple[str, str] | None:
    """Return an amount and how it was reckoned ("15 × R$ 70,00"), ``None`` where the numbers make none or several."""
    counts = _values(reading, learned.of(Rotulo.QUANTIDADE))
    prices = _values(reading, learned.of(Rotulo.UNITARIO)) or _values(reading, learned.of(Rotulo.PARTE))
    wholes = _values(reading, learned.of(Rotulo.TOTAL, Rotulo.ANTERIOR))
    less = _values(reading, learned.of(Rotulo.DESCONTO))
    money = _values(reading, learned.of(*MONEY))  # all of it is reckoned with, or none
    if len(counts) == len(prices) == len(money) == 1:
        [count], [price] = counts, prices
        if 1 < count <= MOST and count == int(count) and count * price < LIMITE:
            return format(count * price, ".2f"), f"{int(count)} × {formata_brl(price)}"
    if len(wholes) == len(less) == 1 and len(money) == 1 + 1 and not counts:
        [whole], [off] = wholes, less
        if 0 < off < whole:
            return format(whole - off, ".2f"), f"{formata_brl(whole)} − {formata_brl(off)}"
    return None


def _values(reading: RulesReading, mentions: Sequence[Mencao]) -> list[Decimal]:
    """Return the values of these mentions, each once; nothing if one of them is unsure or no plain number."""
    skeleton = reading.skeleton
    found: dict[Decimal, None] = {}
    for mention in mentions:
        marks = [
            mark
            for mark in skeleton.marks
            if mark.kind in {Kind.MONEY, Kind.NUMBER}
            and mark.amount is not None
            and skeleton.text.starts[mark.start] < mention.end
            and skeleton.text.ends[mark.end - 1] > mention.start
        ]
        if len(marks) != 1 or mention.certeza < SURE or marks[0].amount is None:
            return []
        found[marks[0].amount] = None
    return list(found)
