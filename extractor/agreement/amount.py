"""The amount of a turn: certain where both readers see it, else a question with what it may be.

Proposes an amount that the user's own numbers make: so many at so much, or less a discount. It is only asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from extractor.agreement.service import DOCUMENTS, is_order
from extractor.amounts.find import UNIT_WORD
from extractor.amounts.roles import COUNTABLE_LIMIT, Role, roles_of
from extractor.amounts.value import WITHHELD, unasked, withheld
from extractor.contract import INFORMS, TALK, Ato, Context, Extraction
from extractor.learned.evidence import Evidence
from extractor.learned.reader import MONEY, LearnedReading, Mencao, Rotulo
from extractor.rules import RulesReading
from extractor.service.capitals import begins
from extractor.service.whole import Whole
from extractor.text.folding import read as fold
from extractor.text.marks import Kind, Mark
from state_machine.invoice.fields import Campo, Candidate, Doubt, Motivo
from state_machine.values.money import LIMITE, formata_brl

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


def money_of(reading: RulesReading) -> Iterator[Mark]:
    """Return the marks that may be an amount."""
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
            for mark in money_of(reading)
            if _begins(reading, mark) < mention.end and skeleton.text.ends[mark.end - 1] > mention.start
        ]
        if len(marks) != 1 or mention.certeza < SURE or marks[0].amount is None:
            return []
        found[marks[0].amount] = None
    return list(found)


# Of how sure an amount is (0 to 1). Chosen on the part of the corpus that is for choosing: docs/extraction.md.
BOTH: Final = 0.92  # the rules took it too
CHOSEN: Final = 0.97  # the rules left it among others
CORRECTED: Final = 0.6  # a correction names it ("o valor é 500 e o serviço é aula"), and no other amount
NAMED_NUMBER: Final = 0.3  # less sure than this, a number in the service is of it ("NR-12", "3 computadores")
SURE_ORDER: Final = 0.9  # so sure that it is an order, that its only price needs less evidence:
ALONE_PRICED: Final = 0.05  # where it has a currency and digits
ALONE_BARE: Final = 0.85  # where it is bare or in words
APART: Final = re.compile(r"\d\s\d")
LEAST_PRICE: Final = 10  # reais: a smaller one is as often a slip
WORTH_ASKING: Final = 0.15  # less sure than this, an amount that is only mentioned
SURE_TOTAL: Final = 0.8  # of the label of a bare number in the answer to another question
READINGS: Final = 3  # offered with a question
OFFERED: Final = 0.02  # less sure than this, a reading is not offered
ALONE: Final = 3  # words of a message that is an amount and nothing else
LEAST_ALONE: Final = 0.2  # less sure than this, a correction or an answer is asked about
ANSWER: Final = 6  # words of one that says what an amount is of, and nothing else
ACT: Final = 0.6  # an act less sure than this is none
SURE_OTHER: Final = 0.95  # so sure that another amount is the invoice's, and
SURER_BY: Final = 0.1  # by so much surer than of the one that is taken, that it is asked
WITH_MODEL: Final = 0.5  # as sure as this, an amount that a model names too is certain: docs/adr/0015
DENIED_BY_NOBODY: Final = frozenset({Motivo.VARIOS, Motivo.DISCORDANCIA})  # any other doubt says why it is no amount
WORD: Final = re.compile(r"[a-z]{4,}")
# "a nota de agora é só a parte dela": which of two amounts is billed is said by words that neither reader is sure of.
ONLY_PART: Final = re.compile(r"\bnota\b[^.\n]{0,40}\b(?:so|somente|apenas)\b")
CURRENCY: Final = frozenset({"reais", "centavos", "conto", "pila", "mango", "prata", "limpo", "total", "valor"})


def amount_of_both(
    rules: RulesReading, learned: LearnedReading, weighed: Sequence[tuple[float, Evidence]], contexto: Context
) -> tuple[Candidate | None, Doubt | None]:
    """Return the amount if both readers see it, else a question with what it may be, else nothing."""
    extraction, texto = rules.extraction, rules.skeleton.text.original
    taken = next((c for c in extraction.candidates if c.campo is Campo.VALOR), None)
    doubt = next((d for d in extraction.doubts if d.campo is Campo.VALOR), None)
    if not weighed:
        return None, doubt or (asked_about(taken.trecho, (taken.valor,)) if taken else None)
    sure, best = weighed[0]
    trecho = texto[best.start : best.end]
    other = taken is not None and taken.valor != best.valor
    if taken is not None and taken.valor == contexto.conhecidos.get(Campo.VALOR) and len(texto.split()) <= ALONE:
        return taken, None  # the same again, and nothing else
    cut_short = _cut_short(best, learned, texto)
    if cut_short:
        return None, Doubt(Campo.VALOR, Motivo.AMBIGUO, cut_short)
    if (
        sure >= _needed(rules, learned, weighed)
        and not other
        and not (_is_doubtful(best, weighed, learned, texto) or _is_apart(rules, best))
    ):
        return taken if best.taken else Candidate(Campo.VALOR, best.valor, trecho), None
    made = proposal(rules, learned) if learned.ato not in TALK else None
    if made is not None:
        return None, replace(doubt or asked_about(trecho, ()), leituras=(made[0],), conta=made[1])
    if sure < WORTH_ASKING and (taken is None or learned.ato in TALK):
        return None, doubt if learned.ato not in TALK else None
    likely = [found for weight, found in weighed if weight >= OFFERED and Role.NEGATED not in labels_of(rules, found)]
    readings = tuple(found.valor for found in likely[:READINGS])
    if doubt is not None and doubt.motivo is Motivo.POR_UNIDADE:  # what one costs, and how many, are no outcome
        ones = {found.valor for _, found in weighed if labels_of(rules, found) & {Role.UNIT, Role.QUANTITY}}
        readings = tuple(valor for valor in readings if valor not in ones)
    if doubt is not None:
        return None, replace(doubt, leituras=readings)
    return None, asked_about(taken.trecho if taken else trecho, readings)


def _needed(rules: RulesReading, learned: LearnedReading, weighed: Sequence[tuple[float, Evidence]]) -> float:
    """Return how sure the surest amount must be to need no question."""
    _, best = weighed[0]
    if not best.taken:
        return CHOSEN
    named = Role.LABELLED in labels_of(rules, best)
    corrects = learned.ato is Ato.CORRIGE and learned.certeza >= SURE_ORDER
    return CORRECTED if named and corrects and len(weighed) == 1 else BOTH


def without_service(
    rules: RulesReading, weighed: Sequence[tuple[float, Evidence]], service: Whole | Candidate | None
) -> list[tuple[float, Evidence]]:
    """Leave out the numbers of the service ("NR-12", "3 computadores") where another amount is said."""
    others = [
        (sure, found)
        for sure, found in weighed
        if sure >= NAMED_NUMBER or is_money(rules, found) or not _in_service(rules, found, service)
    ]
    return others or list(weighed)


def is_money(rules: RulesReading, found: Evidence) -> bool:
    """Say whether an amount was said with a currency or in words, as no number of a service is."""
    mark = mark_of(rules, found)
    return mark.kind is Kind.MONEY or mark.words


def _is_priced(rules: RulesReading, found: Evidence) -> bool:
    """Say whether an amount was written in digits with its currency."""
    mark = mark_of(rules, found)
    return mark.kind is Kind.MONEY and not mark.words and mark.amount is not None and mark.amount >= LEAST_PRICE


def _is_apart(rules: RulesReading, found: Evidence) -> bool:
    """Say whether the first digits of an amount may be of the service: "RDC 216 770 reais", "Acácias, 145 950,00"."""
    texto = rules.skeleton.text.original
    if APART.search(texto, found.start, found.end) is None or not texto[found.start].isdigit():  # "R$ 1 140,00"
        return False
    return not labels_of(rules, found) & {Role.LABELLED, Role.TOTAL, Role.NEW}


def labels_of(rules: RulesReading, found: Evidence) -> set[Role]:
    """Return what the words around an amount call it."""
    return roles_of(rules.skeleton).get(mark_of(rules, found), set())


def mark_of(rules: RulesReading, found: Evidence) -> Mark:
    """Return the mark of an amount."""
    return next(m for m in rules.skeleton.marks if begins(rules.skeleton, m) == found.start)


def only_price(
    rules: RulesReading,
    learned: LearnedReading,
    weighed: Sequence[tuple[float, Evidence]],
    service: Whole | Candidate | None,
) -> Candidate | None:
    """Return the amount of an order that names one price, however many numbers its service has."""
    doubt = next((d for d in rules.extraction.doubts if d.campo is Campo.VALOR), None)
    if not isinstance(service, Whole) or (doubt is not None and not _of_service(doubt, service)):
        return None
    if learned.ato is not Ato.DADOS or learned.certeza < SURE_ORDER:
        return None
    if len(weighed) != 1 or not is_order(rules):
        return None
    sure, best = weighed[0]
    texto = rules.skeleton.text.original
    if sure < (ALONE_PRICED if _is_priced(rules, best) else ALONE_BARE) or _in_service(rules, best, service):
        return None
    if learned.of(*MONEY - {Rotulo.TOTAL}) or sum(mark.kind in DOCUMENTS for mark in rules.skeleton.marks) > 1:
        return None
    if _cut_short(best, learned, texto) or _is_doubtful(best, weighed, learned, texto):
        return None
    if _is_apart(rules, best):
        return None
    if any(mark.kind is Kind.PERCENT for mark in rules.skeleton.marks):
        return None  # a share of something: what the invoice is worth may have to be reckoned
    return Candidate(Campo.VALOR, best.valor, texto[best.start : best.end])


def undecided(
    rules: RulesReading, joined: Extraction, weighed: Sequence[tuple[float, Evidence]], contexto: Context
) -> Candidate | None:
    """Return the amount in doubt that two readers rather take than not, so that a model's word makes it certain.

    None where the rules took another one or say what it is instead, and none in the place of a validated one.
    """
    doubt = next((d for d in joined.doubts if d.campo is Campo.VALOR), None)
    if doubt is None or doubt.conta or doubt.motivo not in DENIED_BY_NOBODY or Campo.VALOR in contexto.conhecidos:
        return None
    if not weighed:
        return None
    sure, best = weighed[0]
    other = any(c.campo is Campo.VALOR and c.valor != best.valor for c in rules.extraction.candidates)
    if other or sure < WITH_MODEL:
        return None
    return Candidate(Campo.VALOR, best.valor, rules.skeleton.text.original[best.start : best.end])


def _cut_short(best: Evidence, learned: LearnedReading, texto: str) -> str | None:
    """Return an amount in words of which only a part was read ("mil e quinhento"), else ``None``."""
    for mention in learned.of(Rotulo.TOTAL):
        if mention.start < best.end and mention.end > best.start:
            rest = f"{texto[mention.start : best.start]} {texto[best.end : mention.end]}"
            if any(word not in CURRENCY for word in WORD.findall(fold(rest).plain)):
                return texto[mention.start : mention.end]
    return None


def _is_doubtful(
    best: Evidence, weighed: Sequence[tuple[float, Evidence]], learned: LearnedReading, texto: str
) -> bool:
    """Say whether an amount that is sure by its evidence is asked all the same, because of another one."""
    part = len(weighed) > 1 and ONLY_PART.search(fold(texto).plain) is not None
    return part or _prefers_another(best, weighed, learned)


def _prefers_another(best: Evidence, weighed: Sequence[tuple[float, Evidence]], learned: LearnedReading) -> bool:
    """Say whether the learned reader is surer that another amount of the message is the invoice's."""
    sure = {
        found.valor: max(
            (m.certeza for m in learned.of(Rotulo.TOTAL) if m.start < found.end and m.end > found.start), default=0.0
        )
        for _, found in weighed
    }
    own = sure.pop(best.valor, 0.0)
    return any(other >= SURE_OTHER and other - own >= SURER_BY for other in sure.values())


