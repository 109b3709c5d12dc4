"""How a note is read from what PlugNotas says of it."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.wire import json_object, parse_json
from gateway.plugnotas.note import codes, parse_nota
from state_machine.protocol.emission import Situacao

BASE = {"id": "5bb4", "idIntegracao": "zap-1-1"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"situacao": "CONCLUIDO", "numeroNfse": "42"}, Situacao.AUTORIZADA),
        ({"status": "CONCLUIDO", "retorno": {"numeroNfse": "42"}}, Situacao.AUTORIZADA),
        ({"situacao": "concluido", "numeroNfse": 42}, Situacao.AUTORIZADA),
        ({"situacao": "CONCLUIDO"}, Situacao.PROCESSANDO),
        ({"situacao": "CONCLUIDO", "numeroNfse": ""}, Situacao.PROCESSANDO),
        ({"situacao": "CONCLUIDO", "numeroNfse": None, "numero": "7"}, Situacao.PROCESSANDO),
        ({"situacao": "REJEITADO"}, Situacao.REJEITADA),
        ({"status": "REJEITADA"}, Situacao.REJEITADA),
        ({"retorno": {"situacao": "REJEITADA"}}, Situacao.REJEITADA),
        ({"situacao": "DENEGADO"}, Situacao.REJEITADA),
        ({"situacao": "CANCELADO", "numeroNfse": "42"}, Situacao.CANCELADA),
        ({"situacao": "PROCESSANDO"}, Situacao.PROCESSANDO),
        ({"situacao": "AGUARDANDO_PROCESSAMENTO"}, Situacao.PROCESSANDO),
        ({"situacao": "AGENDADO"}, Situacao.PROCESSANDO),
        ({"situacao": "TELEPORTADO"}, Situacao.PROCESSANDO),
        ({"situacao": 3}, Situacao.PROCESSANDO),
        ({}, Situacao.PROCESSANDO),
    ],
)
def test_every_spelling_of_a_status_is_understood_and_an_unknown_one_is_not_final(fields, expected):
    """Both genders and all three places are read; an approval without a number is not yet one."""
    nota = parse_nota({**BASE, **fields})
    assert nota is not None
    assert nota.situacao is expected


@pytest.mark.parametrize(
    "data", [None, [], "x", {}, {"id": "5bb4"}, {"idIntegracao": "zap"}, {"id": {}, "idIntegracao": "z"}]
)
def test_what_does_not_name_itself_is_no_note(data):
    """Without both ids there is nothing to adopt."""
    assert parse_nota(data) is None


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("150", Decimal("150.00")),
        ("1500.1", Decimal("1500.10")),
        ("9007199254740993.01", None),
        ("1234567890123.45", Decimal("1234567890123.45")),
        ("1500.005", None),
        ("1500.1000", Decimal("1500.10")),
        ('"150.00"', Decimal("150.00")),
        ('"1.500,00"', None),
        ("1e999999", None),
        ("true", None),
        ("null", None),
    ],
)
def test_money_is_read_exactly_or_not_at_all(written, read):
    """A value that cannot be compared to the centavo is silence, never an approximation."""
    nota = parse_nota(parse_json(b'{"id":"1","idIntegracao":"z","valorServico":%s}' % written.encode()))
    assert nota is not None
    assert nota.valor == read


def test_documents_are_read_bare_from_both_shapes():
    """Summaries give a document as text, full documents as an object; letters of an alphanumeric CNPJ stay."""
    nota = parse_nota({**BASE, "prestador": {"cpfCnpj": "11.222.333/0001-81"}, "tomador": "12.abc.345/01de-35"})
    assert nota is not None
    assert (nota.prestador, nota.tomador) == ("11222333000181", "12ABC34501DE35")


def test_the_access_key_is_found_where_the_national_layout_puts_it():
    """A verification code of 50 characters is the access key, a municipal one is not."""
    key = "3550308" + "2" * 43
    found = [
        parse_nota({**BASE, **f}) for f in ({"chave": key}, {"codigoVerificacao": key}, {"codigoVerificacao": "A1B2"})
    ]
    assert [nota and nota.chave for nota in found] == [key, key, None]


@pytest.mark.parametrize(
    ("mensagem", "found"),
    [
        ('[{"Codigo":"E0314","Descricao":"x"},{"Codigo":"E0188","Descricao":"y"}]', ("E0314", "E0188")),
        ('{"codigo": "1106"}', ("1106",)),
        ("Rejeição E160: certificado A1 vencido em 2026", ("E160",)),
        ("L003 - lote inválido; L003", ("L003",)),
        ("Serviço indisponível", ()),
    ],
)
def test_codes_are_found_in_whatever_the_city_wrote(mensagem, found):
    """Codes come as JSON inside a text, or loose; a certificate "A1" or a year is none."""
    assert codes(mensagem) == found


def test_a_message_may_be_json_and_never_keeps_a_password():
    """The reason of a rejection is stored and shown to staff, so it is scrubbed first."""
    nota = parse_nota({**BASE, "mensagem": [{"Codigo": "E0160", "senha": "s3gredo"}]})
    assert nota is not None
    assert nota.codigos == ("E0160",)
    assert "s3gredo" not in (nota.mensagem or "")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_NAMES = [
    "situacao",
    "status",
    "retorno",
    "prestador",
    "tomador",
    "valorServico",
    "numeroNfse",
    "mensagem",
    "chave",
    "pdf",
]


@given(st.dictionaries(st.sampled_from(_NAMES), _JSON))
def test_no_shape_of_json_makes_the_reader_fail(fields):
    """Any JSON under the known names gives a note."""
    data = json_object(
        json.dumps({**BASE, **fields}, allow_nan=True).replace("NaN", "0").replace("Infinity", "0").encode()
    )
    assert parse_nota(data) is not None


@given(st.binary(max_size=60))
def test_no_bytes_make_the_json_reader_fail(body):
    """Whatever arrives is an object or an empty one."""
    assert isinstance(json_object(body), dict)
