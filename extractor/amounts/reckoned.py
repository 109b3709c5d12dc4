"""Reckons an amount that words make of others: a zero more, a rise, a discount, a sum. It is only ever proposed.

Reads which of two amounts the invoice is of: the net one where the words say so, else either may be.

Reads which of several shown amounts words choose, and the wish for the one from before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from extractor.amounts.roles import Role, roles_of
from extractor.contract import Context
from extractor.text.folding import read
from extractor.text.marks import Kind, Mark, Skeleton
from state_machine.invoice.fields import Campo, Doubt, Motivo
from state_machine.values.money import LIMITE, ValorInvalido, centavos, formata_brl

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
    re.compile(r"(?P<a>[NV]) ?\((?P<b>V)\)"),  # "R$ 1.700,00 (cento e setenta reais)"
    re.compile(r"\breceb\w+[^NV]{0,40}(?P<a>[NV])[^NV]{0,80}\bsaldo\b[^NV\n]{0,20}(?P<b>[NV])"),
)
# Half of the amount, not of the work ("só metade do muro").
_HALF: Final = re.compile(
    r"\b(?:so|apenas|somente|nota|emit\w{1,4}|fatur\w{1,4}|cobr\w{1,4}|faz|faca|lanc\w{1,3}) "
    r"(?:(?:so|apenas|somente|a|uma|nota|fiscal|com|pela|sobre|de|da|primeira|segunda|outra) ){0,5}metade\b"
    r"(?! d[aeo]s? (?!valor\b|total\b|preco\b)[a-z])|\bmetade d[eo]s? (?:valor\b|total\b|preco\b|[NV])"
)
# What is left to pay of it ("sinal de 500, restam 1.000"), and what it is made less by ("2.000 com desconto de 200").
_REST: Final = re.compile(
    r"(?P<b>[NV])[^NV\n]{0,40}\b(?:rest|falt)(?:a|am|ando|ou|aram)(?: (?:de|pagar|so))? (?P<a>[NV])"
)
_LESS: Final = re.compile(
    r"(?P<a>[NV])(?: reais)?,? (?:com |e |mas |menos )?(?:um )?(?:desconto|abatimento)(?: de)? (?P<b>[NV])"
)
_DIFFERENCE: Final = re.compile(r"\bdiferenca\b")
_HALVES: Final = re.compile(
    r"\bmetade\b(?! d[aeo]s? (?!valor\b|total\b|preco\b|pacote\b|[NV])[a-z])|\bpag\w+ (?:a )?metade\b|\bmeio a meio\b"
)
_INCLUDED: Final = re.compile(r"\b(?:ja com|embutid\w+|inclu[is]\w*|fic(?:a|ou)|deu|chei[ao]|que vem)\b|=")
_NETS: Final = re.compile(r"\bliquid[oa]s?\b")
_TAXES: Final = re.compile(r"\b(?:iss\w*|inss|irr?f?|impostos?|tribut\w+|aliquota|ret[ei]\w+|csll|pis)\b")
_OFF: Final = re.compile(r"\b(?:desc\w*|abat\w+|off|menos|avista)\b|- ?P")
_RISES: Final = re.compile(r"\b(?:reajust\w+|acresc\w+|adicional|ipca|igp\w*|corrigid\w+|aument\w+|mais)\b")
_MOST: Final = 100  # times the known amount; more is a price
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
        found.append((prices[0], prices[0] / 2))
    found += _shares(skeleton, {m.amount for m in skeleton.marks if m.kind in {Kind.MONEY, Kind.NUMBER}})
    for pattern, sign in ((_REST, 1), (_LESS, -1)):
        sides = [skeleton.where[m.start(s)].amount for m in pattern.finditer(line) for s in "ab"][:2]
        if sides and sides[0] is not None and sides[1] is not None:
            found.append((sides[0], sides[0] + sign * sides[1]))
    pair = next(((a, b) for a, b in found if a is not None and b is not None), None)
    return pair if pair is not None and min(pair) >= _LEAST and pair[0] != pair[1] else ()


def _shares(skeleton: Skeleton, prices: set[Decimal | None]) -> list[tuple[Decimal | None, Decimal | None]]:
    """Return the only amount with what a percentage or a half makes of it, and a difference with the larger one."""
    line, said = skeleton.line, [price for price in prices if price is not None and price >= _LEAST]
    if len(said) == 2 and _DIFFERENCE.search(line):  # noqa: PLR2004 - of two
        return [(abs(said[0] - said[1]), max(said))]
    if len(said) != 1:
        return []
    [price] = said
    if _HALVES.search(line):
        return [(price, price / 2)]
    percents = [m for m in skeleton.marks if m.kind is Kind.PERCENT]
    if len(percents) != 1 or _INCLUDED.search(line):
        return []
    typed = PERCENT.search(skeleton.text.verbatim(percents[0].start, percents[0].end))
    share = Decimal(typed[0].replace(",", ".")) / 100 if typed else Decimal(0)
    if _NETS.search(line) and share:
        return [(round(price / (1 - share), 2), price)]
    if not share or _TAXES.search(line):
        return []
    made = price * (1 - share if _OFF.search(line) else 1 + share if _RISES.search(line) else share)
    return [(price, round(made, 2))]


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


_OPENS: Final = r"(?:(?:nao|ops|opa|perai)[,.!]? )?"
ZERO_MORE: Final = re.compile(
    rf"{_OPENS}(?:faltou|falta|esqueci|ficou faltando|comi) (?:de )?(?:um |o )?zero(?: ai| no valor)?[.!]?"
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
# So many times the known amount: "isso é por mês, são 3". Which of both is billed is not said.
TIMES: Final = re.compile(
    rf"{_OPENS}(?:(?:isso|ess[ea]|o valor|esse valor)(?: ai)? )?(?:eh? )?"
    r"(?:por|cada|a cada|pra cada|de cada|mensa(?:l|is)) ?(?P<w>[a-z]{3,12})?[,.;]? (?:e )?(?:sao|foram|deu|deram) "
    r"(?P<n>N)(?: [a-z]{3,12})?[.!]?"
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
LEFT_OUT: Final = re.compile(
    r"\b(?:n|nao|sem) (?:entra\w*|cont(?:a|am|ar|e)|som\w+|inclu\w+)\b|\b(?:por fora|a parte)\b"
)  # of the sum
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
    if known is not None and TIMES.fullmatch(line):
        doubt = replace(doubt, leituras=(known, valor), conta=None)
    return doubt, of_known is not None


def _of_known(skeleton: Skeleton, line: str, known: Decimal) -> tuple[Decimal, str] | None:
    said = formata_brl(known)
    plain = skeleton.text.plain.strip()
    if ZERO_MORE.fullmatch(plain):
        return known * 10, f"10 × {said}"
    if ZERO_LESS.fullmatch(plain):
        return known / 10, f"{said} ÷ 10"
    if times := TIMES.fullmatch(line):
        count = skeleton.where[times.start("n")].amount or Decimal(0)
        return (known * count, f"{count} × {said}") if 1 < count < _MOST else None
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
    if found is None or LEFT_OUT.search(skeleton.line):
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


LONGEST: Final = 40  # characters; more says something else, too
_SAYS: Final = (
    r"(?:(?:nao|eh?|quero|pode ser|vai|fica|usa|emite|manda|com|por|sim)[,.]? ){0,3}(?:o |pelo |no )?(?:valor )?"
)
PLACE: Final = re.compile(rf"{_SAYS}(?:(?P<first>primeiro|1[oº°])|(?P<second>segundo|2[oº°])|(?P<last>ultimo))[.!]?")
SIZE: Final = re.compile(
    rf"{_SAYS}(?:(?P<less>liquido|menor|mais baixo)|(?P<more>bruto|maior|mais alto|cheio))(?: mesmo)?[.!]?"
)
FORMER: Final = re.compile(
    r"(?:(?:nao|ops|opa)[,.!]? )?(?:volta|volte|voltar|deixa|bota|poe|coloca)(?: (?:pro|para o|pra o|ao|no|o|como))? "
    r"(?P<named>valor )?(?:(?:que )?(?:tava|estava|era) )?(?:de antes|antes|anterior|antigo)[.!]?"
)


def chosen(texto: str, readings: Sequence[str]) -> str | None:
    """Return the reading that the words choose by its place ("o segundo") or size ("o líquido"), ``None`` for none."""
    plain = _plain(texto)
    if len(readings) > 1 and (place := PLACE.fullmatch(plain)):
        return readings[0 if place["first"] else 1 if place["second"] else -1]
    if len(readings) > 1 and (size := SIZE.fullmatch(plain)):
        return (min if size["less"] else max)(readings, key=Decimal)
    return None


def wants_former(texto: str) -> bool | None:
    """Say whether the words want the former amount back by its name, ``None`` where they want nothing back.

    False: what they want back is what was changed last ("volta pro de antes").
    """
    found = FORMER.fullmatch(_plain(texto))
    return None if found is None else found["named"] is not None


def _plain(texto: str) -> str:
    return " ".join(read(texto).plain.split()) if len(texto) <= LONGEST else ""