def _in_service(rules: RulesReading, found: Evidence, service: Whole | Candidate | None) -> bool:
    """Say whether an amount stands in the service."""
    return isinstance(service, Whole) and service.holds(rules.skeleton.position(mark_of(rules, found)))


def without_asides(
    rules: RulesReading, learned: LearnedReading, contexto: Context
) -> tuple[RulesReading, frozenset[int]]:
    """Take no number for the amount that answers another question or is withheld; return where these begin.

    Where the learned reader calls one the invoice's ("foram 7 aulas, 630"), that one is not.
    """
    skeleton = rules.skeleton
    if Campo.VALOR not in contexto.conhecidos and WITHHELD.search(skeleton.line) is None:
        return rules, frozenset()
    roles = roles_of(skeleton)
    left = withheld(skeleton, roles, contexto)
    if learned.ato is not Ato.CORRIGE:
        bare = unasked(skeleton, roles, contexto)
        totals = {m for m in bare if _is_total(rules, learned, m)}
        if bare and bare | left == roles.keys():
            if not totals:
                rules = replace(rules, extraction=without_amount(rules.extraction))
            left |= bare - totals
    return rules, frozenset(begins(skeleton, mark) for mark in left)


def _is_total(rules: RulesReading, learned: LearnedReading, mark: Mark) -> bool:
    start, end = _begins(rules, mark), rules.skeleton.text.ends[mark.end - 1]
    return any(m.certeza >= SURE_TOTAL and m.start < end and m.end > start for m in learned.of(Rotulo.TOTAL))


def without_amount(extraction: Extraction) -> Extraction:
    """Leave the amount out; where nothing else was said, the words inform of nothing."""
    candidates = tuple(c for c in extraction.candidates if c.campo is not Campo.VALOR)
    doubts = tuple(d for d in extraction.doubts if d.campo is not Campo.VALOR)
    empty = not (candidates or doubts or extraction.clear)
    ato = Ato.SOCIAL if empty and extraction.ato in INFORMS else extraction.ato
    return replace(extraction, ato=ato, candidates=candidates, doubts=doubts)


def asked_about(trecho: str, readings: tuple[str, ...]) -> Doubt:
    """Return the question which of these amounts it is."""
    motivo = Motivo.VARIOS if len(readings) > 1 else Motivo.DISCORDANCIA
    return Doubt(Campo.VALOR, motivo, trecho, leituras=readings)


def _of_service(doubt: Doubt, service: Whole) -> bool:
    """Say whether a doubt is about numbers of the service ("6 x 2 m", "aulas 9 e 10"), or only about which amount."""
    return doubt.motivo in DENIED_BY_NOBODY or " ".join(doubt.trecho.split()) in service.text
