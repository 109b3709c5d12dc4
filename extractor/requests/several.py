"""Cuts a message that orders several invoices into a piece for each, where it is plain which words are whose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final

from extractor.contract import Extraction
from extractor.requests.yes_no import is_firm_yes, is_yes
from extractor.text.folding import read
from extractor.text.numerals import find
from state_machine.invoice.fields import Campo
from state_machine.values.documents import DocumentoInvalido, parse_documento

_DOCUMENT: Final = re.compile(
    r"(?<![\w.])(?:\d{2}\.?\d{3}\.?\d{3}/?\d{4}-?\d{2}|\d{3}\.?\d{3}\.?\d{3}-?\d{2}"
    r"|[\dA-Z]{2}\.[\dA-Z]{3}\.[\dA-Z]{3}/[\dA-Z]{4}-\d{2})(?!\w)",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(
    r"\n+|;|[,.]?\se\s(?:mais\s)?(?:(?:uma|a)\s)?(?:outra\s)?(?:nota\s)?(?:(?:de|no valor de)\s(?=r?\$?\s?\d))?"
    r"|[,.]\s(?:a\s)?outra\s(?:nota\s)?(?:de\s)?",
    re.IGNORECASE,
)
_STRONG: Final = ("\n", ";")  # where one of these stands, nothing weaker parts two invoices
# "… e outra de | 200 pro joão": where the next amount and whom it is for begin
_NEXT: Final = re.compile(
    r"(?:[,;.]?\s(?:e|mais)\s(?:mais\s)?(?:(?:uma|a)\s)?(?:outra\s)?(?:nota\s)?(?:de\s|no valor de\s)?"
    r"|[,;]\s(?:a\s)?(?:outra\s)?(?:nota\s)?(?:de\s)?|\n{1,3})"
    r"(?=(?:r\$\s?)?\d[\d.,]*\s?(?:reais\s)?(?:pra|pro|para|p/)\s)",
    re.IGNORECASE,
)
_WHOM: Final = re.compile(r"(?<![\d.,])\d[\d.,]*\s?(?:reais\s)?(?:pra|pro|para|p/)\s", re.IGNORECASE)
_HEAD: Final = re.compile(
    r"^.{0,40}?\b(?:duas|dois|tr[eê]s|quatro|cinco|v[aá]rias|umas|\d{1,2})\s+notas?\b(?:\s+fiscais)?[^:\n\d]{0,30}[:,\n-]*\s*"
    r"|^\W*(?:s[aã]o|quero|preciso\s+de)\s+(?:duas|tr[eê]s|quatro|cinco):\s*",
    re.IGNORECASE,
)
# "e mais uma de 200 pro joão" over an invoice that is being made
_ANOTHER: Final = re.compile(
    r"^\W*(?:(?:e|agora|depois|ah|opa|tamb[eé]m)\s+)*(?:(?:faz|fa[cç]a|emite|emita|quero|preciso(?:\s+de)?|manda|solta|gera)\s+)?"
    r"(?:mais\s+uma|(?:uma\s+)?outra)(?:\s+nota)?(?:\s+fiscal)?,?\s+"
    r"(?:(?:de|no\s+valor\s+de)\s+(?:r\$\s?)?\d|(?:pra|pro|para|p/)\s+\S)",
    re.IGNORECASE,
)
# "faz uma de 100 pra maria": an order with an amount and a customer of its own
_ORDERS_ONE: Final = re.compile(
    r"^\W*(?:(?:e|agora|depois|ah|opa|tamb[eé]m|ent[aã]o|me)\s+)*(?:faz|fa[cç]a|emite|emita|quero|preciso(?:\s+de)?|manda|"
    r"solta|gera)\s+(?:(?:a[ií]|me|pra\s+mim|logo|tamb[eé]m)\s+)*uma(?:\s+nota)?(?:\s+fiscal)?,?\s+"
    r"(?:(?:de|no\s+valor\s+de)\s+(?:r\$\s?)?\d[^\n]{0,40}?\s(?:pra|pro|para|p/)\s+\S"
    r"|(?:pra|pro|para|p/)\s+\S[^\n\d]{0,60}?\b(?:de|no\s+valor\s+de)\s+(?:r\$\s?)?\d)",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d[\d.,]*")
# "… e 200 pro mercado, aula", "…, as duas de comissão": what stands once behind all of them
# "notas:" over "padaria 300 panfletos" and "joão 200 aula"; the parts of one note stand under no such word
_LIST_HEAD: Final = re.compile(r"[^\d\n]{0,40}\bnotas\b[^\d\n]{0,30}", re.IGNORECASE)
_LINE: Final = re.compile(r"[^\W\d][^\d\n]{2,60}\s(?:r\$\s?)?\d", re.IGNORECASE)
_PRICED: Final = re.compile(r"\s{0,3}((?:r\$\s?)?(?<![\d.,])\d[\d.,]{0,15}k?\b(?:\sreais)?)\s{0,3}", re.IGNORECASE)
_BEHIND: Final = re.compile(
    r"(?:,\s+|\n)(?P<all>(?:(?:as|os|tod[ao]s|amb[ao]s)\s+){1,2}(?:(?:duas|dois|tr[eê]s|quatro|cinco)\s+)?(?:notas\s+)?"
    r"(?:(?:s[aã]o|foram|por|de)\s+)*)?(?P<service>(?!(?:d[aeo]s?|em|n[ao]s?|p(?:a)?r[ao]|com|que|e|mas|por|at[eé])\s)"
    r"[^,;\n\d]{3,80})$",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(r"[.,;:!\n]+\s*|\s(?:e|mas)\s")
_OF_FIELD: Final = r"(?:cpf|cnpj|documento|cliente|tomador|valor|preco|nome|servico)"
# What corrects the invoice at hand; some of the verbs are work too: "troca de óleo".
_CORRECTS: Final = re.compile(
    rf"\b{_OF_FIELD} (?:cert[oa]|corret[oa])\b|\b(?:cert[oa]|corret[oa]) (?:eh|seria)\b|\berrad[oa]\b|\berrei\b"
    r"|\bme enganei\b"
    r"|\bna verdade\b|\bnao\W{0,3}(?:eh|era|foi|mais|ess[ea]|isso)\b|\bem vez\b|\bno lugar\b|\bquer dizer\b"
    rf"|\bcorri[gj]\w+|\b(?:mud|tro[cq]|alter)\w+ (?:(?:o|a|esse|pra|para|pro) )*(?:{_OF_FIELD}\b|\d)"
)
_DENIES: Final = re.compile(r"\b(?:nao|nem|mas|sem|so que|menos|espera|calma)\b|\boutra coisa\b")
_NEXT_ONE: Final = re.compile(r"\b(?:outra|mais uma|proxima|depois|segunda nota|nova nota)\b")
COUNTS: Final = 10  # a smaller number in words counts something
MOST: Final = 10  # more are a list, and no message
MAX_CHARS: Final = 1500  # longer text is pasted matter


def split(texto: str) -> tuple[str, ...]:
    """Return a piece for each invoice, in the order of writing; none unless each has one amount and its customer.

    Customers are named by documents that are valid and differ, with exactly one place to cut between two of them; or
    each stands behind its own amount ("300 pra padaria e 200 pro joão cpf …"), or in its line of a list of notes.
    """
    if len(texto) > MAX_CHARS:
        return ()
    return _with_shared(_by_documents(texto) or _by_amounts(texto)) or _by_lines(texto)


def around(texto: str, spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return a piece around each of these spans; none unless one place to cut is between any two of them."""
    if not 1 < len(spans) <= MOST:
        return ()
    cuts: list[tuple[int, int]] = []
    for (_, end), (begin, _) in pairwise(spans):
        found = list(_BETWEEN.finditer(texto, end, begin))
        places = next(filter(None, ([m for m in found if m[0].startswith(mark)] for mark in _STRONG)), found)
        if len(places) != 1:
            return ()
        cuts.append(places[0].span())
    edges = [min(_start(texto), spans[0][0]), *(edge for cut in cuts for edge in cut), len(texto)]
    return tuple(texto[a:b].strip(" \n;,.") for a, b in zip(edges[::2], edges[1::2], strict=True))


