"""The customer's name of a turn: what a label, the second reader or its place beside the document says, whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from extractor.agreement.service import DOCUMENTS
from extractor.contract import Ato, Context
from extractor.fields.people import PLURAL, RECIPIENT_NOUN, SUFFIX
from extractor.learned.reader import LearnedReading, Rotulo
from extractor.rules import RulesReading
from extractor.service.capitals import (
    HOUSE,
    Places,
    Span,
    is_of_place,
    names_in_capitals,
    tell_nothing,
    words_in_capitals,
)
from extractor.service.names import ANNOUNCED, BARE, CALLED, DOCUMENT_AFTER, INTRODUCED, ON_THE_WAY, PLACE
from extractor.text.marks import FUNCTION, NOBODY, NOISE, POLITE, TALK, TITLES, Skeleton, is_work
from state_machine.invoice.fields import Campo, Candidate, Confianca

ALONE: Final = 0.8  # how sure the second reader is of a name that nothing announces, in a message without a document
SURE_ACT: Final = 0.6
MOST: Final = 24  # stretches of a message that are looked at, the nearest to the document first
NAMING: Final = frozenset({Ato.DADOS, Ato.CORRIGE})
SAID: Final = re.compile(r"[:=][ \"*]*$")  # a label stands before it
_TITLE: Final = r"(?:dona|seu|sra?|senhora?|doutora?|d)(?:\. ?| )"
# What stands before a name and is none of it.
LEAD: Final = re.compile(
    rf"{_TITLE}|(?:pra|pro|para|p/?|a|o|as|os|aos?|d[aeo]s?|em|n[ao]s?|e|eh|contra|nome|cliente|tomadora?|contratante|"
    r"paciente|alun[ao]|minha|meu)(?:[.:] ?| )|[^a-zA-Z]"
)
WORD: Final = re.compile(r"[a-z][a-z'&.-]*[a-z]|[a-z&]")
ENDS: Final = re.compile(
    r"(?!N (?:ltda|eireli|epp)\b)[A-Z\n;|!?()\",:]|(?<!\bdr)(?<!\bdra)(?<!\bcond)(?<!\bed)(?<!\bdist)\.(?=\s)|\s-\s"
)
NEXT: Final = re.compile(r" (?:(?:d[aeo]s?|e|&) )?(?P<w>[a-z][a-z']*)")
BACK: Final = re.compile(r"(?<![a-z])(?P<w>[a-z][a-z']*\.?) (?:(?:d[aeo]s?|&) )?$")
JOINT: Final = frozenset({"de", "da", "do", "das", "dos", "e"})
LABELS: Final = frozenset({"cnpj", "cpf", "doc", "documento", "nota", "nf", "valor"})
FOLLOWS: Final = LABELS | {"aquele", "aquela", "que", "q", "gerente", "sindico", "sindica", "inscrito", "inscrita"}
SMALL: Final = FUNCTION - JOINT
FIELD: Final = re.compile(r"[A-Z\n,;:]")
ENDINGS: Final = JOINT | LABELS | FUNCTION | POLITE
SHORT_HOUSE: Final = re.compile(r"(?:cond|edif?|res|dist|transp|constr?|imob|galpao|escolinha|estac|depos)\b\.?")
STREET: Final = re.compile(r"(?:rua|av|avenida|alameda|travessa|rodovia|estrada|bairro|bloco|sala|lote|quadra|dia)\b")
BEHIND: Final = re.compile(r"X[\s,-]{1,3}$")  # a mark
WORKPLACE: Final = re.compile(r"(?:fazenda|sitio|chacara|haras|edificio|predio|condominio|cond)\b")
IN_OR_OF: Final = re.compile(r"(?<![a-z])[dn][ao]s? $")
BEFORE: Final = 90  # characters before a name or a document that are looked at
FEWEST: Final = 3  # letters of a word that names
ACRONYM: Final = 4  # letters
DOCUMENT_BEFORE: Final = re.compile(rf"[DB][\s,:(-]{{1,4}}(?:d[aeo]s? )?(?:{_TITLE})?$")
OF_SOMEBODY: Final = re.compile(
    rf"(?:(?<![a-z])(?:d[ao]|pr[ao]|para a?|p/)\s|(?:^|[\n,;.|!?:DBVN]\W?)\s?)(?:{_TITLE}|dra?\.? )?$"
)
LINE: Final = re.compile(r"\s{0,3}(?:$|[\n,;.|()VND]|-\s)")
MORE_BEHIND: Final = re.compile(r",[^\n]{0,40}?[a-z]{3}")  # of the service, so that the word before it is none of it
NOTE_OF: Final = re.compile(rf"\bnotas? (?:fiscal )?(?:eh )?(?:d[aeo]s? |pr[ao] |para [ao]? ?)(?:{_TITLE}|dra?\.? )?$")
CUT: Final = re.compile(r"[\dNB]|[ /-]{1,3}\d{4}[ -]?\d\d\b")
LETTERS: Final = re.compile(r"[a-z]{2}")
PAYS: Final = re.compile(
    r" (?:vai |me |ja |ainda me |so )?(?:pagou|paga|pagar|quer|mandou|fechou|deve|pediu|precisa|fez|passou|contratou)\b"
)
OF_ANOTHER: Final = re.compile(r"\b(?:pai|mae|filh[ao]|irmao?|esposa|marido|noiv[ao]|avo?|vo|net[ao]) (?:d[ao]s? )?$")
# Who speaks or acts for somebody: "minha sócia Paula pediu".
FOR_ANOTHER: Final = re.compile(
    r"\b(?:soci[ao]|contador\w*|gerente|secretari[ao]|advogad[ao]|vendedor\w*|representante|"
    r"procurador\w*|funcionari[ao]) $"
)
OURS: Final = re.compile(
    r"\b(?:aqui (?:eh|e|quem fala)|meu nome eh|me chamo|quem fala eh|sou) (?:o |a |d[ao] )?$|"
    r"\b(?:fornecedor|prestador|emitente)\W{1,3}$"
)


def name_of_both(rules: RulesReading, learned: LearnedReading, contexto: Context) -> Candidate | None:
    """Return the customer's name as it was said, ``None`` where none is sure: a missing name is better than another's.

    A name that is labelled stands. Any other is a stretch that the second reader, or the rules, take for one, or that
    is in capitals beside the customer's document.
    """
    read = next((c for c in rules.extraction.candidates if c.campo is Campo.NOME), None)
    message, places = _Message(rules.skeleton, _customers(rules)), Places(rules.skeleton)
    line = message.line
    span = places.of(read.trecho) if read is not None else None
    certain = read is not None and read.confianca is Confianca.CERTA
    if certain and (span is None or SAID.search(line, 0, span[0]) or not (line[: span[0]] + line[span[1] :]).strip()):
        return read
    talk = message.document is None and learned.ato not in NAMING and learned.certeza >= SURE_ACT
    # "é pro Carlos Lima" over a summary puts its customer aside, whatever the second reader hears
    if talk and not (contexto.resumo_mostrado and span is not None and not line[span[1] :].strip()):
        return None
    sure = [(*span, m.certeza) for m in learned.of(Rotulo.NOME) if (span := places.line_span(m.start, m.end))]
    if read is not None and (span := places.of(read.trecho)) is not None:
        sure.append((*span, 1.0 if certain else ANNOUNCED))
    at_hand = message.document or 0
    near = sorted({*sure, *message.seen()}, key=lambda each: (abs(each[0] - at_hand), each))[:MOST]
    found = [
        (*message.stands(span, certeza), span)
        for *at, certeza in near
        if (span := message.whole(*at)) and message.may_be(span, certeza)
    ]
    found = [each for each in found if each[0] > 0]
    if not found:
        return None
    start, end = max(found)[-1]
    if CUT.match(line, end) or not LETTERS.search(line, start, end):
        return None  # "OMLBWYJNNUTZ31": a document, or a part of one, whatever its digits say
    typed = rules.skeleton.verbatim(start, end)
    return Candidate(Campo.NOME, " ".join(typed.split()), typed, confianca=Confianca.PROVAVEL)


def _customers(rules: RulesReading) -> int | None:
    """Return where the customer's document stands in the line: the one that is read, or the only one in doubt."""
    skeleton = rules.skeleton
    said = next((c.valor for c in rules.extraction.candidates if c.campo is Campo.DOCUMENTO), None)
    marks = [m for m in skeleton.marks if m.kind in DOCUMENTS and said in {m.value, None}]
    return skeleton.position(marks[-1]) if marks and (said or len(marks) == 1) else None


