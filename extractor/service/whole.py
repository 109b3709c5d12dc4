"""Reads a service whole: the longest clean stretch around what the readers recognise of it.

What ends a service: marks and labels of other fields, orders, pauses.

Where a service begins and ends: the words at its edges that say nothing of what was done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from extractor.service.capitals import Span, tell_nothing
from extractor.text.marks import COMMAND, FUNCTION, GREETINGS, NOISE, POLITE, TALK, Kind, Mark, Skeleton, is_work
from extractor.words.lists import words

HARD: Final = frozenset({Kind.DOCUMENT, Kind.BROKEN, Kind.EMAIL, Kind.PHONE, Kind.HEADER, Kind.FOREIGN, Kind.MONEY})
# A line of a list may begin with a bullet or its number; a point may only shorten a word ("inst. de ar").
PAUSE: Final = re.compile(
    r"\s{0,9}(?:\n(?:\s{0,9}(?:[-*•·–]|N ?[-.)])\s{1,9})?|[;|!?✅✔☑👉➡→]|->|\.(?=\s|$)|,(?!\d)|\s[-/]\s|\+)\s{0,9}"
)
LONGEST_SHORT: Final = 6  # letters of an abbreviation
SHORTENED: Final = re.compile(r"(?:^|[^a-z])(?P<w>[a-z]{1,6})$")
FULL_WORDS: Final = re.compile(r"luz|gas|sol|mar|som|cor|lar|bar|gel|foz|giz|paz|cal|sal|mel|mes")
SHORT: Final = words("short_forms")
VOWEL_ENDING: Final = re.compile(r"[aeiou]s?$")
FIELD: Final = (
    r"(?:valor(?: total)?|preco|cnpj|cpf|documento|doc|email|e-mail|cliente|tomador|contratante|razao social|nome|"
    r"total|vencimento|vence|telefone|tel|celular|whatsapp|endereco|cep|contato|pix|chave|forma de pagamento|"
    r"pagamento|competencia|data|insc\w*|obs|observacao)"
)
NUMBERED: Final = (
    r"(?:valor(?: total)?|preco|total|cnpj|cpf|documento|doc|email|e-mail|telefone|celular|whatsapp|cep|pix|chave pix)"
)
# A label of another field ends a service: "valor: …", "cnpj D", "vence dia 10".
LABEL: Final = re.compile(
    rf"(?<![\w])(?:(?:o |no |do |e o )?{FIELD}\b(?=\s{{0,9}}[:=])"
    rf"|(?:(?:e |o |no |do |pelo )?\b{NUMBERED}(?: (?:total|de|do|da|dele|dela|eh|e|fica|foi|deu|ficou|final|combinado|"
    r"no|na|em|pra|para|cliente|tomador|numero|n[º°])){0,5}(?=\s{0,9}[DBEFVUN#]))|(?:(?:na |de |em )?(?:competencia|"
    r"data(?: d[eo] servico)?|dia d[eo] servico)\b(?: (?:de|do|da|em|eh|e))?\s?:?\s?[TMX])|(?:irrf|irpj|pis|cofins|"
    r"csll|inss|iss(?:qn)?|retencao|retido)\b(?=\s{0,3}[:=(]?\s?[VNP])|(?:vence|vencimento|vencendo|(?<!folha"
    r" de )pagamento|pix|chave pix|boleto)\b(?=\s(?:dia|em|no|na|para|pra|via|pelo|[TMNXE])))"
)
WHO: Final = re.compile(
    r"(?<![\w])(?:(?:pro |pra |para o |para a )(?:cliente|tomador|contratante)\b(?= \w)"
    r"|(?:cliente|tomador|contratante)\b(?= \w))(?<!ao cliente)(?<!de cliente)(?<!do cliente)"
)
TOLD: Final = re.compile(  # "o gerente pediu: palestra"
    r"(?<![^\n,.;])[^:\n,.;]{1,60}\b(?:pedi(?:u|ram)|fal(?:ou|aram)|quer|mandou): |\bid da transacao:? \S{1,40}"
)
ORDER: Final = re.compile(
    r"(?<![\w-])(?:(?:pode|poderia|consegue|quero|queria|preciso|precisava|gostaria|favor|por favor|vamos|vou|bora|"
    r"me)\s+(?:que\s+|de\s+|me\s+|ai\s+)?){0,3}(?:(?:emit\w+|faz\w*|faca|fez|ger\w+|tir[ae]\w*|mand[ae]\w*|"
    r"solt[ae]\w*|lanc\w+|cri[ae]\w*|segue|solicito|nova|outra)\s+)?(?:(?:ai|a|o|uma|um|pra|para|mim|me|essa|esta|"
    r"nova|aquela|minha|sua)\s+){0,4}(?:notas?(?:-e\b)?|notinha|nfe?|recibo)(?![a-z-]| d[eo] (?:empenho|debito|credito|"
    r"X))(?:\s+(?:fiscal|fiscais|eletronica|avulsa|nova|agora|hoje|ai|pra mim|para mim|pra gente|por favor))*"
)
OF_NOTES: Final = re.compile(r"\b(?:d[aeo]s?|com|por|emissao|lancamento|digitacao|em|a[os]?)\s$")


def is_abbreviated(line: str, pause: re.Match[str]) -> bool:
    """Say whether a point only shortens the word before it: "inst. de ar", "esp. 12 cm", "Av. Norte"."""
    if pause[0].strip(" ") != "." or "\n" in pause[0]:
        return False
    word = SHORTENED.search(line, max(0, pause.start() - LONGEST_SHORT - 1), pause.start())
    if word is None or pause.end() >= len(line):
        return False
    return (
        len(word["w"]) == 1
        or word["w"] in SHORT
        or (VOWEL_ENDING.search(word["w"]) is None and FULL_WORDS.fullmatch(word["w"]) is None)
    )


WORD: Final = re.compile(r"[a-z0-9$]+|[A-Z]")
# Function words that no service ends in, nor begins with.
JOINTS: Final = words("joints")
PRICED: Final = words("priced")
LABELS: Final = words("labels")
_OPENING: Final = JOINTS | PRICED | LABELS | words("announcing") | GREETINGS | POLITE | COMMAND | FUNCTION
BEFORE: Final = _OPENING - words("may_begin")
AFTER: Final = JOINTS | PRICED | LABELS | POLITE | words("closing")
# "serviço: …", "o serviço é …": a label, and no word of what was done
NAMED_SERVICE: Final = re.compile(
    r"servicos?\b\s{0,9}(?:[:=]|[-]\s|prestados?\b\s{0,9}:?|(?:eh|foi|sera|era)\b)\s{0,9}"
)
# Words after which a lone "a", "e" or "o" is a name: "bloco A", "turma E"
LETTERED: Final = re.compile(
    r"(?:bloco|sala|tipo|turma|classe|lote|quadra|categoria|modulo|serie|torre|ala|plano|grupo|nivel|vitamina|letra|casa|"
    r"perfil|padrao|anexo|faixa) [aeo]$"
)
PLACES: Final = words("places")
GLUED: Final = re.compile(r"[A-Z0-9][-/][a-z]$")  # "88127-A"
OF_WHAT: Final = re.compile(r"\b(?:d[aeo]s?|a|com|para|por|e) brigada$")  # "treinamento de brigada": no thanks
ABOUT_A_LABEL: Final = re.compile(r"\b(?:aos?|d[aeo]s?|com|por)\s\w+$")  # "atendimento ao cliente"
ADDS: Final = re.compile(r"mais [NV]\b")  # an amount
PLUS: Final = 3  # characters before a stretch in which its "+" may stand
POSTFIX: Final = re.compile(r"\b(?:pra|para) (?:mim|gente|nos|ele|ela|eles|elas)$")
# Words of a clause that tells something of people, where no reader takes it for the service.
TELLS: Final = re.compile(
    r"\b(?:eu|ele|ela|eles|elas|voce|vc|gente|dele|dela|deles|delas|quem|porque|pq|nao|mas|pag[aou]\w*|deu|disse|falou|"
    r"quer\w*|pediu|mand\w+|recebi|recebeu|sou|ja|ainda|depois|amanha|hoje|ontem|obrigad\w|valeu|favor)\b"
)


def trimmed(line: str, start: int, end: int, *, label: bool = False, goes_on: bool = False) -> tuple[int, int] | None:
    """Return ``line[start:end]`` without the words at its edges that are no part of a service, ``None`` for nothing.

    ``label``: the service was announced, so that only what no text begins with is left out. ``goes_on``: it continues
    another stretch, so that it may begin with any word.
    """
    words = list(WORD.finditer(line, start, end))
    opening = frozenset() if goes_on else JOINTS if label else BEFORE
    while words and (words[0][0] in opening or _is_day(line, words, goes_on=goes_on)) and not _is_thing(line, words[0]):
        words.pop(0)
    if words and not goes_on and (match := NAMED_SERVICE.match(line, words[0].start(), end)):
        words = [word for word in words if word.start() >= match.end()]
        while words and words[0][0] in BEFORE:
            words.pop(0)
    while words and _ends_in_nothing(line, start, words):
        words.pop()
    if not words:
        return None
    first, last = words[0].start(), words[-1].end()
    while last < end and line[last] in ")%\"'²³°ºª" and not (line[last] == ")" and "(" not in line[first:last]):
        last += 1
    if line[first - 1 : first] == "(" and ")" in line[first:last] and first > start:
        first -= 1
    if goes_on and "+" in line[max(0, first - PLUS) : first]:
        first = line.rindex("+", 0, first)
    return first, last


def _is_day(line: str, words: Sequence[re.Match[str]], *, goes_on: bool) -> bool:
    """Say whether a text begins with a day, which is the invoice's and no work: "18/11 corte de grama"."""
    return words[0][0] == "T" and len(words) > 1 and not goes_on and line[words[0].end()] == " "


