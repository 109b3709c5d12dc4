"""Reads what people ask of their company's catalogue: a new product, its code, another price, the list.

Reads a sale that is told ("vendi 2 canecas em mãos") as the order that it is, and how the goods went.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from extractor.fields.products import is_one
from state_machine.goods import ENTREGA, Produto, ProdutoInvalido, preco
from state_machine.values.text import plain

_READ: Final = 4000  # characters
_PRICE: Final = r"(?:r\$ ?)?(?P<preco>\d{1,7}(?:[.,]\d{1,2})?)(?: ?(?:reais|real|conto))?"


@dataclass(frozen=True, slots=True)
class NewProduct:
    """A product that is named to be kept: ``preco`` as "12.00", ``ncm`` of 8 digits where it was said."""

    texto: str
    preco: str
    ncm: str | None = None


_KEEP: Final = re.compile(
    r"^(?:por favor,? )?(?:cadastr(?:a|ar|e)|guarda|salva|adiciona|novo produto:?) "
    r"(?:(?:o|um|uma|a|novo|nova|meu|minha) ){0,3}(?:produto:? )?"
    rf"(?P<texto>[^\d\n][^\n]{{0,119}}?),? (?:a|por|de|custa|preco)? ?{_PRICE}"
    r"(?: (?:cada|a unidade))?(?:,? ncm:? ?(?P<ncm>[\d.]{8,10}))? ?[.!]?$"
)


def read_new_product(texto: str) -> NewProduct | None:
    """Return the product that words want kept ("cadastra bolo de pote 12 reais"), ``None`` for any other words."""
    whole = " ".join(texto.split())
    folded = plain(whole, _READ)
    found = _KEEP.match(folded) if len(folded) == len(whole) else None
    if found is None or (custa := _price(found["preco"])) is None:
        return None
    named = whole[found.start("texto") : found.end("texto")].strip()
    ncm = re.sub(r"\D", "", found["ncm"]) if found["ncm"] else None
    return NewProduct(named[:1].upper() + named[1:], custa, ncm)


def _price(said: str) -> str | None:
    try:
        return f"{preco(said.replace('.', ',')):.2f}"
    except ProdutoInvalido:
        return None


_CODE: Final = re.compile(r"^(?:o )?(?:(?:ncm|codigo)(?: ?(?:e|eh|:))? ?)?(?P<ncm>\d{4}\.?\d{2}\.?\d{2}) ?[.!]?$")


def read_code(texto: str) -> str | None:
    """Return the NCM (8 digits) that an answer is, and nothing else."""
    found = _CODE.match(" ".join(plain(texto, _READ).split()))
    return re.sub(r"\D", "", found["ncm"]) if found else None


_LIST: Final = re.compile(
    r"^(?:(?:e|oi|me|quais|que|qual|lista|listar|liste|mostra|mostrar|mostre|ver|cade|manda|quero|sao|os|as|a|o|de|dos|"
    r"meus|todos|tabela|precos|preco|catalogo) )*(?:produtos|catalogo|mercadorias|tabela de precos|o que eu vendo)"
    r"(?: (?:que|eu|a gente|tenho|tem|temos|cadastrados?|cadastrei|meus|estao|ja|no|cadastro|vendo|sao|de voces))*"
    r"\s*[?.!]*$"
)


def asks_for_list(texto: str) -> bool:
    """Tell whether words ask which products there are."""
    return _LIST.match(" ".join(plain(texto, _READ).split())) is not None


_CHANGE: Final = (
    r"(?:muda|mudar|mude|altera|alterar|altere|troca|atualiza|atualize|aumenta|abaixa|baixa|corrige|poe|coloca)"
)
_NEW_PRICE: Final = (
    re.compile(
        rf"^(?:(?:agora|e|por favor|pode) )?(?:{_CHANGE} )?(?:o )?(?:preco|valor) d[aeo]s? (?P<nome>\S.{{0,79}}?) "
        rf"(?:agora )?(?:e|eh|para|pra|por|a|em|custa|fica|vai|passa|subiu|caiu)"
        rf"(?: (?:a|pra|para|ser|agora|em)){{0,4}} {_PRICE} ?[.!]?$"
    ),
    re.compile(
        rf"^(?:a|o)? ?(?P<nome>\S.{{0,79}}?) (?:agora|a partir de hoje|a partir de agora|passa a|passou a) "
        rf"(?:custar?|e|eh|vale|sai por|sai a|ta|esta|fica) {_PRICE} ?[.!]?$"
    ),
)


@dataclass(frozen=True, slots=True)
class NewPrice:
    """A product of the company's that costs another price from now on, as "40.00"."""

    produto: Produto
    preco: str


