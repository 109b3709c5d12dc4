"""Reads what is asked about invoices already issued, or about Prosa itself.

Reads of which month or year a request speaks.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Final, Literal, get_args

from extractor.fields.clients import mentioned
from extractor.fields.dates import MONTHS
from extractor.requests.act_words import SHOWN
from extractor.text.folding import Cued, Text, read
from extractor.words.lists import words
from state_machine.values.documents import formata_documento
from state_machine.values.local_time import MesOuAno

LAST_MONTH: Final = 12
_NAMES: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
PERIOD: Final = (
    rf"(?:{_NAMES})\b|\b(?:0?[1-9]|1[0-2])/20\d\d\b|\b(?:d?[eo]ste |d?esse |neste |nesse |do |no |o )?(?:mes|ano)\b"
)
_NAMED: Final = re.compile(rf"\b(?P<mes>{_NAMES})\b(?:\W+(?:d[eo] )?(?P<ano>20\d\d))?")
_FIGURES: Final = re.compile(r"\b(?P<mes>0?[1-9]|1[0-2])/(?P<ano>20\d\d)\b")
_YEAR: Final = re.compile(
    r"\bano (?P<passado>passado|anterior)|\bano\b(?: de (?P<ano>20\d\d))?|\b(?:em|de) (?P<so>20\d\d)\b"
)
_MONTH_BEFORE: Final = re.compile(r"\bmes (?:passado|anterior)\b|\bultimo mes\b")
_THIS_MONTH: Final = re.compile(r"\bmes\b")


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


class RequestKind(StrEnum):
    """What a turn without invoice data asks for."""

    CANCELAR_NOTA = "cancelar_nota"  # one that was issued, never the one being made
    SEGUNDA_VIA = "segunda_via"
    MINHAS_NOTAS = "minhas_notas"
    STATUS = "status"
    ATENDENTE = "atendente"
    RETOMAR = "retomar"
    REPETIR = "repetir"
    PARAR = "parar"
    EMAIL = "email"  # what was issued, to an address
    TOTAL = "total"
    LIMITE_MEI = "limite_mei"


@dataclass(frozen=True, slots=True)
class Pedido:
    """A request, and what it names: an invoice by its number, kinds of files, clients as called, a month or a year.

    ``inteiro``: no word of the turn says anything else. ``documento`` is a client's, bare. ``emails``: where a mail
    shall go, as they were written.
    """

    tipo: RequestKind
    numero: str | None = None
    formatos: tuple[Formato, ...] = ("pdf",)
    clientes: tuple[str, ...] = ()
    quando: Quando | None = None
    inteiro: bool = field(default=False, compare=False)
    documento: str | None = None
    emails: tuple[str, ...] = ()

    @property
    def cliente(self) -> str | None:
        """The client as called, else by the document with its mask."""
        return self.clientes[0] if self.clientes else formata_documento(self.documento) if self.documento else None


_NUMBER: Final = (
    r"\b(?:notas?|nfs?-?e?|via d[ao])(?: fiscal)?(?: n(?:ro|um|umero|[.o°º])?\.?)? ?"
    rf"(?P<n>{SHOWN})\b(?![.,]\d)"
)
_NUMBERED: Final = re.compile(_NUMBER)
_FILES: Final = re.compile(r"\b(?:pdf|xml)\b")
_OF_FILE: Final = re.compile(rf"\b(?:pdf|xml|danfs?e) d[ao] (?:numero |n[.o°º]? ?)?(?P<n>{SHOWN})\b(?![.,/]\d)")
_PERIOD: Final = re.compile(PERIOD)
_DATED: Final = frozenset({RequestKind.TOTAL, RequestKind.MINHAS_NOTAS})
_ISSUED: Final = (
    r"(?:ja )?(?:emitida|autorizada|que (?:ja )?(?:saiu|foi (?:emitida|autorizada))|de ontem|anterior|"
    r"d[ao] (?:semana|mes) passad[ao]|passada)"
)
_FILE: Final = r"(?:pdf|xml|danfs?e)"
_ASK: Final = r"(?:manda\w*|envia\w*|reenvia\w*|quero|preciso|baix\w+|cade|perdi|passa)"
_SEND: Final = r"(?:manda\w*|envia\w*|reenvia\w*|passa\w*|encaminha\w*)"
_FOR_ME: Final = r"(?:me |ai |pra mim |por favor ){0,2}"
_THE_LAST: Final = r"(?:(?:a|essa|aquela|ultima|minha) ){0,2}"
_WHICH: Final = rf"(?: (?:fiscal|{SHOWN})){{0,2}}"
_OTHER_COPY: Final = r"(?:chaves?|placas?|carteir\w+|documentos?|certid\w+|diplomas?|crachas?|cartao|rg|cnh|boleto)\b"
_AGAIN: Final = r"(?:de novo|outra vez|novamente)"
# What the limit is for everybody is a question; how much of it is used or left is in the company's own records.
_USED: Final = r"(?:falta\w*|rest\w+|sobr\w+|cabe|usei|meu|perto|longe|passei|estour\w+)"
_PERSON: Final = r"(?:alguem|gente|(?:uma? )?pessoa|(?:o |um )?suporte)"
# The first that fits counts: "cancela a nota 12 e me manda o pdf" is about cancelling.
_KINDS: Final = tuple(
    (tipo, Cued(cues, "|".join(patterns)))
    for tipo, cues, patterns in (
        (
            RequestKind.CANCELAR_NOTA,
            "anu can est",
            (rf"\b(?:cancel\w*|anul\w*|estorn\w*)\b[^.\n]{{0,20}}(?:{_NUMBER}|\bnota {_ISSUED}\b)",),
        ),
        (
            RequestKind.RETOMAR,
            "des ret vol",
            (r"\b(?:retom\w+|desfa[zc]\w*|descancel\w+)\b", r"\bvolt\w+ (?:com |para )?(?:a|aquela|essa) nota\b"),
        ),
        (
            RequestKind.EMAIL,
            "enc env man pas ree",
            (
                rf"\b{_SEND}\b[^.\n@]{{0,30}}\b(?:por|pro|pra o|para o|no|ao|via|pelo) (?:e-?mail|email)\b(?! ?[:=])",
                rf"^\W*(?:\w+,? ){{0,3}}{_SEND} {_FOR_ME}{_THE_LAST}(?:nota{_WHICH} )?(?:para|pr[ao]) [^\s@]{{1,60}}@",
            ),
        ),
        (
            RequestKind.SEGUNDA_VIA,
            "dan pdf ree via xml man env pas",
            (
                rf"\b(?:segunda|2[ªa]?) via\b(?! d[aeo]s? {_OTHER_COPY})",
                rf"\b{_ASK}\b[^.\n]{{0,30}}\b{_FILE}\b",
                rf"\b{_FILE}\b[^.\n]{{0,25}}\b(?:de novo|outra vez|da nota)\b",
                r"\breenvi\w+\b[^.\n]{0,20}\bnota\b",
                rf"\b{_SEND}\b {_FOR_ME}{_THE_LAST}nota{_WHICH} {_AGAIN}\b(?!.*\d[.,]\d\d\b)",
                rf"^\W*(?:\w+,? ){{0,3}}{_SEND} (?:ela |ele |isso |tudo |pra mim |por favor ){{0,2}}{_AGAIN}\W*$",
            ),
        ),
        (
            RequestKind.LIMITE_MEI,
            "lim tet",
            (
                rf"\b{_USED}\b[^.\n]{{0,40}}\b(?:limite|teto)\b",
                rf"\b(?:limite|teto)\b[^.\n]{{0,40}}\b{_USED}\b",
            ),
        ),
        (
            RequestKind.TOTAL,
            "emi fat qua som tot ven",
            (
                r"\bquanto (?:que )?(?:eu |a gente |nos )?(?:ja )?(?:emiti|faturei|vendi|emitimos|faturamos)\b",
                rf"\b(?:total|soma|faturamento) (?:d[aeo] |deste |desse |em |no )?(?:{PERIOD})",
                r"\b(?:total|soma) (?:ja )?(?:emitido|faturado|d[ae]s (?:minhas )?notas)\b",
                r"\b(?:meu|o) faturamento\b",
            ),
        ),
        (
            RequestKind.MINHAS_NOTAS,
            "his lis min mos not qua ult ver",
            (
                rf"^\W*(?:as |minhas )?notas (?:d[aeo] |deste |desse |em )(?:{PERIOD})",
                r"\b(?:minhas|ultimas|list\w+|quais|ver|mostr\w+)\b[^.\n]{0,20}\bnotas\b",
                r"^\W*(?:o )?historico\b",
            ),
        ),
        (
            RequestKind.STATUS,
            "apr aut cad com foi ja kd ond pe qua sai sit sta",
            (
                r"\bstatus\b",
                r"\bsituacao d[ao](?:s)? (?:minha )?nota",
                r"\bnota\b[^.\n]{0,25}\b(?:saiu|foi emitida|autorizou|(?:foi )?aprovada)\b",
                r"\bja (?:saiu|emitiu|autorizou|foi emitida)\b",
                r"\b(?:cade|kd|onde (?:ta|esta)) (?:a )?(?:minha )?nota\b",
                r"\bem que pe\b",
                r"\bcomo (?:ta|esta|anda|ficou) (?:a |aquela )?(?:minha )?nota\b",
                r"\bquando (?:eh que )?(?:a )?(?:minha )?nota (?:sai|chega|vem|fica)\b",
                r"\bquando (?:eh que )?(?:sai|chega|vem|fica pronta) (?:a )?(?:minha )?nota\b",
            ),
        ),
        (
            RequestKind.ATENDENTE,
            "alg ate gen hum pes sup",
            (
                r"\b(?:atendente|humano)\b",
                rf"\b(?:falar|fala|conversar|chama\w*|transfer\w+|contato) (?:com )?{_PERSON}\b",
            ),
        ),
        (
            RequestKind.PARAR,
            "des lis men par rec sai sto uns",
            (
                r"^\W*(?:parar?|pare|sair|stop|descadastr\w+|unsubscribe)(?: por favor)?\W*$",
                r"\b(?:nao quero|para de|parem de)\b[^\n]{0,20}\b(?:receb|mensag)\w+",
                r"\b(?:tira|remov)\w*\b[^\n]{0,20}\b(?:da|dessa) lista\b",
            ),
        ),
    )
)


# A turn that only asks is made of these words and of what it names, in whatever order.
_BESIDE: Final = words("beside_a_register")
_NOTES: Final = words("notes_called")
_MANY: Final = _NOTES & {"notas", "nfs", "emissoes"}
_SUMS: Final = words("sums")
_MADE: Final = words("made")
_COME_TO: Final = words("came_to")
_LISTS: Final = words("listed")
_SENT: Final = words("sent")
_RESENDS: Final = frozenset(word for word in _SENT if word.startswith(("ree", "rem")))
_STANDS: Final = words("stands")
_OPEN: Final = frozenset(
    ("sai", "sair", "certo", "emitir", "houve", "aconteceu", "onde", "prefeitura", "receita", "quando", "ultima")
)
_ENDED: Final = _STANDS - _OPEN
_SOME_DOCUMENT: Final = re.compile(r"(?<![\w./-])[\w./-]{11,20}(?![\w./-])")
_NOTES_NUMBER: Final = re.compile(r"20\d{13}|20\d\d[/-]\d{1,11}")
_ADDRESS: Final = re.compile(r"[^\s@,;:<>()]{1,64}@[^\s@,;:<>()]{1,200}")
_BY_MAIL: Final = re.compile(r"\b(?:por|pro|pra o|para o|no|ao|via|pelo) (?:meu )?e-?mail\b", re.IGNORECASE)
_WHOEVER: Final = frozenset({"cliente", "mim", "ela", "ele", "email", "e-mail"})  # whom no name tells
_OF_CUSTOMER: Final = re.compile(r"\bnotas? d[ao] cliente\b")  # "pro cliente" orders one
_SAID_AGAIN: Final = re.compile(rf"\b{_AGAIN}\b")
_ITS_NUMBER: Final = re.compile(rf"\b[ao] (?:numero |n[.o°º]? ?)?(?P<n>{SHOWN})\b(?![.,/]\d)")
MOST_LETTERS: Final = 160  # of a turn that only asks
_TOKEN: Final = re.compile(r"\w+")
_PERIODS: Final = re.compile(
    rf"\b(?:{PERIOD})(?: (?:de |do ano )?20\d\d\b)?(?: (?:passad[ao]|anterior))?|\bultimo mes\b|\b(?:em|de) 20\d\d\b"
)
_NAME_END: Final = re.compile(rf"(?: (?:d[aeo]|em|n[ao]))* ?(?:{_PERIODS.pattern})")
_NAME_WORDS: Final = 4  # of a client's name in such a turn
_NO_NAMES: Final = _NOTES | _SUMS | _LISTS | _MADE | _STANDS | {"igual", "mesma", "mesmo", "cancelar", "eu"}
_AND: Final = ("e ", "e,")


def _unless_word(found: re.Match[str]) -> str:
    """Return nothing in place of a document; a word, or the number of a note, stays."""
    number = any(map(str.isdigit, found[0])) and not _NOTES_NUMBER.fullmatch(found[0])
    return " " if number else found[0]


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn's words without what it names: a month or a year, a note's number, clients."""

    said: frozenset[str]
    dated: bool
    again: bool
    numbered: bool
    named: bool
    documented: bool
    asks: bool

    def has(self, words: AbstractSet[str]) -> bool:
        """Say whether one of these is among them."""
        return not self.said.isdisjoint(words)