ENGLISH: Final = re.compile(r" (?:an?|the|me|my|it|this|new|one|invoice)\b|\W{0,3}$")


def _is_thing(line: str, word: re.Match[str]) -> bool:
    """Say whether a word is one of work, or a command's that names a thing: "faca de corte"."""
    if word[0] in FUNCTION:
        return False
    if word[0] == "make":
        return ENGLISH.match(line, word.end()) is None
    return is_work(word[0]) or (word[0] in COMMAND and line.startswith(" de ", word.end()))


def _ends_in_nothing(line: str, start: int, words: list[re.Match[str]]) -> bool:
    """Say whether the last word says nothing of what was done."""
    last = words[-1]
    if GLUED.search(line, start, last.end()):
        return False
    if LETTERED.search(line, start, last.end()) or OF_WHAT.search(line, start, last.end()):
        return False
    if last[0] in LABELS and ABOUT_A_LABEL.search(line, start, last.end()):
        return False
    postfix = POSTFIX.search(line, words[max(0, len(words) - 2)].start(), last.end()) is not None
    return last[0] in AFTER or postfix or ADDS.match(line, last.start()) is not None


def has_substance(line: str, span: tuple[int, int]) -> bool:
    """Say whether a stretch says what was done: a word of work, or one that no order, greeting or label uses."""
    words = re.findall(r"[a-z]+", line[span[0] : span[1]])
    return any(is_work(word) or (len(word) > 2 and word not in NOISE) for word in words)  # noqa: PLR2004 - "kg" is none


