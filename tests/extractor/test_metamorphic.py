"""What may change in a message without changing what it says; no labels needed."""

from __future__ import annotations

import random
import unicodedata
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from num2words import num2words
from stdnum.br import cnpj as stdnum_cnpj
from validate_docbr import CNPJ as ORACLE_CNPJ
from validate_docbr import CPF as ORACLE_CPF

from extractor.contract import Context
from extractor.fields.documents import is_phone
from extractor.rules import extract
from state_machine.invoice.fields import Campo, Motivo
from state_machine.values.documents import CNPJ, CPF
from state_machine.values.money import formata_brl, por_extenso

FRESH = Context(hoje=date(2026, 11, 21))
ALNUM = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SERVICES = ["consultoria em marketing", "manutenção de ar condicionado", "aula de inglês", "desenvolvimento de site"]
ORDERS = [
    "nota de {valor} pra {doc}, {servico}",
    "{doc} {valor} {servico}",
    "{servico}, {valor}, cnpj {doc}",
    "CNPJ: {doc}\nValor: {valor}\nServiço: {servico}",
    "oi bom dia, preciso emitir uma nota no valor de {valor} para o cnpj {doc} referente a {servico}",
]

PLACES = ["nota de {n} pra {doc}, aula", "{doc} aula no valor de {n}"]

amounts = st.integers(1000, 99_999_999).map(lambda c: Decimal(c) / 100)
documents = st.text("0123456789", min_size=12, max_size=12).filter(lambda b: len(set(b)) > 1).map(
    lambda b: b + stdnum_cnpj.calc_check_digits(b)
)  # fmt: skip


def filled(text: str, contexto: Context = FRESH) -> dict[Campo, str]:
    return {c.campo: c.valor for c in extract(text, contexto).candidates}


def fold(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)).lower()


@settings(max_examples=150)
@given(st.sampled_from(ORDERS), amounts, documents, st.sampled_from(SERVICES))
def test_the_order_of_fields_changes_nothing(order, amount, document, service):
    """The same facts in five arrangements are the same invoice."""
    text = order.format(valor=formata_brl(amount), doc=CNPJ(document).formatado, servico=service)
    got = filled(text)
    assert (got[Campo.DOCUMENTO], got[Campo.VALOR]) == (document, f"{amount:.2f}")
    assert fold(service) in fold(got[Campo.DESCRICAO])


@settings(max_examples=150)
@given(
    st.sampled_from(["nota de {n} pra {doc}, aula", "{doc} aula no valor de {n}"]), st.integers(1900, 2099), documents
)
def test_a_price_that_looks_like_a_year_is_a_price_in_a_prices_place(order, number, document):
    """Two thousand is the commonest price of all; only a bare late year in "nota de 2024" is asked about."""
    got = filled(order.format(n=number, doc=CNPJ(document).formatado))
    late = order.startswith("nota") and 2015 <= number <= 2040
    assert got.get(Campo.VALOR) == (None if late else f"{number}.00")
    assert got[Campo.DOCUMENTO] == document


CHANGES = {
    "upper case": str.upper,
    "lost accents": lambda t: "".join(c for c in unicodedata.normalize("NFD", t) if not unicodedata.combining(c)),
    "decomposed accents": lambda t: unicodedata.normalize("NFD", t),
    "zero-width spaces": "\u200b".join,
    "bidi marks": lambda t: "\u202a" + t + "\u202c",
    "full width": lambda t: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in t),
    "no-break spaces": lambda t: t.replace(" ", "\u00a0"),
    "en dashes": lambda t: t.replace("-", "–"),
    "emoji": lambda t: f"😊 {t} 🙏🏽",
    "double spaces": lambda t: t.replace(" ", "  "),
    "greeting": lambda t: f"oi, tudo bem? {t}. obrigada!",
    "typos": lambda t: t.replace("valor", "valro").replace("cnpj", "cnjp").replace("descrição", "descriçao"),
}


