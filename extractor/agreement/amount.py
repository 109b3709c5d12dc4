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
from extractor.amounts.reckoned import LEFT_OUT, says_net
from extractor.amounts.roles import COUNTABLE_LIMIT, Role, roles_of
from extractor.amounts.value import WITHHELD, unasked, withheld
from extractor.contract import INFORMS, TALK, Ato, Context, Extraction
from extractor.learned.evidence import Evidence
from extractor.learned.reader import MONEY, LearnedReading, Mencao, Rotulo
from extractor.rules import RulesReading
from extractor.service.capitals import begins
from extractor.service.whole import Whole
from extractor.text.folding import commands
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
        return None, doubt or (_asked(taken.trecho, (taken.valor,)) if taken else None)
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
        return None, replace(doubt or _asked(trecho, ()), leituras=(made[0],), conta=made[1])
    if sure < WORTH_ASKING and (taken is None or learned.ato in TALK):
        return None, doubt if learned.ato not in TALK else None
    likely = [found for weight, found in weighed if weight >= OFFERED and Role.NEGATED not in _roles(rules, found)]
    readings = tuple(found.valor for found in likely[:READINGS])
    if doubt is not None and doubt.motivo is Motivo.POR_UNIDADE:  # what one costs, and how many, are no outcome
        ones = {found.valor for _, found in weighed if _roles(rules, found) & {Role.UNIT, Role.QUANTITY}}
        readings = tuple(valor for valor in readings if valor not in ones)
    if doubt is not None:
        return None, replace(doubt, leituras=readings)
    return None, _asked(taken.trecho if taken else trecho, readings)


def _needed(rules: RulesReading, learned: LearnedReading, weighed: Sequence[tuple[float, Evidence]]) -> float:
    """Return how sure the surest amount must be to need no question."""
    _, best = weighed[0]
    if not best.taken:
        return CHOSEN
    named = Role.LABELLED in _roles(rules, best)
    corrects = learned.ato is Ato.CORRIGE and learned.certeza >= SURE_ORDER
    return CORRECTED if named and corrects and len(weighed) == 1 else BOTH


def without_service(
    rules: RulesReading, weighed: Sequence[tuple[float, Evidence]], service: Whole | Candidate | None
) -> list[tuple[float, Evidence]]:
    """Leave out the numbers of the service ("NR-12", "3 computadores") where another amount is said."""
    others = [
        (sure, found)
        for sure, found in weighed
        if sure >= NAMED_NUMBER or _is_money(rules, found) or not _in_service(rules, found, service)
    ]
    return others or list(weighed)


def _is_money(rules: RulesReading, found: Evidence) -> bool:
    """Say whether an amount was said with a currency or in words, as no number of a service is."""
    mark = _mark(rules, found)
    return mark.kind is Kind.MONEY or mark.words


def _is_priced(rules: RulesReading, found: Evidence) -> bool:
    """Say whether an amount was written in digits with its currency."""
    mark = _mark(rules, found)
    return mark.kind is Kind.MONEY and not mark.words and mark.amount is not None and mark.amount >= LEAST_PRICE


def _is_apart(rules: RulesReading, found: Evidence) -> bool:
    """Say whether the first digits of an amount may be of the service: "RDC 216 770 reais", "Acácias, 145 950,00"."""
    texto = rules.skeleton.text.original
    if APART.search(texto, found.start, found.end) is None or not texto[found.start].isdigit():  # "R$ 1 140,00"
        return False
    return not _roles(rules, found) & {Role.LABELLED, Role.TOTAL, Role.NEW}


def _roles(rules: RulesReading, found: Evidence) -> set[Role]:
    return roles_of(rules.skeleton).get(_mark(rules, found), set())


def _mark(rules: RulesReading, found: Evidence) -> Mark:
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
    return isinstance(service, Whole) and service.holds(rules.skeleton.position(_mark(rules, found)))


