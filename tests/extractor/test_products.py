"""Which products words name, how many, and at what price."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor.fields.products import read_alone, read_items, read_unknown
from extractor.requests.products import (
    as_order,
    asks_for_list,
    for_whom,
    is_nameless,
    read_code,
    read_model,
    read_new_price,
    read_new_product,
)
from state_machine.goods import ENTREGA, Produto

PRODUTOS = [
    Produto(codigo=codigo, texto=texto, ncm="19059090", cfop="5102", csosn="102", unidade="UN", preco=Decimal(preco))
    for codigo, texto, preco in [
        ("B1", "Bolo de pote", "12.00"),
        ("B2", "Brigadeiro", "4.50"),
        ("B3", "Bolo de cenoura", "40.00"),
        ("C1", "Café com leite", "8.00"),
        ("P1", "Pão de queijo", "3.00"),
    ]
]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nota de 3 bolos de pote e 2 brigadeiros pra fulana, cpf 111.444.777-35", [("B1", "3"), ("B2", "2")]),
        ("uma dúzia de brigadeiros e 2 cafés com leite", [("B2", "12"), ("C1", "2")]),
        ("meia dúzia de pães de queijo", [("P1", "6")]),
        ("vendi dois bolos de cenoura pra ana", [("B3", "2")]),
        ("2 brigaderos", [("B2", "2")]),  # mistyped
        ("10 un de pão de queijo, 1 café com leite", [("P1", "10"), ("C1", "1")]),
    ],
)
def test_products_are_named_with_their_number(words: str, expected: list[tuple[str, str]]) -> None:
    """In figures or words, in the plural, with or without a unit."""
    read = read_items(words, PRODUTOS)
    assert read is not None
    assert not read.fora
    assert [(item.codigo, str(item.quantidade)) for item in read.itens] == expected


@pytest.mark.parametrize(
    ("words", "unclear"),
    [
        ("3 bolos pra ana", "3 bolos"),  # of two kinds
        ("2 brigadeiros e 4 xuxus", "4 xuxus"),
        ("2 brigadeiros pra ana por 5 cada", "5 cada"),
        ("2 brigadeiros grandes a 5 pra ana", "2 brigadeiros grandes a 5"),
        ("2 brigadeiros, 5 reais cada um", "5 reais cada"),
        ("0 brigadeiros", "0 Brigadeiro: a quantidade fica acima de zero e abaixo de 1.000.000"),
        ("1000000 brigadeiros", "1000000 Brigadeiro: a quantidade fica acima de zero e abaixo de 1.000.000"),
    ],
)
def test_what_is_not_clear_is_never_dropped(words: str, unclear: str) -> None:
    """It is told back, and the rest is kept."""
    read = read_items(words, PRODUTOS)
    assert read is not None
    assert read.fora == (unclear,)


@pytest.mark.parametrize(
    "words",
    ["nota de 1.500 pra padaria, cnpj 11.222.333/0001-81, consultoria", "consultoria de 2 horas", "oi", "sim", "10"],
)
def test_words_about_other_things_name_no_product(words: str) -> None:
    """An invoice for a service stays one."""
    assert read_items(words, PRODUTOS) is None


def test_an_item_is_corrected_added_and_taken_away() -> None:
    """Each by its own name; the others stay."""
    first = read_items("3 bolos de pote e 2 brigadeiros", PRODUTOS)
    assert first is not None
    more = read_items("na verdade são 4 bolos de pote", PRODUTOS, first.itens)
    assert more is not None
    assert [str(item.quantidade) for item in more.itens] == ["4", "2"]
    less = read_items("tira os brigadeiros", PRODUTOS, more.itens)
    assert less is not None
    assert [item.codigo for item in less.itens] == ["B1"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("vinte e cinco brigadeiros", "25"),
        ("cento e vinte brigadeiros", "120"),
        ("duas dúzias de brigadeiros", "24"),
        ("uma dúzia e meia de brigadeiros", "18"),
        ("um cento de brigadeiros", "100"),
        ("1.5 brigadeiro", "1.5"),
        ("2 brigadeiros e mais 2 brigadeiros", "4"),
        ("sem cpf 2 brigadeiros", "2"),
        ("cpf 529.982.247-25 2 brigadeiros", "2"),
    ],
)
def test_a_number_is_read_whole(words: str, expected: str) -> None:
    """Never the last word of it alone."""
    read = read_items(words, PRODUTOS)
    assert read is not None
    assert not read.fora
    assert [str(item.quantidade) for item in read.itens] == [expected]


@pytest.mark.parametrize(
    "words",
    [
        *(
            "3 ou 4 brigadeiros",
            "1/2 brigadeiro",
            "-2 brigadeiros",
            "2 caixas de 12 brigadeiros",
            "um brigadeiro e meio",
        ),
        *("3 caixas com 4 brigadeiros", "500 g de brigadeiro", "2 brigadeiros não, 3", "metade de um brigadeiro"),
        *("não são 2 brigadeiros, são 4", "quero 4 brigadeiros e não 2", "1 xuxu e 2 brigadeiros", "2 brigadeiros x 3"),
        *("1000 xuxus e 2 brigadeiros", "2 brigadeiros, 3 brigadeiros", "mais ou menos 2 brigadeiros"),
        *("troca 2 brigadeiros por 3 pães de queijo", "em vez de 2 brigadeiros, 5 brigadeiros"),
    ],
)
def test_a_number_that_may_mean_another_is_asked_for(words: str) -> None:
    """No quantity is guessed."""
    read = read_items(words, PRODUTOS)
    assert read is not None
    assert read.fora


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mais 2 brigadeiros", ["3", "4"]),
        ("adiciona 1 bolo de pote", ["4", "2"]),
        ("bota mais um bolo de pote", ["4", "2"]),
        ("tira 1 brigadeiro", ["3", "1"]),
        ("tira o bolo", ["2"]),
        ("tira 2 brigadeiros", ["3"]),
        ("brigadeiro a 5 reais", ["3", "2"]),
    ],
)
def test_more_is_added_and_less_taken_from_what_stands(words: str, expected: list[str]) -> None:
    """A "mais 2" is no "2"."""
    first = read_items("3 bolos de pote e 2 brigadeiros", PRODUTOS)
    assert first is not None
    read = read_items(words, PRODUTOS, first.itens)
    assert read is not None
    assert not read.fora
    assert [str(item.quantidade) for item in read.itens] == expected


@pytest.mark.parametrize("words", ["brigadeiros: 4", "metade dos brigadeiros", "2 cafés com leite e brigadeiro"])
def test_a_product_without_a_quantity_is_told(words: str) -> None:
    """It is neither one nor none."""
    read = read_items(words, PRODUTOS)
    assert read is not None
    assert read.soltos == ("Brigadeiro",)


@pytest.mark.parametrize(
    ("words", "price"),
    [
        ("2 brigadeiros a 5 reais cada", "5.00"),
        ("2 brigadeiros gourmet por 5 cada", "5.00"),
        ("2 brigadeiros por 5,50 cada", "5.50"),
        ("2 brigadeiros a 5", "5.00"),
    ],
)
def test_a_price_of_one_unit_is_this_invoices(words: str, price: str) -> None:
    """Words like "por 30" may be all of them together, and changes no price."""
    read = read_items(words, PRODUTOS)
    assert read is not None
    assert read.itens[0].preco == Decimal(price)
    together = read_items("10 pães de queijo por 30 reais", PRODUTOS)
    assert together is not None
    assert together.itens[0].preco == Decimal("3.00")


@given(st.text(max_size=300))
def test_any_words_are_read(words: str) -> None:
    """Nothing raises, and every item is one of the company's."""
    read = read_items(words, PRODUTOS)
    assert read is None or {item.codigo for item in read.itens} <= {produto.codigo for produto in PRODUTOS}


