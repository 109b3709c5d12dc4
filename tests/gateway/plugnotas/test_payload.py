"""The exact bytes of a submission."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.plugnotas import payload
from state_machine.documents import DocumentoServico, Endereco, Prestador, Tomador
from state_machine.values.text import as_latin


def note_of(intent: DocumentoServico) -> dict[str, Any]:
    notes: list[dict[str, Any]] = json.loads(payload.build(intent))
    (note,) = notes
    return note


def test_the_bytes_are_these(intent):
    """The national body, byte for byte: a change here changes what stored intents mean."""
    assert payload.build(intent).decode() == (
        '[{"emitente":{"codigoCidade":"3550308","inscricaoMunicipal":"12345","tipo":1},"enviarEmail":false,'
        '"idIntegracao":"zap-0001-1","padrao":"NACIONAL",'
        '"prestador":{"cpfCnpj":"11222333000181","inscricaoMunicipal":"12345","opSimpNac":3,"regApTribSN":1,"regEspTrib":0},'
        '"regimeApuracaoTributaria":1,"rps":{"competencia":"2026-11-21"},'
        '"servico":[{"cnae":"7410202","codigo":"171901","discriminacao":"Consultoria de marketing",'
        '"valor":{"servico":1500.00}}],'
        '"tomador":{"cpfCnpj":"12345678000195","email":"ze@padaria.example","razaoSocial":"PADARIA DO ZÉ LTDA"}}]'
    )


def test_the_same_intent_gives_the_same_bytes(intent):
    """Bytes can be rebuilt for comparison at any time."""
    assert payload.build(intent) == payload.build(replace(intent, tomador=replace(intent.tomador)))


@pytest.mark.parametrize(("regime", "op"), [("normal", 1), ("mei", 2), ("simples", 3)])
def test_the_regime_decides_the_simples_fields(intent, regime, op):
    """Only a company in Simples that is no MEI says how it apportions its taxes."""
    note = note_of(replace(intent, prestador=replace(intent.prestador, regime=regime)))
    assert note["prestador"]["opSimpNac"] == op
    assert ("regApTribSN" in note["prestador"], "regimeApuracaoTributaria" in note) == (regime == "simples",) * 2


def test_a_municipal_service_code_asks_for_the_classic_layout(intent):
    """Anything but six digits is a city's own code, with the ISS spelt out and no national fields."""
    prestador = replace(intent.prestador, codigo_servico="14.10", aliquota=Decimal("2.50"))
    note = note_of(replace(intent, prestador=prestador))
    assert not {"padrao", "emitente", "regimeApuracaoTributaria"} & note.keys()
    assert note["prestador"]["simplesNacional"] is True
    assert note["servico"][0]["iss"] == {"tipoTributacao": 6, "exigibilidade": 1, "retido": False, "aliquota": 2.5}


def test_a_complete_address_goes_along(intent):
    """The address of the register is sent in plain characters."""
    endereco = Endereco("Rua São João – fundos", "S/N", "Centro", "3550308", "São Paulo", "SP", "01000000", "sala “2”")
    note = note_of(replace(intent, tomador=Tomador("12345678909", None, None, endereco)))
    assert note["tomador"]["endereco"]["logradouro"] == "Rua São João - fundos"
    assert note["tomador"]["endereco"]["complemento"] == 'sala "2"'
    assert "razaoSocial" not in note["tomador"]


@given(centavos=st.integers(1, 10**14))
def test_money_is_written_exactly_with_two_decimals(centavos):
    """No value passes through a float on its way into the bytes."""
    valor = Decimal(centavos).scaleb(-2)
    body = payload.build(_with(valor=valor)).decode()
    written = re.search(r'"servico":(\d+\.\d\d)\}', body)
    assert written is not None
    assert Decimal(written[1]) == valor


@pytest.mark.parametrize("valor", ["0", "-1.00", "1.005", "NaN", "Infinity"])
def test_an_impossible_value_never_becomes_bytes(valor):
    """Zero, negative, fractions of a centavo and non-numbers are our bug, found before they leave."""
    with pytest.raises(ValueError, match="positive value"):
        payload.build(_with(valor=Decimal(valor)))


@given(descricao=st.text(max_size=200))
def test_a_text_leaves_whole(descricao):
    """Spelt plainly; what no layout carries was asked about before, and is not left out here."""
    sent = note_of(_with(descricao=descricao))["servico"][0]["discriminacao"]
    assert sent == as_latin(descricao)


def test_the_key_is_read_back_from_the_stored_bytes(intent, key):
    """What is sent and what is asked for later are the same key by construction."""
    assert payload.key_of(payload.build(intent)) == key


@pytest.mark.parametrize(
    "stored",
    [b"", b"[]", b"{}", b"[{}]", b'[{"idIntegracao":"a"}]', b'[{"idIntegracao":1,"prestador":{"cpfCnpj":"x"}}]'],
)
def test_bytes_that_are_not_one_note_are_never_sent(stored):
    """A corrupted row is our bug and says so."""
    with pytest.raises(ValueError):  # noqa: PT011 - JSON's own error is as good as ours
        payload.key_of(stored)


def test_two_notes_are_never_one_request(intent):
    """Partial failures of a batch are ambiguous, so a batch has no key."""
    two = json.dumps(json.loads(payload.build(intent)) * 2).encode()
    with pytest.raises(ValueError, match="one note"):
        payload.key_of(two)


def _with(*, valor: Decimal = Decimal("1.00"), descricao: str = "x") -> DocumentoServico:
    prestador = Prestador(
        cnpj="11222333000181",
        razao_social="ANA",
        inscricao_municipal="1",
        municipio_ibge="3550308",
        regime="mei",
        codigo_servico="171901",
        cnae=None,
        aliquota=None,
    )
    return DocumentoServico(
        id_integracao="zap-1",
        prestador=prestador,
        tomador=Tomador("12345678909", None),
        valor=valor,
        descricao=descricao,
        competencia=date(2026, 11, 1),
    )