def without_asides(
    rules: RulesReading, learned: LearnedReading, contexto: Context
) -> tuple[RulesReading, frozenset[int]]:
    """Take no number for the amount that answers another question or is withheld; return where these begin."""
    skeleton = rules.skeleton
    if Campo.VALOR not in contexto.conhecidos and WITHHELD.search(skeleton.line) is None:
        return rules, frozenset()
    roles = roles_of(skeleton)
    left = withheld(skeleton, roles, contexto)
    if learned.ato is not Ato.CORRIGE:
        bare = unasked(skeleton, roles, contexto)
        if bare and bare | left == roles.keys():
            rules = replace(rules, extraction=_without_amount(rules.extraction))
            left |= bare
    return rules, frozenset(begins(skeleton, mark) for mark in left)


def _without_amount(extraction: Extraction) -> Extraction:
    """Leave the amount out; where nothing else was said, the words inform of nothing."""
    candidates = tuple(c for c in extraction.candidates if c.campo is not Campo.VALOR)
    doubts = tuple(d for d in extraction.doubts if d.campo is not Campo.VALOR)
    empty = not (candidates or doubts or extraction.clear)
    ato = Ato.SOCIAL if empty and extraction.ato in INFORMS else extraction.ato
    return replace(extraction, ato=ato, candidates=candidates, doubts=doubts)


# Words that tell of an amount without ordering an invoice of it: a refusal, and a note that was made or missed before.
REFUSES: Final = re.compile(
    r"\W*(?:(?:ok|entao|opa|ah|calma|por favor)[,.!]? ){0,3}"
    r"(?:(?:nao|n) (?:emit\w*\b(?! pel[oa]\b)|tir|prossig|fatur|ger[ae])"
    r"|desist|cancel\w+\b(?!.*\b(?:faz|refa[zc]|outra|emit)))|.*\b(?:nem (?:vale|compensa)|joga fora|larg\w+ mao)\b"
)
BEFORE: Final = re.compile(
    r"\b(?:nao (?:receb|cheg)\w+|cade|pedi|perde\w*|cancel\w+|anul\w+|ach[ae]|lembra\w*|nada d[ae]|qual n\w+|soma)\b"
    r"[^.\n]{0,30}\bn(?:ota|f)s?\b"
    r"|\b(?:fez|boto\w+|emitiram|saiu) (?:\w+ ){0,2}n(?:ota|f)s?\b"
    r"|\b(?:vc|voce|tu|ce)s? (?:me )?(?:fez|boto\w+|cobrou)\b"
    r"|\bn(?:ota|f)\b[^.\n]{0,12}\bveio\b"
    r"|\bn(?:ota|f)\b[^\n]{0,99}\b(?:foi (?:enviada|emitida)|foi rejeitada|ser anulada)\b"
)
WAITS: Final = re.compile(r"\b(?:te|lhe) digo\b|\baguard(?:a|e|em)\b")
AGAIN: Final = re.compile(
    r"\b(?:faz|faca|emit\w+|tira|gera|manda)\b[^.\n]{0,15}\b(?:outra|de novo|novamente)\b|\brefa[zc]"
)
KEY: Final = re.compile(r"\bpix\b[^NV\n]{0,9}D ?[NV]")  # "o pix é 64.261… 620"
BROKEN_OFF: Final = re.compile(r"[NV] ?\.{2,}[^NV\n]{0,20}D")  # "o dela é 943... pera, 942.970…"
# The price of one: "R$ 190,00 por participante."; and where pieces of that name are counted too, "a aula lá é 90".
PER: Final = re.compile(
    r"(?P<a>[NV])(?: reais)? ?(?:(?:por|per|p/) ?(?!favor|mim|isso|tudo|pix|conta|fora)[a-z]{3,}"
    r"(?= *(?:[.,;(\n]|$))|/[a-z]{2})"
)
PER_NAMED: Final = re.compile(
    r"\b(?:a|o|da|do|cada) (?P<w>[a-z]{3,})(?: la)? (?:eh|e|sai|custa|paga|permanece|de|fica)?"
    r"(?: por)? ?(?:R )?(?P<a>[NV])|\b(?P<d>diaria) de (?:R )?(?P<b>[NV])"
)
# What else an amount in such a message may be: a share of it, what is left, what it was before.
HAZARD: Final = re.compile(
    r"P|\b(?:metade|meio|meia|terca|liquid\w+|ratei\w+|dividi\w+|rach\w+|resto|antig\w+|reajust\w+|euros?|dolar\w*"
    r"|parcela\w*|tabela|proposta|ignora)\b|€"
)
FULL: Final = re.compile(r"\b(?:chei[ao]|inteir[ao])\b")
CENTS: Final = re.compile(r",\d\d\b")
LIQUID: Final = re.compile(r"\bliquid[oa]s?\b")
IN_PARTS: Final = re.compile(r"\bem (?:[a-z]+|N) vezes\b")
GOODS: Final = re.compile(r"\bn(?:ota|f) d[aeo]s? (?:mercadoria|produto|peca)")
PER_LAST: Final = (
    re.compile(r"(?P<a>[NV])(?: reais)? [ao] [a-z]{3,}\W*$"),
    re.compile(r"\bN (?:de|a) (?:R )?(?P<a>[NV])"),
    re.compile(r"\bN ?(?:h|horas?)\b[^NVD\n]{0,40} a (?:R )?(?P<a>[NV])"),
)
SAME_UNIT: Final = re.compile(r"[NV] ?/ ?(?P<w>[a-z]{1,6})\b[^\n]{0,20}(?P<a>[NV]) ?(?P=w)\b")
ONE_OF_THEM: Final = re.compile(r"\b(?:ess[ae]|est[ae]|primeira?|segunda?|entrada|sinal|so) \b|\b[12][aª]\b")
PASSED_ON: Final = re.compile(r"\b(?:gasolina|combustivel|pedagio|repass\w+|reembols\w+)\b")
HEDGED: Final = re.compile(r"\bse n(?:ao)? me engano\b")
HALF_MORE: Final = re.compile(r"\be mei[ao]\b")
EACH_ITS_OWN: Final = re.compile(r"\b(?:uma? (?:nota )?p(?:or|ra|ara)? ?(?:cada|sessao)|cada um\w* a sua|nota por)\b")
SLIPPED: Final = re.compile(r"\W{0,3}e [a-z]+(?: reais)?\W*")  # "quatrocentos e dey"
MORE: Final = re.compile(r"\b(?:acrescent|aument|som[ae]|inclu|adicion|esquec|falt)\w*|(?:^|[, ])mais \W?[NV]|\+")
LESS: Final = re.compile(r"\b(?:tir[ae]|abat\w+|descont\w+|menos|desconta)\b")
CORRECTS: Final = re.compile(r"\b(?:alias|muda|bota|poe|em vez|retific\w+|fic(?:a|ou)|pass(?:a|ou)|mais)\b")
SECOND: Final = 0.5  # as sure as this, another amount is offered too
MODEL_NUMBER: Final = 1000  # "guincho mb 1620"
TOLD: Final = 0.8  # as sure as this of an act of talk, its amount is only told
NAMED: Final = frozenset({Role.LABELLED, Role.TOTAL})
ROLES_ELSE: Final = frozenset({Rotulo.QUANTIDADE, Rotulo.OUTRO})


