"""Reads which of a company's own products words name, how many of each, and at what price."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from rapidfuzz import fuzz

from state_machine.goods import COLUNAS, Item, Produto, ProdutoInvalido, itens, preco, quantidade
from state_machine.values.text import plain

_READ: Final = 4000  # characters
_TOKEN: Final = re.compile(r"r\$|\d{1,9}(?:\.\d{3})*(?:,\d{1,4})?|\d+|[^\W\d_]+(?:[-/'][^\W_]+)*|[,;.!?\n+]")
_NUMBERS: Final[Mapping[str, int]] = {
    "um": 1,
    "uma": 1,
    "dois": 2,
    "duas": 2,
    "tres": 3,
    "quatro": 4,
    "cinco": 5,
    "seis": 6,
    "sete": 7,
    "oito": 8,
    "nove": 9,
    "dez": 10,
    "onze": 11,
    "doze": 12,
    "quinze": 15,
    "vinte": 20,
    "trinta": 30,
    "quarenta": 40,
    "cinquenta": 50,
    "cem": 100,
    "duzia": 12,
}
_SKIPPED: Final = frozenset({"de", "do", "da", "dos", "das", "o", "a", "os", "as"})
_UNITS: Final = frozenset(
    {"x", "un", "und", "unid", "unidade", "unidades", "kg", "kilo", "kilos", "quilo", "quilos", "g", "l", "litro"}
    | {"litros", "pct", "pacote", "pacotes", "cx", "caixa", "caixas", "pc", "peca", "pecas"}
)
_ENDS: Final = frozenset(
    {"e", "pra", "para", "pro", "ao", "a", "por", "no", "na", "cpf", "cnpj", "r$", "reais", "real", "cada", "mais"}
    | {"com", "sem", "cliente", "total", "valor", ",", ";", ".", "!", "?", "\n", "+"}
)
_JOINTS: Final = frozenset({"e", ",", "mais", "+", ";", "\n"})
_GONE: Final = frozenset({"tira", "tirar", "remove", "remover", "retira", "sem"})
_NO_PRODUCT: Final = frozenset(
    {"reais", "real", "hora", "horas", "dia", "dias", "vez", "vezes", "nota", "notas", "parcela", "parcelas", "mes"}
    | {"meses", "ano", "anos", "h", "cpf", "cnpj"}
)
_EACH: Final = frozenset({"cada", "unidade", "unitario", "und", "un"})
_ALIKE: Final = 88.0  # of 100, of a word that is mistyped
_MISTYPED: Final = 4  # letters; shorter words are the same or others
_PLURALS: Final = (("oes", "ao"), ("aes", "ao"), ("aos", "ao"), ("eis", "el"), ("ais", "al"), ("ois", "ol"))


@dataclass(frozen=True, slots=True)
class Dito:
    """What words say of goods: ``itens`` as they stand after them.

    ``fora`` are the words that name none of the products clearly; ``todos``: an item was named, added or taken away.
    """

    itens: tuple[Item, ...] = ()
    fora: tuple[str, ...] = ()
    todos: bool = False
    precos: tuple[Decimal, ...] = ()  # that the words name for one unit


@dataclass(slots=True)
class _Named:
    produto: Produto
    quantidade: Decimal
    preco: Decimal | None
    fim: int


def read_items(texto: str, produtos: Collection[Produto], antes: Sequence[Item] = ()) -> Dito | None:
    """Return what ``texto`` makes of the items that stood (``antes``); ``None`` where it names no product.

    A number before a product says how many, "a 10" or "10 cada" behind it what one costs.
    """
    folded = plain(texto, _READ)
    tokens = _TOKEN.findall(folded)
    known = [(produto, _words(plain(produto.texto, _READ))) for produto in produtos]
    found, gone, unclear = _walk(tokens, known)
    stood = {item.codigo: item for item in antes}
    if not found and not gone and not unclear:
        return None
    lista = {codigo: item for codigo, item in stood.items() if codigo not in gone}
    for each in found:
        try:
            lista[each.produto.codigo] = _item(each)
        except ProdutoInvalido as error:
            unclear.append(f"{each.quantidade:f} {each.produto.texto}: {error}")
    try:
        made = itens(lista.values()) if lista else ()
    except ProdutoInvalido as error:
        return Dito(tuple(antes), (str(error),), todos=True)
    prices = tuple(each.preco for each in found if each.preco is not None)
    return Dito(made, tuple(dict.fromkeys(unclear)), todos=bool(found or gone), precos=prices)


def _item(each: _Named) -> Item:
    """Raises ``ProdutoInvalido`` for a quantity that no invoice has."""
    quantos = quantidade(f"{each.quantidade:f}")
    produto = each.produto if each.preco is None else replace(each.produto, preco=each.preco)
    return Item(**{name: getattr(produto, name) for name in COLUNAS}, quantidade=quantos)


def _walk(
    tokens: Sequence[str], known: Sequence[tuple[Produto, list[str]]]
) -> tuple[list[_Named], set[str], list[str]]:
    found: list[_Named] = []
    gone: set[str] = set()
    unclear: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] in _GONE and (hit := _product(tokens, _skip(tokens, at + 1), known)) and len(hit[0]) == 1:
            gone.add(hit[0][0].codigo)
            at = hit[1]
            continue
        amount = _amount(tokens, at)
        if amount is None:
            at += 1
            continue
        quantos, after = amount
        start = _skip(tokens, after)
        hit = _product(tokens, start, known)
        if hit is None:
            listed = found and at > 0 and tokens[at - 1] in _JOINTS and at - 1 <= found[-1].fim
            words = list(_phrase(tokens, start)) if listed else []
            if words and words[0] not in _NO_PRODUCT and quantos < 1000:  # noqa: PLR2004 - more is an amount
                unclear.append(" ".join([tokens[at], *words]))
            at = after
            continue
        produtos, end = hit
        if len(produtos) > 1:
            unclear.append(" ".join(tokens[at:end]))
            at = end
            continue
        price, end = _price(tokens, end)
        found.append(_Named(produtos[0], quantos, price, end))
        at = end
    return found, gone, unclear


def _amount(tokens: Sequence[str], at: int) -> tuple[Decimal, int] | None:
    """Return a quantity in figures or words, and where its words end."""
    token = tokens[at]
    before = tokens[at - 1] if at else ""
    if before == "r$":
        return None
    if token[0].isdigit():
        try:
            return Decimal(token.replace(".", "").replace(",", ".")), at + 1
        except ArithmeticError:
            return None
    if token in {"meia", "meio"}:
        dozen = tokens[at + 1 : at + 2] == ["duzia"]
        return (Decimal(6), at + 2) if dozen else (Decimal("0.5"), at + 1)
    if token in _NUMBERS:
        skip = 2 if token in {"um", "uma"} and tokens[at + 1 : at + 2] == ["duzia"] else 1
        return Decimal(_NUMBERS[tokens[at + skip - 1]]), at + skip
    return None


def _skip(tokens: Sequence[str], at: int) -> int:
    """Return where the name begins behind a quantity: after a unit and a "de"."""
    while at < len(tokens) and (tokens[at] in _UNITS or tokens[at] in _SKIPPED):
        at += 1
    return at


def _product(
    tokens: Sequence[str], start: int, known: Sequence[tuple[Produto, list[str]]]
) -> tuple[list[Produto], int] | None:
    """Return the products that the words from ``start`` on name, and where their name ends: one, if it is clear."""
    whole = [(end, produto) for produto, words in known if (end := _whole(tokens, start, words)) is not None]
    if whole:
        longest = max(end for end, _ in whole)
        return [produto for end, produto in whole if end == longest], longest
    said = list(_phrase(tokens, start))
    words = [_singular(word) for word in said if word not in _SKIPPED]
    if not words:
        return None
    part = [produto for produto, names in known if all(any(_same(word, n) for n in names) for word in words)]
    return (part, start + len(said)) if part else None


def _whole(tokens: Sequence[str], start: int, words: Sequence[str]) -> int | None:
    at = start
    for word in words:
        while at < len(tokens) and tokens[at] in _SKIPPED:
            at += 1
        if at >= len(tokens) or not _same(_singular(tokens[at]), word):
            return None
        at += 1
    return at if words else None


def _phrase(tokens: Sequence[str], start: int) -> Iterator[str]:
    for token in tokens[start:]:
        if token in _ENDS or token[0].isdigit():
            return
        yield token


def _price(tokens: Sequence[str], at: int) -> tuple[Decimal | None, int]:
    """Return what one unit costs, where the words behind a product say it: "a 10", "por R$ 10 cada"."""
    to = at
    while to < len(tokens) and tokens[to] in {"a", "por", "r$", "no", "valor", "de"}:
        to += 1
    if to == at or to >= len(tokens) or not tokens[to][0].isdigit():
        return None, at
    end = to + 1
    while end < len(tokens) and tokens[end] in {"reais", "real", "a", "por"}:
        end += 1
    each = end < len(tokens) and tokens[end] in _EACH
    if not each and tokens[at] != "a":
        return None, at  # "por 30" may be all of them together
    try:
        return preco(tokens[to]), end + each
    except ProdutoInvalido:
        return None, at


def _words(texto: str) -> list[str]:
    return [_singular(word) for word in _TOKEN.findall(texto) if word not in _SKIPPED and word[0].isalnum()]


def _singular(word: str) -> str:
    for plural, one in _PLURALS:
        if word.endswith(plural) and len(word) > len(plural):
            return word[: -len(plural)] + one
    return word[:-1] if len(word) > 2 and word.endswith("s") else word  # noqa: PLR2004 - "os" is no plural of "o"


def _same(said: str, name: str) -> bool:
    if said == name:
        return True
    return min(len(said), len(name)) >= _MISTYPED and fuzz.ratio(said, name) >= _ALIKE


_NAMELESS: Final = re.compile(
    r"\bsem (?:o )?(?:cpf|nome|documento|identifica)|\bconsumidor (?:final|nao identificado)|"
    r"\bnao (?:quis|quer|tem|deu) (?:dar |por |informar )?(?:o )?(?:cpf|nome na nota)"
)
_HANDED: Final = re.compile(r"\bem maos?\b|\bna hora\b|\bretirou\b|\blevou\b|\bnfc-?e\b|\bcupom\b|\bno balcao\b")
_SENT: Final = re.compile(
    r"\b(?:nao foi|nem) em maos?\b|\benvi(?:ei|ado|ada|o|ar)\b|\bcorreios?\b|\bmotoboy\b|\btransportadora\b|"
    r"\bnf-?e\b"
)


def read_model(texto: str) -> str | None:
    """Return which invoice for goods words ask for ("nfe", "nfce"), by its name or by how the goods went."""
    folded = plain(texto, _READ)
    if _SENT.search(folded):
        return "nfe"
    return "nfce" if _HANDED.search(folded) else None


def is_nameless(texto: str) -> bool:
    """Tell whether the consumer is to have no name on the invoice."""
    return _NAMELESS.search(plain(texto, _READ)) is not None


@dataclass(frozen=True, slots=True)
class NewProduct:
    """A product that is named to be kept: ``preco`` as "12.00", ``ncm`` of 8 digits where it was said."""

    texto: str
    preco: str
    ncm: str | None = None


_KEEP: Final = re.compile(
    r"^(?:por favor,? )?(?:cadastr(?:a|ar|e)|guarda|salva|adiciona|novo produto:?)\s+"
    r"(?:(?:o|um|novo|meu) ){0,3}(?:produto:?\s+)?"
    r"(?P<texto>[^\d\n][^\n]{0,119}?),?\s+(?:a|por|de|custa|preco)?\s*(?:r\$\s*)?(?P<preco>\d{1,7}(?:[.,]\d{1,2})?)"
    r"\s*(?:reais|real)?(?:\s+(?:cada|a unidade))?(?:,?\s+ncm:?\s*(?P<ncm>[\d.]{8,10}))?\s*[.!]?$"
)


def read_new_product(texto: str) -> NewProduct | None:
    """Return the product that words want kept ("cadastra bolo de pote 12 reais"), ``None`` for any other words."""
    whole = " ".join(texto.split())
    folded = plain(whole, _READ)
    found = _KEEP.match(folded) if len(folded) == len(whole) else None
    if found is None:
        return None
    try:
        custa = preco(found["preco"].replace(".", ","))
    except ProdutoInvalido:
        return None
    named = whole[found.start("texto") : found.end("texto")].strip()
    ncm = re.sub(r"\D", "", found["ncm"]) if found["ncm"] else None
    return NewProduct(named[:1].upper() + named[1:], f"{custa:.2f}", ncm)
