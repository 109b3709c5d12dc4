"""Finds the words to quote when a number is asked about: one that stands alone, or a price with what it counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from extractor.amounts.role import Role
from extractor.amounts.words import SESSION_WORD, UNIT_WORD
from extractor.text.marks import Kind
from state_machine.invoice.fields import Campo, Doubt, Motivo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extractor.contract import Context
    from extractor.text.marks import Mark, Skeleton

ALONE: Final = re.compile(r"(?:^|[,;\n])[ -]*(?P<n>N)[ .!]*(?=$|[,;\n])")
PER: Final = re.compile(rf"(?: reais)? ?(?:/|por|a|o|cada|p/)? ?(?:{UNIT_WORD}|{SESSION_WORD})\b")
NEAR: Final = 20  # characters between a count and its price: "3 visitas de 200"
WORK_NAMED: Final = re.compile(r"[a-z]{3}")  # something else is said in the turn


def lone_number(skeleton: Skeleton, contexto: Context, roles: Mapping[Mark, set[Role]]) -> tuple[Doubt, Mark] | None:
    """Return the doubt about the last lone number, and the number.

    Beside other words it may be the price ("consultoria, 3"). As the whole answer while an amount stands, a zero or a
    number with cents speaks of that amount; a lone digit may be anything and stays unread.
    """
    if contexto.pendente is Campo.DESCRICAO:
        return None
    line, known = skeleton.line, Campo.VALOR in contexto.conhecidos
    for match in reversed(list(ALONE.finditer(line))):
        mark = skeleton.where.get(match.start("n"))
        if mark is None or mark.kind is not Kind.NUMBER or mark not in roles or roles[mark] - {Role.STRONG}:
            continue
        typed = mark.literal or ""
        speaks = mark.amount == 0 or "." in typed or "," in typed if known else WORK_NAMED.search(line) is not None
        if speaks:
            motivo = Motivo.NAO_POSITIVO if mark.amount == 0 else Motivo.AMBIGUO
            return Doubt(Campo.VALOR, motivo, skeleton.text.verbatim(mark.start, mark.end)), mark
    return None


def counted_span(skeleton: Skeleton, mark: Mark, roles: Mapping[Mark, set[Role]]) -> tuple[int, int]:
    """Return where "5x de 120" or "80 por hora" stands, given the mark of its price (plain indexes)."""
    plain = skeleton.text.plain
    per = PER.match(plain, mark.end)
    start, end = mark.start, per.end() if per else mark.end
    for other, played in roles.items():
        if Role.QUANTITY not in played:
            continue
        if other.end <= mark.start <= other.end + NEAR and not re.search(r"[,;\n]", plain[other.end : mark.start]):
            start = min(start, other.start)
        if mark.end <= other.start <= mark.end + NEAR and not re.search(r"[,;\n]", plain[mark.end : other.start]):
            end = max(end, other.end)
    return start, end
