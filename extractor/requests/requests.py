"""Reads what is asked about invoices already issued, or about Prosa itself.

Reads of which month or year a request speaks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final, Literal, get_args

from extractor.contract import RequestKind
from extractor.fields.clients import mentioned
from extractor.fields.dates import MONTHS
from extractor.requests import recognisers as table
from extractor.text.folding import Cued, Text, read
from state_machine.values.documents import formata_documento
from state_machine.values.local_time import MesOuAno

LAST_MONTH: Final = 12
_NAMED: Final = re.compile(rf"\b(?P<mes>{table.MONTH})\b(?:\W+(?:d[eo] )?(?P<ano>20\d\d))?")
_FIGURES: Final = re.compile(r"\b(?P<mes>0?[1-9]|1[0-2])/(?P<ano>20\d\d)\b")
_YEAR: Final = re.compile(
    r"\bano (?P<passado>passado|anterior)|\bano\b(?: de (?P<ano>20\d\d))?|\b(?:em|de) (?P<so>20\d\d)\b"
)
_MONTH_BEFORE: Final = re.compile(r"\bmes (?:passado|anterior)\b|\bultimo mes\b")
_THIS_MONTH: Final = re.compile(r"\b(?:mes|semana)\b")  # notes are of a month: its answer names it


@dataclass(frozen=True, slots=True)
class Quando:
    """A month or a year as it was said; ``ano`` ``None``: the newest one that is not in the future."""

    mes: int | None = None
    ano: int | None = None
    atras: int | None = None  # so many months (with ``mensal``) or years ago
    mensal: bool = False

    def em(self, hoje: date) -> MesOuAno:
        """Return the period that is meant on a day."""
        if self.mes:
            return MesOuAno(self.ano or hoje.year - (self.mes > hoje.month), self.mes)
        if self.ano:
            return MesOuAno(self.ano)
        if not self.mensal:
            return MesOuAno(hoje.year - (self.atras or 0))
        meses = hoje.year * LAST_MONTH + hoje.month - 1 - (self.atras or 0)
        return MesOuAno(meses // LAST_MONTH, meses % LAST_MONTH + 1)


def read_period(plain: str) -> Quando | None:
    """Return the month or year that folded words name, ``None`` when they name none."""
    if named := _FIGURES.search(plain):
        return Quando(int(named["mes"]), int(named["ano"]))
    if named := _NAMED.search(plain):
        return Quando(MONTHS[named["mes"]], int(named["ano"]) if named["ano"] else None)
    if _MONTH_BEFORE.search(plain):
        return Quando(atras=1, mensal=True)
    if year := _YEAR.search(plain):
        said = year["ano"] or year["so"]
        return Quando(ano=int(said)) if said else Quando(atras=1 if year["passado"] else 0)
    return Quando(atras=0, mensal=True) if _THIS_MONTH.search(plain) else None


Formato = Literal["pdf", "xml"]


@dataclass(frozen=True, slots=True)
class Pedido:
    """A request, and what it names: an invoice by its number, kinds of files, clients as called, a month or a year.

    ``inteiro``: no word of the turn says anything else. ``documento`` is a client's, bare. ``emails``: where a mail
    shall go, as they were written. ``contador``: it is for the accountant.
    """

    tipo: RequestKind
    numero: str | None = None
    formatos: tuple[Formato, ...] = ("pdf",)
    clientes: tuple[str, ...] = ()
    quando: Quando | None = None
    inteiro: bool = field(default=False, compare=False)
    documento: str | None = None
    emails: tuple[str, ...] = ()
    contador: bool = False

    @property
    def cliente(self) -> str | None:
        """The client as called, else by the document with its mask."""
        return self.clientes[0] if self.clientes else formata_documento(self.documento) if self.documento else None


_NUMBERED: Final = re.compile(table.NUMBER)
_FILES: Final = re.compile(r"\b(?:pdf|xml)\b")
_OF_FILE: Final = re.compile(rf"\b(?:pdf|xml|danfs?e) d[ao] (?:numero |n[.o°º]? ?)?(?P<n>{table.SHOWN})\b(?![.,/]\d)")
_PERIOD: Final = re.compile(table.PERIOD)
_FOR_ACCOUNTANT: Final = re.compile(rf"\b{table.ACCOUNTANT}")
_ONLY_BY_WORDS: Final = frozenset({RequestKind.CLIENTES, RequestKind.MAIOR})  # no model has a name for these
_DATED: Final = frozenset(row.wants for row in table.REQUESTS if "quando" in row.carries) | _ONLY_BY_WORDS
_SOME_DOCUMENT: Final = re.compile(r"(?<![\w./-])[\w./-]{11,20}(?![\w./-])")
_NOTES_NUMBER: Final = re.compile(r"20\d{13}|20\d\d[/-]\d{1,11}")
_ADDRESS: Final = re.compile(r"[^\s@,;:<>()]{1,64}@[^\s@,;:<>()]{1,200}")
_BY_MAIL: Final = re.compile(r"\b(?:por|pro|pra o|para o|no|ao|via|pelo) (?:meu )?e-?mail\b", re.IGNORECASE)
_WHOEVER: Final = frozenset({"cnpj", "cpf", "cliente", "mim", "ela", "ele", "email", "e-mail"})  # whom no name tells
_OF_CUSTOMER: Final = re.compile(r"\bnotas? d[ao] cliente\b")  # "pro cliente" orders one
_SAID_AGAIN: Final = re.compile(rf"\b{table.AGAIN}\b")
_ITS_NUMBER: Final = re.compile(rf"\b[ao] (?:numero |n[.o°º]? ?)?(?P<n>{table.SHOWN})\b(?![.,/]\d)")
MOST_LETTERS: Final = 160  # of a turn that only asks
_TOKEN: Final = re.compile(r"\w+")
_PERIODS: Final = re.compile(
    rf"\b(?:{table.PERIOD})(?: (?:de |do ano )?20\d\d\b)?(?: (?:passad[ao]|anterior))?"
    r"|\bultimo mes\b|\b(?:em|de) 20\d\d\b"
)
_NAME_END: Final = re.compile(rf"(?: (?:d[aeo]|em|n[ao]))* ?(?:{_PERIODS.pattern})")
_NAME_WORDS: Final = 4  # of a client's name in such a turn


def _unless_word(found: re.Match[str]) -> str:
    """Return nothing in place of a document; a word, or the number of a note, stays."""
    number = any(map(str.isdigit, found[0])) and not _NOTES_NUMBER.fullmatch(found[0])
    return " " if number else found[0]


def _only_asks(texto: str, text: Text) -> Pedido | None:
    """Return what a turn asks for of which no word says anything else, ``None`` where one does."""
    plain = text.plain
    if len(plain) > MOST_LETTERS:
        return None
    whole = _ADDRESS.sub(" email ", plain).replace("e-mail", "email")
    left = _SOME_DOCUMENT.sub(_unless_word, whole)
    by_number = left != whole
    documented = by_number and _OF_CUSTOMER.search(plain) is not None
    again, left = _SAID_AGAIN.search(left) is not None, _SAID_AGAIN.sub(" ", left)
    number = _NUMBERED.search(left) or _OF_FILE.search(left) or _ITS_NUMBER.search(left)
    if number:
        left = f"{left[: number.start('n')]} {left[number.end('n') :]}"
    dated, left = _PERIODS.search(left) is not None, _PERIODS.sub(" ", left)
    clientes = tuple(
        nome
        for each in mentioned(_ADDRESS.sub(" ", texto))
        if (nome := _NAME_END.split(read(each).plain)[0].strip())
        and not (by_number and nome in _WHOEVER)
        and not set(nome.split()) <= table.BESIDE | table.ACCOUNTANTS
    )
    for nome in clientes:
        if len(nome.split()) > _NAME_WORDS or not table.NO_NAMES.isdisjoint(nome.split()):
            return None
        left = left.replace(nome, " ")
    said = frozenset(_TOKEN.findall(left))
    turn = (said, dated, again, number is not None, bool(clientes), documented, "?" in plain)
    row = table.first(table.ONLY_ASKS, table.WordsLeft(plain, text.stems, *turn))
    if row is None:
        return None
    numero = as_number(number["n"]) if number else None
    formatos = tuple(each for each in get_args(Formato) if each in said) or ("pdf",)
    quando = read_period(plain) if row.wants in _DATED else None
    emails = _addresses(texto)
    return Pedido(row.wants, numero, formatos, () if numero else clientes, quando, inteiro=True, emails=emails)


def _addresses(texto: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.rstrip(".!?*_~'\"").lower() for found in _ADDRESS.findall(texto)))


def as_number(shown: str) -> str | None:
    """Return the number of a note as numbers are compared: no dots between thousands, no zeros before it."""
    return shown.replace(".", "").lstrip("0") or None


def read_request(texto: str, named: str | None = None, alvo: str | None = None) -> Pedido | None:
    """Return what a turn asks for, ``None`` when it asks for none of these. Repeating is an intent of its own.

    ``named`` is what a model says that the whole turn asks for, and ``alvo`` the words for its note, period or client.
    """
    pedido = _read(texto, named, alvo)
    if pedido is None or pedido.tipo is not RequestKind.FECHAMENTO:
        return pedido
    return replace(pedido, contador=_FOR_ACCOUNTANT.search(read(texto).plain) is not None)


def _read(texto: str, named: str | None, alvo: str | None) -> Pedido | None:
    text = read(texto)
    found = _only_asks(texto, text) or _asks_among(texto, text)
    tipo = next((each for each in RequestKind if each == named), None)
    if tipo is None or (found is not None and found.tipo in _ONLY_BY_WORDS):
        return found
    pedido = found if found is not None and found.tipo is tipo else Pedido(tipo)
    numero, plain = pedido.numero, read(alvo or texto).plain
    if numero is None and (number := _NUMBERED.search(plain) or _OF_FILE.search(plain) or _ITS_NUMBER.search(plain)):
        numero = as_number(number["n"])
    clientes = () if numero else pedido.clientes or mentioned(_PERIODS.sub(" ", alvo or ""))
    quando = (pedido.quando or read_period(plain)) if tipo in _DATED else None
    return replace(pedido, numero=numero, clientes=clientes, quando=quando, inteiro=True)


def _asks_among(texto: str, text: Text) -> Pedido | None:
    row = table.first(table.REQUESTS, text)
    if row is None:
        return None
    said_of_it = _ADDRESS.sub(" email ", text.plain)  # "nfe1@padaria.com.br" is no number
    number = _NUMBERED.search(said_of_it) or _OF_FILE.search(said_of_it)
    clientes: tuple[str, ...] = ()
    if "emails" in row.carries:
        number = number or _ITS_NUMBER.search(said_of_it)  # "manda a 1 pro email dela"
        named = mentioned(_BY_MAIL.sub(", ", _ADDRESS.sub(" ", texto)))
        clientes = tuple(nome for nome in named if nome.lower().split()[0] not in _WHOEVER)
    elif "clientes" in row.carries:
        clientes = mentioned(texto)
    numero = as_number(number["n"]) if number else None
    said = set(_FILES.findall(text.plain)) if "formatos" in row.carries else set()
    formatos = tuple(each for each in get_args(Formato) if each in said) or ("pdf",)
    quando = read_period(text.plain) if "quando" in row.carries else None
    emails = _addresses(texto) if "emails" in row.carries else ()
    return Pedido(row.wants, numero, formatos, () if numero else clientes, quando, emails=emails)


def without_requests(texto: str) -> str:
    """Return the folded words without those that ask for any of these, and without its number, months and years."""
    text = read(texto)
    row = table.first(table.REQUESTS, text)
    asked = row.says.pattern if row and isinstance(row.says, Cued) else None
    left = list(text.plain)
    for named in (asked, _NUMBERED, _OF_FILE, _PERIOD) if asked else ():
        for found in named.finditer(text.plain):
            left[found.start() : found.end()] = " " * len(found[0])
    return "".join(left)