def is_talk(line: str, span: tuple[int, int]) -> bool:
    """Say whether a stretch is conversation and no work."""
    words = re.findall(r"[a-z]+", line[span[0] : span[1]])
    if words and words[0] in PLACES:
        return False
    talk = sum(word in TALK for word in words if len(word) > 1)  # "classe I"
    return talk > 0 and not (words and is_work(words[0]))


PER_ONE: Final = re.compile(r" ?(?:por|a|o|/|cada|p/) ?(?P<one>[a-z]{4,20})\b")  # behind the price of one
COUNTED: Final = re.compile(r"N [a-z]")
UNDONE: Final = frozenset({Kind.BROKEN, Kind.FOREIGN})
SENTENCE: Final = re.compile(r"[.!?]")
# A part of a list that has no word of its own: "nível 2", "NR-12", "3 demãos", "outubro"
NAMED_BY_NUMBER: Final = re.compile(r"[XMPHT]|N\s?[a-z²³%]|[a-z]\s?[NT]|\d")
LISTED: Final = re.compile(r"\s{0,9}[NXTMPH]")
_DIGIT_LAST: Final = re.compile(r"[NXT]$")
NUMBERS: Final = re.compile(r"\s?[NXT](?:\s(?:e|a|ao)\s[NXT])?\s?")  # "nos dias 5, 12, 19 e 26/11", "rua Tal 310, 312"
BULLET: Final = re.compile(r"\n\s{0,9}(?:[-*•·–]|N ?[-.)])")
FIRST_BULLET: Final = re.compile(r"(?:^|[\n:VDN]\s{0,3})(?P<n>N ?[-.)])\s{1,9}$")
FEWEST_LINES: Final = 2  # behind the first line of a list
DETAIL: Final = re.compile(r":|[NXTMPH]")  # a line that says more of the service: "PEDIDO: 4500", "REF 05/2026"
# "carreto de 65 km R$ 815,00 CNPJ … com 3 ajudantes": a service that goes on behind another field
GOES_ON: Final = re.compile(
    r"[\s,;.)-]{0,5}(?:\+|(?:com|em|n[ao]s?|por|sem|conforme|entre|e|mais|ate|d[aeo]s?|todas?|todos?|dias?)\s|X"
    r"|N\s?(?:m2|m²|m³|m|km|h|horas?)(?!\w))"
)
PLACE_ALONE: Final = re.compile(  # "sala 302", "85 m²", "Rua das Flores, 120"
    r"[\s,;.-]{0,9}(?:[XN]|(?:sala|apto|apartamento|bloco|loja|andar|casa|quadra|lote|torre|bairro|rua|av|avenida|travessa|"
    r"praca)\b[^,;\n]{0,60}|N?\s?(?:m2|m²|m³|metros?|km|kg|litros?|horas?|unidades?))(?:[\s,;.-]{1,9}[NX])?[\s,;.-]{0,9}"
)
ANCHOR_SHARE: Final = 0.5  # of an anchor's characters that a piece must hold to be anchored by it
UNSURE: Final = 0.5  # how sure one reader's word is
LONGEST: Final = 200  # characters up to which a longer stretch weighs more


