"""Reckons an amount that words make of others: a zero more, a rise, a discount, a sum. It is only ever proposed."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from extractor.text.marks import Kind
from state_machine.invoice.fields import Campo, Doubt, Motivo
from state_machine.values.money import LIMITE, ValorInvalido, centavos, formata_brl

if TYPE_CHECKING:
    from extractor.contract import Context
    from extractor.text.marks import Skeleton

_OPENS: Final = r"(?:(?:nao|ops|opa|perai)[,.!]? )?"
ZERO_MORE: Final = re.compile(
    rf"{_OPENS}(?:faltou|falta|esqueci|ficou faltando|comi) (?:de )?(?:um |o )?zero(?: ai)?[.!]?"
)
ZERO_LESS: Final = re.compile(rf"{_OPENS}(?:tem|foi|ficou|botei|coloquei|saiu)(?: com)? um zero a mais(?: ai)?[.!]?")
RISE: Final = re.compile(
    rf"{_OPENS}(?:(?:acrescent|aument)(?:a|e|ar)|bota|poe|coloca|aplica|soma)(?: (?:o|um|mais))?"
    r"(?: (?:reajuste|aumento|acrescimo))?(?: de)? P(?: (?:de )?(?:reajuste|aumento|acrescimo))?[.!]?"
)
REBATE: Final = re.compile(
    rf"{_OPENS}(?:da|de|tira|bota|aplica|desconta|faz)(?: um)?(?: desconto)?(?: de)? P"
    r"(?: (?:de )?(?:desconto|off))?[.!]?"
)
SUM: Final = re.compile(
    r"\bsom[ae]r?(?: tudo)?:? ?([NV](?:(?:, ?| e | ?\+ ?| mais )[NV])+)|(?:^| )([NV](?: ?\+ ?[NV])+)(?=$|[ ,.;])"
)
PERCENT: Final = re.compile(r"\d{1,2}(?:[.,]\d{1,2})?")


def reckoned(skeleton: Skeleton, contexto: Context) -> Doubt | None:
    """Return the amount that the words make of the known one, or of amounts that they sum up, with how it is reckoned.

    ``None`` where they reckon nothing, or with anything besides.
    """
    line, known = skeleton.line.strip(), contexto.conhecidos.get(Campo.VALOR)
    made = _of_known(skeleton, line, Decimal(known)) if known is not None else _sum(skeleton)
    if made is None or not 0 < made[0] < LIMITE:
        return None
    try:
        valor = str(centavos(made[0].quantize(Decimal("0.01"))))
    except ValorInvalido:
        return None
    return Doubt(Campo.VALOR, Motivo.AMBIGUO, skeleton.text.original.strip(), leituras=(valor,), conta=made[1])


def _of_known(skeleton: Skeleton, line: str, known: Decimal) -> tuple[Decimal, str] | None:
    said = formata_brl(known)
    plain = skeleton.text.plain.strip()
    if ZERO_MORE.fullmatch(plain):
        return known * 10, f"10 × {said}"
    if ZERO_LESS.fullmatch(plain):
        return known / 10, f"{said} ÷ 10"
    rises = RISE.fullmatch(line) is not None
    if not rises and not REBATE.fullmatch(line):
        return None
    mark = next(m for m in skeleton.marks if m.kind is Kind.PERCENT)
    typed = PERCENT.search(skeleton.text.verbatim(mark.start, mark.end))
    if typed is None:
        return None
    share = Decimal(typed[0].replace(",", ".")) / 100
    return known * (1 + share if rises else 1 - share), f"{said} {'+' if rises else '−'} {typed[0]} %"


def _sum(skeleton: Skeleton) -> tuple[Decimal, str] | None:
    """Return the sum of parts, where the message has no other amount."""
    found = SUM.search(skeleton.line)
    if found is None:
        return None
    start, end = found.span(1) if found[1] else found.span(2)
    every = [(p, m) for p, m in skeleton.where.items() if m.kind in {Kind.MONEY, Kind.NUMBER}]
    parts = [m.amount for _, m in every if m.amount is not None and not m.negative]
    if len(parts) != len(every) or not all(start <= p < end for p, _ in every):
        return None
    return sum(parts, Decimal(0)), " + ".join(map(formata_brl, parts))