def test_how_the_goods_went_says_which_invoice() -> None:
    """By its name, or by the way."""
    assert read_model("entreguei em mãos") == read_model("faz o cupom") == "nfce"
    assert read_model("enviei pelo correio") == read_model("nf-e") == read_model("não foi em mãos") == "nfe"
    assert read_model("não é delivery") is read_model("sem entrega em casa") is None
    assert read_model("não foi entrega da loja, entreguei em mãos") == "nfce"
    assert read_model("não, a loja entrega; nfc-e") == read_model("entreguei na casa dela") == ENTREGA
    assert read_model("consultoria") is None
    assert is_nameless("sem cpf na nota")
    assert not is_nameless("cpf 111.444.777-35")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cadastra bolo de pote 12 reais", ("Bolo de pote", "12.00", None)),
        ("Cadastra brigadeiro gourmet, R$ 4,50 cada", ("Brigadeiro gourmet", "4.50", None)),
        ("cadastra café com leite a 8,00 ncm 2101.11.10", ("Café com leite", "8.00", "21011110")),
        ("cadastra a padaria cnpj 12.345.678/0001-95", None),
        ("nota de 12 reais", None),
    ],
)
def test_a_new_product_is_named_with_its_price(words: str, expected: tuple[str, str, str | None] | None) -> None:
    """With its NCM where that is said."""
    read = read_new_product(words)
    assert (read and (read.texto, read.preco, read.ncm)) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("o brigadeiro saiu a 5", [("B2", "1", "5.00")]),
        ("brigadeiro custou 5,50", [("B2", "1", "5.50")]),
        ("troca o brigadeiro por 2", [("B2", "2", "4.50")]),
        ("muda o brigadeiro pra 3", [("B2", "3", "4.50")]),
        ("brigadeiro são 2", [("B2", "2", "4.50")]),
        ("brigadeiro: 4", [("B2", "4", "4.50")]),
        ("troca o brigadeiro por 2 e tira 1 bolo de pote", [("B1", "1", "12.00"), ("B2", "2", "4.50")]),
    ],
)
def test_a_price_keeps_the_quantity_and_a_quantity_the_price(words: str, expected: list[tuple[str, str, str]]) -> None:
    """Each of an item that stands."""
    first = read_items("2 bolos de pote e 1 brigadeiro", PRODUTOS)
    assert first is not None
    read = read_items(words, PRODUTOS, first.itens)
    assert read is not None
    assert not read.fora
    assert not read.soltos
    made = [(item.codigo, str(item.quantidade), str(item.preco)) for item in read.itens]
    assert set(expected) <= set(made)