def never_alone(
    joined: Extraction,
    rules: RulesReading,
    learned: LearnedReading,
    weighed: Sequence[tuple[float, Evidence]],
    contexto: Context,
) -> Extraction:
    """Take or show no amount alone that something in the message speaks against: offer both, ask, or leave it.

    An amount that is only told of is left; beside another one of no plain role both are offered; a price of one, and
    an amount that neither reader is sure of, is asked.
    """
    taken = next((c for c in joined.candidates if c.campo is Campo.VALOR), None)
    doubt = next((d for d in joined.doubts if d.campo is Campo.VALOR), None)
    if any(d.motivo is Motivo.DUAS_NOTAS for d in joined.doubts) or not (taken or (doubt and len(doubt.leituras) == 1)):
        return joined
    if says_net(rules.skeleton):
        return joined
    if _only_told(joined, rules, learned, contexto, sure=taken is not None):
        return _without_amount(joined)
    first = taken.valor if taken else doubt.leituras[0] if doubt else ""
    best = next(((sure, e) for sure, e in weighed if e.valor == first), None)
    if doubt is not None and doubt.conta:
        readings = _of_reckoned(doubt, rules, weighed)
    elif best is None:
        readings = (first,)
    elif taken is not None:
        readings = _beside_sure(best[1], rules, learned, weighed, contexto)
    else:
        readings = _beside_doubtful(*best, joined, rules, learned, weighed, contexto)
    if readings == (first,):
        return joined
    mended = replace(doubt or _asked(taken.trecho if taken else "", ()), leituras=readings, conta=None)
    return replace(
        joined,
        candidates=tuple(c for c in joined.candidates if c is not taken),
        doubts=(*(d for d in joined.doubts if d is not doubt), mended),
    )


