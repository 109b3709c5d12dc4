"""Months and years as people say them."""

from __future__ import annotations

from datetime import date

import pytest

from extractor.contract import RequestKind
from extractor.requests.requests import read_period, read_request
from state_machine.values.local_time import MesOuAno

HOJE = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("words", "period"),
    [
        ("quanto ja emiti em outubro", MesOuAno(2026, 10)),
        ("total de dezembro", MesOuAno(2025, 12)),
        ("notas de novembro", MesOuAno(2026, 11)),
        ("notas de marco de 2025", MesOuAno(2025, 3)),
        ("total de 10/2025", MesOuAno(2025, 10)),
        ("total do mes", MesOuAno(2026, 11)),
        ("mes passado", MesOuAno(2026, 10)),
        ("total do ano", MesOuAno(2026)),
        ("ano passado", MesOuAno(2025)),
        ("quanto emiti em 2024", MesOuAno(2024)),
    ],
)
def test_the_newest_one_that_is_not_in_the_future_is_meant(words: str, period: MesOuAno) -> None:
    """December said in November is last year's."""
    when = read_period(words)
    assert when is not None
    assert when.em(HOJE) == period


def test_january_looks_back_into_the_year_before() -> None:
    """The month before January is December."""
    when = read_period("mes passado")
    assert when is not None
    assert when.em(date(2027, 1, 5)) == MesOuAno(2026, 12)
    assert str(when.em(HOJE)) == "outubro de 2026"
    assert read_period("minhas notas") is None


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("quanto falta pro limite do mei", RequestKind.LIMITE_MEI),
        ("já passei do teto do MEI?", RequestKind.LIMITE_MEI),
        ("quanto já emiti em outubro", RequestKind.TOTAL),
        ("total do ano", RequestKind.TOTAL),
        ("notas de setembro", RequestKind.MINHAS_NOTAS),
        ("o total é 1500", None),
        ("nota de 1500 em outubro", None),
    ],
)
def test_records_are_asked_for_in_a_closed_set_of_words(words: str, kind: RequestKind | None) -> None:
    """An amount or an order is no question about what was issued."""
    found = read_request(words)
    assert (found.tipo if found else None) == kind


@pytest.mark.parametrize(
    "words",
    [
        "manda o relatório de novembro",
        "relatório das notas de novembro",
        "manda o relatório do mês pro meu contador",
        "todos os xml do mês",
        "preciso dos xmls de outubro",
        "exporta as notas de novembro em planilha",
        "fechamento de outubro",
        "manda tudo pro contador",
        "manda pro contador",
        "pode enviar isso pro contador?",
        "manda as notas de novembro pra contabilidade",
        "minha contadora pediu as notas de outubro",
        "gera o relatório mensal",
    ],
)
def test_a_month_for_the_accountant_is_asked_in_many_words(words: str) -> None:
    """Its list and files, whatever they are called."""
    asked = read_request(words)
    assert asked is not None
    assert asked.tipo is RequestKind.FECHAMENTO
    assert asked.inteiro or asked.quando is not None


@pytest.mark.parametrize(
    "words",
    [
        "nota de 500 pra contabilidade silva, cnpj 11222333000181, relatório mensal",
        "fiz um relatório pra padaria, 400 reais",
        "manda a nota pro contador",
        "manda o xml da 12",
        "quanto faturei em novembro",
    ],
)
def test_an_order_or_another_request_is_no_month_for_the_accountant(words: str) -> None:
    """A report may be the work, an accountant the customer."""
    asked = read_request(words)
    assert asked is None or asked.tipo is not RequestKind.FECHAMENTO
