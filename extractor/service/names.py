"""Where a message names the customer, so that no service takes the name for its own words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from extractor.fields.people import RECIPIENT_NOUN, SUFFIX
from extractor.learned.reader import LearnedReading, Rotulo
from extractor.rules import RulesReading
from extractor.service.capitals import Places, Span, begins_in_capitals, is_of_place, names_in_capitals, tell_nothing
from extractor.text.marks import NOISE, Skeleton, is_work
from state_machine.invoice.fields import Campo

# How sure the second reader is of a name: where the words before it announce one, and where they do not.
ANNOUNCED: Final = 0.3
BARE: Final = 0.6
SMALL: Final = 0.93  # where it is written in small letters
BETWEEN: Final = 0.45  # and fills what is between a pause and a document: "…, lua nova eventos 11.222.333/0001-81"
_TO: Final = r"(?:pra|pro|para|p/?|aos?|as?)"
_WHO: Final = (
    r"(?:o|a|os|as|um|uma|cliente|tomador|tomadora|empresa|contratante|firma|dona|seu|sr\.?|sra\.?|dr\.?|dra\.?)"
)
INTRODUCED: Final = re.compile(rf"(?<!\w){_TO}\s{{1,3}}(?:{_WHO}\s{{1,3}}){{0,3}}$")
CALLED: Final = re.compile(rf"(?<!\w)(?:cliente|tomador|tomadora|contratante|razao social|nome)\W{{1,3}}(?:{_WHO}\s)?$")
OF: Final = re.compile(rf"(?<!\w)(?:d[aeo]s?|em nome d[aeo]|n[ao])\s{{1,3}}(?:{_WHO}\s{{1,3}}){{0,2}}$")
EDGE: Final = re.compile(r"(?:^|[\n,;:|.(]|[A-Z]\W{0,3}|\s-\s|\bnotas?\s)\s{0,3}$")
# What stands between a pause and a document: a bare number before it may count ("17 tesouras cnpj …").
APART: Final = re.compile(rf"(?:^|[\n|;,VDE]|\s-)\s{{0,3}}(?:{_WHO}\s{{1,3}})?$")
SMALL_HOUSE: Final = re.compile(
    r"(?:^|[\n|VDE]|N,)[\s,;]{0,3}(?P<n>(?P<first>[a-z]{3,}) [a-z]{3,}(?: [a-z]{2,}){0,2})(?<!cnpj)(?<!cpf)"
    r"(?=[\s,;:(-]{1,3}(?:cnpj|cpf)?\s?D)"
)
ENDS: Final = re.compile(r"\s{0,3}(?:$|[\n,;|.)DBV]|\s-\s)")
DOCUMENT_AFTER: Final = re.compile(
    r"[\s,;:()\->→]{0,4}(?:(?:o )?(?:cnpj|cpf|documento|doc)\b[\s:.]{0,4}(?:n[º°.]?\s?|dele |dela |eh )?)?[DB]"
)
_DOCUMENT: Final = r"[\s,;:()\-]{0,4}(?:(?:o )?(?:cnpj|cpf|documento|doc)\b[\s:.]{0,4})?[DB]"
DOCUMENT: Final = re.compile(_DOCUMENT)
# "pra padaria do zé, cnpj …": whoever stands between the last "pra" and a document, if the words look like somebody.
TO: Final = re.compile(rf"(?<!\w)(?:pra|pro|para|p/|p)\s(?:{_WHO}\s){{0,3}}(?P<n>[a-z0-9])")
ALONE: Final = re.compile(r" (?P<w>[a-z]{4,})")
OWNED: Final = re.compile(r"D\s(?:d[aeo]s?\s|\()(?P<n>[a-z])")  # "cnpj … da Ótica Visão Clara", "… (Fintech Moedinha)"
OWNER: Final = re.compile(
    r"(?:cnpj|cpf)\sd[aeo]\s(?P<n>[^\n,;:VNDBEF]{2,60}?)\s(?:eh|e|:)?\s?[DB]"
)  # "cnpj do Clube Náutico é …"
DOCUMENT_BEFORE: Final = re.compile(r"D[\s,:]{1,3}\(?$")
SAID_SO: Final = re.compile(r"(?:pr[ao]|para [oa]|cliente|tomador|tomadora|contratante|nome|razao social)\b")
FIELD_MARK: Final = re.compile(r"[\n,;:VNDBEF]")
BACK: Final = 90  # characters before a document
# "cnpj … Fundação Cultural Ipiranga oficina de teatro": capitals behind a document or the price
BEHIND_DOCUMENT: Final = re.compile(r"[DBVN][\s,:)-]{1,4}(?P<n>(?=[a-z]))")
CENTS: Final = re.compile(r",\d\d$")
BEHIND_PLACE: Final = re.compile(r"(?<![a-z])(?:rua|r\.|av\.?|avenida|alameda|travessa|praca|bairro|vila)\s$")
IDENTIFIED: Final = re.compile(r"[XN]")  # "Saveiro IKT-4471": nobody's name
FIRST: Final = re.compile(r"[a-z'-]{1,30}\s")
FEWEST: Final = 2  # words in capitals that make a name
NEXT_WORD: Final = re.compile(r"\s?(?:(?:d[aeo]s?|e|&)\s)?(?P<w>[a-z][a-z']+)")
# "… pro João da Silva, deu 500": two capitals behind "pra", where the stretch ends
AT_THE_END: Final = re.compile(
    rf"(?<!\w)(?:pra|pro|para [oa]|p/)\s(?:{_WHO}\s){{0,2}}(?P<n>[a-z][^\n,;:VNDBEFX]{{2,60}}?)\s{{0,3}}"
    r"(?=$|[\n,;|.VND]|\s-\s)"
)
# "mudança da 304 Norte pro Guará II": where somebody or something goes, and nobody's name
ON_THE_WAY: Final = re.compile(
    r"\b(?:mudanca|frete|fretamento|carreto|transporte|viagem|corrida|translado|traslado|transfer|excursao|guincho|reboque|entrega|"
    r"remocao|passeio)\b[^\n;VDB]{0,60}$"
)
BECAUSE_OF: Final = re.compile(r"(?:pel[ao]s?|por|referente|ref)\s")  # "pelo armário planejado": the work, no customer
ROUTE: Final = re.compile(r"\bde [^,;\nD]{2,30} (?:a|ao|para|ate|x) $")  # "de Guarapari a | Vitória"
DETAIL: Final = re.compile(r"\s(?:com|em|no|na|dia)\s")  # behind a name: no part of it
TITLED: Final = re.compile(  # "Pr. Eliseu Tavares, …": a title and a name that stand apart
    r"(?:^|[\n,;:|.DBVN]\s|-\s)\s?(?P<n>(?:pr|pe|dr|dra|sr|sra|eng|prof|profa|dom|cap|ten|sgt)\. [a-z][a-z' ]{3,40})"
    r"(?=$|[\n,;|.DBVN]|\s-)"
)
PLACE: Final = re.compile(
    r"(?:rua|r\.|av\.?|avenida|alameda|travessa|praca|rodovia|estrada|bairro|vila|jardim|parque|cidade|sao|santa|santo|rio|"
    r"belo|porto|campos?|nova|novo|ilha|serra|monte|bloco|sala|lote|quadra|feira|natal|dia)\b"
)


def customer_names(rules: RulesReading, learned: LearnedReading, places: Places) -> list[Span]:
    """Return the stretches of the skeleton's line that name a customer, with the words that introduce it.

    There is one customer: where a name stands beside a document or is called the customer's, others are places.
    """
    line, found = rules.skeleton.line, list(_names(rules, learned, places))
    return [span for span in found if _is_sure(line, span)] or found


def _is_sure(line: str, span: Span) -> bool:
    start, end = span
    beside = DOCUMENT_AFTER.match(line, end) or DOCUMENT_BEFORE.search(line, max(0, start - BACK), start)
    return beside is not None or SAID_SO.match(line, start, end) is not None


def _names(rules: RulesReading, learned: LearnedReading, places: Places) -> Iterator[Span]:
    for start, end in _said(rules, learned, places):
        yield _behind_place(rules.skeleton.line, start), end


def _said(rules: RulesReading, learned: LearnedReading, places: Places) -> Iterator[Span]:
    skeleton, line = rules.skeleton, rules.skeleton.line
    nome = next((c for c in rules.extraction.candidates if c.campo is Campo.NOME), None)
    if nome is not None and (span := places.of(nome.trecho)) is not None and _may_be(rules, learned, places, span):
        yield _introduced(line, span[0]), _small_cut(skeleton, *span)
    for mention in learned.of(Rotulo.NOME):
        span = _without_detail(line, places.line_span(mention.start, mention.end))
        if span is not None and _is_said(skeleton, span, mention.certeza) and not _is_service(skeleton, span):
            yield _introduced(line, span[0]), _small_cut(skeleton, span[0], _capitals(skeleton, *span))
    yield from names_in_capitals(skeleton)
    for match in AT_THE_END.finditer(line):
        if _is_person(skeleton, *match.span("n")) and not ON_THE_WAY.search(line, 0, match.start()):
            yield match.span()
    yield from (m.span("n") for m in OWNER.finditer(line))
    for match in OWNED.finditer("" if tell_nothing(skeleton.text.original) else line):
        end = _capitals(skeleton, match.start("n"), match.start("n"))
        if end > match.start("n"):
            yield match.start() + 1, end
    yield from (m.span("n") for m in TITLED.finditer(line) if _is_person(skeleton, *m.span("n")))
    yield from _beside_documents(skeleton)
    services = [span for m in learned.of(Rotulo.SERVICO) if (span := places.line_span(m.start, m.end))]
    yield from _small_houses(skeleton, services)


def _small_houses(skeleton: Skeleton, services: Sequence[Span]) -> Iterator[Span]:
    """Yield a name in small letters between a field and a document, where other words say what was done."""
    line = skeleton.line
    for match in SMALL_HOUSE.finditer(line):
        start, end = match.span("n")
        works = services or any(map(is_work, re.findall(r"[a-z]+", f"{line[:start]} {line[end:]}")))
        seen = any(a < end and start < b for a, b in services)
        named = skeleton.verbatim(start, end).islower() and match["first"] not in NOISE and not is_work(match["first"])
        if works and not seen and named:
            yield start, end


def _may_be(rules: RulesReading, learned: LearnedReading, places: Places, span: Span) -> bool:
    """Say whether what the rules take for a name may be one: no place on the way, no small words unannounced."""
    skeleton, line = rules.skeleton, rules.skeleton.line
    if ON_THE_WAY.search(line, 0, span[0]) and not DOCUMENT_AFTER.match(line, span[1]):
        return False
    if is_of_place(line, span[0]) or _is_work(skeleton, span):
        return False
    small = skeleton.verbatim(span[0], span[0] + 1).islower() or begins_in_capitals(skeleton.text.original)
    if not small or RECIPIENT_NOUN.match(line, span[0]):
        return True
    if _introduced(line, span[0]) != span[0] or DOCUMENT_AFTER.match(line, span[1]):
        return True
    seen = (places.line_span(m.start, m.end) for m in learned.of(Rotulo.NOME))
    return any(other is not None and other[0] < span[1] and span[0] < other[1] for other in seen)


def _is_work(skeleton: Skeleton, span: Span) -> bool:
    """Say whether capitals that no word announces are work: "Ajuste De Vestido", "PGR e PCMSO"."""
    line = skeleton.line
    if SAID_SO.match(line, *span) or _introduced(line, span[0]) != span[0] or DOCUMENT_AFTER.match(line, span[1]):
        return False
    written = skeleton.verbatim(*span)
    first = re.match(r"[a-z]+", line[span[0] : span[1]])
    works = first is not None and is_work(first[0])
    acronyms = written.replace(" e ", " ").isupper() and not skeleton.text.original.isupper()
    return acronyms or (works and tell_nothing(skeleton.text.original))


def _beside_documents(skeleton: Skeleton) -> Iterator[Span]:
    line = skeleton.line
    for document in DOCUMENT.finditer(line):
        last = next(reversed(list(TO.finditer(line, max(0, document.start() - BACK), document.start()))), None)
        if last is None or FIELD_MARK.search(line, last.end(), document.start()):
            continue
        if ON_THE_WAY.search(line, 0, last.start()) and ROUTE.search(line, 0, last.start("n")):
            continue
        if _is_somebody(skeleton, last.start("n"), document.start()):
            yield last.start(), document.start()
    for match in BEHIND_DOCUMENT.finditer("" if tell_nothing(skeleton.text.original) else line):
        if line[match.start()] == "N" and not _is_price(skeleton, match.start()):
            continue
        end = _capitals(skeleton, match.start("n"), match.start("n"))
        words = re.findall(r"[a-z]+", line[match.start("n") : end])
        trade = words and is_work(words[0])
        acronyms = skeleton.verbatim(match.start("n"), end).replace(" e ", "").isupper()
        if "\n" in match[0] and line[end : end + 1] not in {"", "\n"}:
            continue  # a line of its own is a name's whole line
        follows = ALONE.match(line, end)
        if len(words) == 1 and not trade and not acronyms and follows and is_work(follows["w"]):
            yield match.start("n"), end  # "175,00 Ivone | instalação de …"
        if len(words) > 1 and not trade and not acronyms and (end < len(line) or _works_before(line, match.start())):
            yield match.start("n"), end


def _is_price(skeleton: Skeleton, position: int) -> bool:
    """Say whether a bare number was written with its cents."""
    mark = skeleton.where[position]
    return CENTS.search(skeleton.text.plain, mark.start, mark.end) is not None


def _works_before(line: str, end: int) -> bool:
    return any(is_work(word) for word in re.findall(r"[a-z]+", line[:end]))


def _behind_place(line: str, start: int) -> int:
    """Return where a name begins of which a street took the first word: "Av. Beira-Mar | Odete Sampaio"."""
    hyphened = line.rfind(" ", 0, start) + 1 if line[start - 1 : start] == "-" else start
    first = FIRST.match(line, start) if BEHIND_PLACE.search(line, 0, hyphened) else None
    return first.end() if first else start


def _small_cut(skeleton: Skeleton, start: int, end: int) -> int:
    """Return where a name in capitals ends that a reader took small words with: "Ótica Visão Clara | polimento"."""
    if not skeleton.verbatim(start, start + 1).isupper():
        return end
    words = [w for w in re.finditer(r"[a-z][a-z']*", skeleton.line[start:end]) if w.end() - w.start() > 2]  # noqa: PLR2004 - "de"
    tall = [w for w in words if skeleton.verbatim(start + w.start(), start + w.start() + 1).isupper()]
    return start + tall[-1].end() if len(tall) >= FEWEST and tall[-1] is not words[-1] else end


def _is_service(skeleton: Skeleton, span: Span) -> bool:
    """Say whether a stretch begins as a service does: "revisão de textos", in small letters."""
    first = re.match(r"[a-z]+", skeleton.line[span[0] : span[1]])
    return first is not None and is_work(first[0]) and skeleton.verbatim(span[0], span[0] + 1).islower()


def _without_detail(line: str, span: Span | None) -> Span | None:
    """Return a mention up to what tells more of the work: "Guará II | com embalagem"."""
    detail = DETAIL.search(line, *span) if span is not None else None
    return span if span is None or detail is None else (span[0], detail.start())


def _is_said(skeleton: Skeleton, span: Span, certeza: float) -> bool:
    line = skeleton.line
    if BECAUSE_OF.match(line, span[0]):
        return False
    goes = ON_THE_WAY.search(line, 0, span[0]) is not None
    if goes and (ROUTE.search(line, 0, span[0]) or not DOCUMENT_AFTER.match(line, span[1])):
        return False
    called = CALLED.search(line, 0, span[0])
    if not called and is_of_place(line, span[0]):
        return False
    announced = called or INTRODUCED.search(line, 0, span[0]) or DOCUMENT_AFTER.match(line, span[1])
    small = skeleton.verbatim(span[0], span[0] + 1).islower() and RECIPIENT_NOUN.match(line, span[0]) is None
    if announced and small and not called:  # "para manipuladores": whom the work is for, as often as who pays
        between = APART.search(line, 0, span[0]) and skeleton.verbatim(*span).islower()
        return certeza >= (BETWEEN if between and DOCUMENT_AFTER.match(line, span[1]) else SMALL)
    if announced and not IDENTIFIED.search(line, *span):
        return certeza >= ANNOUNCED
    apart = EDGE.search(line, 0, span[0]) or (ENDS.match(line, span[1]) and not OF.search(line, 0, span[0]))
    return certeza >= BARE and bool(apart)


def _capitals(skeleton: Skeleton, start: int, end: int) -> int:
    """Return where a name ends that goes on in capitals: "Haras Estrela | Guia"."""
    if not skeleton.verbatim(start, start + 1).isupper():
        return end
    for match in NEXT_WORD.finditer(skeleton.line, end):
        if match.start() != end or not skeleton.verbatim(match.start("w"), match.start("w") + 1).isupper():
            break
        end = match.end()
    return end


def _introduced(line: str, start: int) -> int:
    for pattern in (INTRODUCED, CALLED, OF):
        if match := pattern.search(line, max(0, start - 40), start):
            return match.start()
    return start


def _is_person(skeleton: Skeleton, start: int, end: int) -> bool:
    words = [w for w in skeleton.verbatim(start, end).split() if len(w) > 2]  # noqa: PLR2004 - "de", "e"
    return len(words) > 1 and all(w[0].isupper() for w in words) and PLACE.match(skeleton.line, start, end) is None


def _is_somebody(skeleton: Skeleton, start: int, end: int) -> bool:
    line = skeleton.line
    if RECIPIENT_NOUN.match(line, start, end) or SUFFIX.search(line, start, end):
        return True
    words = [w for w in skeleton.verbatim(start, end).split() if w[0].isalpha() and len(w) > 2]  # noqa: PLR2004 - "de"
    plain = re.findall(r"[a-z]+", line[start:end])
    return bool(words) and all(w[0].isupper() for w in words) and not (plain and is_work(plain[0]))