@dataclass(frozen=True, slots=True)
class Whole:
    """A service: its words as they stand on the invoice, and the stretches of the skeleton's line that they fill."""

    text: str
    typed: str  # of the first stretch
    spans: tuple[Span, ...]

    def holds(self, position: int) -> bool:
        """Say whether a position of the skeleton's line is in it."""
        return any(start <= position < end for start, end in self.spans)


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    anchored: float  # how sure the readers are that it is of the service; 0 where none says so
    pause: str  # what stands between it and the piece before: "" where a field does


def whole_service(
    skeleton: Skeleton,
    anchors: Sequence[tuple[int, int, float]],
    *,
    amounts: Sequence[Mark],
    names: Sequence[Span],
    label: int | None = None,
) -> Whole | None:
    """Return the longest clean stretch that holds the service, ``None`` where no stretch says what was done.

    ``anchors`` are stretches of ``line`` that a reader takes for the service, with how sure it is (0 to 1); ``amounts``
    are the marks of the invoice's amount, ``names`` stretches of ``line`` that name a customer. ``label`` is where a
    labelled service begins: it is taken from there on.
    """
    line = skeleton.line
    cuts = sorted(_cuts(skeleton, {skeleton.position(mark) for mark in amounts}, names, label))
    pieces = list(_pieces(line, cuts, anchors))
    if label is not None:
        pieces = [piece for piece in pieces if piece.end > label]
        if pieces:
            pieces[0] = _Piece(max(label, pieces[0].start), pieces[0].end, 1.0, "")
    said = label is not None
    runs = [(run, _spans(line, run, said)) for run in _linked(line, _groups(line, pieces, said))]
    runs = [(run, spans) for run, spans in runs if any(has_substance(line, span) for span in spans)]
    if not runs:
        return None
    best, spans = max(runs, key=lambda run: sum(_weight(skeleton, group) for group in run[0]))
    if not said and all(_names_no_work(skeleton, group) for group in best):
        return None
    return Whole(" ".join(_text(skeleton, span) for span in spans), skeleton.verbatim(*spans[0]), spans)