def says_price(texto: str) -> bool:
    """Tell whether words may say a new price of a product."""
    return any(shape.match(" ".join(plain(texto, _READ).split())) for shape in _NEW_PRICE)


def read_new_price(texto: str, produtos: Collection[Produto]) -> NewPrice | None:
    """Return the product of which words say a new price ("muda o preço da caneca pra 40"); ``None``: they name none."""
    folded = " ".join(plain(texto, _READ).split())
    for shape in _NEW_PRICE:
        if (found := shape.match(folded)) is None or (custa := _price(found["preco"])) is None:
            continue
        named = [each for each in produtos if is_one(found["nome"], each.texto)]
        if len(named) == 1:
            return NewPrice(named[0], custa)
    return None


_SOLD: Final = re.compile(
    r"(?i)^\s*(?:(?:oi|ol[áa]|ent[ãa]o|hoje|ontem|bom dia|boa tarde|boa noite|e)[,!.]?\s+)*(?:eu\s+|a gente\s+)?"
    r"(?:(?:acabei de vender|vendi|vende|vendemos|vendeu|venda de)\s+(?:por\s+)?|(?:sa[ií]ram|saiu)\s+)"
    r"(?=\d|r\$|uma?\b|dois\b|duas\b|tr[êe]s\b|quatro\b|cinco\b|seis\b|sete\b|oito\b|nove\b|dez\b|doze\b|meia\b)"
)
_IN_HAND: Final = re.compile(
    r"(?i),?\s{0,3}\b(?:(?:foi|foram|j[áa]|e)\s{1,3}){0,4}(?:entregu?\w*\s{1,3}(?:em|nas?)|em)\s{1,3}m[ãa]os?\b(?:\s{1,3}(?:mesmo|dele|dela))?"
    r"(?=\s{0,3}(?:$|[,.;!?\n])|\s{1,3}(?:pra|pro|para|sem|com|cpf|cnpj|hoje|ontem|por|e\s{1,3}(?:\d|uma?|dois|duas))\b)"
)


# "saíram duas notas", "saiu 1500 mas era 1800": of a note that is out, and no sale
_OF_NOTES: Final = re.compile(
    r"\A(?:\S+\s+(?:notas?|nfs?|nf-?s?e|pdfs?|xmls?|danfes?|vias?)\b|"
    r"[^\n]*\b(?:a mais|a menos|mas|errad[oa]s?|era|duplicad[oa]s?)\b)"
)
_ANSWERS: Final = frozenset({"", "sim", "s", "nao", "n", "foi", "isso", "ok", "nao foi", "sim foi", "nao nao foi"})
_NOT_IN_HAND: Final = re.compile(r"(?i)\b(?:n[ãa]o|nem|sem)\s+(?:foi\s+|foram\s+|entregu?\w*\s+)*(?:em|na)\s+m[ãa]o")


def as_order(texto: str) -> str:
    """Return words of a sale as those of an order, and how the goods went apart from any name."""
    sold = _SOLD.match(texto) if "?" not in texto else None
    sold = None if sold and _OF_NOTES.match(plain(texto[sold.end() :], _READ)) else sold
    said = "nota de " + texto[sold.end() :] if sold else texto
    apart = _IN_HAND.sub(",", said).strip(" ,\n")
    alone = re.sub(r"[^a-z ]", "", plain(apart, _READ)).strip() in _ANSWERS
    return said if _NOT_IN_HAND.search(said) or (alone and not any(map(str.isdigit, apart))) else apart


