"""Reads which of a company's own products words name, how many of each, and at what price."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import takewhile
from typing import Final, NamedTuple

from rapidfuzz import fuzz

from extractor.text.numerals import find
from state_machine.goods import COLUNAS, Item, Produto, ProdutoInvalido, itens, preco, quantidade
from state_machine.values.text import plain

_READ: Final = 4000  # characters
_WORD: Final = re.compile(r"r\$|[^\W\d_]+(?:[-/'][^\W_]+)*|\d+|[,;.!?\n+/:(]|-\Z")  # a minus right before a number
_GROUPS: Final = {"duzia": 12, "duzias": 12, "cento": 100, "centos": 100, "par": 2, "pares": 2}
_HALF: Final = frozenset({"meio", "meia"})
_SKIPPED: Final = frozenset({"de", "do", "da", "dos", "das", "o", "a", "os", "as"})
_MEASURES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("kg", "kilo", "kilos", "quilo", "quilos"), frozenset({"KG", "QUILO"})),
    **dict.fromkeys(("g", "grama", "gramas"), frozenset({"G", "GR"})),
    **dict.fromkeys(("l", "litro", "litros"), frozenset({"L", "LT", "LITRO"})),
    **dict.fromkeys(("pct", "pacote", "pacotes"), frozenset({"PCT", "PC", "PT", "PACOTE"})),
    **dict.fromkeys(("cx", "caixa", "caixas"), frozenset({"CX", "CAIXA"})),
}
_UNITS: Final = _MEASURES.keys() | {"x", "un", "und", "unid", "unidade", "unidades", "pc", "peca", "pecas"}
_ENDS: Final = frozenset(
    {"e", "pra", "para", "pro", "ao", "a", "por", "no", "na", "cpf", "cnpj", "r$", "reais", "real", "cada", "mais"}
    | {"com", "sem", "cliente", "total", "valor", "nao", "ou", ",", ";", ".", "!", "?", "\n", "+", "/", ":", "(", "-"}
)
_JOINTS: Final = frozenset({"e", ",", "mais", "+", ";", "\n"})
_GONE: Final = frozenset({"tira", "tirar", "tire", "remove", "remover", "remova", "retira", "retirar", "sem", "menos"})
_ADDED: Final = frozenset(
    {"mais", "adiciona", "adicione", "adicionar", "acrescenta", "acrescente", "acrescentar", "inclui", "inclua"}
)
_UNSURE: Final = frozenset({"nao", "ou", "vez", "troca", "trocar", "troque", "metade", "dobro", "triplo"})
_BETWEEN: Final = _SKIPPED | {"sao", "e", "era", "eram", "foi", "foram", "quero", "com"}
_STRAY: Final = frozenset({"x", ":", "-", "(", ",", "para", "pra", "sao", "e", "eram", "agora", "nao"})
_NO_PRODUCT: Final = frozenset(
    {"reais", "real", "hora", "horas", "dia", "dias", "vez", "vezes", "nota", "notas", "parcela", "parcelas", "mes"}
    | {"meses", "ano", "anos", "h", "cpf", "cnpj"}
)
_EACH: Final = frozenset({"cada", "unidade", "unitario", "und", "un"})
_COST: Final = frozenset({"custa", "custam", "custou", "custaram"})  # a price behind it is one unit's
_CAME: Final = _COST | {"saiu", "sairam", "sai", "ficou", "ficaram", "fica", "foi", "foram", "era", "e"}
_CHANGED: Final = frozenset(
    {"troca", "trocar", "troque", "muda", "mudar", "mude", "altera", "altere", "deixa", "passa"}
)
_TO: Final = frozenset({"pra", "para", "por", "em"})
_ARE: Final = frozenset({"sao", "era", "eram", "foi", "foram", "e", ":", "="})
_OPENING: Final = frozenset(
    {"nao", "opa", "ops", "errei", "na", "verdade", "alias", "desculpa", "digo", "ah", "so", "apenas", ",", ".", "!"}
    | {"bota", "poe", "coloca", "quero"}
)
_CLOSING: Final = frozenset({"na", "verdade", "so", "apenas", "ao", "todo", "no", "total", ".", "!", ",", *_UNITS})
_ALIKE: Final = 88.0  # of 100, of a word that is mistyped
_MISTYPED: Final = 4  # letters; shorter words are the same or others
_SMALL: Final = 1000  # a number below it, beside a product, may be how many
_WEIGHED: Final = re.compile(r"[0-9]{1,9},[0-9]{3,4}")
_PLURALS: Final = (("oes", "ao"), ("aes", "ao"), ("aos", "ao"), ("eis", "el"), ("ais", "al"), ("ois", "ol"))


@dataclass(frozen=True, slots=True)
class Dito:
    """What words say of goods: ``itens`` as they stand after them.

    ``fora`` are the words that name none of the products clearly, or not how many; ``todos``: an item was named, added
    or taken away. ``soltos`` are products of which no quantity is told.
    """

    itens: tuple[Item, ...] = ()
    fora: tuple[str, ...] = ()
    todos: bool = False
    soltos: tuple[str, ...] = ()
    quantos: tuple[Decimal, ...] = ()  # that the words name
    relativo: bool = False  # they say what becomes of items that stood
    pergunta: str = ""  # what is to be asked in our words, without its question mark


class _Word(NamedTuple):
    text: str
    number: bool = False
    value: Decimal | None = None  # of a number that can be read in one way
    spelled: bool = False


@dataclass(slots=True)
class _Named:
    """Some of a product, or one that goes (no quantity)."""

    produto: Produto
    quantidade: Decimal | None
    preco: Decimal | None
    como: str  # "set", "add", "take"
    inicio: int
    fim: int
    joined: bool = False  # "mais" between two products


_Known = Sequence[tuple[Produto, list[str]]]


def read_items(texto: str, produtos: Collection[Produto], antes: Sequence[Item] = ()) -> Dito | None:
    """Return what ``texto`` makes of the items that stood (``antes``); ``None`` where it names no product.

    A number before a product says how many, "mais" before it that they are added, "tira" that they go, "a 10" or
    "10 cada" behind it what one costs. A number beside a product that is neither is never left out: it is not clear.
    """
    tokens = _tokens(plain(texto, _READ))
    known = [(produto, _words(plain(produto.texto, _READ))) for produto in produtos]
    stood = {item.codigo: item for item in antes}
    found, unclear, loose = _walk(tokens, known, stood)
    if not found and not unclear and not loose:
        return None
    lista, named = dict(stood), set[str]()
    for each in found:
        codigo, before = each.produto.codigo, lista.get(each.produto.codigo)
        again = codigo in named
        named.add(codigo)
        try:
            made = _item(each, before)
        except ProdutoInvalido as error:
            unclear.append(f"{each.quantidade:f} {each.produto.texto}: {error}")
            continue
        if (again and each.como == "set") or (each.joined and codigo in stood and not again):
            unclear.append(_said(tokens, each.inicio, each.fim))
        if made is None:
            lista.pop(codigo, None)
        else:
            lista[codigo] = made
    try:
        made_of = itens(lista.values()) if lista else ()
    except ProdutoInvalido as error:
        return Dito(tuple(antes), (str(error),), todos=True)
    relative = any(each.como != "set" or each.quantidade is None for each in found)
    quantos = tuple(each.quantidade for each in found if each.quantidade is not None)
    return Dito(made_of, tuple(dict.fromkeys(unclear)), bool(found), tuple(dict.fromkeys(loose)), quantos, relative)


def _item(each: _Named, before: Item | None) -> Item | None:
    """Return what there is of it now. Raises ``ProdutoInvalido`` for a quantity that no invoice has."""
    if each.quantidade is None:
        return replace(before, preco=each.preco) if before and each.preco is not None else None
    said = quantidade(f"{each.quantidade:f}")
    stood = before.quantidade if before else Decimal(0)
    if each.como == "take":
        if said > stood:
            raise ProdutoInvalido("quantidade", "não há tantos para tirar")
        if said == stood:
            return None
    quantos = {"set": said, "add": stood + said, "take": stood - said}[each.como]
    custa = each.preco if each.preco is not None else (before.preco if before else each.produto.preco)
    dados = {name: getattr(each.produto, name) for name in COLUNAS}
    return Item(**{**dados, "preco": custa}, quantidade=quantidade(f"{quantos:f}"))


def _tokens(folded: str) -> list[_Word]:
    found: list[_Word] = []
    at = 0
    for number in find(folded):
        found.extend(_Word(word) for word in _WORD.findall(folded, at, number.start))
        literal = folded[number.start : number.end]
        value = Decimal(literal.replace(",", ".")) if _WEIGHED.fullmatch(literal) else number.value
        found.append(
            _Word(
                literal if value is None else f"{value.normalize():f}", number=True, value=value, spelled=number.words
            )
        )
        at = number.end
    found.extend(_Word(word) for word in _WORD.findall(folded, at))
    return [w._replace(number=True, value=Decimal(w.text)) if not w.number and w.text.isdecimal() else w for w in found]


def _said(tokens: Sequence[_Word], start: int, end: int) -> str:
    return " ".join(word.text for word in tokens[start:end])


@dataclass(slots=True)
class _Mention:
    """Words that name products at ``inicio``; ``led``: the word that rules them; ``unit``: a measure between."""

    produtos: list[Produto]
    quantos: Decimal | None
    counted: bool
    led: str
    unit: str | None
    inicio: int
    fim: int


def _walk(tokens: Sequence[_Word], known: _Known, stood: Collection[str]) -> tuple[list[_Named], list[str], list[str]]:
    """Return what is clear, the words that are not, and products of which no quantity is told."""
    found: list[_Named] = []
    unclear: list[str] = []
    loose: list[str] = []
    unknown: list[tuple[int, int]] = []
    mentions: list[_Mention] = []
    at = floor = 0  # floor: where the last product's words end
    while at < len(tokens):
        mention = _mention(tokens, at, floor, known, stood)
        if mention is None:
            amount = _amount(tokens, at)
            if amount and (words := list(_phrase(tokens, _skip(tokens, amount[1])))) and words[0] not in _NO_PRODUCT:
                unknown.append((at, _skip(tokens, amount[1]) + len(words)))
            at = amount[1] if amount else at + 1
            continue
        price, end, doubted = _priced(tokens, mention)
        unclear += doubted
        made = _clear(tokens, mention, price, end, known, stood)
        if isinstance(made, _Named):
            made.joined = bool(found) and at > 0 and tokens[at - 1].text in {"mais", "+"} and at - 2 <= floor
            found.append(made)
        else:
            (unclear if mention.counted or len(mention.produtos) > 1 else loose).append(made)
        mentions.append(mention)
        at = floor = end
    unclear += _each(tokens, found)
    ends, starts = {each.fim for each in found}, {each.inicio for each in mentions}
    for begin, end in unknown:
        behind = begin > 0 and tokens[begin - 1].text in _JOINTS and begin - 1 in ends
        article = tokens[begin].value == 1 and tokens[begin].spelled
        ahead = not article and end < len(tokens) and tokens[end].text in _JOINTS and bool({end + 1, end + 2} & starts)
        if behind or ahead:
            unclear.append(_said(tokens, begin, end))
    return found, unclear, loose


def _priced(tokens: Sequence[_Word], said: _Mention) -> tuple[Decimal | None, int, list[str]]:
    """Return what one costs and where these words end, or what is told back: "camisetas azuis por 50 cada" is clear.

    An "a 50" behind another word than the product's may be of something else.
    """
    price, end = _price(tokens, said.fim)
    if price is not None:
        return price, end, []
    price, end = _price(tokens, said.fim + len(list(_phrase(tokens, said.fim))))
    if price is not None and tokens[end - 1].text == "cada":
        return price, end, []
    return None, said.fim, [_said(tokens, said.inicio, end)] * (price is not None and said.counted)


def _each(tokens: Sequence[_Word], found: Sequence[_Named]) -> Iterator[str]:
    """Yield the prices of each one, "50 reais cada", that stand in no words of a product, where one is named."""
    for at, word in enumerate(tokens):
        end = at + 1 + (_said(tokens, at + 1, at + 2) in {"reais", "real"})
        alone = found and not any(each.inicio <= at < each.fim for each in found)
        if word.number and alone and _said(tokens, end, end + 1) == "cada":
            yield _said(tokens, at, end + 1)


def _mention(tokens: Sequence[_Word], at: int, floor: int, known: _Known, stood: Collection[str]) -> _Mention | None:
    """Return the products that are named at ``at``: with a quantity, behind a word that takes them away, or whole."""
    amount = None if _named(tokens, at, known) else _amount(tokens, at)
    quantos, after = amount or (None, at)
    led, unit = _lead(tokens, at, floor), None
    near = amount is not None or led in _GONE
    hit = _named(tokens, after, known) or (_product(tokens, after, known) if near else None)
    if hit is None and near:
        skipped = _skip(tokens, after)
        hit = _product(tokens, skipped, known)
        unit = next((word.text for word in tokens[after:skipped] if word.text in _MEASURES), None)
    if hit is None:
        return None
    produtos, end = hit
    if amount is None and led in _GONE and len(produtos) > 1:
        produtos = [produto for produto in produtos if produto.codigo in stood] or produtos
    return _Mention(produtos, quantos, amount is not None, led, unit, at, end)


def _clear(
    tokens: Sequence[_Word], said: _Mention, price: Decimal | None, end: int, known: _Known, stood: Collection[str]
) -> _Named | str:
    """Return what a mention makes of a product, else the words that are told back."""
    produto, led, words = said.produtos[0], said.led, _said(tokens, said.inicio, end)
    if len(said.produtos) > 1:
        return words
    if not said.counted:
        quantos, until = _becomes(tokens, said, known) if produto.codigo in stood else (None, end)
        if quantos is not None:
            return _Named(produto, quantos, None, "set", said.inicio, until)
        if led in _GONE - {"menos"}:
            return _Named(produto, None, None, "take", said.inicio, end)
        if price is not None and produto.codigo in stood and led not in _UNSURE:
            return _Named(produto, None, price, "set", said.inicio, end)
        return produto.texto
    unfit = said.unit is not None and produto.unidade not in _MEASURES[said.unit]
    if said.quantos is None or unfit or led in _UNSURE or led in _MEASURES:
        return words
    if (stray := _stray(tokens, end, known)) is not None:
        return _said(tokens, said.inicio, stray)
    como = "take" if led in _GONE else "add" if led in _ADDED or led == "+" else "set"
    return _Named(produto, said.quantos, price, como, said.inicio, end)


def _becomes(tokens: Sequence[_Word], said: _Mention, known: _Known) -> tuple[Decimal | None, int]:
    """Return how many there are of a product that stood, told behind its name: "troca a camiseta por 2"."""
    at, changed = said.fim, said.led in _CHANGED
    while at < len(tokens) and tokens[at].text in (_TO if changed else _ARE):
        at += 1
    if at == said.fim or at >= len(tokens) or not tokens[at].number or (tokens[at].value or _SMALL) >= _SMALL:
        return None, said.fim
    after = at + 1
    while after < len(tokens) and tokens[after].text in _UNITS:
        after += 1
    ends = after >= len(tokens) or tokens[after].text in {",", ";", ".", "!", "\n", "e", "mais"}
    value = tokens[at].value
    if not ends or value is None or value != value.to_integral_value():
        return None, said.fim
    return (None, said.fim) if _product(tokens, _skip(tokens, after), known) and after == at + 1 else (value, after)


def _lead(tokens: Sequence[_Word], start: int, floor: int) -> str:
    """Return the word that rules a quantity: the one before it, over verbs, articles and other numbers."""
    at = start - 1
    if at >= floor and tokens[at].text in {"/", "-"}:
        return "ou"  # "1/2", "-2"
    while at >= floor and (tokens[at].text in _BETWEEN or tokens[at].number):
        at -= 1
    if at < floor:
        return ""
    if tokens[at].text in {"mais", "menos"} and at > floor and tokens[at - 1].text == "ou":
        return "ou"
    return tokens[at].text


def _stray(tokens: Sequence[_Word], end: int, known: _Known) -> int | None:
    """Return where a number behind a product ends that is no other product's, no price and no amount."""
    at = end
    while at < len(tokens) and tokens[at].text in _STRAY:
        at += 1
    if tokens[end : end + 1] and tokens[end].text in {"nao", "ou"}:
        return end + 1
    if at < len(tokens) and tokens[at].text in _HALF:
        amount = _amount(tokens, at)
        if amount and _product(tokens, _skip(tokens, amount[1]), known) is None:
            return at + 1
    if at >= len(tokens) or not tokens[at].number or (tokens[at].value or _SMALL) >= _SMALL:
        return None
    amount = _amount(tokens, at)
    if amount is None or _product(tokens, _skip(tokens, amount[1]), known) is not None:
        return None
    after = tokens[amount[1]].text if amount[1] < len(tokens) else ""
    others = list(_phrase(tokens, _skip(tokens, amount[1])))
    return None if after in {"reais", "real"} or others else amount[1]