@pytest.mark.parametrize(
    ("words", "quantity"),
    [
        ("não, é 3", "3"),
        ("na verdade 4", "4"),
        ("são três", "3"),
        ("mais 2", "4"),
        ("tira 1", "1"),
        ("errei, são 5 un", "5"),
    ],
)
def test_a_number_alone_is_of_the_one_item(words: str, quantity: str) -> None:
    """Of two it is asked of which one."""
    one = read_items("2 brigadeiros", PRODUTOS)
    two = read_items("2 brigadeiros e 1 bolo de pote", PRODUTOS)
    assert one is not None
    assert two is not None
    read = read_alone(words, one.itens)
    assert read is not None
    assert [str(item.quantidade) for item in read.itens] == [quantity]
    asked = read_alone(words, two.itens)
    assert asked is not None
    assert "de qual produto" in asked.pergunta


@pytest.mark.parametrize("words", ["não, é 3,50", "sim", "3", "é 30 reais", "não, é pra ana", "não, é 3 pães"])
def test_other_words_are_no_number_alone(words: str) -> None:
    """Money, a bare number and other things are none."""
    one = read_items("2 brigadeiros", PRODUTOS)
    assert one is not None
    assert read_alone(words, one.itens) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nota de 2 canetas em mãos", [("Caneta", None)]),
        ("2 canetas a 3,50", [("Caneta", "3.50")]),
        ("nota de 10 pães de mel a 4 cada e 2 brigadeiros", [("Pão de mel", "4.00")]),
        ("1 camiseta azul pra bia", [("Camiseta azul", None)]),
        ("2 apontadores e 3 lápis", [("Apontador", None), ("Lápis", None)]),
        ("nota de 1.500 pra padaria, consultoria", []),
        ("2 brigadeiros", []),
        ("nota de 10 horas a 80", []),
    ],
)
def test_what_is_no_product_is_named(words: str, expected: list[tuple[str, str | None]]) -> None:
    """With the price that was said of one."""
    read = read_unknown(words, PRODUTOS)
    assert [(each.texto, None if each.preco is None else str(each.preco)) for each in read] == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("vendi 2 canecas pra Bia em mãos", "nota de 2 canecas pra Bia"),
        ("vende 1 caneca, sem cpf, entregue em mãos", "nota de 1 caneca, sem cpf"),
        ("posso vender 1 brigadeiro sem cpf?", "posso vender 1 brigadeiro sem cpf?"),
        ("em mãos", "em mãos"),
        ("consultoria", "consultoria"),
        ("nota de 2 canecas pra Lava Mãos em Mãos Ltda", "nota de 2 canecas pra Lava Mãos em Mãos Ltda"),
        *(
            (said, said)
            for said in (
                "saíram duas notas iguais pra Maria",
                "saiu 200 a mais na nota",
                "massagem nas mãos",
                "saiu por 30 cada",
            )
        ),
    ],
)
def test_a_sale_that_is_told_is_an_order(words: str, expected: str) -> None:
    """How the goods went is no part of a name."""
    assert as_order(words) == expected


def test_the_catalogue_is_spoken_of() -> None:
    """A list, a code alone, another price."""
    assert asks_for_list("quais produtos eu tenho?")
    assert asks_for_list("meus produtos")
    assert asks_for_list("lista de produtos")
    assert not asks_for_list("nota de produtos pra maria")
    assert read_code("ncm 7326.90.90") == read_code("73269090") == "73269090"
    assert read_code("1234567") is None
    for words in (
        "muda o preço do brigadeiro pra 5",
        "o preço do brigadeiro agora é R$ 5,00",
        "brigadeiro agora custa 5",
    ):
        read = read_new_price(words, PRODUTOS)
        assert read is not None, words
        assert (read.produto.codigo, read.preco) == ("B2", "5.00")
    assert read_new_price("muda o valor da nota pra 500", PRODUTOS) is None


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("nota de 1 caneca e 2 camisetas pra Bia em mãos", "Bia"),
        ("vendi 2 canecas para Ana Souza, cpf 1", "Ana Souza"),
        ("nota de 2 canecas em mãos", None),
        ("2 canecas pra viagem", None),
        ("muda pra 2", None),
    ],
)
def test_for_whom_a_sale_is(words: str, name: str | None) -> None:
    """Whom the words name behind "pra"."""
    assert for_whom(words) == name