def _copies(turn: _Turn) -> bool:
    return not turn.dated and (turn.has(_RESENDS) or ((turn.again or turn.documented) and turn.has(_SENT)))


def _mails(turn: _Turn) -> bool:
    return "email" in turn.said and not turn.dated and (turn.numbered or _copies(turn)) and turn.has(_SENT - {"email"})


def _sums(turn: _Turn) -> bool:
    of_what = turn.dated or turn.has(_MADE | _MANY | {"agora", "hoje"}) or (turn.named and turn.has(_COME_TO))
    return not turn.numbered and not turn.again and of_what and turn.has(_SUMS - {"valor"})


def _lists(turn: _Turn) -> bool:
    many = turn.has(_MANY) and (turn.dated or turn.has(_MADE | _LISTS))
    return not turn.numbered and not turn.again and (many or (turn.dated and turn.has(_LISTS)))


def _stands(turn: _Turn) -> bool:
    of_note = turn.has(_NOTES)
    went_well = {"deu", "certo"} <= turn.said or (of_note and turn.has(_STANDS))
    return not turn.dated and ((turn.has(_ENDED) and (turn.asks or of_note)) or (turn.asks and went_well))


# The first of which all words are, beside those that say nothing, and which the turn means.
_WHOLE: Final = (
    (RequestKind.EMAIL, _SENT | _NOTES, _mails),
    (RequestKind.SEGUNDA_VIA, _SENT | _NOTES, _copies),
    (RequestKind.TOTAL, _SUMS | _MADE | _NOTES | _COME_TO, _sums),
    (RequestKind.MINHAS_NOTAS, _LISTS | _MADE | _NOTES, _lists),
    (RequestKind.STATUS, _STANDS | _NOTES, _stands),
)