def _amount(tokens: Sequence[_Word], at: int) -> tuple[Decimal | None, int] | None:
    """Return a quantity in figures or words, no value where it can be read in two ways, and where its words end."""
    if at and tokens[at - 1].text == "r$":
        return None
    word, after = tokens[at], at + 1
    if word.text in _HALF:
        value: Decimal | None = Decimal("0.5")
    elif word.number:
        value = word.value
    elif word.text in {"duzia", "cento", "par"}:
        return Decimal(_GROUPS[word.text]), after
    elif word.text in {"uma", "duas"}:
        value = Decimal(1 if word.text == "uma" else 2)
    else:
        return None
    group = _GROUPS.get(tokens[after].text, 1) if after < len(tokens) else 1
    if after < len(tokens) and tokens[after].number and tokens[after].value == 100 and word.value == 1:  # noqa: PLR2004
        group = 100  # "um cento"
    after += group > 1
    if [each.text for each in tokens[after : after + 1]] == ["e"] and after + 1 < len(tokens):
        half = tokens[after + 1].text in _HALF
        if half and (after + 2 >= len(tokens) or tokens[after + 2].text not in _GROUPS):
            return None if value is None else (value * group + Decimal(group) / 2, after + 2)
    return None if value is None and group > 1 else (None if value is None else value * group, after)


