"""Chooses the invoice's amount in a turn, or says why it must be asked.

Amounts that speak of no price: what is withheld, and numbers in the answer to another question.

Finds the words to quote when a number is asked about: one that stands alone, or a price with what it counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from extractor.amounts.find import SESSION_WORD, SPACED, UNIT_WORD
from extractor.amounts.roles import Role, roles_of
from extractor.contract import Context, Reading
from extractor.text.distractors import LATE_YEARS
from extractor.text.folding import Cued
from extractor.text.marks import Kind, Mark, Skeleton
from extractor.text.numerals import literal
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo
from state_machine.values.money import LIMITE, ValorInvalido, centavos

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


SAFE: Final = frozenset({Role.TOTAL, Role.NEW})  # said to be the outcome, whatever else was discussed
ASKED_BACK: Final = (
    (Role.INSTALMENT, Motivo.PARCELADO),
    (Role.DISCOUNT, Motivo.DESCONTO),
    (Role.UNIT, Motivo.POR_UNIDADE),
    (Role.APPROXIMATE, Motivo.AMBIGUO),
    (Role.DELTA, Motivo.AMBIGUO),
    (Role.RATE, Motivo.MOEDA_ESTRANGEIRA),
    (Role.EITHER, Motivo.AMBIGUO),
)
REBATE: Final = Cued(
    "aba des met off",
    r"\bP (?:de )?(?:desconto|abatimento|off)\b|\b(?:desconto|abatimento) (?:de )?P|\b(?:pela|a) metade\b",
)
IN_PARTS: Final = Cued(
    "par pre vez x",
    r"(?P<t>[VN]),?(?: \w+)? (?:em|por|de) (?P<n>N) ?(?:x|vezes|parcelas|prestacoes)(?: (?:iguais|mensais|fixas))? "
    r"de (?P<p>[VN])",
)
CENTS: Final = re.compile(r",\d\d$")  # nobody counts things in hundredths
COUNTS: Final = frozenset({Role.QUANTITY, Role.STRAY, Role.PLURAL})  # they stay in the description
YEARS: Final = LATE_YEARS  # a bare "2026" is a year as often as a price
NAMES_BELOW: Final = Decimal(100)  # beside a price, "aula 3" and "nível dois" are names in the service, not prices
SIGN: Final = re.compile(r"(?:-|\b(?:menos|negativ[oa]))\s*(?:r\$\s*)?$")
SINGLE_DIGIT: Final = Decimal(10)  # "2" or "dois" for a service is short for two thousand, or a slip


def read_value(skeleton: Skeleton, contexto: Context, hostile_from: int) -> Reading:
    """Read the amount of one turn; amounts at or after ``hostile_from`` (plain index) are never taken."""
    roles = roles_of(skeleton)
    left = withheld(skeleton, roles, contexto)
    roles = {m: r for m, r in roles.items() if m not in left}
    hostile = [m for m in roles if m.start >= hostile_from and Role.QUANTITY not in roles[m]]
    roles = {m: r for m, r in roles.items() if m.start < hostile_from}
    rebate = REBATE.search(skeleton.line, skeleton.stems)
    if not roles and rebate and Campo.VALOR in contexto.conhecidos:
        return Reading(doubt=Doubt(Campo.VALOR, Motivo.DESCONTO, skeleton.verbatim(*rebate.span())))
    roles = _resolve_either(roles, contexto)
    foreign = [m for m in skeleton.marks if m.kind is Kind.FOREIGN and m.start < hostile_from]
    used = frozenset(m for m, r in roles.items() if not r & COUNTS or r & {Role.UNIT, Role.INSTALMENT}) | frozenset(
        foreign
    )
    reading = _decide(skeleton, contexto, roles, foreign, used, hostile)
    if reading.candidate is not None:
        return _leave_names(reading, roles, skeleton)
    lone = None if reading.doubt or reading.clear else lone_number(skeleton, contexto, roles)
    return replace(reading, doubt=lone[0], used=reading.used | {lone[1]}) if lone else reading


def _leave_names(reading: Reading, roles: dict[Mark, set[Role]], skeleton: Skeleton) -> Reading:
    """Give the small bare numbers that nothing calls a price back to the description, where the user typed them."""
    taken = reading.candidate.trecho if reading.candidate else None
    names = {
        m
        for m, r in roles.items()
        if m.kind is Kind.NUMBER
        and r <= {Role.STRONG}
        and m.amount is not None
        and m.amount < NAMES_BELOW
        and skeleton.text.verbatim(m.start, m.end) != taken
    }
    return replace(reading, used=reading.used - names)


def _decide(
    skeleton: Skeleton,
    contexto: Context,
    roles: dict[Mark, set[Role]],
    foreign: list[Mark],
    used: frozenset[Mark],
    hostile: list[Mark],
) -> Reading:
    live = {m: r for m, r in roles.items() if _is_live(m, r, contexto)}
    if any(Role.NEGATED not in r for r in live.values()):  # "errei, 1.500 não, 15.000": what is denied is no outcome
        live = {m: r for m, r in live.items() if Role.NEGATED not in r}
    outcome = {m: r for m, r in live.items() if r & SAFE and not r & {Role.APPROXIMATE, Role.RATE, Role.UNIT}}
    totals = {m: r for m, r in outcome.items() if Role.TOTAL in r}
    denied = [m for m, r in roles.items() if Role.NEGATED in r]
    replaces = bool(denied) or any(r & {Role.NEW, Role.OLD} for r in roles.values())
    for chosen in (totals, outcome):
        if len({m.amount for m in chosen}) == 1:
            return _accept(skeleton, next(reversed(chosen)), chosen, contexto, used, replaces=replaces)
    if len(outcome) > 1:
        last = list(outcome)[-1]
        if Role.NEW in outcome[last] and not foreign:
            return _accept(skeleton, last, outcome, contexto, used, replaces=True)
        return _doubt(skeleton, list(outcome), Motivo.VARIOS, used)
    agreed = _agreeing_total(skeleton, roles)
    if agreed is not None:
        return _accept(skeleton, agreed, {agreed: {Role.TOTAL}}, contexto, used, replaces=replaces)
    asked = _asked_back(skeleton, roles, used)
    if asked is not None:
        return asked
    if foreign:
        return _doubt(skeleton, foreign, Motivo.MOEDA_ESTRANGEIRA, used)
    return _choose(skeleton, live, contexto, used, denied=bool(denied), hostile=hostile, replaces=replaces)


def _asked_back(skeleton: Skeleton, roles: dict[Mark, set[Role]], used: frozenset[Mark]) -> Reading | None:
    """Return the doubt of a price whose total would have to be computed, or is not sure."""
    for role, motivo in ASKED_BACK:
        marks = [m for m, r in roles.items() if role in r and not r & {Role.NEGATED}]
        if len(marks) == 1 and role in {Role.INSTALMENT, Role.UNIT}:
            trecho = skeleton.text.verbatim(*counted_span(skeleton, marks[0], roles))
            return Reading(doubt=Doubt(Campo.VALOR, motivo, trecho), used=used)
        if marks:
            return _doubt(skeleton, marks, motivo, used)
    return None


def _agreeing_total(skeleton: Skeleton, roles: dict[Mark, set[Role]]) -> Mark | None:
    """Return the total of "1.200 em 12x de 100" when the instalments bear it out; compares, computes nothing new."""
    match = IN_PARTS.search(skeleton.line, skeleton.stems)
    if match is None:
        return None
    total, times, part = (skeleton.where[match.start(g)] for g in ("t", "n", "p"))
    if None in (total.amount, times.amount, part.amount) or total not in roles:
        return None
    return total if total.amount == times.amount * part.amount else None  # type: ignore[operator] # none is None


def _choose(
    skeleton: Skeleton,
    live: dict[Mark, set[Role]],
    contexto: Context,
    used: frozenset[Mark],
    *,
    denied: bool,
    hostile: list[Mark],
    replaces: bool,
) -> Reading:
    labelled = {m: r for m, r in live.items() if Role.LABELLED in r}
    with_currency = {m: r for m, r in live.items() if m.kind is Kind.MONEY}
    bare = {
        m: r for m, r in live.items() if m.kind is Kind.NUMBER and r & {Role.STRONG, Role.PART} and Role.PLURAL not in r
    }
    plural = [m for m, r in live.items() if Role.PLURAL in r]
    whole = [m for m, r in (labelled | with_currency).items() if Role.PART not in r]
    if len({m.amount for m in whole}) == 1 and _others_are_parts(live, whole):
        return _accept(skeleton, whole[0], live, contexto, used, replaces=replaces)
    candidates = labelled | with_currency | bare
    named = bool(labelled or with_currency)
    candidates |= {m: r for m, r in live.items() if candidates and _rivals(m, r, named=named)}
    distinct = {m.amount for m in candidates}
    if len(distinct) > 1:
        return _doubt(skeleton, list(candidates), Motivo.VARIOS, used)
    if len(distinct) == 1:
        return _accept(skeleton, next(iter(candidates)), live, contexto, used, replaces=replaces)
    if plural and Campo.VALOR not in contexto.conhecidos:
        return _doubt(skeleton, plural, Motivo.AMBIGUO, frozenset())
    if denied:
        return Reading(clear=True, used=used, replaces=True)
    if hostile:
        return _doubt(skeleton, hostile, Motivo.AMBIGUO, used)
    return Reading(used=frozenset(m for m in used if m.kind is Kind.MONEY))


def _rivals(mark: Mark, played: set[Role], *, named: bool) -> bool:
    """Say whether a number nobody called a price could be one: it has cents, or the price was not named either."""
    typed = mark.literal or ""
    if mark.kind is not Kind.NUMBER or Role.PLURAL in played or (typed.isdecimal() and int(typed) in YEARS):
        return False
    return CENTS.search(typed) is not None or (not named and mark.amount is not None and mark.amount >= SINGLE_DIGIT)


def _others_are_parts(live: dict[Mark, set[Role]], whole: list[Mark]) -> bool:
    """Say whether nothing else in the turn could be the price: components, counts, or the same amount again."""
    chosen = whole[0]
    for mark, played in live.items():
        if mark in whole or mark.amount == chosen.amount or Role.PART in played or Role.PLURAL in played:
            continue
        if mark.kind is Kind.NUMBER and Role.STRONG not in played and not CENTS.search(mark.literal or ""):
            continue
        return False
    return True


def _is_live(mark: Mark, played: set[Role], contexto: Context) -> bool:
    if played & {Role.OLD, Role.NEGATED} and Role.NEW not in played:
        return False
    if Role.QUANTITY in played:
        return False
    if mark.kind is Kind.MONEY or played & {Role.LABELLED, Role.TOTAL, Role.NEW} or contexto.pendente is Campo.VALOR:
        return True
    if mark.literal and mark.literal.startswith("0") and len(mark.literal) > 1 and not mark.literal.startswith("0,"):
        return False
    if mark.amount is not None and mark.amount >= LIMITE:
        return False
    if contexto.pendente is Campo.DESCRICAO and mark.amount is not None and mark.amount < 100:  # noqa: PLR2004 - see below
        return False  # asked what was done, "dente 36" and "sprint 12" are names of it
    small = mark.amount is not None and mark.amount < SINGLE_DIGIT
    return not small and (not mark.words or mark.amount is None or mark.amount >= 100)  # noqa: PLR2004 - "vinte" counts things; "cem" is money


def _resolve_either(roles: dict[Mark, set[Role]], contexto: Context) -> dict[Mark, set[Role]]:
    """Settle "1500 não 1050" when the value known so far is one of the two: that one is denied."""
    known = contexto.conhecidos.get(Campo.VALOR)
    either = [m for m, r in roles.items() if Role.EITHER in r and Role.NEW not in r]
    if known is None or not any(m.amount == Decimal(known) for m in either):
        return roles
    return {
        m: (r - {Role.EITHER, Role.NEGATED}) | ({Role.NEGATED} if m.amount == Decimal(known) else {Role.NEW})
        if m in either
        else r
        for m, r in roles.items()
    }


def _accept(
    skeleton: Skeleton,
    mark: Mark,
    group: dict[Mark, set[Role]],
    contexto: Context,
    used: frozenset[Mark],
    *,
    replaces: bool,
) -> Reading:
    played = group[mark]
    if mark.amount is None:
        return _doubt(skeleton, [mark], Motivo.AMBIGUO, used)
    if mark.negative or mark.amount == 0:
        sign = SIGN.search(skeleton.text.plain, 0, mark.start)
        trecho = skeleton.text.verbatim(sign.start() if sign else mark.start, mark.end)
        return Reading(doubt=Doubt(Campo.VALOR, Motivo.NAO_POSITIVO, trecho), used=used)
    try:
        valor = centavos(mark.amount)
    except ValorInvalido:
        return _doubt(skeleton, [mark], Motivo.AMBIGUO, used)
    named = mark.kind is Kind.MONEY or bool(played & {Role.LABELLED, Role.TOTAL, Role.NEW})
    if _is_suspicious(mark, contexto, named=named, said=replaces or Role.SAID in played):
        return _doubt(skeleton, [mark], Motivo.AMBIGUO, used)
    certain = named or contexto.pendente is Campo.VALOR
    trecho = skeleton.text.verbatim(mark.start, mark.end)
    confianca = Confianca.CERTA if certain else Confianca.PROVAVEL
    return Reading(
        candidate=Candidate(Campo.VALOR, str(valor), trecho, confianca=confianca), used=used, replaces=replaces
    )


def _is_suspicious(mark: Mark, contexto: Context, *, named: bool, said: bool) -> bool:
    """Say whether a number may mean something else: "1.5", a lone digit, a year, or a new price nobody announced."""
    amount, typed = mark.amount, mark.literal or ""
    if amount is None:
        return True
    short_decimal = "." in typed and amount < SINGLE_DIGIT
    one_place = typed.count(",") == 1 and len(typed.rpartition(",")[2]) == 1 and amount < SINGLE_DIGIT
    if short_decimal or one_place:
        return True
    known = contexto.conhecidos.get(Campo.VALOR)
    if known is not None and amount < 1 < Decimal(known):
        return True  # "são 57 centavos" corrects the cents of a price, not the price
    if mark.kind is Kind.MONEY:
        return False
    if amount < SINGLE_DIGIT and "," not in typed:
        return True
    if named or contexto.pendente is Campo.VALOR:
        return False
    if known is not None and Decimal(known) != amount and not said:
        return True  # a bare "1.800" while 1.500 stands: a correction, or something else?
    return typed.isdecimal() and int(typed) in YEARS


def _doubt(skeleton: Skeleton, marks: list[Mark], motivo: Motivo, used: frozenset[Mark]) -> Reading:
    trecho = (
        skeleton.text.verbatim(marks[0].start, marks[-1].end)
        if len(marks) == 1
        else ", ".join(skeleton.text.verbatim(m.start, m.end) for m in marks)
    )
    return Reading(doubt=Doubt(Campo.VALOR, motivo, trecho, leituras=_apart(marks)), used=used)


def _apart(marks: list[Mark]) -> tuple[str, ...]:
    """Return both readings of digits that a space parts, "fase 2 600": one number, or the last of two."""
    if len(marks) != 1 or not SPACED.fullmatch(typed := marks[0].literal or ""):
        return ()
    return tuple(f"{literal(each):.2f}" for each in (typed, typed.rpartition(" ")[2]) if literal(each))