def _with_document(joined: Extraction) -> bool:
    return Campo.DOCUMENTO in {*(c.campo for c in joined.candidates), *(d.campo for d in joined.doubts)}


def _only_told(
    joined: Extraction, rules: RulesReading, learned: LearnedReading, contexto: Context, *, sure: bool
) -> bool:
    """Say whether the amount is one that words of something else only mention."""
    plain, line, known = rules.skeleton.text.plain, rules.skeleton.line, Campo.VALOR in contexto.conhecidos
    if commands(rules.skeleton.text):
        return False
    if REFUSES.match(plain) or KEY.search(line):
        return True
    if BROKEN_OFF.search(line) and (learned.ato is Ato.CORRIGE or contexto.pendente is Campo.DOCUMENTO):
        return True
    if learned.ato is Ato.REPETE and re.search(r"\bmesm[oa] (?:preco|valor)\b", plain):
        return True
    if _with_document(joined) or AGAIN.search(plain):
        return False
    if WAITS.search(plain) or (BEFORE.search(plain) and (learned.ato is not Ato.CORRIGE or learned.certeza < ACT)):
        return True
    if learned.certeza >= TOLD and (learned.ato in TALK or (known and learned.ato is Ato.FISCAL)):
        return True
    named = any(played & {Role.NEW, Role.SAID, Role.LABELLED} for played in roles_of(rules.skeleton).values())
    return not sure and learned.certeza >= ACT and known and not named and learned.ato in {Ato.CONFIRMA, Ato.DEPOIS}


def _of_reckoned(doubt: Doubt, rules: RulesReading, weighed: Sequence[tuple[float, Evidence]]) -> tuple[str, ...]:
    """Return a reckoned amount, with what it is made of where that may be the invoice's itself."""
    line, conta = rules.skeleton.line, doubt.conta or ""
    of = sorted({Decimal(e.valor) for _, e in weighed if formata_brl(Decimal(e.valor)) in conta}, reverse=True)
    if not of or doubt.motivo is Motivo.DESCONTO:
        return doubt.leituras
    if doubt.motivo is Motivo.POR_UNIDADE:
        if any(NAMED & _roles(rules, e) for _, e in weighed if Decimal(e.valor) == of[0]):
            return (format(of[0], ".2f"), *doubt.leituras)  # "3.000 páginas, no valor de 990,00"
        if HALF_MORE.search(line):
            return ()
        if not EACH_ITS_OWN.search(line):
            return doubt.leituras if "+" not in line else ()
    elif " + " not in conta or not PASSED_ON.search(line):
        return doubt.leituras if doubt.motivo is not Motivo.PARCELADO else (*doubt.leituras, format(of[0], ".2f"))
    return (*doubt.leituras, format(of[0], ".2f"))