def _skip(tokens: Sequence[_Word], at: int) -> int:
    """Return where the name begins behind a quantity: after a unit and a "de"."""
    while at < len(tokens) and (tokens[at].text in _UNITS or tokens[at].text in _SKIPPED):
        at += 1
    return at


def _named(tokens: Sequence[_Word], start: int, known: _Known) -> tuple[list[Produto], int] | None:
    """Return the products whose whole name stands from ``start`` on: those of the longest, and where it ends."""
    whole = [(end, produto) for produto, words in known if (end := _whole(tokens, start, words)) is not None]
    if not whole:
        return None
    longest = max(end for end, _ in whole)
    return [produto for end, produto in whole if end == longest], longest


def _product(tokens: Sequence[_Word], start: int, known: _Known) -> tuple[list[Produto], int] | None:
    """Return the products that the words from ``start`` on name, and where their name ends: one, if it is clear."""
    if (whole := _named(tokens, start, known)) is not None:
        return whole
    said = list(_phrase(tokens, start))
    words = [_singular(word) for word in said if word not in _SKIPPED]
    if not words:
        return None
    part = [produto for produto, names in known if all(any(_same(word, n) for n in names) for word in words)]
    return (part, start + len(said)) if part else None


def _whole(tokens: Sequence[_Word], start: int, words: Sequence[str]) -> int | None:
    at = start
    for index, word in enumerate(words):
        while index and at < len(tokens) and tokens[at].text in _SKIPPED:
            at += 1
        if at >= len(tokens) or not _same(_singular(tokens[at].text), word):
            return None
        at += 1
    return at if words else None