class _Message:
    """A line in which marks that are words with a capital ("Três Marias") are words, and where its document stands."""

    def __init__(self, skeleton: Skeleton, document: int | None) -> None:
        self.skeleton, self.document = skeleton, document
        letters = list(skeleton.line)
        for at in skeleton.where:
            if self._first(at).isupper() and skeleton.verbatim(at, at + 1).isalpha():
                letters[at] = letters[at].lower()
        self.line = "".join(letters)
        self.capitals = not tell_nothing(skeleton.text.original)

    def _first(self, at: int) -> str:
        return self.skeleton.verbatim(at, at + 1)[:1]

    def _is_tall(self, at: int) -> bool:
        return self.capitals and self._first(at).isupper()

    def seen(self) -> Iterator[tuple[int, int, float]]:
        """Yield what stands where a name does: in capitals, or a house's beside the document."""
        line, skeleton = self.line, self.skeleton
        if self.document is None:
            return
        pause = max((m.end() for m in FIELD.finditer(line, 0, self.document)), default=0)
        starts = (m.start() for m in WORD.finditer(line, max(pause, self.document - BEFORE), self.document))
        at = next((start for start in starts if self._house(start)), None)
        if at is not None and not any(w in SMALL or is_work(w) for w in WORD.findall(line, at, self.document)[1:]):
            yield at, self.document, ANNOUNCED
        if not self.capitals:
            return
        for start, end in words_in_capitals(skeleton, 1):
            before = line[max(0, start - BEFORE) : start]
            if OF_SOMEBODY.search(before):
                yield start, end, ANNOUNCED
            if (NOTE_OF.search(before) or PAYS.match(line, end)) and not OF_ANOTHER.search(before):
                yield start, end, BARE
            if DOCUMENT_BEFORE.search(before) and MORE_BEHIND.match(line, end):
                yield start, end, ANNOUNCED
        for span in names_in_capitals(skeleton):
            yield *span, BARE

    def whole(self, start: int, end: int) -> Span | None:
        """Return a name without what introduces it, and with the words in capitals around it."""
        line = self.line
        while start < end and (match := LEAD.match(line, start, end)):
            start = match.end()
        if (mark := ENDS.search(line, start, end)) is not None:
            end = mark.start()
        words = list(WORD.finditer(line, start, end))
        words = words[: next((i for i, w in enumerate(words) if w[0] in FOLLOWS), len(words))]
        tall = [w for w in words if self._is_tall(w.start())]
        if tall and tall[0] is not words[0] and not self._house(start) and words[0][0] not in TITLES:
            words = words[words.index(tall[0]) :]
        if tall and tall[0] is words[0] and (len(tall) > 1 or line[: words[0].start()].strip()):
            words = words[: 1 + words.index(tall[-1])]
            rest = [w for w in words if w not in tall and w[0] not in JOINT]
            if rest and not self._house(words[0].start()):
                words = words[: words.index(rest[0])]
        while words and words[-1][0] in ENDINGS and words[-1] not in tall:
            words.pop()
        return self._grown(words[0].start(), words[-1]) if words else None

    def _grown(self, start: int, last: re.Match[str]) -> Span:
        line, end = self.line, last.end()
        if self._is_tall(last.start()):
            while (after := NEXT.match(line, end)) and self._is_tall(after.start("w")) and after["w"] not in LABELS:
                end = after.end()
        while before := BACK.search(line, max(0, start - 40), start):
            at = before.start("w")
            titled = before["w"] in NOISE or before["w"] in TITLES or is_work(before["w"])
            named = self._is_tall(at) and self._is_tall(start) and not titled
            if not named and not self._house(at):
                break
            start = at
        return start, end

    def _house(self, at: int) -> int:
        """Return where the word for a house ends that stands at a position, 0 for none."""
        match = next(filter(None, (p.match(self.line, at) for p in (RECIPIENT_NOUN, HOUSE, SHORT_HOUSE))), None)
        return match.end() if match is not None and match[0] not in TITLES else 0

    def may_be(self, span: Span, sure: float) -> bool:
        """Say whether a stretch may name somebody: no place, no work, nobody in general, not who writes."""
        line, (start, end) = self.line, span
        words = WORD.findall(line, start, end)
        house, small = self._house(start), not self._is_tall(start)
        own = WORD.findall(line, max(house, start), end)
        acronym = len(words) == 1 and end - start <= ACRONYM and self.skeleton.verbatim(start, end).isupper()
        acronym = acronym and INTRODUCED.search(line, max(0, start - BEFORE), start) is None
        if acronym or all(len(w) < FEWEST or w in NOBODY for w in own) or words[0] in NOBODY:
            return False
        before = line[max(0, start - BEFORE) : start]
        if OURS.search(before) or FOR_ANOTHER.search(before) or is_of_place(line, start) or STREET.match(line, start):
            return False
        if house or SUFFIX.search(line, start, end) or all(w in NOISE for w in words):
            return not all(w in NOISE for w in words)
        if small and (PLURAL.fullmatch(words[0]) or any(w in TALK for w in words)):
            return False  # "pra funcionários da obra": whom it served
        if small or len(words) == 1 or sure <= ANNOUNCED:
            works = is_work(words[0]) or PLACE.match(line, start, end) is not None
            return not works and (self.capitals or sure >= BARE)
        return True

    def stands(self, span: Span, sure: float) -> tuple[int, float]:
        """Return how well a name's place says that it is the customer's, 0 for not at all, and how sure it is."""
        start = span[0]
        before, enough = self.line[max(0, start - BEFORE) : start], sure >= ANNOUNCED
        if enough and self.document is not None and self._is_beside(span, before, self.document):
            return 3, sure
        if (street := BEHIND.search(before)) and STREET.match(
            self.skeleton.verbatim(at := start - len(street[0]), at + 1).lower()
        ):
            return 0, sure  # its quarter
        if ON_THE_WAY.search(before) or (WORKPLACE.match(self.line, start) and IN_OR_OF.search(before)):
            return 0, sure
        if enough and (INTRODUCED.search(before) or CALLED.search(before)):
            return 2, sure
        return int(sure >= (BARE if self.document is not None and self._is_tall(start) else ALONE)), sure

    def _is_beside(self, span: Span, before: str, document: int) -> bool:
        """Say whether a name stands before or behind the document; a word alone behind it ends there."""
        start, end = span
        if (after := DOCUMENT_AFTER.match(self.line, end)) and after.end() == document + 1:
            return True
        behind = DOCUMENT_BEFORE.search(before)
        alone = " " not in self.line[start:end] and LINE.match(self.line, end) is None
        return behind is not None and start - len(before) + behind.start() == document and not alone
