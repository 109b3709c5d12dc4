"""The service of a turn: what either reader takes for it, made whole."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from extractor.amounts.reckoned import parts_of, two_amounts
from extractor.amounts.roles import Role, roles_of
from extractor.contract import TALK, Ato, Context
from extractor.learned.evidence import Evidence
from extractor.learned.reader import LearnedReading, Rotulo
from extractor.rules import RulesReading
from extractor.service.capitals import HOUSE, Places, begins
from extractor.service.names import customer_names
from extractor.service.whole import Whole, whole_service
from extractor.text.folding import MAX_CHARS
from extractor.text.folding import read as fold
from extractor.text.marks import Kind, Mark, Skeleton, is_work
from state_machine.invoice.fields import Campo, Candidate, Confianca

TAIL: Final = 40  # characters before the end of what is read, in which a service that goes on ends
FIRST_WORDS: Final = 3
PRICE: Final = 0.5  # so sure that an amount is the invoice's, that it is no number in the service
READ: Final = 0.5  # how sure the rules' words are of the service, beside a mention of the other reader
SERVICE: Final = 0.2  # words less sure than this are no service
UNSURE_ACT: Final = 0.7  # an act less sure than this is no reason to leave an order's service unread
ASIDE: Final = 0.6  # nor less sure than this, where something else was asked
LABEL: Final = re.compile(r"\b(?:servi[cç]o|descri[cç][aã]o|referente)\b[^\n]{0,12}\Z", re.IGNORECASE)
# After these, the words are the service, and only what no text begins with is left out.
COLON: Final = re.compile(
    r"(?:servi[cç]os?|descri[cç][aã]o|discrimina[cç][aã]o)\b[^\n]{0,20}[:=-]\s*\W?\Z", re.IGNORECASE
)
ALONE_AMOUNT: Final = re.compile(r"(?:^|[\n,;|DB]|\s-)\s{0,9}(?P<n>N)(?=\s{0,9}(?:$|[\n,;|DB]|-\s))")
OF_TWO: Final = re.compile(r"[NV] ou [NV]|\bliquid[oa]\b|\brest(?:a|am|ando)\b")
FAR: Final = 12  # characters before a number
ORDERED: Final = re.compile(r"(?<![a-z])(?:nota|nf|nfe|nfs-?e)\s(?:de\s)?[\d.,]+$")  # "nota de 390"
COUNTS: Final = re.compile(
    r"\s(?!(?:pr[ao]s?|para|p/|cnpj|cpf|doc|de|d[ao]s?|referente|ref|aos?|reais|no|na|e|em|com)\b)[a-z]{3,}s\b"
)
CENTS: Final = re.compile(r"\d,\d\d$")
MEASURED: Final = re.compile(
    r"\s?x\s?\d|\s?(?:m|m2|m²|m³|mm|cm|km|kg|ml|kva|kw|cv|hp|polegadas|metros?)\b"
)  # "1,60x0,90"
CURRENCY: Final = re.compile(r"\b(?:reais|real)\b")
CALLED_PRICE: Final = frozenset({Role.LABELLED, Role.TOTAL})
DOCUMENTS: Final = frozenset({Kind.DOCUMENT, Kind.BROKEN})
AMOUNTS: Final = frozenset({Kind.MONEY, Kind.NUMBER})
OF_PART: Final = re.compile(r" (?:reais )?(?:d[eoa]|pel[oa]) ")  # "300 da gravação + 500 da edição"


def service_of_both(
    rules: RulesReading, learned: LearnedReading, amounts: Sequence[Mark], contexto: Context
) -> Whole | Candidate | None:
    """Return the service, whole: the longest clean stretch around what either reader takes for it.

    Who answers another question, or has said the service already, names a new one only in words that are sure.
    """
    read = next((c for c in rules.extraction.candidates if c.campo is Campo.DESCRICAO), None)
    texto = rules.skeleton.text.original
    if rules.edited:
        return read  # a correction of the text is obeyed as it was said
    asked, known = contexto.pendente is Campo.DESCRICAO, Campo.DESCRICAO in contexto.conhecidos
    aside = not asked and (known or contexto.pendente is not None)
    seen = [m for m in learned.of(Rotulo.SERVICO) if m.certeza >= (ASIDE if aside else SERVICE)]
    labelled = read is not None and _is_labelled(read, texto)
    if not seen:
        answers = asked and learned.ato not in TALK and len(texto) < MAX_CHARS
        names = read is not None and _names_work(read.valor)
        ordered = not aside and is_order(rules)
        unsure = learned.ato is Ato.FISCAL and learned.certeza < UNSURE_ACT and ordered  # "competência …, cnpj …, aula"
        orders = unsure or (learned.ato is Ato.DADOS and not known and (names or ordered))
        if not (answers or orders or labelled):
            return None
    if aside and texto.isupper() and HOUSE.match(rules.skeleton.line.lstrip()):
        return None  # "ASSOCIAÇÃO DOS AMIGOS": a house by its name, not a service that is said anew
    places = Places(rules.skeleton)
    anchors = [(*span, m.certeza) for m in seen if (span := places.line_span(m.start, m.end))]
    label = None
    if read is not None and (span := places.of(read.trecho)) is not None:
        anchors.append((*span, READ))
        label = span[0] if COLON.search(texto[: texto.find(read.trecho)]) else None
    names_said = customer_names(rules, learned, places)
    found = whole_service(rules.skeleton, anchors, amounts=amounts, names=names_said, label=label)
    if found is None:
        return None
    unread = len(texto) >= MAX_CHARS and found.spans[-1][1] >= len(rules.skeleton.line) - TAIL
    return None if unread else found  # what is not read to its end is no service


def is_order(rules: RulesReading) -> bool:
    """Say whether a message names a customer's document and an amount, so that what is left of it is the service."""
    kinds = {mark.kind for mark in rules.skeleton.marks}
    return bool(kinds & DOCUMENTS and kinds & AMOUNTS)