def _beside_sure(
    best: Evidence,
    rules: RulesReading,
    learned: LearnedReading,
    weighed: Sequence[tuple[float, Evidence]],
    contexto: Context,
) -> tuple[str, ...]:
    line, first, played = rules.skeleton.line, best.valor, _roles(rules, best)
    if HEDGED.search(line):
        return ()
    times = sum(m.amount == Decimal(first) for m in _amounts(rules))
    for sure, other in weighed:
        if times > 1 and Decimal(other.valor) == times * Decimal(first):
            return (other.valor, first)
        if other.valor == first or not _may_be(rules, learned, other):
            continue
        roles = _roles(rules, other)
        both = Role.NEW in roles and Role.NEW in played
        part = Role.INSTALMENT in roles and ONE_OF_THEM.search(line) is not None
        if part or (Role.TOTAL not in played and Role.PART not in roles and (sure >= SECOND or both)):
            return (first, other.valor)
        if Role.DISCOUNT in roles and (Role.NEW not in played or _less(first, other) == other.valor):
            return (first, _less(first, other))
    known = contexto.conhecidos.get(Campo.VALOR)
    if known not in {None, first} and contexto.resumo_mostrado and len(rules.skeleton.text.original.split()) == 1:
        return (first, str(known))  # "1.800" over a summary of 1.500: nothing says that it corrects
    corrects = CORRECTS.search(line) or any(Role.NEGATED in each for each in roles_of(rules.skeleton).values())
    if known not in {None, first} and learned.ato is Ato.DADOS and not (played & NAMED or corrects):
        return (str(known), first)
    if played & NAMED:
        return (first,)
    bare = not _is_money(rules, best)
    label = max((m.certeza for m in learned.of(Rotulo.TOTAL) if m.start < best.end and m.end > best.start), default=0.0)
    whole = bare and rules.skeleton.text.original[best.start : best.end].isdecimal() and Decimal(first) >= MODEL_NUMBER
    odd = (not label and not played and known is not None) or (whole and label < SECOND and weighed[0][0] < BOTH)
    one = _is_of_one(rules, learned, best, wide=False) and (_counts(rules, learned) or _is_answer(rules, contexto))
    listed = bare and not played and len(weighed) > READINGS
    net = LIQUID.search(line) is not None and len(weighed) == 1 and "brut" not in line
    goods = GOODS.search(line) is not None
    return () if odd or one or listed or net or goods else (first,)


def _beside_doubtful(
    sure: float,
    best: Evidence,
    joined: Extraction,
    rules: RulesReading,
    learned: LearnedReading,
    weighed: Sequence[tuple[float, Evidence]],
    contexto: Context,
) -> tuple[str, ...]:
    first, line, known = best.valor, rules.skeleton.line, contexto.conhecidos.get(Campo.VALOR)
    played = _roles(rules, best)
    others = [e for _, e in weighed if e.valor != first and (first == known or _may_be(rules, learned, e))]
    others.sort(key=lambda e: Role.TOTAL not in _roles(rules, e))
    if others:
        return (first, _less(first, others[0]) if Role.DISCOUNT in _roles(rules, others[0]) else others[0].valor)
    changed = MORE.search(line) or (Role.SAID not in played and LESS.search(line))
    if known is not None and changed and not played & {*NAMED, Role.NEW}:
        made = Decimal(known) + Decimal(first) * (-1 if LESS.search(line) else 1)
        return (format(made, ".2f"), first) if 0 < made < LIMITE else ()
    times = sum(m.amount == Decimal(first) for m in _amounts(rules))
    if times > 1 and learned.of(Rotulo.PARTE):
        return (first, format(Decimal(first) * times, ".2f"))
    speaks = _is_spoken_against(sure, best, joined, rules, learned, weighed, contexto)
    return (first,) if not speaks and _stands(sure, best, joined, rules, learned, contexto) else ()


def _stands(
    sure: float, best: Evidence, joined: Extraction, rules: RulesReading, learned: LearnedReading, contexto: Context
) -> bool:
    """Say whether a doubtful amount is likely enough, in such a message, to be shown as the only one."""
    played, texto = _roles(rules, best), rules.skeleton.text.original
    labels = [m for m in learned.mencoes if m.start < best.end and m.end > best.start and m.rotulo.startswith("num-")]
    total = any(m.rotulo is Rotulo.TOTAL and m.certeza >= SECOND for m in labels)
    if learned.certeza < ACT or learned.ato in TALK or learned.ato in {Ato.VARIAS, Ato.FISCAL}:
        orders = learned.ato is Ato.DADOS
        complete = orders or (total and learned.ato is Ato.FISCAL) or Role.LABELLED in played
        ordered = is_order(rules) and not commands(rules.skeleton.text)
        cents = CENTS.search(texto, best.start, best.end) is not None
        return (_with_document(joined) and complete) or (orders and (ordered or cents))
    if _with_document(joined) or played & {*NAMED, Role.NEW, Role.SAID}:
        return True
    if learned.ato in {Ato.CORRIGE, Ato.REPETE} or contexto.pendente is Campo.VALOR:
        return bool(played) and sure >= LEAST_ALONE
    return sure >= SECOND and (total or not labels)