def _phrase(tokens: Sequence[_Word], start: int) -> Iterator[str]:
    for token in tokens[start:]:
        if token.text in _ENDS or token.number:
            return
        yield token.text


def _price(tokens: Sequence[_Word], at: int) -> tuple[Decimal | None, int]:
    """Return what one unit costs, where the words behind a product say it: "a 10", "por R$ 10 cada"."""
    to = at
    while to < len(tokens) and tokens[to].text in _CAME:
        to += 1
    costs, at = _said(tokens, to - 1, to) in _COST and to > at, to
    while to < len(tokens) and tokens[to].text in {"a", "por", "r$", "no", "valor", "de"}:
        to += 1
    if to >= len(tokens) or tokens[to].value is None:
        return None, at
    end = to + 1
    while end < len(tokens) and tokens[end].text in {"reais", "real", "a", "por"}:
        end += 1
    each = end < len(tokens) and tokens[end].text in _EACH
    if not each and not costs and (to == at or tokens[at].text != "a"):
        return None, at  # "por 30" may be all of them together
    try:
        return preco(f"{tokens[to].value:.4f}".rstrip("0").rstrip(".")), end + each
    except ProdutoInvalido:
        return None, at


def _words(texto: str) -> list[str]:
    return [_singular(word.text) for word in _tokens(texto) if word.text not in _SKIPPED and word.text[0].isalnum()]


