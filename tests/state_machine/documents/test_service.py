"""The fingerprint of an invoice's content."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_machine.documents import ConteudoServico, divergencia
from state_machine.values.text import latin1
from tests.state_machine.made_emissions import CONTEUDO, nota

MUDADO: dict[str, Any] = {
    "prestador": "00000000000191",
    "tomador": "52998224725",
    "codigo_servico": "14.10",
    "valor": Decimal("1500.01"),
    "competencia": date(2026, 10, 31),
    "descricao": "Consultoria de gestao e mais",
}


@pytest.mark.parametrize("campo", MUDADO)
def test_every_field_is_in_the_fingerprint(campo):
    """Each field of the content alone makes another fingerprint."""
    assert replace(CONTEUDO, **{campo: MUDADO[campo]}).impressao != CONTEUDO.impressao


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.integers(1, 10**15))
def test_the_fingerprint_is_the_one_that_rows_of_earlier_releases_hold(texto, centavos):
    """SHA-256 over canonical JSON, byte for byte as an independent encoder writes it."""
    conteudo = ConteudoServico("1", "2", "17.01", Decimal(centavos) / 100, date(2026, 1, 2), texto)
    content = {
        "prestador": "1",
        "tomador": "2",
        "servico": "17.01",
        "centavos": centavos,
        "competencia": "2026-01-02",
        "descricao": texto,
    }
    assert conteudo.impressao == hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


def test_the_fingerprint_is_a_fixed_value():
    """Rows keep it for years: another algorithm would make a conflict of every open emission."""
    conteudo = ConteudoServico(
        "11222333000181", "12345678000195", "17.01", Decimal("1500.00"), date(2026, 11, 21), "Ação"
    )
    assert conteudo.impressao == "2be2682b2380339f7a85b9bb08b51c59a3732f5a9933c12319d6871d169a4678"


@given(st.text(min_size=1))
def test_a_text_is_the_same_as_what_the_layout_made_of_it(texto):
    """Emoji, currency signs and letters of other alphabets: the note shows what could be sent, and is no conflict."""
    conteudo = replace(CONTEUDO, descricao=texto)
    assert divergencia(conteudo, conteudo.impressao, nota(descricao=latin1(texto))) is None


@pytest.mark.parametrize("texto", ["100 € de consultoria", "café 😀 da manhã", "Ação™ × 2", "a\ufffdb"])
def test_a_text_with_what_no_layout_carries_is_adopted(texto):
    """Spelt as EUR, (TM) or x, or left out."""
    conteudo = replace(CONTEUDO, descricao=texto)
    assert divergencia(conteudo, conteudo.impressao, nota(descricao=latin1(texto))) is None
    assert divergencia(conteudo, conteudo.impressao, nota(descricao="outro serviço")) == "descricao"


@pytest.mark.parametrize(
    ("nosso", "deles", "mesmo"),
    [
        ("1.05", "010501", True),
        ("1.05", "105", True),
        ("14.10", "141001", True),
        ("171201", "171201", True),
        ("171201", "17.12", True),
        ("1.05", "1.06", False),
        ("02658", "2658", True),
        ("02658", "2659", False),
        ("1.05", "10.50", False),
        ("14.10", "14.01", False),
    ],
)
def test_one_service_has_several_spellings(nosso, deles, mesmo):
    """Item and subitem of the list of services, dotted or not, and the national code that refines them."""
    conteudo = replace(CONTEUDO, codigo_servico=nosso)
    achado = divergencia(conteudo, conteudo.impressao, nota(codigo_servico=deles))
    assert achado == (None if mesmo else "codigo_servico")
