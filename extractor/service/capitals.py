"""Names in capitals that no word announces: "som, luz e dj | Boate Neon | 84.414.562/0001-71".

The way between the typed message and its skeleton.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from extractor.text.marks import Kind, Mark, Skeleton, is_work

Span = tuple[int, int]


class Places:
    """Where each character of a skeleton's line begins and ends in the typed message."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton
        text = skeleton.text
        self._starts: list[int] = []
        self._ends: list[int] = []
        for pos in range(len(skeleton.line)):
            mark = skeleton.where.get(pos)
            first = mark.start if mark else skeleton.plain(pos)
            self._starts.append(text.starts[first])
            self._ends.append(text.ends[mark.end - 1 if mark else first])

    def line_span(self, start: int, end: int) -> Span | None:
        """Return what covers the typed ``[start:end]``, ``None`` where the skeleton does not reach it."""
        first, last = bisect_left(self._ends, start + 1), bisect_left(self._starts, end)
        return (first, last) if first < last else None

    def of(self, words: str) -> Span | None:
        """Return where words of the message stand first, ``None`` where they do not."""
        at = self.skeleton.text.original.find(words)
        return self.line_span(at, at + len(words)) if at >= 0 else None


def begins(skeleton: Skeleton, mark: Mark) -> int:
    """Return where a mark begins in the typed message."""
    return skeleton.text.starts[mark.start]


FEWEST: Final = 2  # words in capitals that make a name
BACK: Final = 90  # characters before a name
IN: Final = re.compile(r"(?<![a-z])em\s$")
CPF: Final = 11  # digits
# What a house is called by: a name in capitals that begins with one of these is somebody's, whatever stands around it.
HOUSE: Final = re.compile(
    r"(?:boate|buffet|chacara|sitio|fazenda|haras|granja|centro (?:espirita|comercial|empresarial|cultural|automotivo|"
    r"medico)|grafica|otica|clinica|mercado|mercadinho|mercearia|supermercado|atacadao|padaria|confeitaria|doceria|"
    r"restaurante|churrascaria|pizzaria|lanchonete|hotel|pousada|resort|escola|colegio|creche|faculdade|universidade|"
    r"instituto|fundacao|associacao|sindicato|cooperativa|igreja|paroquia|diocese|condominio|cond\.|edificio|"
    r"residencial|shopping|posto|borracharia|transportadora|construtora|incorporadora|imobiliaria|distribuidora|"
    r"metalurgica|marmoraria|madeireira|laticinios|frigorifico|usina|refinaria|mineradora|editora|livraria|papelaria|"
    r"farmacia|drogaria|hospital|clube|gremio|academia|salao|barbearia|lavanderia|floricultura|agropecuaria|"
    r"prefeitura|municipio|camara|secretaria|teatro|loja|lojas|supermercados|auto|grupo|bloco carnavalesco)\b"
)
_SHORT: Final = r"(?:dr|dra|sr|sra|cond|ed|edif|res|prof|pr|pe|cia|st|sto|sta|eng|gov|gen|cel|mal|jd|pq|vl|av)\."
_WORD: Final = rf"(?:{_SHORT}|[a-z][a-z']*)"
RUN: Final = re.compile(rf"{_WORD}(?:[ -](?:(?:d[aeo]s?|e|&) )?{_WORD})*")
WORD: Final = re.compile(_WORD)
LABELS: Final = frozenset({"cnpj", "cpf", "valor", "doc", "documento"})
JOINT: Final = re.compile(r"d[aeo]s?|e")
# "pintura do Edifício Solar": a word of place or purpose, so that the name is part of the service
LEADS_ON: Final = re.compile(
    r"(?<![a-z])(?:d[aeo]s?|n[ao]s?|em|a|o|as|os|aos?|com|por|pel[ao]s?|pra|pro|para|p/|entre|ate|sobre|e|modelo|marca|"
    r"linha|x|rua|avenida|av\.?|praca|travessa|bairro|vila|jardim)\s{1,3}$"
    r"|X\s$"  # "12ª Câmara"
)
PLACES_LISTED: Final = re.compile(  # "das filiais Cuiabá, Várzea Grande e Sinop"
    r"\b(?:filiais|unidades|lojas|cidades|bairros|municipios|agencias|comarcas|polos|escolas|obras|fazendas)\s"
    r"(?:d[aeo]s?\s)?[^;\nDVN]{2,60},\s$"
)
# A capital where nobody writes one: "Ajuste De Vestido", so that capitals tell no name in that message.
TITLED_JOINT: Final = re.compile(r"(?<=\w )(?:De|Da|Do|Das|Dos|E|Com|Para|Em|No|Na)(?= \w)")
SMALL_WORD: Final = re.compile(r"(?<!\w)[a-zà-ÿ]\w{3,}")
SECOND: Final = re.compile(r"[a-z][a-z.']{0,30} (?P<n>[a-z][a-z.']{0,30}) ")
PLACE_NOUN: Final = re.compile(  # "da obra Residencial Ipê", "fazenda Tamanduá": the name is the place's
    r"\b(?:obra|sitio|fazenda|chacara|haras|granja|espaco|predio|edificio|condominio|unidade|campus|galpao|sede|filial|"
    r"salao|praia|cidade|gleba|comunidade|capela|aldeia|distrito|povoado)\s$"
)
FIELD_BEFORE: Final = re.compile(r"(?:^|[\n,;:|.DBVN✅✔☑👉➡]|\bnotas?|\s-)\s{0,3}$")
FIELD_AFTER: Final = re.compile(r"\s{0,3}(?:$|[\n,;|.)DBVN✅✔☑👉➡]|-\s|(?:o )?(?:cnpj|cpf|documento|doc|valor)\b)")
BEFORE_DOCUMENT: Final = re.compile(r"[\s,;:()\-]{0,4}(?:(?:o )?(?:cnpj|cpf|documento|doc)\b[\s:.]{0,4})?(?P<d>D)")


