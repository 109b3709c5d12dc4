"""Products and items: what is read of them, and what no invoice can carry."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_machine import goods
from state_machine.goods import ENTREGA, Item, ProdutoInvalido
from state_machine.invoice.choices import com_modelo
from state_machine.invoice.draft import VAZIO, Rascunho, ler
from state_machine.invoice.fields import Campo, Candidate, Confianca
from state_machine.values.money import LIMITE
from tests.state_machine.made_sessions import ITENS

COMPLETE = {
    "codigo": "B1",
    "texto": "Bolo de pote",
    "ncm": "1905.90.90",
    "cfop": "5102",
    "csosn": "102",
    "unidade": "un",
    "preco": "12,50",
}


def test_a_product_is_read_as_people_write_it() -> None:
    """Points in codes, a decimal comma, small letters of the unit."""
    read = goods.checked(COMPLETE, "simples")
    assert (read.ncm, read.unidade, read.preco) == ("19059090", "UN", Decimal("12.50"))
    assert goods.preco("1.234,50") == Decimal("1234.50")


@pytest.mark.parametrize(
    ("campo", "valor", "regime"),
    [
        ("codigo", "", "mei"),
        ("texto", "x" * 121, "mei"),
        ("texto", "bolo \U0001f370", "mei"),
        ("ncm", "99999999", "mei"),
        ("ncm", "1905", "mei"),
        ("cfop", "6102", "mei"),
        ("csosn", "500", "mei"),
        ("csosn", "103", "mei"),
        ("csosn", "101", "simples"),
        ("cfop", "5405", "simples"),
        ("unidade", "UNIDADE", "simples"),
        ("preco", "0", "simples"),
        ("preco", "1,234", "simples"),
        ("preco", "-1", "simples"),
    ],
)
def test_what_no_invoice_carries_is_refused_by_its_field(campo: str, valor: str, regime: str) -> None:
    """The field is named, so that a list can say where."""
    with pytest.raises(ProdutoInvalido) as refused:
        goods.checked(COMPLETE | {campo: valor}, regime)
    assert refused.value.campo == campo


@pytest.mark.parametrize("texto", ["0", "1000000", "-1", "1,23456", "dez", ""])
def test_a_quantity_is_above_nothing_and_below_a_million(texto: str) -> None:
    """Zero and a slip of six zeros are none."""
    with pytest.raises(ProdutoInvalido):
        goods.quantidade(texto)


@given(st.decimals("0.0001", "999999.9999", places=4), st.decimals("0.01", "9999.99", places=2))
def test_items_are_stored_and_read_back_as_they_are(quantos: Decimal, preco: Decimal) -> None:
    """The same items, the same text; a total is to the cent."""
    [read] = goods.load(ITENS)
    item = Item(**{name: getattr(read, name) for name in goods.COLUNAS} | {"preco": preco}, quantidade=quantos)
    if not 0 < item.total < LIMITE:
        return
    assert goods.load(goods.dump([item])) == (item,)
    assert abs(item.total - quantos * preco) <= Decimal("0.005")


def test_more_items_than_an_invoice_has_are_refused() -> None:
    """990, by the layout."""
    [one] = goods.load(ITENS)
    assert len(goods.itens([one] * 990)) == 990
    with pytest.raises(ProdutoInvalido):
        goods.itens([one] * 991)


def test_codes_of_goods_are_found_by_everyday_words() -> None:
    """Only offered: who decides is the accountant."""
    assert goods.search_ncm("bolo de pote")[0].codigo == "19059090"
    assert goods.search_ncm("boné azul")[0].codigo.startswith("6505")  # and not the blue cheese
    assert goods.search_ncm("camiseta")[0].codigo == "61091000"
    assert goods.search_ncm("xyzw") == []


def _draft(documento: str | None, modelo: str | None = None, confianca: Confianca = Confianca.CERTA) -> Rascunho:
    draft = Rascunho().com(Campo.ITENS, ler(Candidate(Campo.ITENS, ITENS, "3 bolos")))
    if documento:
        draft = draft.com(Campo.DOCUMENTO, ler(Candidate(Campo.DOCUMENTO, documento, documento)))
    if modelo:
        draft = draft.com(Campo.MODELO, ler(Candidate(Campo.MODELO, modelo, modelo, confianca=confianca)))
    return draft


CPF, CNPJ = "52998224725", "11222333000181"


@pytest.mark.parametrize(
    ("documento", "mercado", "said", "expected"),
    [
        (CNPJ, ("nfe", "nfce"), None, "nfe"),
        (CNPJ, ("nfe", "nfce"), "nfce", "nfe"),  # a company gets no NFC-e
        (CPF, ("nfe",), None, "nfe"),
        (CPF, ("nfce",), None, None),  # in hand, or by the shop's own delivery
        (CPF, ("nfce",), ENTREGA, ENTREGA),
        (CNPJ, ("nfe", "nfce"), ENTREGA, "nfe"),
        (CPF, ("nfe", "nfce"), "nfe", "nfe"),
        (CPF, ("nfe", "nfce"), None, None),  # asked whether it was handed over
        (None, ("nfe", "nfce"), None, None),
    ],
)
def test_the_model_follows_from_customer_and_channels(
    documento: str | None, mercado: tuple[str, ...], said: str | None, expected: str | None
) -> None:
    """Where two are left, the person says whether the goods were handed over."""
    assert com_modelo(_draft(documento, said), mercado).validado(Campo.MODELO) == expected


def test_a_person_may_stay_without_a_name_on_an_nfce_only() -> None:
    """Their document is not asked for; where it is an NF-e after all, it is."""
    nameless = com_modelo(_draft(None, "nfce", Confianca.DUVIDOSA), ("nfe", "nfce"))
    assert nameless.a_pedir == (Campo.MODELO,)
    handed = com_modelo(nameless.com(Campo.MODELO, ler(Candidate(Campo.MODELO, "nfce", "sim"))), ("nfe", "nfce"))
    assert handed.completo
    for far in ("nfe", ENTREGA):
        sent = com_modelo(nameless.com(Campo.MODELO, ler(Candidate(Campo.MODELO, far, "não"))), ("nfe", "nfce"))
        assert Campo.DOCUMENTO in sent.faltam


def test_the_items_make_amount_and_text_and_take_them_along() -> None:
    """Nothing else is asked of a sale; without items the draft is an empty one."""
    draft = _draft(CNPJ)
    assert (draft.validado(Campo.VALOR), draft.validado(Campo.DESCRICAO)) == ("36.00", "3 Bolo de pote")
    gone = draft.com(Campo.ITENS, VAZIO)
    assert (gone.valor, gone.descricao) == (VAZIO, VAZIO)


def test_a_person_who_gets_an_nfe_is_asked_for_an_address() -> None:
    """The layout asks where it goes."""
    assert com_modelo(_draft(CPF, "nfe"), ("nfe", "nfce")).faltam == (Campo.ENDERECO,)