def _singular(word: str) -> str:
    for plural, one in _PLURALS:
        if word.endswith(plural) and len(word) > len(plural):
            return word[: -len(plural)] + one
    return word[:-1] if len(word) > 2 and word.endswith("s") else word  # noqa: PLR2004 - "os" is no plural of "o"


def _same(said: str, name: str) -> bool:
    if said == name:
        return True
    return min(len(said), len(name)) >= _MISTYPED and fuzz.ratio(said, name) >= _ALIKE


def read_alone(texto: str, antes: Sequence[Item]) -> Dito | None:
    """Return what a number alone ("não, é 3") makes of the one item that stands, or asks of which; else ``None``."""
    tokens = _tokens(plain(texto, _READ))
    at = 0
    while at < len(tokens) and (tokens[at].text in _OPENING or tokens[at].text in _ARE):
        at += 1
    led = tokens[at].text if at < len(tokens) else ""
    como = "take" if led in _GONE else "add" if led in _ADDED else "set"
    at += como != "set"
    amount = _amount(tokens, at) if at < len(tokens) and (at or como != "set") else None
    if not amount or (quantos := amount[0]) is None or quantos >= _SMALL or _MONEY.search(texto) or not antes:
        return None
    if any(word.text not in _CLOSING for word in tokens[amount[1] :]):
        return None
    if len(antes) > 1:
        return Dito(tuple(antes), (), pergunta=f"{quantos:f} de qual produto?")
    [item] = antes
    try:
        made = _item(_Named(item, quantos, None, como, 0, 0), item)
    except ProdutoInvalido as error:
        return Dito(tuple(antes), (), pergunta=str(error))
    return Dito(itens([made]) if made else (), todos=True, quantos=(quantos,), relativo=como != "set")


