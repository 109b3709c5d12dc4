from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum.br import cnpj as stdnum_cnpj
from validate_docbr import CNPJ as ORACLE_CNPJ
from validate_docbr import CPF as ORACLE_CPF

from state_machine.invoice.fields import Motivo
from state_machine.values import documents
from state_machine.values.documents import CNPJ, CPF, DocumentoInvalido, formata_documento, parse_documento

ALNUM = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def with_check_digits(base: str) -> str:
    return base + stdnum_cnpj.calc_check_digits(base)


@pytest.mark.parametrize(
    ("texto", "numero"),
    [
        ("11.222.333/0001-81", "11222333000181"),
        ("11222333000181", "11222333000181"),
        (" 11 222 333 0001 81 ", "11222333000181"),
        ("11.222.333/0001–81", "11222333000181"),
        ("１１.２２２.３３３/０００１-８１", "11222333000181"),
        ("11\u200b.222.333/0001-81\ufeff", "11222333000181"),
        ("12.abc.345/01de-35", "12ABC34501DE35"),
    ],
)
def test_cnpj_is_normalised_however_it_was_typed(texto, numero):
    """Punctuation, width, case and invisible characters do not matter; letters are kept."""
    documento = parse_documento(texto)
    assert isinstance(documento, CNPJ)
    assert (documento.numero, str(documento)) == (numero, numero)


def test_masks_are_what_people_print():
    """``formatado`` is the official mask, also of an alphanumeric CNPJ."""
    assert CNPJ("12ABC34501DE35").formatado == "12.ABC.345/01DE-35"
    assert CPF("52998224725").formatado == "529.982.247-25"
    assert formata_documento("11222333000181") == "11.222.333/0001-81"


@pytest.mark.parametrize("texto", ["11.222.333/0001-82", "529.982.247-26", "12.ABC.345/01DE-36"])
def test_wrong_check_digits_are_named(texto):
    """The right length with wrong digits is ``DIGITO_NAO_BATE``."""
    with pytest.raises(DocumentoInvalido) as e:
        parse_documento(texto)
    assert e.value.motivo is Motivo.DIGITO_NAO_BATE


@pytest.mark.parametrize(
    ("texto", "faltam"), [("11.222.333/0001", 2), ("112223330001812", -1), ("", 14), ("1122233300018", 1)]
)
def test_missing_digits_are_counted(texto, faltam):
    """A wrong length is ``INCOMPLETO`` and says how many characters are missing."""
    with pytest.raises(DocumentoInvalido) as e:
        parse_documento(texto)
    assert (e.value.motivo, e.value.faltam) == (Motivo.INCOMPLETO, faltam)


@pytest.mark.parametrize("texto", ["12ABC34501DEA5", "5299822472A", "áéíóúáéíóúáéíó"])
def test_a_letter_may_not_stand_everywhere(texto):
    """Check digits are digits, a CPF has no letters, and only A to Z are letters."""
    with pytest.raises(DocumentoInvalido) as e:
        parse_documento(texto)
    assert e.value.motivo is Motivo.INCOMPLETO


@pytest.mark.parametrize("digit", "0123456789")
@pytest.mark.parametrize("length", [11, 14])
def test_repeated_digits_are_refused(digit, length):
    """Receita issues no document of one repeated digit, whatever its check digits say."""
    with pytest.raises(DocumentoInvalido):
        parse_documento(digit * length)


@given(st.text(ALNUM, min_size=12, max_size=12).filter(lambda b: len(set(b)) > 1))
def test_every_alphanumeric_cnpj_round_trips_through_its_mask(base):
    """Formatting and parsing are inverse, and an independent implementation agrees on validity."""
    numero = with_check_digits(base)
    assert parse_documento(CNPJ(numero).formatado.lower()).numero == numero
    assert ORACLE_CNPJ().validate(numero)


@given(st.text("0123456789", min_size=11, max_size=11))
def test_cpf_validity_agrees_with_an_independent_implementation(numero):
    """Our verdict on eleven random digits is validate-docbr's verdict."""
    try:
        ours = bool(CPF(numero))
    except DocumentoInvalido:
        ours = False
    assert ours == ORACLE_CPF().validate(numero)


def test_what_is_remembered_is_bounded_and_holds_no_refusal():
    """However many documents pass by, a thousand or so stay; a wrong one is refused each time it comes."""
    for base in range(3000):
        parse_documento(with_check_digits(f"{base + 1:08d}0001"))
    held = documents._parsed.cache_info()
    assert held.maxsize is not None
    assert held.currsize == held.maxsize < 2000
    for _ in range(2):
        with pytest.raises(DocumentoInvalido):
            parse_documento("11222333000182")


def test_equal_documents_are_equal_values():
    """Two spellings of one document are one value, usable as a key."""
    assert {CNPJ("11.222.333/0001-81"), CNPJ("11222333000181")} == {CNPJ("11222333000181")}
