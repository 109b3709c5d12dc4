from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_machine.values import money
from state_machine.values.money import ValorInvalido, centavos, formata_brl, por_extenso


@pytest.mark.parametrize(
    ("valor", "esperado"),
    [
        ("1500", "1500.00"),
        (1500, "1500.00"),
        (Decimal("0.005"), "0.01"),
        ("9999999999.99", "9999999999.99"),
        ("+3.1", "3.10"),
    ],
)
def test_amounts_are_quantised_to_centavos(valor, esperado):
    """Text, integers and decimals become two places, half up."""
    resultado = centavos(valor)
    assert str(resultado) == esperado
    assert resultado.as_tuple().exponent == -2


@pytest.mark.parametrize(
    "valor",
    [
        "0",
        "0.004",
        "-1",
        "10000000000",
        "9999999999.995",
        "1.500,00",
        "",
        "abc",
        "1e3",
        "NaN",
        Decimal("NaN"),
        Decimal("Infinity"),
    ],
)
def test_what_is_no_payable_amount_is_refused(valor):
    """Zero, negatives, out of range, foreign notations and non-numbers raise ``ValorInvalido``."""
    with pytest.raises(ValorInvalido):
        centavos(valor)


def test_floats_are_refused():
    """Binary fractions never become money."""
    with pytest.raises(ValorInvalido):
        centavos(0.1)  # type: ignore[arg-type]  # the wrong type is what is refused


@pytest.mark.parametrize(
    ("valor", "figuras", "palavras"),
    [
        ("1500", "R$ 1.500,00", "mil e quinhentos reais"),
        ("1", "R$ 1,00", "um real"),
        ("1.01", "R$ 1,01", "um real e um centavo"),
        ("0.10", "R$ 0,10", "dez centavos"),
        ("1234.56", "R$ 1.234,56", "mil duzentos e trinta e quatro reais e cinquenta e seis centavos"),
        ("1000000", "R$ 1.000.000,00", "um milhão de reais"),
        ("2000000.5", "R$ 2.000.000,50", "dois milhões de reais e cinquenta centavos"),
        ("1200000", "R$ 1.200.000,00", "um milhão e duzentos mil reais"),
        ("9999999999.99", "R$ 9.999.999.999,99", None),
    ],
)
def test_figures_and_words_are_what_a_brazilian_writes(valor, figuras, palavras):
    """The summary shows the amount twice, in figures and in words."""
    assert formata_brl(Decimal(valor)) == figuras
    if palavras:
        assert por_extenso(Decimal(valor)) == palavras


def test_the_words_that_are_remembered_are_bounded_and_the_same():
    """However many amounts pass by, a thousand or so stay; asked again, the words are the same."""
    first = [por_extenso(Decimal(n)) for n in range(1, 3000)]
    held = money._cardinal.cache_info()
    assert held.maxsize is not None
    assert held.currsize == held.maxsize < 2000
    assert [por_extenso(Decimal(n)) for n in range(1, 3000)] == first


@given(st.decimals(min_value="0.01", max_value="9999999999.99", places=2))
def test_figures_lose_nothing(valor):
    """Reading the figures back gives the same amount."""
    figuras = formata_brl(valor).removeprefix("R$ ").replace(".", "").replace(",", ".")
    assert Decimal(figuras) == valor