def _is_spoken_against(
    sure: float,
    best: Evidence,
    joined: Extraction,
    rules: RulesReading,
    learned: LearnedReading,
    weighed: Sequence[tuple[float, Evidence]],
    contexto: Context,
) -> bool:
    """Say whether a doubtful amount is one piece's, a rough or broken-off one, a part, or a number of a list."""
    line, played, texto = rules.skeleton.line, _roles(rules, best), rules.skeleton.text.original
    named, money = bool(played & {*NAMED, Role.NEW, Role.SAID}), _is_money(rules, best)
    if len(weighed) >= READINGS and texto[best.start : best.end].isdecimal() and sure < SECOND and not named:
        return True
    rough = Role.APPROXIMATE in played or LIQUID.search(line) or IN_PARTS.search(line)
    if rough or _is_of_one(rules, learned, best, wide=True):
        return True
    numbers = _labelled_as(learned, best, Rotulo.OUTRO) and not money and Role.NEW not in played
    if numbers and (contexto.pendente is not None or not _with_document(joined)):
        return True
    if not named and HAZARD.search(line) and not FULL.search(line):
        return True
    small = Decimal(best.valor) < LEAST_PRICE and not money
    return small or SLIPPED.fullmatch(fold(texto[best.end :]).plain) is not None


def _less(first: str, other: Evidence) -> str:
    """Return what a discount leaves; an amount of more than half is no discount."""
    off = Decimal(other.valor)
    return format(Decimal(first) - off, ".2f") if off * 2 < Decimal(first) else other.valor


def _may_be(rules: RulesReading, learned: LearnedReading, found: Evidence) -> bool:
    """Say whether an amount may be the invoice's at all: it is neither denied nor counts or numbers something."""
    played = _roles(rules, found)
    if Role.PART in played and LEFT_OUT.search(rules.skeleton.line):
        return False
    if Role.NEGATED in played or (Role.QUANTITY in played and not _is_money(rules, found)):
        return False
    labels = [m for m in learned.mencoes if m.start < found.end and m.end > found.start]
    return Decimal(found.valor) >= LEAST_PRICE and not any(m.rotulo in ROLES_ELSE and m.certeza >= SURE for m in labels)


def _is_of_one(rules: RulesReading, learned: LearnedReading, found: Evidence, *, wide: bool) -> bool:
    """Say whether an amount is called the price of one piece."""
    line, at = rules.skeleton.line, rules.skeleton.position(_mark(rules, found))
    if _roles(rules, found) & NAMED:
        return False
    if any(m.start("a") == at for m in PER.finditer(line)):
        return True
    for m in PER_NAMED.finditer(line):
        if at in {m.start("a"), m.start("b")} and (m["d"] or re.search(rf"\b{m['w']}s\b", line)):
            return True
    labelled = _labelled_as(learned, found, Rotulo.UNITARIO)
    wide = wide or any(m.start("a") == at for m in SAME_UNIT.finditer(line))
    if wide and any(m.start("a") == at for each in (*PER_LAST, SAME_UNIT) for m in each.finditer(line)):
        return True
    return wide and (labelled or Role.UNIT in _roles(rules, found))


def _labelled_as(learned: LearnedReading, found: Evidence, rotulo: Rotulo) -> bool:
    return any(m.certeza >= SURE and m.start < found.end and m.end > found.start for m in learned.of(rotulo))


def _counts(rules: RulesReading, learned: LearnedReading) -> bool:
    counted = any(m.certeza >= SURE for m in learned.of(Rotulo.QUANTIDADE))
    return counted or any(played & HOW_MANY for played in roles_of(rules.skeleton).values())


def _is_answer(rules: RulesReading, contexto: Context) -> bool:
    return contexto.pendente is Campo.VALOR and len(rules.skeleton.text.original.split()) <= ANSWER


def _asked(trecho: str, readings: tuple[str, ...]) -> Doubt:
    motivo = Motivo.VARIOS if len(readings) > 1 else Motivo.DISCORDANCIA
    return Doubt(Campo.VALOR, motivo, trecho, leituras=readings)


def _of_service(doubt: Doubt, service: Whole) -> bool:
    """Say whether a doubt is about numbers of the service ("6 x 2 m", "aulas 9 e 10"), or only about which amount."""
    return doubt.motivo in DENIED_BY_NOBODY or " ".join(doubt.trecho.split()) in service.text