def _spans(line: str, run: Sequence[Sequence[_Piece]], said: bool) -> tuple[Span, ...]:
    found = (trimmed(line, g[0].start, g[-1].end, label=said, goes_on=bool(i)) for i, g in enumerate(run))
    spans = [span for span in found if span is not None]
    listed = any(BULLET.search(piece.pause) for group in run for piece in group)
    if spans and listed and (first := FIRST_BULLET.search(line, 0, spans[0][0])):
        spans[0] = first.start("n"), spans[0][1]
    return tuple(spans)


def _cuts(skeleton: Skeleton, taken: set[int], names: Sequence[Span], label: int | None) -> Iterator[Span]:
    line = skeleton.line
    numbered = any(mark.kind is Kind.DOCUMENT for mark in skeleton.marks)
    for pos, mark in skeleton.where.items():
        of_service = mark.kind in UNDONE and numbered  # "protocolo 20250088123", where the customer is known
        if pos in taken or (mark.kind in HARD and not of_service):
            per = PER_ONE.match(line, pos + 1)
            yield pos, per.end() if per and COUNTED.search(line, 0, pos) and per["one"][:4] in line[:pos] else pos + 1
    yield from names
    for pattern in (LABEL, WHO, TOLD):
        for match in pattern.finditer(line):
            yield match.span()
    for match in ORDER.finditer(line):
        of_notes = OF_NOTES.search(line, max(0, match.start() - 14), match.start())
        if not of_notes and (label is None or match.start() < label):
            yield match.span()


def _pieces(line: str, cuts: Sequence[Span], anchors: Sequence[tuple[int, int, float]]) -> Iterator[_Piece]:
    at, regions = 0, []
    for start, end in cuts:
        if start > at:
            regions.append((at, start))
        at = max(at, end)
    regions.append((at, len(line)))
    for a, b in regions:
        begin, pause, joined = a, "", False
        pauses = [m for m in PAUSE.finditer(line, a, b) if not is_abbreviated(line, m)]
        for stop, following, sign in [*((*m.span(), m[0]) for m in pauses), (b, b, "")]:
            if stop > begin and line[begin:stop].strip():
                yield _Piece(begin, stop, _anchored(begin, stop, anchors), pause if joined else "")
                pause, joined = "", True
            pause += sign
            begin = following


def _anchored(start: int, end: int, anchors: Sequence[tuple[int, int, float]]) -> float:
    inside = (sure for a, b, sure in anchors if min(b, end) - max(a, start) >= ANCHOR_SHARE * min(b - a, end - start))
    return max(inside, default=0.0)


def _groups(line: str, pieces: Sequence[_Piece], said: bool) -> list[list[_Piece]]:
    """Return runs of pieces that may be parts of one service, with no field between them.

    ``said``: it was announced, so that a list goes on whatever it names ("ensaios de 3, 10 e 17").
    """
    groups: list[list[_Piece]] = []
    last: _Piece | None = None
    for piece in pieces:
        listed = last is not None and piece.pause.strip() == ","
        if last is not None and listed and _goes_on(line, last, piece, said):
            groups[-1].append(piece)
            last = piece
            continue
        if not _may_be_service(line, piece):
            last = None
            continue
        if last is not None and _joins(line, last, piece):
            groups[-1].append(piece)
        else:
            groups.append([piece])
        last = piece
    return _with_first_lines(groups)


def _with_first_lines(groups: Sequence[list[_Piece]]) -> list[list[_Piece]]:
    """Return groups, a line that stands before the lines of a list with them: "RPG", "pilates", "massagem"."""
    joined: list[list[_Piece]] = []
    for group in groups:
        lines = len(group) >= FEWEST_LINES and all("\n" in piece.pause for piece in group)
        if lines and joined and len(joined[-1]) == 1 and joined[-1][0].end < group[0].start:
            joined[-1] += group
        else:
            joined.append(group)
    return joined


