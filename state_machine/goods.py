"""Goods: a company's products, and what an invoice for them says of each item.

``nfe`` is the NF-e (model 55), for companies and for whatever is sent; ``nfce`` the NFC-e (model 65), for a person who
got the goods in hand or, with an address, by the shop's own delivery. What an authority asks of codes: ``gateway/nfe``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

from state_machine.values.errors import ProsaError
from state_machine.values.money import CENTAVO, LIMITE, ValorInvalido, centavos, formata_brl
from state_machine.values.text import as_latin, plain, unfit

Modelo = Literal["nfe", "nfce"]
MODELOS: Final[tuple[Modelo, ...]] = get_args(Modelo)
ENTREGA: Final = "nfce-entrega"  # in a draft: an NFC-e whose goods the shop itself brings (indPres 4)
NOMES: Final[dict[str, str]] = {"nfe": "NF-e", "nfce": "NFC-e", ENTREGA: "NFC-e"}
ITENS_MAX: Final = 990  # MOC 7.0, det@nItem
QUANTIDADE_MAX: Final = Decimal(10**6)  # exclusive; more in one item is a slip
NENHUM: Final = "[]"  # ``dump`` of no items: a draft whose items are all in doubt
_CODES_OF_MEI: Final = frozenset({"102", "300", "400"})  # NT 2024.001; 103 and 500 are no MEI's
_CODES_OF_SIMPLES: Final = frozenset({"102", "103", "300", "400", "500"})
_ST_ALREADY_PAID: Final = "500"
_NCM_DIGITS: Final = 8
_LONG: Final = 2000  # characters of the official words of one code
# What people call goods, in the words of the official list.
_EVERYDAY: Final = {
    **dict.fromkeys(
        ("bolo", "torta", "salgado", "coxinha", "empada", "pizza", "panetone"), "produtos padaria bolachas"
    ),
    **dict.fromkeys(("brigadeiro", "trufa", "bombom"), "chocolate preparacoes alimenticias cacau"),
    **dict.fromkeys(("bala", "pirulito", "doce", "bananinha"), "produtos de confeitaria acucar"),
    **dict.fromkeys(("camiseta", "blusa"), "camisetas malha algodao"),
    **dict.fromkeys(("caneca", "prato", "xicara"), "louca ceramica"),
    **dict.fromkeys(("sabonete", "perfume"), "sabonetes perfumes"),
    **dict.fromkeys(("brinco", "colar", "pulseira", "anel"), "bijuterias"),
    **dict.fromkeys(("caderno", "agenda"), "cadernos blocos"),
    **dict.fromkeys(("marmita", "refeicao"), "preparacoes alimenticias"),
    **dict.fromkeys(("chapeu", "touca"), "chapeus coifas redes cabelo malha rendas"),
    **dict.fromkeys(("chinelo", "sandalia", "sapato", "bota"), "calcados"),
    **dict.fromkeys(("calca", "short", "bermuda"), "calcas shorts"),
    **dict.fromkeys(("boneca", "boneco", "brinquedo", "pelucia"), "brinquedos bonecos"),
    **dict.fromkeys(("celular", "smartphone"), "telefones inteligentes"),
    **dict.fromkeys(("mouse", "teclado"), "unidades entrada processamento dados"),
    **dict.fromkeys(("capinha", "capa", "pelicula"), "obras plasticos"),
    **dict.fromkeys(("buque", "arranjo", "flor", "flore"), "flores botoes cortados buques"),
    "racao": "alimentacao animais caes gatos",
    "cafe": "cafe torrado",
    "vela": "velas",
    "cerveja": "cervejas malte",
}
# What people say beside goods, which names others in the list: "queijo azul".
_BESIDE: Final = frozenset(
    {
        *("azul", "preto", "branco", "verde", "amarelo", "rosa", "vermelho", "cinza", "bege", "roxo", "marrom", "novo"),
        *("usado", "artesanal", "caseiro", "grande", "medio", "pequeno", "infantil", "adulto", "feminino", "masculino"),
        *("unissex", "simples", "especial", "personalizado", "com", "sem", "para", "kit", "par"),
    }
)
_FIRST: Final = 5  # so much more weighs the first word
_KEPT: Final = 256  # drafts whose items are not read again
_TEXTO_MAX: Final = 120  # characters of xProd
_DECIMAL: Final = re.compile(r"[0-9]{1,7}(?:[.,][0-9]{1,4})?")


class ProdutoInvalido(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """A product or an item that no invoice can carry; ``campo`` is its column, the text says why in pt-BR."""

    code = "produto_invalido"

    def __init__(self, campo: str, porque: str) -> None:
        super().__init__(porque)
        self.campo = campo


@dataclass(frozen=True, slots=True, kw_only=True)
class Produto:
    """What a company sells; ``codigo`` is its own. ``preco`` in BRL for one ``unidade``, with two decimals."""

    codigo: str
    texto: str
    ncm: str
    cfop: str
    csosn: str
    unidade: str
    preco: Decimal


COLUNAS: Final = ("codigo", "texto", "ncm", "cfop", "csosn", "unidade", "preco")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Produto):
    """Some of a product in an invoice."""

    quantidade: Decimal

    @property
    def total(self) -> Decimal:
        """What it costs in BRL, half up."""
        return (self.quantidade * self.preco).quantize(CENTAVO, ROUND_HALF_UP)

    @property
    def dito(self) -> str:
        """What people call it: "3 Bolo de pote"."""
        return f"{numero(self.quantidade)} {self.texto}"


def nome_da_nota(canal: str | None) -> str:
    """Return what people call the note of a channel or model: "NF-e", "NFC-e", else "NFS-e"."""
    return NOMES.get(canal or "", "NFS-e")


def numero(quantidade: Decimal) -> str:
    """Return a quantity as people write it: "3", "0,5"."""
    texto = f"{quantidade:f}"
    return (texto.rstrip("0").rstrip(".") if "." in texto else texto).replace(".", ",")


def quantidade(texto: str) -> Decimal:
    """Read a quantity, with a comma or a point before its decimals. Raises ``ProdutoInvalido``."""
    if not _DECIMAL.fullmatch(texto.strip()):
        raise ProdutoInvalido("quantidade", "a quantidade é um número acima de zero, com até 4 casas")
    lida = Decimal(texto.strip().replace(",", "."))
    if not 0 < lida < QUANTIDADE_MAX:
        raise ProdutoInvalido("quantidade", "a quantidade fica acima de zero e abaixo de 1.000.000")
    return lida.normalize() + 0


def produto(dados: dict[str, str]) -> Produto:
    """Read a product of texts by column; a price with a decimal comma. Raises ``ProdutoInvalido``."""
    limpos = {campo: " ".join(dados.get(campo, "").split()) for campo in COLUNAS}
    for campo, (serve, forma) in _FORMAS.items():
        if not serve(limpos[campo]):
            raise ProdutoInvalido(campo, forma)
    if not is_ncm(re.sub(r"\W", "", limpos["ncm"])):
        raise ProdutoInvalido("ncm", f"o NCM {limpos['ncm']} não está na tabela; a contabilidade sabe qual é")
    texto = as_latin(limpos["texto"])
    if unfit(texto) or not 1 <= len(texto) <= _TEXTO_MAX:
        raise ProdutoInvalido("texto", f"o texto tem de 1 a {_TEXTO_MAX} letras que a nota aceita")
    return Produto(
        codigo=limpos["codigo"],
        texto=texto,
        ncm=re.sub(r"\W", "", limpos["ncm"]),
        cfop=re.sub(r"\W", "", limpos["cfop"]),
        csosn=limpos["csosn"],
        unidade=limpos["unidade"].upper(),
        preco=preco(limpos["preco"]),
    )


def checked(dados: dict[str, str], regime: str) -> Produto:
    """Read a product of a company of this regime. Raises ``ProdutoInvalido``."""
    novo = produto(dados)
    known = _CODES_OF_MEI if regime == "mei" else _CODES_OF_SIMPLES
    if novo.csosn not in known:
        raise ProdutoInvalido("csosn", f"{novo.csosn} não serve; desta empresa são {', '.join(sorted(known))}")
    if (novo.csosn == _ST_ALREADY_PAID) != novo.cfop.startswith("54"):
        raise ProdutoInvalido("cfop", "o CSOSN 500 vai com o CFOP 5405, e os outros com 5101 ou 5102")
    return novo


@dataclass(frozen=True, slots=True)
class Ncm:
    """A code of goods, and its words in the official list."""

    codigo: str
    texto: str


@cache
def ncm_list() -> dict[str, str]:
    """Return the official list as of 2025-05-13: headings (4 digits) and codes (8) with their words."""
    lines = Path(__file__).with_name("ncm.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if not line.startswith("#"))


@cache
def _subheadings() -> frozenset[str]:
    return frozenset(code[:6] for code in ncm_list() if len(code) == _NCM_DIGITS)


def is_ncm(codigo: str) -> bool:
    """Tell whether goods may have this code: its six international digits are in the list; the last two change."""
    return len(codigo) == _NCM_DIGITS and codigo[:6] in _subheadings()


def search_ncm(texto: str, quantos: int = 3) -> list[Ncm]:
    """Return the codes whose words are likest to how people call the goods, the likeliest first; none: nothing fits."""
    words = [_stem(word) for word in re.findall(r"[a-z]{3,}", plain(texto, _TEXTO_MAX))]
    said: dict[str, int] = {}  # with its weight: the first word is what it is, the others say of which kind
    named = [word for word in words if word not in _BESIDE and f"{word[:-1]}o" not in _BESIDE] or words
    for place, each in enumerate(named):
        for word in _EVERYDAY.get(each, each).split():
            said.setdefault(_stem(word), 1 if place else _FIRST)
    known = ncm_list()
    scored: list[tuple[float, str]] = []
    for code, official in _ncm_words().items():
        if hits := said.keys() & official:
            weight = sum(said[hit] * len(hit) for hit in hits)
            scored.append((weight - len(official) / 50 + code.endswith("90") / 100, code))
    best = sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:quantos]
    return [
        Ncm(code, f"{known.get(code[:4], '').partition(';')[0]} › {_whole(known[code])}".removeprefix(" › "))
        for _, code in best
    ]


def _whole(words: str) -> str:
    """Return a code's words without a first part that the list has cut short."""
    first, _, rest = words.partition(" › ")
    return words if first[:1].isupper() or not rest else rest


