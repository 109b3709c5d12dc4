"""Reckons an amount that words make of others: a zero more, a rise, a discount, a sum. It is only ever proposed."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from extractor.amounts.net import net_of, says_net
from extractor.amounts.role import Role
from extractor.amounts.roles import roles_of
from extractor.text.marks import Kind
from state_machine.invoice.fields import Campo, Doubt, Motivo
from state_machine.values.money import LIMITE, ValorInvalido, centavos, formata_brl

if TYPE_CHECKING:
    from extractor.contract import Context
    from extractor.text.marks import Mark, Skeleton

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
# What a part is for: "cachê 800 + couvert 200", "800 mais 200 de material".
_WORD: Final = (
    r"(?!(?:ou|menos|mais|com|por|cada|vezes|em|era|eram|nao|sem|uma?|outr[oa]|notas?|desconto|parcelas?)\b)[a-z]{2,20}"
)
_LEAD: Final = (
    rf"(?!(?:deu|da|dao|fica|ficou|foi|foram|total|totaliza|soma|virou|agora|igual|eh?)\b){_WORD}"  # no outcome
)
_FOR: Final = rf"(?: reais)?(?: (?:d[eoa]|pel[oa]) {_WORD}(?: {_WORD}){{0,3}})?"
SUM: Final = re.compile(
    r"\bsom[ae]r?(?: tudo)?:? ?([NV](?:(?:, ?| e | ?\+ ?| mais )[NV])+)"
    rf"|(?:^|(?<=[ :(]))([NV](?:{_FOR}(?: ?\+ ?|,? (?:e )?mais )(?:{_LEAD} ){{0,3}}[NV]){{1,9}})(?=$|[ ,.;)])"
)
# An amount of such a role is no part of a sum.
NO_PART: Final = frozenset(
    {
        Role.QUANTITY,
        Role.UNIT,
        Role.APPROXIMATE,
        Role.RATE,
        Role.OLD,
        Role.NEGATED,
        Role.DISCOUNT,
        Role.EITHER,
        Role.TOTAL,
    }
)
PERCENT: Final = re.compile(r"\d{1,2}(?:[.,]\d{1,2})?")


def reckoned(skeleton: Skeleton, contexto: Context) -> tuple[Doubt, bool] | None:
    """Return the amount that the words make of the known one, or of amounts that they sum up, with how it is reckoned.

    And whether the message says nothing else. ``None`` where it reckons nothing, or with amounts besides.
    """
    line, known = skeleton.line.strip(), contexto.conhecidos.get(Campo.VALOR)
    of_known = _of_known(skeleton, line, Decimal(known)) if known is not None else None
    made = of_known or _net(skeleton) or _sum(skeleton)
    if made is None or not 0 < made[0] < LIMITE:
        return None
    try:
        valor = str(centavos(made[0].quantize(Decimal("0.01"))))
    except ValorInvalido:
        return None
    doubt = Doubt(Campo.VALOR, Motivo.AMBIGUO, skeleton.text.original.strip(), leituras=(valor,), conta=made[1])
    return doubt, of_known is not None


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


def _net(skeleton: Skeleton) -> tuple[Decimal, str] | None:
    """Return the net amount where the words say that the invoice is of it, with what it is of."""
    found = net_of(skeleton) if says_net(skeleton) else None
    if found is None or found[0].amount is None:
        return None
    _, gross = found
    of = f" de {formata_brl(gross.amount)}" if gross is not None and gross.amount is not None else ""
    return found[0].amount, f"líquido{of}"


def parts_of(skeleton: Skeleton) -> list[Mark]:
    """Return the amounts that the words join to one sum, where the message has no other."""
    found = SUM.search(skeleton.line)
    if found is None:
        return []
    start, end = found.span(1) if found[1] else found.span(2)
    every = {p: m for p, m in skeleton.where.items() if m.kind in {Kind.MONEY, Kind.NUMBER}}
    roles = roles_of(skeleton)
    if not all(start <= p < end and m.amount is not None and not m.negative for p, m in every.items()):
        return []
    called = found[1] is not None  # "soma"
    return [] if not called and any(roles[m] & NO_PART for m in every.values()) else list(every.values())


def _sum(skeleton: Skeleton) -> tuple[Decimal, str] | None:
    parts = [m.amount for m in parts_of(skeleton) if m.amount is not None]
    return (sum(parts, Decimal(0)), " + ".join(map(formata_brl, parts))) if parts else None
