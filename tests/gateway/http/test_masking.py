"""What must never reach a record or a log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.wire import mask, scrub

SECRET = "Xk9-abc_DEF.42"


@pytest.mark.parametrize(
    "shape",
    [
        '{"error":{"data":{"senha":"%s"}}}',
        '{"senha" : "%s", "x": 1}',
        '{"Password":"%s"}',
        '{"senha":"%s',
        '{"api_key": %s}',
        "senha=%s&x=1",
        "x-api-key: %s",
        "Authorization: Bearer %s",
        "authorization=Bearer %s",
        "token: %s,",
        "client_secret=%s",
    ],
)
def test_secrets_are_gone_from_whatever_shape_they_come_in(shape):
    """JSON, truncated JSON, forms and headers lose the value and keep the name."""
    assert SECRET not in scrub(shape % SECRET)


@given(st.text(st.characters(exclude_characters='"\\', categories=["L", "N", "P"]), min_size=6))
def test_a_password_echoed_in_json_is_gone_whatever_it_is(senha):
    """PlugNotas repeats the certificate's password in its error."""
    assert senha not in scrub(f'{{"data":{{"senha":"{senha}"}}}}').removeprefix('{"data":{"senha":"***"}}')


def test_the_rest_of_a_message_stays_readable():
    """Only the secret goes: staff still sees what the gateway said."""
    body = '{"error":{"message":"Senha do certificado inválida","data":{"senha":"abc","id":"5ecc"}}}'
    assert scrub(body) == '{"error":{"message":"Senha do certificado inválida","data":{"senha":"***","id":"5ecc"}}}'


@pytest.mark.parametrize(
    "personal",
    [
        "12.345.678/0001-95",
        "12345678909",
        "12ABC34501DE35",
        "12.ABC.345/01DE-35",
        "123.456.789-09",
        "+55 (11) 98765-4321",
        "ana.silva@exemplo.com.br",
        "wamid.HBgNNTUxMQ==",
    ],
)
def test_what_is_logged_names_nobody(personal):
    """Documents, phones, e-mail addresses and wamids (which hold the phone) are masked."""
    assert personal not in mask(f"recusado para {personal} hoje")
    assert mask("HTTP 502 em 2026") == "HTTP 502 em 2026"