@cache
def _ncm_words() -> dict[str, frozenset[str]]:
    known = ncm_list()
    return {
        code: frozenset(
            _stem(word) for word in re.findall(r"[a-z]{3,}", plain(f"{known.get(code[:4], '')} {words}", _LONG))
        )
        for code, words in known.items()
        if len(code) == _NCM_DIGITS
    }


def _stem(word: str) -> str:
    return word.removesuffix("s")


def preco(texto: str) -> Decimal:
    """Read a price in BRL, "12,50" or "1.234,50". Raises ``ProdutoInvalido``."""
    limpo = texto.removeprefix("R$").strip()
    if re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{3})+", limpo):
        raise ProdutoInvalido("preco", f"{limpo} se lê de dois jeitos; escreva o preço com vírgula, como 1200,00")
    if "," in limpo:
        limpo = re.sub(r"\.(?=[0-9]{3}(?:\.|,))", "", limpo).replace(",", ".")
    try:
        lido = centavos(limpo)
    except ValorInvalido as error:
        raise ProdutoInvalido("preco", "o preço é um valor acima de zero, como 12,50") from error
    if lido != Decimal(limpo):
        raise ProdutoInvalido("preco", "o preço tem no máximo duas casas, como 12,50")
    return lido


def _like(pattern: str) -> Callable[[str], bool]:
    shape = re.compile(pattern)
    return lambda texto: shape.fullmatch(texto) is not None