def price_marks(rules: RulesReading, weighed: Sequence[tuple[float, Evidence]], known: Collection[Campo]) -> list[Mark]:
    """Return the marks of what may be the invoice's amount, so that any other number may stand in the service.

    Where no amount is likely, it is one that stands by itself between pauses and fields.
    """
    skeleton = rules.skeleton
    if parts := _of_several(skeleton):
        return parts
    if any(mark.kind is Kind.MONEY and (not mark.words or _has_currency(skeleton, mark)) for mark in skeleton.marks):
        return []  # it was said with its currency, where every service ends anyway
    roles = roles_of(skeleton)
    named = [mark for mark, played in roles.items() if mark.amount is not None and played & CALLED_PRICE]
    if named := [mark for mark in named if not _counts(skeleton, mark)]:
        return named
    if Campo.VALOR not in known and not any(mark.kind is Kind.MONEY for mark in skeleton.marks):
        for pattern in (ORDERED, CENTS):
            found = [m for m in skeleton.marks if m.kind is Kind.NUMBER and _is_written(pattern, skeleton, m)]
            if len(found) == 1:
                return found
    likely = {found.start for sure, found in weighed if sure >= PRICE}
    worded = any(mark.kind is Kind.MONEY for mark in skeleton.marks)
    if not likely and Campo.VALOR not in known and not worded:
        alone = [skeleton.where[match.start("n")] for match in ALONE_AMOUNT.finditer(skeleton.line)]
        if alone:
            return alone
        likely = {found.start for _, found in weighed[:1]}
    found = [mark for mark in skeleton.marks if begins(skeleton, mark) in likely and not _is_one(mark)]
    prices = [mark for mark in found if not _counts(skeleton, mark)]
    if prices or not found:
        return prices
    # "nota de 6 maquiagens …, setecentos e vinte": the next likely one that counts nothing
    others = (where[each.start] for _, each in weighed if each.start in (where := _numbers(skeleton)))
    return [next((mark for mark in others if not _counts(skeleton, mark)), found[0])]


def _of_several(skeleton: Skeleton) -> list[Mark]:
    """Return the parts of a sum, or both of two amounts of which either may be the invoice's."""
    parts = parts_of(skeleton)
    if parts and not OF_PART.match(skeleton.line, skeleton.position(parts[0]) + 1):
        return parts
    either = two_amounts(skeleton) if OF_TWO.search(skeleton.line) else ()
    return [mark for mark in skeleton.marks if mark.kind in AMOUNTS and mark.amount in either]


def _numbers(skeleton: Skeleton) -> dict[int, Mark]:
    return {begins(skeleton, mark): mark for mark in skeleton.marks if mark.kind in AMOUNTS}


def _has_currency(skeleton: Skeleton, mark: Mark) -> bool:
    """Say whether an amount in words says so itself: "novecentos reais"."""
    return CURRENCY.search(skeleton.text.plain, mark.start, mark.end) is not None


def _is_written(pattern: re.Pattern[str], skeleton: Skeleton, mark: Mark) -> bool:
    """Say whether what stands up to the end of a number is of a pattern, and it neither counts nor measures."""
    return (
        not _counts(skeleton, mark)
        and not MEASURED.match(skeleton.text.plain, mark.end)
        and pattern.search(skeleton.text.plain, max(0, mark.start - FAR), mark.end) is not None
    )


def _counts(skeleton: Skeleton, mark: Mark) -> bool:
    """Say whether a bare number says how many of something there are: "6 maquiagens"."""
    bare = mark.kind is Kind.NUMBER and CENTS.search(skeleton.text.plain, mark.start, mark.end) is None
    return bare and COUNTS.match(skeleton.line, skeleton.position(mark) + 1) is not None


def _is_one(mark: Mark) -> bool:
    """Say whether a number is a bare 1, which is no price: "1 container 20"."""
    return mark.kind is Kind.NUMBER and mark.amount == 1


def _names_work(words: str) -> bool:
    """Say whether the words begin with the name of a work ("consultoria …", "aula de violão")."""
    return any(is_work(word) for word in fold(words).plain.split()[:FIRST_WORDS])


def _is_labelled(read: Candidate | None, texto: str) -> bool:
    """Say whether the user named the service as such: "serviço: …"."""
    return read is not None and LABEL.search(texto[: max(0, texto.find(read.trecho))]) is not None


def as_candidate(whole: Whole) -> Candidate:
    """Return the service as a candidate for its field."""
    return Candidate(Campo.DESCRICAO, whole.text, whole.typed, confianca=Confianca.PROVAVEL)
