"""A MEI's yearly limit, whole and in the opening year (LC 123/2006, art. 18-A, § 2º)."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from state_machine.catalogue.records import aviso_mei, limite_mei
from state_machine.values.money import medidor

GERAL, TRANSPORTE = Decimal(81000), Decimal(251600)


@pytest.mark.parametrize(
    ("anual", "abertura", "limite"),
    [
        (GERAL, None, "81000"),
        (GERAL, date(2020, 1, 2), "81000"),
        (GERAL, date(2026, 1, 31), "81000"),
        (GERAL, date(2026, 10, 31), "20250.00"),
        (GERAL, date(2026, 12, 1), "6750.00"),
        (TRANSPORTE, date(2026, 7, 1), "125800.02"),
        (TRANSPORTE, None, "251600"),
    ],
)
def test_the_opening_year_has_a_twelfth_for_each_month(anual: Decimal, abertura: date | None, limite: str) -> None:
    """A part of a month counts as a whole one; without the opening's day the whole year is assumed, and said."""
    medida = medidor(anual, 2026, Decimal(0), abertura)
    assert medida.limite == Decimal(limite)
    assert ("Não sei quando a empresa abriu" in limite_mei(medida)) == (abertura is None)


@pytest.mark.parametrize(
    ("emitido", "avisa"),
    [
        ("64799.99", None),
        ("64800", "R$ 64.800,00 de R$ 81.000,00 (80 %)"),
        ("80999.99", "(99 %)"),
        ("81000", "(100 %)"),
        ("90000", "já passam do limite do MEI"),
    ],
)
def test_the_news_of_a_note_tells_it_from_four_fifths_on(emitido: str, avisa: str | None) -> None:
    """One centavo below says nothing; beyond the limit the question says by how much."""
    medida = medidor(GERAL, 2026, Decimal(emitido), None)
    aviso = aviso_mei(medida)
    assert (aviso is None) if avisa is None else (aviso is not None and avisa in aviso)
    assert ("Passou R$ 9.000,00 do limite" in limite_mei(medida)) == (emitido == "90000")
