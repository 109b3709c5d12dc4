from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor.requests.cancellation import (
    PorCliente,
    PorNumero,
    PorValor,
    Qual,
    Ultima,
    begins_a_note,
    is_greeting,
    keeps,
    request,
    similar,
    too_vague,
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cancelar nota 123", PorNumero("123")),
        ("Cancela a NFS-e nº 1.042", PorNumero("1042")),
        ("quero cancelar a nfse 1042", PorNumero("1042")),
        ("oi, bom dia! queria cancelar a nota 7 por favor", PorNumero("7")),
        ("pode cancelar a nota 1042?", PorNumero("1042")),
        ("quero pedir o cancelamento da nota 55", PorNumero("55")),
        ("cancela pra mim a nota 7", PorNumero("7")),
        ("cancelar 1042", PorNumero("1042")),
        ("canclea a nota 12", PorNumero("12")),
        ("cacela nota 12", PorNumero("12")),
        ("anula a nota 3", PorNumero("3")),
        ("cancelar a última nota", Ultima()),
        ("cancela a ultima", Ultima()),
        ("cancela a nota que acabou de sair", Ultima()),
        ("cancela a nota da padaria do zé", PorCliente("padaria do ze")),
        ("cancela a nota que eu fiz pra padaria", PorCliente("padaria")),
        ("cancela a nota de 1500", PorValor(Decimal("1500.00"))),
        ("cancela a nota de R$ 1.500,50", PorValor(Decimal("1500.50"))),
        ("cancela a nota", Qual()),
        ("cancela essa nota", Qual()),
        ("cancela a nota de ontem", Qual()),
        ("cancela essa, o evento foi adiado", Ultima(pointed=True)),
        ("cancela essa última, fiz errado", Ultima()),
        ("cancela a de 640 que saiu agora", PorValor(Decimal("640.00"))),
        ("cancela a da padaria", PorCliente("padaria")),
        ("cancela a nota de ontem, cliente desistiu", Qual()),
        ("cancela a nota da padaria, o valor saiu errado", PorCliente("padaria")),
        ("quero cancelar a nota da oficina porque o serviço não foi feito", PorCliente("oficina")),
        ("cancela a nota 12 porque o prazo mudou", PorNumero("12")),
        ("quero cancelar", Qual()),
    ],
)
def test_what_people_ask_for(words, expected):
    """By number, value, client or age; with courtesies and typing errors."""
    assert request(words) == expected


@pytest.mark.parametrize(
    "words",
    [
        "cancela",
        "cancela!",
        "cancela tudo",
        "cancela essa",
        "cancela, o cliente desistiu",
        "posso cancelar a nota depois de quantos dias em goiânia?",
        "consigo cancelar nota do mês passado?",
        "cancelar nota tem multa?",
        "cancela, deixa pra lá",
        "cancelar o pedido",
        "não cancela a nota 12",
        "como cancelo uma nota?",
        "como cancelar a nota 12?",
        "cancelei a nota 12",
        "a nota 12 foi cancelada",
        "o cliente cancelou a nota",
        "consultoria de cancelamento",
        "nota de 1500 pra 12.345.678/0001-95, cancelamento da nota 55",
        "cancelamento da nota 55 pra 12.345.678/0001-95 1500 reais",
        "canela da nota 12",
        "",
    ],
)
def test_what_is_no_request(words):
    """To give up a draft, to deny, to ask how, to tell of the past, or to describe a service."""
    assert request(words) is None


@given(st.text(max_size=300))
def test_no_words_make_it_fail(words):
    """Whatever is typed."""
    request(words)
    keeps(words)
    too_vague(words)
    begins_a_note(words)
    similar(words, [words, None])


@pytest.mark.parametrize(
    "words",
    ["não", "n", "não cancela", "não cancelar mais", "deixa pra lá", "desisto", "melhor não", "desisti de cancelar"],
)
def test_words_that_let_the_note_stand(words):
    """A no is a no in all its varieties."""
    assert keeps(words)


@pytest.mark.parametrize(
    "words",
    ["o cliente desistiu do serviço", "não foi prestado o serviço", "esqueci de pôr o desconto", "sim", "cancela"],
)
def test_a_reason_is_no_change_of_mind(words):
    """Nor is "cancela", which could mean either."""
    assert not keeps(words)


@pytest.mark.parametrize(
    ("words", "vague"), [("sim", True), ("pode", True), ("cancela", True), ("valor errado", False)]
)
def test_a_yes_is_no_reason(words, vague):
    """Nor a confirmation."""
    assert too_vague(words) is vague


def test_names_are_found_shortened_and_mistyped_and_no_others():
    """Every word of what is said must be in the name."""
    names = ["PADARIA DO ZÉ LTDA", "MERCADO DO ZE", None, "ANA DESIGN"]
    assert similar("padaria do ze", names) == [0]
    assert similar("padria", names) == [0]
    assert similar("do zé", names) == [0, 1]
    assert similar("da", names) == []
    assert similar("borracharia", names) == []


@pytest.mark.parametrize(
    ("words", "begins"),
    [("nota de 1500 pra padaria", True), ("faz uma nota de R$ 10", True), ("nota de teste, emitida sem querer", False)],
)
def test_an_order_of_a_new_invoice_is_no_reason(words, begins):
    """It has a value right after the word."""
    assert begins_a_note(words) is begins


def test_an_amount_and_a_greeting_are_no_reason() -> None:
    """Neither tells why, however long it is written."""
    assert all(map(too_vague, ("mil e quinhentos reais", "1500", "R$ 1.500,00")))
    assert all(map(is_greeting, ("bom dia", "Oi, tudo bem?")))
    assert not is_greeting("bom dia, o cliente desistiu")