def _only_asks(texto: str, plain: str) -> Pedido | None:
    """Return what a turn asks for of which no word says anything else, ``None`` where one does."""
    if len(plain) > MOST_LETTERS:
        return None
    whole = _ADDRESS.sub(" email ", plain).replace("e-mail", "email")
    left = _SOME_DOCUMENT.sub(_unless_word, whole)
    documented = left != whole and _OF_CUSTOMER.search(plain) is not None
    again, left = _SAID_AGAIN.search(left) is not None, _SAID_AGAIN.sub(" ", left)
    number = _NUMBERED.search(left) or _OF_FILE.search(left) or _ITS_NUMBER.search(left)
    if number:
        left = f"{left[: number.start('n')]} {left[number.end('n') :]}"
    dated, left = _PERIODS.search(left) is not None, _PERIODS.sub(" ", left)
    clientes = tuple(
        nome
        for each in mentioned(_ADDRESS.sub(" ", texto))
        if (nome := _NAME_END.split(read(each).plain)[0].strip()) and not (documented and nome in _WHOEVER)
    )
    for nome in clientes:
        if len(nome.split()) > _NAME_WORDS or not _NO_NAMES.isdisjoint(nome.split()):
            return None
        left = left.replace(nome, " ")
    said = frozenset(_TOKEN.findall(left))
    turn = _Turn(said, dated, again, number is not None, bool(clientes), documented, "?" in plain)
    own = said - _BESIDE
    if dated and turn.asks and not (own or again or number) and plain.lstrip().startswith(_AND):  # "e mês passado?"
        tipo: RequestKind | None = RequestKind.TOTAL
    else:
        tipo = next((tipo for tipo, known, means in _WHOLE if own <= known and means(turn)), None)
    if tipo is None:
        return None
    numero = as_number(number["n"]) if number else None
    formatos = tuple(each for each in get_args(Formato) if each in said) or ("pdf",)
    quando = read_period(plain) if tipo in _DATED else None
    return Pedido(tipo, numero, formatos, () if numero else clientes, quando, inteiro=True, emails=_addresses(texto))


