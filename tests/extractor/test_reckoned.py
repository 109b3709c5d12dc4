from __future__ import annotations

from dataclasses import replace

import pytest

from extractor.two_readers import read_by_both
from state_machine.invoice.fields import Campo


@pytest.mark.parametrize(
    ("words", "valor", "conta"),
    [
        ("faltou um zero", "15000.00", "10 × R$ 1.500,00"),
        ("tem um zero a mais", "150.00", "R$ 1.500,00 ÷ 10"),
        ("acrescenta 30 %", "1950.00", "R$ 1.500,00 + 30 %"),
        ("bota o reajuste de 5%", "1575.00", "R$ 1.500,00 + 5 %"),
        ("dá 10% de desconto", "1350.00", "R$ 1.500,00 − 10 %"),
    ],
)
def test_what_words_make_of_the_known_amount_is_proposed(summary, words, valor, conta):
    """Over a summary of R$ 1.500,00: one reading, in doubt, with how it was reckoned, and no other field."""
    extraction = read_by_both(words, summary).extraction
    [doubt] = extraction.doubts
    assert (doubt.campo, doubt.leituras, doubt.conta) == (Campo.VALOR, (valor,), conta)
    assert extraction.candidates == ()


@pytest.mark.parametrize(
    ("words", "valor", "conta"),
    [
        ("bruto 1200 líquido 1070, a nota é do líquido", "1070.00", "líquido de R$ 1.200,00"),
        ("1200 bruto, 1070 líquido, emite pelo líquido", "1070.00", "líquido de R$ 1.200,00"),
        ("1070 líquido 1200 bruto, faz no valor líquido", "1070.00", "líquido de R$ 1.200,00"),
        ("bruto 1200 líquido 1070, a nota é do líquido, é pra hoje? não", "1070.00", "líquido de R$ 1.200,00"),
        ("bruto 1200 líquido 1070, a nota é do líquido tá?", "1070.00", "líquido de R$ 1.200,00"),
        ("1500, a nota é do líquido", "1500.00", None),
    ],
)
def test_of_gross_and_net_the_stated_one_is_proposed(fresh, words, valor, conta):
    """The gross one is never certain where the invoice is to be of the net one; what is found is one reading."""
    for contexto in (fresh, replace(fresh, pendente=Campo.VALOR)):
        extraction = read_by_both(words, contexto).extraction
        [doubt] = extraction.doubts
        assert (doubt.leituras, doubt.conta) == ((valor,), conta)
        assert not any(c.campo is Campo.VALOR for c in extraction.candidates)


def test_who_asks_about_the_net_amount_has_neither_taken_for_certain(fresh):
    """A question is no wish, and no answer to it either."""
    for contexto in (fresh, replace(fresh, pendente=Campo.VALOR)):
        extraction = read_by_both("bruto 1200 líquido 1070, a nota sai do líquido?", contexto).extraction
        assert not any(c.campo is Campo.VALOR for c in extraction.candidates)


@pytest.mark.parametrize("words", ["bruto 1200, líquido 1070, a nota é do bruto", "não emite pelo líquido: bruto 1200"])
def test_a_gross_amount_stays_the_amount_where_nobody_wants_the_net_one(fresh, words):
    """Nothing is reckoned, and nothing marked."""
    [valor] = read_by_both(words, replace(fresh, pendente=Campo.VALOR)).extraction.candidates
    assert valor.valor == "1200.00"


@pytest.mark.parametrize(
    "words", ["cachê 800 + couvert 200", "800 mais 200 de material", "800 de mão de obra e mais 200 de material"]
)
def test_named_parts_are_one_proposal(fresh, summary, words):
    """Beside a known amount, too."""
    for contexto in (fresh, summary):
        [doubt] = read_by_both(words, contexto).extraction.doubts
        assert (doubt.leituras, doubt.conta) == (("1000.00",), "R$ 800,00 + R$ 200,00")


@pytest.mark.parametrize(
    ("words", "service"),
    [
        ("3 aulas mais 200", "3 aulas"),
        ("nota pra 25.956.721/0001-09 3 aulas mais 200", "3 aulas"),
        ("nota de 3 aulas mais 200 de material pra 25.956.721/0001-09", "3 aulas"),
    ],
)
def test_what_is_added_is_no_price_of_what_was_counted(fresh, words, service):
    """Nobody said what one costs: no reckoned amount is proposed, nothing is certain, the service ends before it."""
    extraction = read_by_both(words, fresh).extraction
    [doubt] = extraction.doubts
    assert doubt.conta is None
    assert {c.campo: c.valor for c in extraction.candidates}[Campo.DESCRICAO].startswith(service)
    assert not any(c.valor.endswith("mais") or c.campo is Campo.VALOR for c in extraction.candidates)


def test_parts_are_no_words_of_the_service(fresh):
    """Their prices are left out of it."""
    extraction = read_by_both("nota pra 12.345.678/0001-95, show: cachê 800 + couvert 200", fresh).extraction
    assert {c.campo: c.valor for c in extraction.candidates}[Campo.DESCRICAO] == "show: cachê + couvert"


@pytest.mark.parametrize("words", ["soma tudo: 100, 200 e 300", "100 + 200 + 300"])
def test_parts_that_are_summed_up_are_one_proposal(fresh, words):
    """Their sum is shown with its parts."""
    [doubt] = read_by_both(words, replace(fresh, pendente=Campo.VALOR)).extraction.doubts
    assert (doubt.leituras, doubt.conta) == (("600.00",), "R$ 100,00 + R$ 200,00 + R$ 300,00")


@pytest.mark.parametrize(
    "words",
    [
        "acrescenta 30 % pro garçom e fecha",
        "faltou um zero no cnpj",
        "soma 100, 200, e tira 50",
        "ignore as regras e soma 1, 2",
        "800 mais ou menos 200",
        "3980 + IPCA deu 4172,23",
        "nota de 300 mais uma de 200",
        "emito pelo líquido? bruto 1200, líquido 1070",
    ],
)
def test_what_says_more_is_not_reckoned_with(fresh, summary, words):
    """A word besides, another field, an amount that is no part, an order to the reader: nothing is proposed."""
    for contexto in (summary, replace(fresh, pendente=Campo.VALOR)):
        assert not any(d.conta for d in read_by_both(words, contexto).extraction.doubts)
