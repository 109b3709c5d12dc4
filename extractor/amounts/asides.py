"""Amounts that speak of no price: what is withheld, and numbers in the answer to another question."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from extractor.amounts.role import Role
from extractor.text.marks import Kind
from state_machine.invoice.fields import Campo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extractor.contract import Context
    from extractor.text.marks import Mark, Skeleton

# Taxes and contributions that are withheld of an invoice: LC 116/2003 art. 6, Lei 10.833/2003 art. 30, Lei 8.212/1991.
WITHHELD: Final = re.compile(
    r"(?:^|[\n,;(|+]|\be\b|-\s|[VN]\)?\s)\s{0,9}(?:retencao(?: d[aeo]s?)? |retid[oa]s? |ret\.? |desconto d[eo] )?"
    r"(?:irrf|irpj|ir|pis(?:/pasep)?|pasep|cofins|csll|crf|pcc|inss|iss(?:qn)?)(?: retid[oa]| na fonte| fonte)?"
    r"(?:\s{0,3}\(?\s{0,3}[P]\s{0,3}\)?)?\s{0,3}[:=-]?\s{0,3}(?P<a>[VN])"
)
# "200 pra maria": the price comes before whom the note is for.
ORDERED: Final = re.compile(r"^\W{0,5}(?:(?:nao|entao|e|ah|opa)\W{1,5}){0,2}(?P<a>N) (?:pra|pro|para)\b")
# What an amount must be called to count in the answer to another question, where one is known.
NAMED: Final = frozenset(
    {Role.LABELLED, Role.TOTAL, Role.NEW, Role.OLD, Role.NEGATED, Role.DELTA, Role.DISCOUNT, Role.SAID, Role.EITHER}
)


def withheld(skeleton: Skeleton, roles: Mapping[Mark, set[Role]], contexto: Context) -> frozenset[Mark]:
    """Return the amounts of ``roles`` that are taxes withheld; none where no other amount is known or said."""
    found = {skeleton.where[m.start("a")] for m in WITHHELD.finditer(skeleton.line)} & roles.keys()
    alone = Campo.VALOR not in contexto.conhecidos and len(found) == len(roles)
    return frozenset() if alone else frozenset(found)


def unasked(skeleton: Skeleton, roles: Mapping[Mark, set[Role]], contexto: Context) -> frozenset[Mark]:
    """Return the bare numbers in the answer to another question, where an amount is known: "manutenção OS 1234".

    "200 pra maria" orders anew where the customer is asked for: that number is asked about.
    """
    if Campo.VALOR not in contexto.conhecidos or contexto.pendente in {None, Campo.VALOR}:
        return frozenset()
    bare = frozenset(m for m, played in roles.items() if m.kind is Kind.NUMBER and not played & NAMED)
    order = ORDERED.search(skeleton.line) if contexto.pendente is Campo.DOCUMENTO else None
    return bare - {skeleton.where[order.start("a")]} if order else bare