def _start(texto: str) -> int:
    """Return where what is said of all ends ("faz duas notas: ")."""
    head = _HEAD.match(texto)
    return head.end() if head else 0


def _with_shared(pieces: tuple[str, ...]) -> tuple[str, ...]:
    """Give what is said once behind all pieces to each; behind one with its document it may be that one's alone."""
    behind = _BEHIND.search(pieces[-1]) if pieces else None
    if behind is None or any(re.search(r",\s", piece) for piece in pieces[:-1]):
        return pieces
    if not behind["all"] and any(map(_DOCUMENT.search, pieces)):
        return pieces
    bare = (*pieces[:-1], pieces[-1][: behind.start()])
    return tuple(f"{piece}, {behind['service']}" for piece in bare)


def _by_amounts(texto: str) -> tuple[str, ...]:
    start = _start(texto)
    cuts = [match.span() for match in _NEXT.finditer(texto, start)]
    edges = [start, *(edge for cut in cuts for edge in cut), len(texto)]
    pieces = [texto[a:b].strip(" \n;,.") for a, b in zip(edges[::2], edges[1::2], strict=True)]
    whole = all(_one_amount(piece) and _WHOM.search(piece) for piece in pieces)
    return tuple(pieces) if 1 < len(pieces) <= MOST and whole else ()