_FORMAS: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "codigo": (_like(r"[0-9A-Za-z._/\-]{1,60}"), "o código tem de 1 a 60 letras, algarismos, ponto, barra ou traço"),
    "ncm": (_like(r"[0-9]{4}\.?[0-9]{2}\.?[0-9]{2}"), "o NCM tem 8 algarismos, como 19059090"),
    "cfop": (_like(r"5\.?[0-9]{3}"), "o CFOP é de venda dentro do estado, como 5102"),
    "csosn": (_like(r"[0-9]{3}"), "o CSOSN tem 3 algarismos, como 102"),
    "unidade": (_like(r"[0-9A-Za-z²³]{1,6}"), "a unidade tem de 1 a 6 letras, como UN"),
}


def itens(lista: Iterable[Item]) -> tuple[Item, ...]:
    """Return the items of one invoice. Raises ``ProdutoInvalido`` where they make none."""
    todos = tuple(lista)
    if not 0 < len(todos) <= ITENS_MAX:
        raise ProdutoInvalido("itens", f"uma nota tem de 1 a {ITENS_MAX} itens")
    for each in todos:
        quantidade(f"{each.quantidade:f}")
        if not 0 < each.total < LIMITE:
            raise ProdutoInvalido("quantidade", f"{each.dito} custa menos que um centavo, ou demais para uma nota")
    if total(todos) >= LIMITE:
        raise ProdutoInvalido("itens", "o total passa do que uma nota pode ter")
    return todos


def total(lista: Iterable[Item]) -> Decimal:
    """Return what the items cost together, BRL."""
    return sum((each.total for each in lista), Decimal(0))


def resumida(lista: Sequence[Item]) -> str:
    """Return the items in one line: "3 Bolo de pote; 2 Brigadeiro"."""
    return "; ".join(each.dito for each in lista)


def linhas(lista: Sequence[Item]) -> list[str]:
    """Return a line for each item, as a summary shows them."""
    return [f"• {each.dito} × {formata_brl(each.preco)} = {formata_brl(each.total)}" for each in lista]


def dump(lista: Sequence[Item]) -> str:
    """Return items as a draft holds them: JSON, the same items the same text."""
    told = [{**asdict(each), "preco": f"{each.preco:f}", "quantidade": f"{each.quantidade:f}"} for each in lista]
    return json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@lru_cache(_KEPT)
def load(texto: str) -> tuple[Item, ...]:
    """Undo ``dump``. Raises ``ValueError``."""
    try:
        told: list[dict[str, Any]] = json.loads(texto)
        return itens(
            Item(**{**each, "preco": Decimal(each["preco"]), "quantidade": Decimal(each["quantidade"])})
            for each in told
        )
    except (TypeError, KeyError, ArithmeticError) as error:
        raise ValueError("the text is no list of items") from error
