"""Keeps an amount from standing alone where its message names more of them, or speaks against it: two are offered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from extractor.agreement.amount import (
    ACT,
    ANSWER,
    BOTH,
    HOW_MANY,
    LEAST_ALONE,
    LEAST_PRICE,
    READINGS,
    SURE,
    asked_about,
    is_money,
    labels_of,
    mark_of,
    money_of,
    without_amount,
)
from extractor.agreement.service import is_order
from extractor.amounts.reckoned import LEFT_OUT, says_net
from extractor.amounts.roles import Role, roles_of
from extractor.contract import TALK, Ato, Context, Extraction
from extractor.learned.evidence import Evidence
from extractor.learned.reader import LearnedReading, Rotulo
from extractor.rules import RulesReading
from extractor.text.folding import commands
from extractor.text.folding import read as fold
from state_machine.invoice.fields import Campo, Candidate, Doubt, Motivo
from state_machine.values.money import LIMITE, formata_brl

# Words that tell of an amount without ordering an invoice of it: a refusal, and a note that was made or missed before.
REFUSES: Final = re.compile(
    r"\W{0,9}(?:(?:ok|entao|opa|ah|calma|por favor)[,.!]? ){0,3}"
    r"(?:(?:nao|n) (?:emit\w*\b(?! pel[oa]\b)|tir|prossig|fatur|ger[ae])"
    r"|desist|cancel\w+\b(?![^\n]{0,200}\b(?:faz|refa[zc]|outra|emit)))"
)
GIVES_UP: Final = re.compile(r"\b(?:nem (?:vale|compensa)|joga fora|larg\w+ mao)\b")
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
COUNTED: Final = re.compile(r"\bN notas?(?: fisca(?:l|is))? (?:de|no valor de|a) (?:R )?[NV]")  # "3 notas de 400"
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
# What comes on top and has no amount: "500 fora o material".
ON_TOP: Final = re.compile(r"[NV](?: reais)?,? (?:fora|sem contar|tirando) (?:[oa]s? )?[a-z]{3,}(?! (?:de )?[NV])")
MORE: Final = re.compile(r"\b(?:acrescent|aument|som[ae]|inclu|adicion|esquec|falt)\w*|(?:^|[, ])mais \W?[NV]|\+")
LESS: Final = re.compile(r"\b(?:tir[ae]|abat\w+|descont\w+|menos|desconta)\b")
CORRECTS: Final = re.compile(r"\b(?:alias|muda|bota|poe|em vez|retific\w+|fic(?:a|ou)|pass(?:a|ou)|mais)\b")
SECOND: Final = 0.5  # as sure as this, another amount is offered too
COUNTED_THINGS: Final = re.compile(r"\bN [a-z]{3,20}s $")  # before what they cost: "2 diárias 1015"
MODEL_NUMBER: Final = 1000  # "guincho mb 1620"
TOLD: Final = 0.8  # as sure as this of an act of talk, its amount is only told
NAMED: Final = frozenset({Role.LABELLED, Role.TOTAL})
ROLES_ELSE: Final = frozenset({Rotulo.QUANTIDADE, Rotulo.OUTRO})


def not_alone(
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
    if taken and (apart := _first_of_several(joined, rules, taken)) is not None:
        return apart
    several = any(d.motivo is Motivo.DUAS_NOTAS for d in joined.doubts)
    if several or not (taken or (doubt and len(doubt.leituras) == 1)) or says_net(rules.skeleton):
        return joined
    first = taken.valor if taken else doubt.leituras[0] if doubt else ""
    known, told = contexto.conhecidos.get(Campo.VALOR), _only_told(joined, rules, learned, contexto, sure=bool(taken))
    corrects = joined.ato is Ato.CORRIGE and known not in {None, first}
    if told and not corrects:
        return without_amount(joined)
    best = next(((sure, e) for sure, e in weighed if e.valor == first), None)
    if taken and best and _is_denied(best[1], known, rules, weighed):
        return replace(without_amount(joined), clear=joined.clear - {Campo.VALOR})  # what stands is another one
    if told:  # "não emite por 300, o valor é 500": left out, a yes would be to the 300
        readings: tuple[str, ...] = (first, str(known))
    elif doubt is not None and doubt.conta:
        readings = _of_reckoned(doubt, rules, weighed)
    elif best is None:
        readings = (first,)
    elif taken is not None:
        readings = _beside_sure(best[1], rules, learned, weighed, contexto)
    else:
        readings = _beside_doubtful(*best, joined, rules, learned, weighed, contexto)
    if readings == (first,):
        return joined
    mended = replace(doubt or asked_about(taken.trecho if taken else "", ()), leituras=readings, conta=None)
    return replace(
        joined,
        candidates=tuple(c for c in joined.candidates if c is not taken),
        doubts=(*(d for d in joined.doubts if d is not doubt), mended),
    )


def _is_denied(
    best: Evidence, known: str | None, rules: RulesReading, weighed: Sequence[tuple[float, Evidence]]
) -> bool:
    """Say whether an amount is denied while another one stands, of which the message says nothing."""
    other = known is not None and known not in {found.valor for _, found in weighed}
    return other and Role.NEGATED in labels_of(rules, best)


def _first_of_several(joined: Extraction, rules: RulesReading, taken: Candidate) -> Extraction | None:
    """Leave the amount to the question of several notes, where words count them."""
    counted = next((d for d in rules.extraction.doubts if d.motivo is Motivo.DUAS_NOTAS), None)
    if counted is None or not COUNTED.search(rules.skeleton.line):
        return None
    candidates = tuple(c for c in joined.candidates if c is not taken)
    return replace(joined, candidates=candidates, doubts=(*joined.doubts, counted))


def _with_document(joined: Extraction) -> bool:
    return Campo.DOCUMENTO in {*(c.campo for c in joined.candidates), *(d.campo for d in joined.doubts)}


def _only_told(
    joined: Extraction, rules: RulesReading, learned: LearnedReading, contexto: Context, *, sure: bool
) -> bool:
    """Say whether the amount is one that words of something else only mention."""
    plain, line, known = rules.skeleton.text.plain, rules.skeleton.line, Campo.VALOR in contexto.conhecidos
    if commands(rules.skeleton.text):
        return False
    if REFUSES.match(plain) or GIVES_UP.search(plain) or KEY.search(line):
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
        if any(NAMED & labels_of(rules, e) for _, e in weighed if Decimal(e.valor) == of[0]):
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
    line, first, played = rules.skeleton.line, best.valor, labels_of(rules, best)
    if HEDGED.search(line):
        return ()
    times = sum(m.amount == Decimal(first) for m in money_of(rules))
    several = any(d.campo is Campo.DOCUMENTO and d.motivo is Motivo.VARIOS for d in rules.extraction.doubts)
    for sure, other in weighed:
        if times > 1 and Decimal(other.valor) == times * Decimal(first):
            return (other.valor, first)
        if other.valor == first or not _may_be(rules, learned, other):
            continue
        roles = labels_of(rules, other)
        both = Role.NEW in roles and Role.NEW in played
        part = Role.INSTALMENT in roles and ONE_OF_THEM.search(line) is not None
        if part or (Role.TOTAL not in played and Role.PART not in roles and (sure >= SECOND or both or several)):
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
    bare = not is_money(rules, best)
    label = max((m.certeza for m in learned.of(Rotulo.TOTAL) if m.start < best.end and m.end > best.start), default=0.0)
    whole = bare and rules.skeleton.text.original[best.start : best.end].isdecimal() and Decimal(first) >= MODEL_NUMBER
    whole &= COUNTED_THINGS.search(line[: rules.skeleton.position(mark_of(rules, best))]) is None
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
    played = labels_of(rules, best)
    others = [e for _, e in weighed if e.valor != first and (first == known or _may_be(rules, learned, e))]
    others.sort(key=lambda e: Role.TOTAL not in labels_of(rules, e))
    if others:
        return (first, _less(first, others[0]) if Role.DISCOUNT in labels_of(rules, others[0]) else others[0].valor)
    changed = MORE.search(line) or (Role.SAID not in played and LESS.search(line))
    if known is not None and changed and not played & {*NAMED, Role.NEW}:
        made = Decimal(known) + Decimal(first) * (-1 if LESS.search(line) else 1)
        return (format(made, ".2f"), first) if 0 < made < LIMITE else ()
    times = sum(m.amount == Decimal(first) for m in money_of(rules))
    if times > 1 and learned.of(Rotulo.PARTE):
        return (first, format(Decimal(first) * times, ".2f"))
    speaks = _is_spoken_against(sure, best, joined, rules, learned, weighed, contexto)
    return (first,) if not speaks and _stands(sure, best, joined, rules, learned, contexto) else ()


def _stands(
    sure: float, best: Evidence, joined: Extraction, rules: RulesReading, learned: LearnedReading, contexto: Context
) -> bool:
    """Say whether a doubtful amount is likely enough, in such a message, to be shown as the only one."""
    played, texto = labels_of(rules, best), rules.skeleton.text.original
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
    line, played, texto = rules.skeleton.line, labels_of(rules, best), rules.skeleton.text.original
    named, money = bool(played & {*NAMED, Role.NEW, Role.SAID}), is_money(rules, best)
    if len(weighed) >= READINGS and texto[best.start : best.end].isdecimal() and sure < SECOND and not named:
        return True
    rough = Role.APPROXIMATE in played or ON_TOP.search(line) or LIQUID.search(line) or IN_PARTS.search(line)
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
    played = labels_of(rules, found)
    if Role.PART in played and LEFT_OUT.search(rules.skeleton.line):
        return False
    if Role.NEGATED in played or (Role.QUANTITY in played and not is_money(rules, found)):
        return False
    labels = [m for m in learned.mencoes if m.start < found.end and m.end > found.start]
    return Decimal(found.valor) >= LEAST_PRICE and not any(m.rotulo in ROLES_ELSE and m.certeza >= SURE for m in labels)


def _is_of_one(rules: RulesReading, learned: LearnedReading, found: Evidence, *, wide: bool) -> bool:
    """Say whether an amount is called the price of one piece."""
    line, at = rules.skeleton.line, rules.skeleton.position(mark_of(rules, found))
    if labels_of(rules, found) & NAMED:
        return False
    if any(m.start("a") == at for m in PER.finditer(line)):
        return True
    for m in PER_NAMED.finditer(line):
        if at in {m.start("a"), m.start("b")} and (m["d"] or f"{m['w']}s" in re.findall(r"[a-z]+", line)):
            return True
    labelled = _labelled_as(learned, found, Rotulo.UNITARIO)
    wide = wide or any(m.start("a") == at for m in SAME_UNIT.finditer(line))
    if wide and any(m.start("a") == at for each in (*PER_LAST, SAME_UNIT) for m in each.finditer(line)):
        return True
    return wide and (labelled or Role.UNIT in labels_of(rules, found))


def _labelled_as(learned: LearnedReading, found: Evidence, rotulo: Rotulo) -> bool:
    return any(m.certeza >= SURE and m.start < found.end and m.end > found.start for m in learned.of(rotulo))


def _counts(rules: RulesReading, learned: LearnedReading) -> bool:
    counted = any(m.certeza >= SURE for m in learned.of(Rotulo.QUANTIDADE))
    return counted or any(played & HOW_MANY for played in roles_of(rules.skeleton).values())


def _is_answer(rules: RulesReading, contexto: Context) -> bool:
    return contexto.pendente is Campo.VALOR and len(rules.skeleton.text.original.split()) <= ANSWER