def _addresses(texto: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.rstrip(".!?*_~'\"").lower() for found in _ADDRESS.findall(texto)))


def as_number(shown: str) -> str | None:
    """Return the number of a note as numbers are compared: no dots between thousands, no zeros before it."""
    return shown.replace(".", "").lstrip("0") or None


def read_request(texto: str, named: str | None = None, alvo: str | None = None) -> Pedido | None:
    """Return what a turn asks for, ``None`` when it asks for none of these. Repeating is an intent of its own.

    ``named`` is what a model says that the whole turn asks for, and ``alvo`` the words for its note, period or client.
    """
    text = read(texto)
    found = _only_asks(texto, text.plain) or _asks_among(texto, text)
    tipo = next((each for each in RequestKind if each == named), None)
    if tipo is None:
        return found
    pedido = found if found is not None and found.tipo is tipo else Pedido(tipo)
    numero, plain = pedido.numero, read(alvo or texto).plain
    if numero is None and (number := _NUMBERED.search(plain) or _OF_FILE.search(plain) or _ITS_NUMBER.search(plain)):
        numero = as_number(number["n"])
    clientes = () if numero else pedido.clientes or mentioned(_PERIODS.sub(" ", alvo or ""))
    quando = (pedido.quando or read_period(plain)) if tipo in _DATED else None
    return replace(pedido, numero=numero, clientes=clientes, quando=quando, inteiro=True)