def tell_nothing(text: str) -> bool:
    """Say whether a message is in capitals, or has one at each word, so that they tell nothing of names."""
    return text.isupper() or begins_in_capitals(text)


def begins_in_capitals(text: str) -> bool:
    """Say whether each word of a message begins with a capital: "Ajuste De Vestido De Noiva"."""
    return TITLED_JOINT.search(text) is not None and SMALL_WORD.search(text) is None


def is_of_place(line: str, start: int) -> bool:
    """Say whether the words before a name make it a place's: "em …", "da obra …", "das filiais …, …"."""
    before = line[max(0, start - BACK) : start]
    return any(pattern.search(before) for pattern in (IN, PLACE_NOUN, PLACES_LISTED))


def names_in_capitals(skeleton: Skeleton) -> Iterator[Span]:
    """Yield the stretches of the line that name a house, or somebody whose CPF follows.

    A text without small letters shows none: there capitals say nothing.
    """
    if skeleton.text.original.isupper():
        return
    documents = [mark for mark in skeleton.marks if mark.kind is Kind.DOCUMENT]
    people = documents and all(len(mark.value) == CPF for mark in documents)  # a house among them is where it was done
    for start, end in words_in_capitals(skeleton):
        if LEADS_ON.search(skeleton.line, max(0, start - 12), start):
            continue
        cpf = _has_cpf(skeleton, start, end)
        if PLACE_NOUN.search(skeleton.line, 0, start):
            second = SECOND.match(skeleton.line, start, end)  # the first is the place's, the others may be somebody's
            if second is not None and cpf:
                yield second.start("n"), end
        elif cpf or (not people and _is_house(skeleton.line, start, end)):
            yield start, end


def _is_house(line: str, start: int, end: int) -> bool:
    """Say whether a name is a house's that stands at an edge: "GRU x Hotel Renaissance ida e volta" is a way."""
    if HOUSE.match(line, start, end) is None:
        return False
    return FIELD_BEFORE.search(line, 0, start) is not None or FIELD_AFTER.match(line, end) is not None


def words_in_capitals(skeleton: Skeleton, fewest: int = FEWEST) -> Iterator[Span]:
    """Yield each longest row of ``fewest`` or more words in capitals, with the small words that join them."""
    for stretch in RUN.finditer(skeleton.line):
        start = end = count = 0
        for word in WORD.finditer(skeleton.line, *stretch.span()):
            if word[0] not in LABELS and skeleton.verbatim(word.start(), word.start() + 1).isupper():
                start, end, count = (start if count else word.start()), word.end(), count + 1
            elif JOINT.fullmatch(word[0]) is None:
                if count >= fewest:
                    yield start, end
                count = 0
        if count >= fewest:
            yield start, end


def _has_cpf(skeleton: Skeleton, start: int, end: int) -> bool:
    follows = BEFORE_DOCUMENT.match(skeleton.line, end)
    first = WORD.match(skeleton.line, start)
    if follows is None or first is None or is_work(first[0]):
        return False
    mark = skeleton.where[follows.start("d")]
    return mark.kind is Kind.DOCUMENT and len(mark.value) == CPF