def has_number(texto: str) -> bool:
    """Tell whether words have a number in them, in figures or words."""
    return any(word.number for word in _tokens(plain(texto, _READ)))


_MONEY: Final = re.compile(r"(?i)r\$|\breais\b|\breal\b|\d[,.]\d\d(?!\d)|%")


@dataclass(frozen=True, slots=True)
class Unlisted:
    """Some of what is no product of the company's: ``texto`` is what it may be called, ``dito`` the words."""

    texto: str
    preco: Decimal | None
    dito: str


def read_unknown(texto: str, produtos: Collection[Produto]) -> tuple[Unlisted, ...]:
    """Return what words count that is none of the products: "2 canetas a 3,50"; ``preco`` where one unit's is told."""
    whole = _STREET.split(" ".join(texto.split()), 1)[0]
    tokens = _tokens(folded := plain(whole, _READ))
    known = [(produto, _words(plain(produto.texto, _READ))) for produto in produtos]
    found: list[Unlisted] = []
    at = 0
    while at < len(tokens):
        if (named := _named(tokens, at, known)) is not None:
            at = named[1]
            continue
        amount = _amount(tokens, at)
        if amount is None:
            at += 1
            continue
        start = _skip(tokens, amount[1])
        words = list(takewhile("em".__ne__, _phrase(tokens, start)))
        article = amount[0] == 1 and (tokens[at].spelled or tokens[at].text == "uma")
        before = _said(tokens, at - 1, at)
        if before in _NUMBERED or (article and before not in {"de", "e", "mais", "+", ","}):
            at = amount[1]
            continue
        counts = amount[0] is not None and amount[0] < _SMALL and amount[0] == amount[0].to_integral_value()
        goods = words and words[0] not in _NO_PRODUCT and words[0] not in _NEVER and len(words[0]) > 1
        if not counts or not goods or _product(tokens, start, known) is not None:
            at = amount[1]
            continue
        end = start + len(words)
        custa, end = _price(tokens, end)
        said = _as_written(whole, folded, words)
        name = said if amount[0] == 1 else _one_of(said)
        costs = f" a {custa:.2f}".replace(".", ",") if custa is not None else ""
        found.append(Unlisted(name[:1].upper() + name[1:], custa, f"{amount[0]:f} {said}{costs}"))
        at = end
    return tuple(found)