_ALONE: Final = re.compile(
    rf"^(?:(?:sao|e|eh|custa|cada|a|por|foi|foram)\s+)*{_PRICE}(?:\s+(?:cada|cada um|a unidade))?[.!]?$"
)


def read_price(texto: str) -> str | None:
    """Return the number or price that an answer is, as it was written, and nothing else."""
    found = _ALONE.match(" ".join(plain(texto, _READ).split()))
    return found["preco"].replace(".", ",") if found else None


_WORK: Final = re.compile(
    r"\b(?:servicos?|sess(?:ao|oes)|aulas?|consultas?|consultorias?|diarias?|visitas?|mensalidades?|projetos?|artes?|posts?|"
    r"videos?|fotos?|ensaios?|palestras?|treinamentos?|manutenc(?:ao|oes)|instalac(?:ao|oes)|reparos?|cortes?|fretes?|"
    r"corridas?|shows?|eventos?|cursos?|mentorias?|laudos?|paginas?|logos?|sites?|parecer(?:es)?|traduc(?:ao|oes)|"
    r"atendimentos?|encontros?|plant(?:ao|oes)|revis(?:ao|oes)|limpezas?|faxinas?|massage(?:m|ns)|desenhos?|licencas?|"
    r"ingressos?|pontos?|lotes?|modulos?|campanhas?|reunioes|reuniao|horas?)\b"
)


def is_service(texto: str) -> bool:
    """Tell whether words name a work by one of its usual names."""
    return _WORK.search(plain(texto, _READ)) is not None


_FOR: Final = re.compile(
    r"(?i)\b(?:pra|para|pro|p/)\s+(?:[ao]\s+)?(?P<nome>[^\W\d_]{2,}(?:\s[^\W\d_]+){0,5}?)"
    r"(?=\s*(?:[,.;\n]|$|\b(?:cpf|cnpj|sem|em|por|entreg\w+)\b))"
)
_NOBODY: Final = frozenset({"mim", "ela", "ele", "entrega", "viagem", "hoje", "amanha", "levar", "presente", "todos"})


def for_whom(texto: str) -> str | None:
    """Return the name behind the "pra" of a sale, ``None`` where there is none."""
    found = _FOR.search(as_order(texto))
    return found["nome"] if found and plain(found["nome"], _READ).split()[0] not in _NOBODY else None


_NAMELESS: Final = re.compile(
    r"\bsem (?:o )?(?:cpf|nome|documento|identifica)|\bconsumidor (?:final|nao identificado)|"
    r"\bnao (?:quis|quer|tem|deu) (?:dar |por |informar )?(?:o )?(?:cpf|nome na nota)"
)
_HANDED: Final = re.compile(r"\bem maos?\b|\bna hora\b|\bretirou\b|\blevou\b|\bnfc-?e\b|\bcupom\b|\bno balcao\b")
_SENT: Final = re.compile(
    r"\b(?:nao foi|nem) em maos?\b|\benvi(?:ei|ado|ada|o|ar)\b|\bcorreios?\b|\bmotoboy\b|\btransportadora\b|"
    r"\bnf-?e\b"
)
_UNSAID: Final = r"(?<!\bnao )(?<!\bnao e )(?<!\bnao eh )(?<!\bnao era )(?<!\bnao foi )(?<!\bsem )(?<!\bnem )"
_BROUGHT: Final = re.compile(
    rf"{_UNSAID}(?:\bdelivery\b|\ba loja (?:entreg(?:a|ou)|leva)\b|\b(?:a gente entrega|nos entregamos)\b|"
    r"\bentreg(?:a|o|uei|amos|ar)? (?:propria|da loja|(?:em|na|a) (?:casa|domicilio))\b)"
)


def read_model(texto: str) -> str | None:
    """Return which invoice for goods words ask for ("nfe", "nfce", ``ENTREGA``), by its name or how the goods went."""
    folded = plain(texto, _READ)
    if _SENT.search(folded):
        return "nfe"
    if _BROUGHT.search(folded):
        return ENTREGA
    return "nfce" if _HANDED.search(folded) else None


def is_nameless(texto: str) -> bool:
    """Tell whether the consumer is to have no name on the invoice."""
    return _NAMELESS.search(plain(texto, _READ)) is not None
