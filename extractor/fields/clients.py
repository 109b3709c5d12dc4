"""Finds which of a company's own clients a name means, and reads whom words without a document speak of."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rapidfuzz import fuzz, process

from extractor.text.folding import read
from extractor.text.marks import NOISE, is_work
from extractor.words.lists import words
from state_machine.invoice.choices import MOST, Cliente
from state_machine.values.text import plain

# Scores are of 100. What was said must be the name, or whole words of it, before it fills a document.
FILLS: Final = 95.0  # only whole words that are the same but for accents, plural, spelling or a firm's diminutive
MARGIN: Final = 5.0  # the next client must be so much farther away; "padaria do Zé" and its branch are both meant
ASKS: Final = 75.0  # a near miss: named in a question, never taken
WORD: Final = 85.0  # how alike two words are of which one is mistyped; "Zé" and "Jó" are others
_PART: Final = 2.0  # off, where the name has more words than were said
_DIMINUTIVE: Final = 2.0  # off: "mercadinho" for MERCADO
PART_OF_NAME: Final = 90.0  # at most, for "a padaria" or part of a person's name: there may be another one, not known
_FAMILIAR: Final = 85.0  # at most, for a person by a diminutive: "Coutinho" is not "Couto"
_MISTYPED: Final = 0.9  # of the likeness of two words that are not the same
_SHORT: Final = 4  # letters; a shorter word has too many neighbours to be mistyped


_DROPPED: Final = words("dropped")
# What a firm deals in, after its name: "Acme" is the whole of ACME COMERCIO DE ALIMENTOS.
_TRADES: Final = words("trades")
# Of many clients: said alone, such a word names none of them.
_GENERIC: Final = words("kinds")
_PERSONAL_NAME: Final = re.compile(r"\b\d{11}\b|^\d{2}\.?\d{3}\.?\d{3}\b")  # a MEI's, with its CPF or CNPJ in it
_SPELLING: Final = (("ph", "f"), ("th", "t"), ("y", "i"), ("w", "v"), ("z", "s"), ("ç", "c"))
_TWICE: Final = re.compile(r"([a-z])\1")
_PLURAL: Final = re.compile(r"(?<=[a-z]{3}[aeiou])s$")
_FOR: Final = re.compile(
    r"\b(?:pra|pro|para|ao|d[ao])\s+(?:[ao]s?\s+)?"
    r"(?:(?:ultima )?notas?(?: fiscal)? (?:d[aeo]s?|pr[ao]|para)\s+(?:[ao]s?\s+)?)?(?P<nome>[^,.;:!?\n\d$]{2,80}?)"
    r"(?=\s*(?:[,.;:!?\n\d]|r\$|\bde (?:r\$|\d)|\bno valor\b|\bvalor\b|\breferente\b|\bpor\b|\bso que\b|\bmas\b|$))"
)
_RECIPIENT: Final = re.compile(_FOR.pattern.replace("|ao|d[ao]", ""))
_NOBODY: Final = re.compile(
    r"(?:mes(?:es)?|semana|an[oa]|dia|hoje|ontem|anteontem|manha|tarde|noite|hora|agora|sempre|vez|ultim[ao]s?|anterior|"
    r"passad[ao]|outr[ao]s?|mesm[ao]s?|novo|nova|notas?|nfse?|nf|mim|gente|eu|ele|ela|valor|total|mei|limite|email|"
    r"janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro|"
    r"xml|pdf|danfs?e|arquivo|fim|final|inicio|comeco|periodo|trimestre|semestre|contador|contabilidade|imposto|prefeitura)\b"
)
_NO_NAME: Final = re.compile(r"(?:servicos?|trabalhos?|cada|isso|esse|essa|este|esta)\b")
_ORDERS: Final = re.compile(r"\b(?:notas?|nf|outra|mais uma)\b")
_HEAD: Final = 3  # words with which a clause begins
_LONGEST: Final = 8  # words; a name is no longer
NAMES: Final = 2000  # of all clients together that are compared; with more of them none is clear
_NAME_CHARS: Final = 200  # of a name that are read; an invoice has room for 150 of them
_NAME_WORDS: Final = 16  # of a client's name that are compared


@dataclass(frozen=True, slots=True)
class Clientes:
    """The clients that a name may mean, the likeliest first; ``certo``: it is the first one, clearly."""

    possiveis: tuple[Cliente, ...] = ()
    certo: bool = False


def nickname(nome: str) -> str:
    """Return a name as nicknames are remembered and compared; empty when nothing of it names anybody, or too much."""
    words = _words(nome)
    return " ".join(words) if len(words) <= _LONGEST else ""


def find_client(nome: str, clientes: Collection[Cliente], *, fills: float = FILLS) -> Clientes:
    """Return which of these clients ``nome`` means; none for a name of which a word is nobody's.

    One is clear from the score ``fills`` on: ``PART_OF_NAME`` is enough where an invoice that exists is spoken of.
    """
    said = _words(nome)
    if not said or len(said) > _LONGEST:
        return Clientes()
    known = _known(clientes)
    near = _near(said, {word for _, names in known for name in names for word in name})
    scored = sorted(((_score(said, near, *one), one[0]) for one in known), key=lambda pair: -pair[0])
    alike = [(score, cliente) for score, cliente in scored if score >= ASKS]
    if not alike:
        return Clientes()
    best = alike[0][0]
    if best < fills:
        return Clientes(tuple(cliente for _, cliente in alike))
    fit = tuple(cliente for score, cliente in alike if score > best - MARGIN)
    whole = len(clientes) <= MOST and sum(len(cliente.nomes) for cliente in clientes) <= NAMES
    return Clientes(fit, certo=len(fit) == 1 and whole)


def recipients(texto: str) -> list[str]:
    """Return the words after each "pra" or "pro", up to an amount or the end of the clause."""
    return _named(_RECIPIENT, texto)


def recipients_of_order(texto: str) -> list[str]:
    """Return whom another invoice is ordered for, where the words order one: "faz outra pra maria de 200"."""
    plain = read(texto).plain
    return [nome for nome in mentioned(texto) if is_recipient(nome, texto)] if _ORDERS.search(plain) else []


def is_recipient(nome: str, texto: str) -> bool:
    """Tell whether the name stands behind a "pra" of the text, and names no work."""
    said = " ".join(read(nome).plain.split())
    words = said.split()
    behind = any(" ".join(read(each).plain.split()).startswith(said) for each in recipients(texto))
    return bool(words) and behind and not _NO_NAME.match(said) and not is_work(words[0])


def is_called(nome: str, cliente: Cliente, *, fuller: bool = True) -> bool:
    """Tell whether a name is (a part of) one of the client's, or ``fuller``: one of them is a part of it."""
    if find_client(nome, [cliente]).possiveis:
        return True
    said = Cliente(cliente.documento, nome)
    return fuller and any(find_client(each, [said]).possiveis for each in cliente.nomes)