def _asks_among(texto: str, text: Text) -> Pedido | None:
    for tipo, pattern in _KINDS:
        if pattern.search(text.plain, text.stems):
            said_of_it = _ADDRESS.sub(" email ", text.plain)  # "nfe1@padaria.com.br" is no number
            number = _NUMBERED.search(said_of_it) or _OF_FILE.search(said_of_it)
            if tipo is RequestKind.EMAIL:
                number = number or _ITS_NUMBER.search(said_of_it)  # "manda a 1 pro email dela"
            numero = as_number(number["n"]) if number else None
            of_file = tipo is RequestKind.SEGUNDA_VIA
            said = set(_FILES.findall(text.plain)) if of_file else set()
            formatos = tuple(each for each in get_args(Formato) if each in said)
            clientes = mentioned(texto) if of_file and numero is None else ()
            if tipo is RequestKind.EMAIL and numero is None:
                named = mentioned(_BY_MAIL.sub(", ", _ADDRESS.sub(" ", texto)))
                clientes = tuple(nome for nome in named if nome.lower().split()[0] not in _WHOEVER)
            quando = read_period(text.plain) if tipo in _DATED else None
            emails = _addresses(texto) if tipo is RequestKind.EMAIL else ()
            return Pedido(tipo, numero, formatos or ("pdf",), clientes, quando, emails=emails)
    return None


def without_requests(texto: str) -> str:
    """Return the folded words without those that ask for any of these, and without its number, months and years."""
    text = read(texto)
    asked = next((asks.pattern for _, asks in _KINDS if asks.search(text.plain, text.stems)), None)
    left = list(text.plain)
    for named in (asked, _NUMBERED, _OF_FILE, _PERIOD) if asked else ():
        for found in named.finditer(text.plain):
            left[found.start() : found.end()] = " " * len(found[0])
    return "".join(left)
