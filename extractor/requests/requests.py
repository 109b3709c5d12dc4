"""Reads what is asked about invoices already issued, or about Prosa itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, get_args

from extractor.fields.clients import mentioned
from extractor.requests.period import PERIOD, Quando, read_period
from extractor.text.cues import Cued
from extractor.text.folding import read

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
    """A request, and what it names: an invoice by its number, kinds of files, clients as called, a month or a year."""

    tipo: RequestKind
    numero: str | None = None
    formatos: tuple[Formato, ...] = ("pdf",)
    clientes: tuple[str, ...] = ()
    quando: Quando | None = None


_NUMBER: Final = (
    r"\b(?:notas?|nfs?-?e?|via d[ao])(?: fiscal)?(?: n(?:ro|um|umero|[.o°º])?\.?)? ?"
    r"(?P<n>\d{1,3}(?:\.\d{3})+|\d{1,15})\b(?![.,]\d)"
)
_NUMBERED: Final = re.compile(_NUMBER)
_FILES: Final = re.compile(r"\b(?:pdf|xml)\b")
_OF_FILE: Final = re.compile(r"\b(?:pdf|xml|danfs?e) d[ao] (?:numero |n[.o°º]? ?)?(?P<n>\d{1,15})\b(?![.,/]\d)")
_PERIOD: Final = re.compile(PERIOD)
_DATED: Final = frozenset({RequestKind.TOTAL, RequestKind.MINHAS_NOTAS})
_ISSUED: Final = (
    r"(?:ja )?(?:emitida|autorizada|que (?:ja )?(?:saiu|foi (?:emitida|autorizada))|de ontem|anterior|"
    r"d[ao] (?:semana|mes) passad[ao]|passada)"
)
_FILE: Final = r"(?:pdf|xml|danfs?e)"
_ASK: Final = r"(?:manda\w*|envia\w*|reenvia\w*|quero|preciso|baix\w+|cade|perdi|passa)"
_SEND: Final = r"(?:manda\w*|envia\w*|reenvia\w*|passa\w*)"
_FOR_ME: Final = r"(?:me |ai |pra mim |por favor ){0,2}"
_THE_LAST: Final = r"(?:(?:a|essa|aquela|ultima|minha) ){0,2}"
_WHICH: Final = r"(?: (?:fiscal|\d{1,15})){0,2}"
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
            "env man pas ree",
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


def read_request(texto: str) -> Pedido | None:
    """Return what a turn asks for, ``None`` when it asks for none of these. Repeating is an intent of its own."""
    text = read(texto)
    for tipo, pattern in _KINDS:
        if pattern.search(text.plain, text.stems):
            number = _NUMBERED.search(text.plain) or _OF_FILE.search(text.plain)
            numero = number["n"].replace(".", "").lstrip("0") or None if number else None
            of_file = tipo is RequestKind.SEGUNDA_VIA
            said = set(_FILES.findall(text.plain)) if of_file else set()
            formatos = tuple(each for each in get_args(Formato) if each in said)
            clientes = mentioned(texto) if of_file and numero is None else ()
            quando = read_period(text.plain) if tipo in _DATED else None
            return Pedido(tipo, numero, formatos or ("pdf",), clientes, quando)
    return None


def without_requests(texto: str) -> str:
    """Return the folded words without those that ask for any of these, and without its number, months and years."""
    text = read(texto)
    asked = next((asks.pattern for _, asks in _KINDS if asks.search(text.plain, text.stems)), None)
    left = list(text.plain)
    for words in (asked, _NUMBERED, _OF_FILE, _PERIOD) if asked else ():
        for found in words.finditer(text.plain):
            left[found.start() : found.end()] = " " * len(found[0])
    return "".join(left)