_SAME_ONE: Final = re.compile(
    r"\b(?:pr[ao]|para) el[ea]s?\b|\bmesm[oa] (?:cpf|cnpj|cliente|tomador|documento|pessoa)\b"
)


def mentioned(texto: str) -> tuple[str, ...]:
    """Return the same of words about an earlier invoice: "a mesma da padaria"; none for "a mesma do mês passado".

    Nobody is named where they say that the customer stays: "outra igual pra ela, do mais velho".
    """
    if _SAME_ONE.search(read(texto).plain):
        return ()
    return tuple(nome for nome in _named(_FOR, texto) if not _NOBODY.match(" ".join(read(nome).plain.split())))


def _named(pattern: re.Pattern[str], texto: str) -> list[str]:
    text = read(texto)
    return [text.verbatim(*found.span("nome")) for found in pattern.finditer(text.plain)]


def heads(said: str) -> list[str]:
    """Return with what a clause begins that may be a client's name, the longest first: "padaria banner", "padaria".

    Behind a shorter one there is work, and no more of a name: "oficina do beto" is no "oficina".
    """
    words = until_number(said).split()
    parts = [(words[:n], words[n:]) for n in range(min(len(words), _HEAD), 0, -1)]
    return [
        " ".join(head)
        for head, rest in parts
        if (not rest or is_work(_bare(rest[0])))
        and not any(is_work(word) or word in NOISE for word in map(_bare, head))
    ]