def _by_lines(texto: str) -> tuple[str, ...]:
    """Return the lines of a list that is headed as one of notes, each with a name and one amount."""
    head, _, body = texto.strip().partition("\n")
    lines = [line.strip(" -•*;,.") for line in body.splitlines() if line.strip(" -•*;,.")]
    listed = _LIST_HEAD.fullmatch(head) and 1 < len(lines) <= MOST
    if not listed or not all(_LINE.match(line) and _one_amount(line) for line in lines):
        return ()
    return tuple(_PRICED.sub(r", \1, ", line).strip(" ,") for line in lines)  # the number of a line is its amount


def _by_documents(texto: str) -> tuple[str, ...]:
    found = [match.span() for match in _DOCUMENT.finditer(texto, _start(texto))]
    pieces = around(texto, found) if _differ([texto[a:b] for a, b in found]) else ()
    return pieces if all(map(_one_amount, pieces)) else ()


def another(texto: str) -> str | None:
    """Return the words where they order one more invoice beside the one that is being made."""
    return texto.strip() if _ANOTHER.match(texto[:MAX_CHARS]) else None


def orders_one(texto: str) -> bool:
    """Say whether the words order an invoice with its amount and its customer, over a draft that has its own."""
    return _ORDERS_ONE.match(texto[:MAX_CHARS]) is not None


def may_be_another(texto: str, dados: Extraction, stands: str | None) -> bool:
    """Say whether words over a complete invoice may be about another one than that of the customer ``stands``.

    They name another customer's document beside an amount or a yes, and none of them corrects.
    """
    named = {c.valor for c in dados.candidates if c.campo is Campo.DOCUMENTO} | documents(texto)
    plain = read(texto).plain
    if not named - {stands} or (_CORRECTS.search(plain) and not _NEXT_ONE.search(plain)):
        return False
    amount = Campo.VALOR in {*(c.campo for c in dados.candidates), *(d.campo for d in dados.doubts)}
    bare = _DOCUMENT.sub(" ", texto)
    for said in (c.trecho for c in dados.candidates if c.campo is Campo.DOCUMENTO):
        bare = bare.replace(said, " ")
    return amount or bool(_NUMBER.search(bare)) or any(is_yes(read(each).plain) for each in _CLAUSE.split(texto))


def behind_yes(texto: str) -> str | None:
    """Return the order of one more invoice behind a plain yes to the one at hand, ``None`` where either is not clear.

    Nothing that follows the yes denies, waits or asks, and it says in words that it is another one.
    """
    first = _CLAUSE.search(texto)
    if first is None or not is_firm_yes(read(texto[: first.start()]).plain):
        return None
    rest = texto[first.end() :].strip()
    plain = read(rest).plain
    clear = _NEXT_ONE.search(plain) and not _DENIES.search(plain) and "?" not in plain
    return rest if clear and len(documents(rest)) == 1 and _NUMBER.search(_DOCUMENT.sub(" ", rest)) else None


def documents(texto: str) -> frozenset[str]:
    """Return the different valid documents of a message, bare."""
    found: set[str] = set()
    for match in _DOCUMENT.finditer(texto[:MAX_CHARS]):
        with suppress(DocumentoInvalido):
            found.add(str(parse_documento(match[0])))
    return frozenset(found)


def _differ(written: Sequence[str]) -> bool:
    try:
        bare = [str(parse_documento(each)) for each in written]
    except DocumentoInvalido:
        return False
    return len(set(bare)) == len(bare)


def _one_amount(piece: str) -> bool:
    left = _DOCUMENT.sub(" ", piece)
    return len(_NUMBER.findall(left) or [n for n in find(read(left).plain) if (n.value or 0) >= COUNTS]) == 1