def _goes_on(line: str, last: _Piece, piece: _Piece, said: bool) -> bool:
    """Say whether a piece behind a comma is a further number of a list."""
    if said:
        return LISTED.match(line, piece.start, piece.end) is not None
    numbers = NUMBERS.fullmatch(line, piece.start, piece.end)
    return numbers is not None and _DIGIT_LAST.search(line, last.start, last.end) is not None


def _linked(line: str, groups: Sequence[list[_Piece]]) -> list[list[list[_Piece]]]:
    """Return groups with those that go on behind a field: "… de 65 km | R$ 815,00 | com 3 ajudantes"."""
    runs: list[list[list[_Piece]]] = []
    for group in groups:
        goes_on = GOES_ON.match(line, group[0].start) or "+" in line[max(0, group[0].start - PLUS) : group[0].start]
        if runs and goes_on and not TELLS.search(line, group[0].start, group[-1].end):
            runs[-1].append(group)
        else:
            runs.append([group])
    return runs


def _joins(line: str, before: _Piece, piece: _Piece) -> bool:
    """Say whether two pieces belong to one service: a list always, a sentence or a line where both are of it."""
    if not piece.pause:
        return False
    if before.anchored and piece.anchored:
        return True
    if any(_tells(line, p) for p in (before, piece) if not p.anchored):
        return False
    if ";" in piece.pause or BULLET.search(piece.pause):
        return True
    if SENTENCE.search(piece.pause):
        return _works(line, before) and _works(line, piece)
    if "\n" in piece.pause and "\n" not in before.pause:  # the second line says whether it is a list
        return _works(line, piece) or DETAIL.search(line, piece.start, piece.end) is not None
    return True


def _tells(line: str, piece: _Piece) -> bool:
    span = trimmed(line, piece.start, piece.end)
    return span is not None and TELLS.search(line, *span) is not None


def _may_be_service(line: str, piece: _Piece) -> bool:
    span = trimmed(line, piece.start, piece.end)
    if piece.anchored or span is None:
        return bool(piece.anchored)
    says = has_substance(line, span) or NAMED_BY_NUMBER.search(line, *span) is not None
    return says and not is_talk(line, span)


def _weight(skeleton: Skeleton, group: Sequence[_Piece]) -> float:
    start, end = group[0].start, group[-1].end
    sure = sum(piece.anchored for piece in group)
    works = any(_works(skeleton.line, piece) for piece in group)
    somebody = _names_no_work(skeleton, group)
    return 3 * sure + works - 2 * somebody + min(end - start, LONGEST) / (2 * LONGEST)


def _names_no_work(skeleton: Skeleton, group: Sequence[_Piece]) -> bool:
    """Say whether a stretch is a name, a place or a measure alone, and no reader is sure that it is the service."""
    start, end = group[0].start, group[-1].end
    if sum(piece.anchored for piece in group) > UNSURE or any(_works(skeleton.line, piece) for piece in group):
        return False
    return _is_name(skeleton, start, end) or PLACE_ALONE.fullmatch(skeleton.line, start, end) is not None


def _is_name(skeleton: Skeleton, start: int, end: int) -> bool:
    """Say whether a stretch is capitals only, as a name: "Edifício Solar do Parque"."""
    words = [w for w in skeleton.verbatim(start, end).split() if len(w) > 2 and w[0].isalpha()]  # noqa: PLR2004 - "do"
    if tell_nothing(skeleton.text.original):
        return False
    return len(words) > 1 and all(word[0].isupper() for word in words)


def _works(line: str, piece: _Piece) -> bool:
    return any(is_work(word) for word in re.findall(r"[a-z]+", line[piece.start : piece.end]))


def _text(skeleton: Skeleton, span: Span) -> str:
    text = ""
    for line in filter(None, (" ".join(line.split()) for line in skeleton.verbatim(*span).splitlines())):
        text += ("" if not text else " " if text[-1] in ",;:+-." else "; ") + line
    return text