def _bare(word: str) -> str:
    return read(word).plain.strip()


def until_number(nome: str) -> str:
    """Return a name as far as it has no digit: "Maria 150 faxina" ends before the amount."""
    return re.split(r"\d|[,;\n]", nome, maxsplit=1)[0].strip()


def _known(clientes: Collection[Cliente]) -> list[tuple[Cliente, list[tuple[str, ...]]]]:
    """Return the clients with the words of their names, as far as names are compared."""
    left = NAMES
    known = []
    for cliente in clientes:
        names = cliente.nomes[:left]
        left -= len(names)
        known.append((cliente, [_words(name)[:_NAME_WORDS] for name in names]))
    return known


@dataclass(frozen=True, slots=True)
class _Near:
    """The words that are like one that was said, each with its score; a person's diminutives have scores apart."""

    firm: dict[str, float]
    person: dict[str, float]


def _near(said: Sequence[str], known: Collection[str]) -> dict[str, _Near]:
    """Compare each different word once, however many names it stands in."""
    little = [(word, short) for word in known if (short := _little(word))]
    return {word: _near_one(word, known, little) for word in set(said)}


def _near_one(said: str, known: Collection[str], little: Sequence[tuple[str, str]]) -> _Near:
    near: dict[str, float] = {}
    if len(said) >= _SHORT:
        found = process.extract(said, known, scorer=fuzz.ratio, processor=None, score_cutoff=WORD, limit=None)
        near = {word: ratio * _MISTYPED for word, ratio, _ in found if len(word) >= _SHORT}
    familiar = {_little(said), *(word for word, short in little if short == said)} - {None}
    both = [
        {**near, **dict.fromkeys((w for w in familiar if w), score), said: 100.0}
        for score in (100.0 - _DIMINUTIVE, _FAMILIAR)
    ]
    return _Near(*both)


def _score(said: Sequence[str], near: dict[str, _Near], cliente: Cliente, names: Sequence[Sequence[str]]) -> float:
    person = len(cliente.documento) == 11 or bool(_PERSONAL_NAME.search(cliente.nome or ""))  # noqa: PLR2004 - a CPF
    scores = {word: one.person if person else one.firm for word, one in near.items()}
    return max((_alike(said, name, scores, person=person) for name in names), default=0.0)


def _alike(said: Sequence[str], name: Sequence[str], near: dict[str, dict[str, float]], *, person: bool) -> float:
    """Compare by words: each said one must be in the name, the least alike of them counts."""
    if not name or len(said) > len(name):
        return 0.0
    score = 100.0
    for word in said:
        alike = near[word]
        score = min(score, max(alike.get(known, 0.0) for known in name))
        if score < ASKS:
            return 0.0
    if len(said) == len(name):
        return score
    alone = len(said) == 1 and (said[0] in _GENERIC or [w for w in name if w not in _TRADES] != [*said])
    return min(score - _PART, PART_OF_NAME) if person or alone else score - _PART


@lru_cache(4096)  # the same few words stand in most names
def _little(word: str) -> str | None:
    """Return what a diminutive is one of, ``None`` for another word."""
    for ending in ("inho", "inha"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            base = word.removesuffix(ending)
            return base[:-1] if base[-1] == "s" else base + ending[-1]  # "zinho" has its z as s here
    return None


@lru_cache(4096)  # the same names are compared again and again
def _words(nome: str) -> tuple[str, ...]:
    text = re.sub(r"\bs\s*[/.]\s*a\b\.?", " ", plain(nome, _NAME_CHARS))
    words = (_spelled(word) for word in re.findall(r"[a-z0-9]+", text) if not word.isdigit())
    return tuple(word for word in words if word not in _DROPPED_SPELLED)


@lru_cache(4096)
def _spelled(word: str) -> str:
    """Return a word in the spelling in which the same names are the same: no double letter, no plural, z as s."""
    for old, new in _SPELLING:
        word = word.replace(old, new)
    return _PLURAL.sub("", _TWICE.sub(r"\1", word))


_DROPPED_SPELLED: Final = _DROPPED | {_spelled(word) for word in _DROPPED}