_STREET: Final = re.compile(r"(?i)\b(?:rua|r\.|av\.?|avenida|alameda|pra[çc]a|travessa|rodovia|quadra|cep)\s")
_NEVER: Final = frozenset(
    {"reais", "real", "mil", "por", "via", "vias", "pessoa", "pessoas", "semana", "semanas", "min", "minuto", "minutos"}
    | {"servico", "servicos", "em", "que", "cliente", "clientes", "outra", "outras", "outro", "dela", "dele", "essa"}
    | {"produto", "produtos", "item", "itens", "coisa", "coisas", "esse", "r", "k", "conto", "contos", "pila", "pilas"}
    | {"janeiro", "fevereiro", "marco", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro"}
    | {"dezembro", "hoje", "ontem", "amanha", "momento", "minutinho", "pergunta", "segundo"}
    | {"unica", "unico", "mesma", "ultima", "pagamento", "cep", "rua", "avenida", "andar", "sala"}
)
_NUMBERED: Final = frozenset(
    {"nota", "dia", "numero", "n", "ncm", "cep", "sala", "apto", "qd", "lote", "km", "r$", "as"}
)
_SAME_IN_PLURAL: Final = frozenset({"lapis", "tenis", "oculos", "onibus", "pires", "virus", "atlas", "gas", "mais"})
_WRITTEN_PLURALS: Final = (
    *(("ões", "ão"), ("ães", "ão"), ("ãos", "ão"), ("éis", "el"), ("óis", "ol"), ("uis", "ul"), ("dores", "dor")),
    *(("tores", "tor"), ("lores", "lor"), ("ares", "ar"), ("eres", "er"), ("zes", "z")),
)


def _as_written(whole: str, folded: str, words: Sequence[str]) -> str:
    said = " ".join(words)
    at = folded.find(said) if len(folded) == len(whole) else -1
    return whole[at : at + len(said)].lower() if at >= 0 else said


def _one_of(said: str) -> str:
    """Return the name of one: "bolos de pote" are a "bolo de pote"; what is behind "de" stays."""
    first, joint, rest = said.partition(" de ")
    return " ".join(map(_without_plural, first.split())) + joint + rest


def _without_plural(word: str) -> str:
    for plural, one in _WRITTEN_PLURALS:
        if word.endswith(plural):
            return word[: -len(plural)] + one
    return word if plain(word, _READ) in _SAME_IN_PLURAL else _singular(word)


def names_one(texto: str, produto: str) -> bool:
    """Tell whether words have the whole name of a product in them."""
    tokens, words = _tokens(plain(texto, _READ)), _words(plain(produto, _READ))
    return any(_whole(tokens, at, words) is not None for at in range(len(tokens)))


def is_one(texto: str, produto: str) -> bool:
    """Tell whether words are the name of a product and nothing else."""
    tokens, words = _tokens(plain(texto, _READ)), _words(plain(produto, _READ))
    return _whole(tokens, 0, words) == len(tokens)


def is_money(texto: str, valor: str) -> bool:
    """Tell whether words say an amount ("10.00") as money, and not as how many there are."""
    tokens = _tokens(plain(texto, _READ))
    return any(
        word.value is not None
        and f"{word.value:.2f}" == valor
        and (_said(tokens, at - 1, at) in {"r$", "por", "valor"} or _said(tokens, at + 1, at + 2) in {"reais", "real"})
        for at, word in enumerate(tokens)
    )
