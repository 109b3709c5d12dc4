"""Reads a request to cancel an issued note, and the answers while it is talked about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from extractor.amounts.find import mark_amounts
from extractor.requests.recognisers import ABOUT, SHOWN
from extractor.requests.yes_no import is_no, is_yes
from extractor.text.folding import read
from extractor.text.marks import GREETING_LINE, Canvas, Skeleton
from extractor.words.lists import meanings, words


@dataclass(frozen=True, slots=True)
class PorNumero:
    """The note of this number, as it is shown, without dots."""

    numero: str


@dataclass(frozen=True, slots=True)
class PorValor:
    """The notes of exactly this value in BRL."""

    valor: Decimal


@dataclass(frozen=True, slots=True)
class PorCliente:
    """The notes to somebody, as the user calls them."""

    nome: str


@dataclass(frozen=True, slots=True)
class Ultima:
    """The newest note; one that is only pointed at ("essa") may be the invoice that is being made."""

    pointed: bool = False


@dataclass(frozen=True, slots=True)
class Qual:
    """Some note, nobody said which."""


Pedido = PorNumero | PorValor | PorCliente | Ultima | Qual

MAX_WORDS: Final = 16  # a request is short; longer words are a description, or a story
SIMILAR: Final = 85.0  # of 100: a name as people shorten and mistype it, still not somebody else's
_ORDERS: Final = tuple(meanings("cancel_orders"))
# One edit away from an order, and none: what is told about the past, or is not asked for.
_NOT_ORDERS: Final = words("no_cancel_orders")
_NOTE: Final = r"(?:notas?|ntoa|noat|nta|nfs[ -]?e|nf-?e?|nfs)(?:-e)?"
_OF_NOTE: Final = re.compile(
    rf"^(?:d?[aeo]s? |d?ess?[ae] |d?est[ae] |d?aquel[ae] |minha |uma |d?as? minhas? )*(?P<ultima>ultimas? )?{_NOTE}\b"
    r"(?: fiscal| fiscais| de servicos?)*(?P<resto>.*)$"
)
_DIRECT: Final = re.compile(rf"^(?:[ao] )?(?:n[o°º.]*|numero|num|#)?\s*({SHOWN}|\d[\d.]*)\W*$")
_NUMBER: Final = re.compile(
    rf"^\s{{0,9}}+(?:de )?(?:n[o°º.]{{0,3}}\s|n[°º.]|numero|num\.?|#)?\s{{0,9}}+#?({SHOWN}|\d[\d.]{{0,17}})"
    r"(?!\s{0,9}+(?:reais|,\d))\b\D{0,60}$"
)
_VALUE: Final = re.compile(
    r"^\s*(?:de|no valor de|do valor de|valor(?: de)?)\s+(?:r\$\s*)?(\d[\d.]*)(?:,(\d{1,2}))?\s*(?:reais)?"
    r"(?: (?:que (?:eu |ja |voce )*(?:saiu|foi|fiz|fez|emit\w+|mand\w+|acab\w+)|de (?:agora|hoje|ontem)|agora)\b.*)?"
    r"\W*$"
)
_LAST: Final = re.compile(
    r"^\s*(?:que )?(?:(?:eu |voce )?(?:acab\w+|mandei|mandou|emit\w+|fiz|fez|saiu|emitida)\b.*|mais recente|anterior|"
    r"passada|de agora(?: ha pouco)?|d[ae] ultima)\W*$"
)
_CLIENT: Final = re.compile(
    r"^\s*(?:(?:que )?(?:eu )?(?:emit\w+|fiz|mandei|fizemos)? ?(?:d[aeo]s?|pr[ao]s?|para(?: [aeo]s?)?|pel[ao]s?|[ao]) )"
    r"(?:cliente |empresa )?(?P<nome>\D{3,60}?)\W*$"
)
_NO_CLIENT: Final = re.compile(
    r"^(?:ontem|hoje|anteontem|mes\b.*|semana\b.*|teste|servicos?|novo|agora|mim|manha|tarde|ano\b.*|favor|"
    r"janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro)$"
)
_BEFORE: Final = re.compile(
    r"^(?:oi|ola|opa|ei|bom dia|boa tarde|boa noite|prosa|por favor|pfv?r?|favor|queria|quero|gostaria|preciso|"
    r"precisava|tenho|que|de|pode|poderia|consegue|consigo|posso|tem como|da para|da pra|eu|me|vou|ter|"
    r"pedir|solicitar|solicito|fazer|faz|o|um|urgente|entao|ah|agora|voce|ajuda a|a)(?=\W|$)"
)
_MARKS_END: Final = re.compile(r"(?<!\W)\W++$")
_POLITE_END: Final = re.compile(
    r"(?:(?:^|\W{1,9})(?:por favor|pra mim|agora|urgente|obrigado|valeu|pfv?r?|hoje mesmo)){1,6}$"
)
_EDGES: Final = " .,;:!?-"
# Why, behind what is named: "cancela a nota da padaria, o valor saiu errado".
_REASON: Final = re.compile(
    r"\s?[,;]\s{1,3}(?=\D)|\s(?=(?:porque|pois|ja que|pq|por que|por (?:erro|engano|causa)|que o cliente)\b)"
)
_POINTED: Final = re.compile(r"^(?:ess[ae]|est[ae]|isso|el[ae])(?: (?:ai|aqui|agora))?$")
_NAMELESS: Final = re.compile(r"^(?:[ao]|ess[ae]|aquel[ae])(?P<resto> (?:d[aeo]s?|no valor de|pr[ao]s?|para) .*)$")
_WISH: Final = re.compile(r"\b(?:quero|queria|preciso|precisava|gostaria)\b")
# What is asked about cancelling, and orders none.
_ASKS: Final = re.compile(
    r"\b(?:quant[oa]s?|ate (?:quando|que dia)|prazo|que acontece|multa)\b|"
    r"^\W*(?:\w+ ){0,2}(?:posso|consigo|da p(?:ra|ara)|tem como|eh possivel)\b.*\?\W*$"
)
_HOW: Final = re.compile(r"^\W*(?:como|quando|qual|quanto|por ?que|pq|onde|ate quando|qual o prazo)\b")
_DOCUMENT: Final = re.compile(
    r"(?<!\d)(?:\d{3}\.?\d{3}\.?\d{3}-?\d{2}|[\da-z]{2}\.?[\da-z]{3}\.?[\da-z]{3}/?\d{4}-?\d{2})(?!\d)"
)
_NEW_NOTE: Final = re.compile(
    r"^\W*(?:(?:faz|faca|fazer|emite|emita|emitir|gera|gerar|manda|quero|preciso de|nova|outra)\s+)?"
    r"(?:uma |outra |nova )*nota (?:de|no valor de) (?:r\$ ?)?\d"
)
_KEEPS: Final = re.compile(
    r"^\W*(?:nao cancel\w+(?: (?:nao|mais|a nota|nada|ela))*|deix[ae] (?:pra|para) la|deix[ae] quieto|"
    r"deix[ae] como esta|desist[io](?:r)?|esquec[ea]|melhor nao|mudei de ideia|nao quero(?: mais)?|"
    r"nao quero(?: mais)? cancelar|deix[ae] (?:a nota|ela)|mantem|manter|mantenha|deixa)"
    r"(?: (?:a nota|d[eo] cancel(?:ar|amento)|por favor|nao|obrigado|valeu|mesmo|entao))*\W*$"
)


def request(texto: str) -> Pedido | None:
    """Return which issued note the user wants cancelled, ``None`` when the words ask for no such thing.

    A reason may stand behind what is named, and does not count.

    "cancela" alone is none: it gives up what is being talked about. Nor is what tells of a cancellation, denies one,
    asks how it is done, or stands inside a longer order.
    """
    words = read(texto).plain.split()
    if len(words) > MAX_WORDS:
        return None
    whole = plain = " ".join(words)
    while found := _BEFORE.match(plain := plain.lstrip(_EDGES)):
        plain = plain[found.end() :]
    verb, _, after = plain.partition(" ")
    if not _is_order(verb.strip(".,;:!?")) or _HOW.search(whole) or _DOCUMENT.search(whole):
        return None
    after = re.sub(r"^(?:pra mim|por favor|ai|entao|para mim|logo) ", "", after)
    after, *reason = _REASON.split(after, maxsplit=1)
    after = _POLITE_END.sub("", _MARKS_END.sub("", after))
    pedido = _named(after, reasoned=bool(reason), wished=bool(_WISH.search(whole[: whole.find(verb)])))
    asks = _ASKS.search(whole if not reason else whole[: whole.find(after) + len(after)])
    asked = asks or ABOUT.pattern.search(whole)  # "cancelar a nota tem custo"
    return None if asked and not isinstance(pedido, PorNumero) else pedido


def _named(after: str, *, reasoned: bool, wished: bool) -> Pedido | None:
    """Return the note that these words name; without the word "nota" only what no open invoice could be meant by."""
    direct = _DIRECT.match(after)
    if direct:
        return PorNumero(_shown(direct[1]))
    if not after:
        return Qual() if wished else None
    if reasoned and _POINTED.match(after):
        return Ultima(pointed=True)
    named = _OF_NOTE.match(after)
    if named is None and (nameless := _NAMELESS.match(after)):
        return _which(nameless["resto"])
    if named is None:
        return Ultima() if re.fullmatch(r"(?:d?a |ess[ae] )?ultima", after) else None
    return Ultima() if named["ultima"] else _which(named["resto"])


def _which(resto: str) -> Pedido:
    if not resto.strip(" .!?"):
        return Qual()
    if found := _VALUE.match(resto):
        return PorValor(Decimal(f"{found[1].replace('.', '')}.{found[2] or '00'}").quantize(Decimal("0.01")))
    if found := _NUMBER.match(resto):
        return PorNumero(_shown(found[1]))
    found = _CLIENT.match(resto)
    if found and not _NO_CLIENT.match(found["nome"].strip()):
        return PorCliente(found["nome"].strip())
    return Ultima() if _LAST.match(resto) else Qual()


def _shown(number: str) -> str:
    return number.replace(".", "")


def _is_order(word: str) -> bool:
    if word in _ORDERS:
        return True
    if len(word) < 6 or word in _NOT_ORDERS:  # noqa: PLR2004 - shorter words have too many neighbours
        return False
    return any(OSA.distance(word, order, score_cutoff=1) <= 1 for order in _ORDERS)


def keeps(texto: str) -> bool:
    """Say whether these words let the note stand; "cancela" is none, it could mean either."""
    plain = " ".join(read(texto).plain.split())
    return is_no(plain) or bool(_KEEPS.match(plain))


def too_vague(texto: str) -> bool:
    """Say whether these words are a yes, "cancela" alone or an amount: no reason, and no confirmation either."""
    plain = " ".join(read(texto).plain.split())
    words = plain.strip(" .!?").split()
    return is_yes(plain) or _is_amount(texto) or (len(words) <= 2 and bool(words) and _is_order(words[0]))  # noqa: PLR2004 - "cancela logo"


def is_greeting(texto: str) -> bool:
    """Say whether the words greet, and nothing else."""
    return GREETING_LINE.fullmatch(read(texto).plain.strip(" .!?,\n")) is not None


def _is_amount(texto: str) -> bool:
    canvas = Canvas(read(texto))
    mark_amounts(canvas)
    line = Skeleton(canvas.text, canvas.marks).line
    return bool(canvas.marks) and all(word in _MONEY for word in re.findall(r"[a-z]+", line))


def begins_a_note(texto: str) -> bool:
    """Say whether the words order a new invoice, so that they answer no question about an old one."""
    return bool(_NEW_NOTE.match(read(texto).plain))


def similar(nome: str, tomadores: Sequence[str | None]) -> list[int]:
    """Return the places of the clients whose name the user may mean, however shortened or mistyped."""
    wanted = _folded(nome)
    return [place for place, tomador in enumerate(tomadores) if tomador and _alike(wanted, _folded(tomador))]


def _alike(wanted: str, name: str) -> bool:
    words = [word for word in wanted.split() if word not in _PARTICLES]
    known = name.split()
    return bool(words) and all(any(fuzz.ratio(word, other) >= SIMILAR for other in known) for word in words)


_MONEY: Final = frozenset({"r", "reais", "real", "conto", "contos", "pila", "pilas", "e", "de", "por", "favor"})
_PARTICLES: Final = frozenset({"da", "de", "do", "das", "dos", "a", "o", "as", "os", "e", "ltda", "me", "sa"})


def _folded(texto: str) -> str:
    return " ".join(re.findall(r"\w+", read(texto).plain))