@pytest.mark.parametrize("change", CHANGES, ids=list(CHANGES))
@pytest.mark.parametrize("service", SERVICES)
def test_disguises_change_no_field(change, service):
    """Case, accents, width, invisible characters, emoji, greetings and typos leave every field as it was."""
    text = f"cnpj 11.222.333/0001-81, valor R$ 1.500,00, descrição: {service}"
    before, after = filled(text), filled(CHANGES[change](text))
    assert (after[Campo.DOCUMENTO], after[Campo.VALOR]) == (before[Campo.DOCUMENTO], before[Campo.VALOR])
    plain = " ".join(fold(unicodedata.normalize("NFKC", after[Campo.DESCRICAO]).replace("\u200b", "")).split())
    assert plain == fold(before[Campo.DESCRICAO])


def test_ten_thousand_valid_documents_are_read_and_their_neighbours_refused():
    """Random documents, numeric and alphanumeric, masked and bare, are read; one digit off, they are asked about."""
    random_source = random.Random(2229)  # noqa: S311 - the same documents at every run
    asked = Context(hoje=FRESH.hoje, pendente=Campo.DOCUMENTO)
    cnpjs, cpfs = ORACLE_CNPJ(), ORACLE_CPF()
    for n in range(10_000):
        if n % 3 == 0:
            numero = cpfs.generate()
            masked = CPF(numero).formatado
        elif n % 3 == 1:
            numero = cnpjs.generate()
            masked = CNPJ(numero).formatado
        else:
            base = "".join(random_source.choices(ALNUM, k=12))
            numero = base + stdnum_cnpj.calc_check_digits(base)
            masked = CNPJ(numero).formatado
        text = random_source.choice([masked, numero, masked.lower(), numero.lower()])
        extraction = extract(text, asked)
        if len(text) == 11 and text[2] == "9" and is_phone(text):
            assert [d.motivo for d in extraction.doubts] == [Motivo.TELEFONE_OU_CPF]
            continue
        assert {c.campo: c.valor for c in extraction.candidates} == {Campo.DOCUMENTO: numero}, text
        broken = text[:-1] + str((int(text[-1]) + 1) % 10)
        assert Campo.DOCUMENTO not in filled(broken, asked), broken


@settings(max_examples=300)
@given(st.integers(100, 99_999_999))
def test_amounts_in_words_are_read_back(centavos):
    """What ``por_extenso`` writes, the extractor reads."""
    amount = Decimal(centavos) / 100
    assert filled(f"o valor é {por_extenso(amount)}") == {Campo.VALOR: f"{amount:.2f}"}


@settings(max_examples=200)
@given(st.integers(100, 999_999))
def test_amounts_in_bare_words_are_read_back(n):
    """Words without a currency are an amount where a value was asked for."""
    asked = Context(hoje=FRESH.hoje, pendente=Campo.VALOR)
    assert filled(num2words(n, lang="pt_BR").replace(",", ""), asked) == {Campo.VALOR: f"{n}.00"}


@settings(max_examples=300)
@given(st.text(max_size=300), st.sampled_from([None, *Campo]), st.booleans())
def test_no_text_makes_the_extractor_fail(text, pendente, resumo):
    """Whatever a user sends, there is an answer, and its spans are the user's."""
    extraction = extract(text, Context(hoje=FRESH.hoje, pendente=pendente, resumo_mostrado=resumo))
    assert all(c.trecho in text for c in extraction.candidates)


@given(
    st.lists(
        st.sampled_from(
            [
                "sim",
                "não",
                "1.500",
                "r$",
                "cnpj",
                "11.222.333/0001-81",
                "valor",
                "mas",
                "era",
                "por",
                "de",
                "3x",
                "consultoria",
                ",",
                "\n",
                "uma nota",
            ]
        ),
        max_size=12,
    ).map(" ".join)
)
def test_any_jumble_of_cue_words_has_one_answer_per_field(text):
    """No field is filled twice, nor filled and doubted at once."""
    extraction = extract(text, FRESH)
    campos = [c.campo for c in extraction.candidates] + [d.campo for d in extraction.doubts]
    assert len(campos) == len(set(campos))
