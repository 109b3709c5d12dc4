"""Reads which of two amounts the invoice is of: the net one where the words say so, else either may be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from extractor.text.marks import Kind

if TYPE_CHECKING:
    from decimal import Decimal

    from extractor.text.marks import Mark, Skeleton

_BILL: Final = (
    r"(?:nota|nf|nfs-?e|emit\w{1,4}|emissao|fatur\w{1,4}|tirar?|tire|faz|faca|fazer|vale|us[ae]r?|considera\w?|"
    r"lanc\w{1,3}|bota|coloca|poe)"
)
_FILL: Final = (
    r"(?: (?:a|e|eh|nota|fiscal|so|sera|sai|saia|vai|vem|deve|pode|ser|sair|tem|que|ela|essa|esta|valor|sempre)){0,5}"
)
SAYS: Final = re.compile(
    rf"(?<!nao )\b{_BILL}{_FILL} (?:pel[oa]|d[oa]|n[oa]|sobre o|em cima do|com o|o)(?: valor)? liquido\b(?! ou\b)"
)
SAYS_GROSS: Final = re.compile(rf"\b{_BILL}{_FILL} (?:pel[oa]|d[oa]|n[oa]|sobre o|com o|o)(?: valor)? brut[oa]\b")
ASKED: Final = re.compile(r"(?! ?,? (?:ta|ok|ne|viu|certo|beleza|blz|combinado|ta bom) ?\?)[^.,;\n]{0,40}\?")
GROSS: Final = "brut[oa]s?"
NET: Final = "liquid[oa]s?"
NAMES_GROSS: Final = re.compile(rf"\b{GROSS}\b")
_BEFORE: Final = {
    GROSS: re.compile(rf"\b{GROSS}\b[^\nNVDP,;]{{0,25}}(?P<a>[NV])"),
    NET: re.compile(rf"\b{NET}\b[^\nNVDP,;]{{0,25}}(?P<a>[NV])"),
}
_AFTER: Final = {
    GROSS: re.compile(rf"(?P<a>[NV])[^\nNVDP,;.]{{0,12}}\b{GROSS}\b"),
    NET: re.compile(rf"(?P<a>[NV])[^\nNVDP,;.]{{0,12}}\b{NET}\b"),
}

# Two amounts of which the message leaves open which is billed; "a" is the likelier one.
_RIVALS: Final = (
    re.compile(r"(?P<a>[NV])(?:(?: reais)? (?:ou|or) |/)(?:por |uns )?(?P<b>[NV])(?! ?x\b)"),
    re.compile(
        r"\b(?:ret[ei]\w*|descont\w+)[^\n]{0,40}\bP (?:de|d[oa]|sobre)\b[^NV\n]{0,20}(?P<a>[NV])[^NV\n]{0,40}"
        r"(?P<b>[NV])"
    ),
    re.compile(
        r"(?P<b>[NV])[^NV\n]{0,20}\b(?:ret[ei]\w*|descont\w+)[^NV\n]{0,40}\bP (?:de|d[oa]|sobre)\b[^NV\n]{0,20}"
        r"(?P<a>[NV])"
    ),
    re.compile(r"\breceb\w+[^NV]{0,40}(?P<a>[NV])[^NV]{0,80}\bsaldo\b[^NV\n]{0,20}(?P<b>[NV])"),
)
_HALF: Final = re.compile(r"\bnota (?:fiscal )?(?:so |apenas |somente )?d[ea] (?:primeira |segunda |outra )?metade\b")
_LEAST: Final = 10  # "3/4", "aula 1 ou 2": a smaller one is no price


def two_amounts(skeleton: Skeleton) -> tuple[Decimal, ...]:
    """Return two amounts that leave open which is billed: "ou", gross and net, what was withheld of, a half."""
    line = skeleton.line
    found: list[tuple[Decimal | None, Decimal | None]] = []
    for side in (_BEFORE, _AFTER):
        net, gross = _found(side[NET], skeleton), _found(side[GROSS], skeleton)
        if net is not None and gross is not None and not SAYS_GROSS.search(line):
            found.append((gross.amount, net.amount))
    pairs = (m for pattern in _RIVALS if (m := pattern.search(line)))
    found += [(skeleton.where[m.start("a")].amount, skeleton.where[m.start("b")].amount) for m in pairs]
    prices = [m.amount for m in skeleton.marks if m.kind in {Kind.MONEY, Kind.NUMBER}]
    if _HALF.search(line) and len(prices) == 1 and prices[0] is not None:
        found.append((prices[0] / 2, prices[0]))
    pair = next(((a, b) for a, b in found if a is not None and b is not None), None)
    return pair if pair is not None and min(pair) >= _LEAST and pair[0] != pair[1] else ()


def names_net(skeleton: Skeleton) -> bool:
    """Say whether the words speak of an invoice of the net amount, be it only to ask."""
    return SAYS.search(skeleton.line) is not None


def says_net(skeleton: Skeleton) -> bool:
    """Say whether the words want the invoice to be of the net amount: their clause does not ask, but for a nod."""
    found = SAYS.search(skeleton.line)
    return found is not None and not ASKED.match(skeleton.line, found.end())


def net_of(skeleton: Skeleton) -> tuple[Mark, Mark | None] | None:
    """Return the net amount and the gross one, ``None`` where it is not plain which is which.

    Both are named before their amount, or both after it; the net one is the smaller.
    """
    names_gross = NAMES_GROSS.search(skeleton.line) is not None
    for patterns in (_BEFORE, _AFTER):
        net, gross = (_found(patterns[side], skeleton) for side in (NET, GROSS))
        if net is None or net.amount is None or (names_gross and gross is None):
            continue
        if gross is None or (gross.amount is not None and gross.amount > net.amount):
            return net, gross
    return None


def _found(pattern: re.Pattern[str], skeleton: Skeleton) -> Mark | None:
    found = pattern.search(skeleton.line)
    mark = skeleton.where.get(found.start("a")) if found else None
    return mark if mark is not None and mark.kind in {Kind.MONEY, Kind.NUMBER} and not mark.negative else None
