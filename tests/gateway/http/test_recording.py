"""What support may read of a call: what happened, and not to whom."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.client import Exchange
from gateway.http.recording import HIDDEN, MAX_PROSE, MAX_TEXT, MAX_WHOLE, masked_body, observe, recording, whole_json
from gateway.http.wire import mask
from gateway.plugnotas.adapter import PlugNotas
from gateway.plugnotas.payload import build

REJECTION = {
    "error": {
        "message": "Falha na validação do JSON de NFSe",
        "data": {
            "senha": "hunter2",
            "fields": {"tomador.email": "ze@padaria.example não é um e-mail; CPF 529.982.247-25"},
        },
    }
}


def test_an_order_keeps_its_shape_and_loses_its_people(intent):
    """Reference, codes and amounts stay; names, documents, e-mail, address and text do not."""
    kept = masked_body(build(intent))
    assert kept is not None
    [note] = json.loads(kept)
    assert note["idIntegracao"] == intent.id_integracao
    assert note["servico"][0]["codigo"] == "171901"
    assert note["servico"][0]["valor"]["servico"] == "1500.00"
    assert note["tomador"] == dict.fromkeys(note["tomador"], HIDDEN)
    for personal in ("PADARIA", "12345678000195", "11222333000181", "padaria.example", "marketing"):
        assert personal not in kept


def test_a_refusal_keeps_its_reasons_and_loses_secrets_and_people():
    """PlugNotas echoes the certificate's password and quotes what was sent."""
    kept = masked_body(json.dumps(REJECTION).encode())
    assert kept is not None
    assert "Falha na validação" in kept
    assert "não é um e-mail" in kept
    for personal in ("hunter2", "529.982", "padaria.example"):
        assert personal not in kept


@pytest.mark.parametrize(
    "body",
    [
        b"<html>" + b"x" * 100_000,
        json.dumps([{"mensagem": "y" * 100_000}]).encode(),
        json.dumps({"a": 10**30}).encode(),
        b'{"mensagem": "\\ud800\\u0000"}',
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b"\xff\xfe\x00",
        b"NaN",
    ],
)
def test_whatever_comes_is_short_and_can_be_stored(body):
    """PostgreSQL takes neither NUL nor lone surrogates, and a page of a proxy is recognised by its beginning."""
    kept = masked_body(body)
    assert kept is not None
    assert len(kept) <= MAX_TEXT
    assert "\x00" not in kept
    kept.encode()
    assert str(10**30) not in kept
    assert not body.startswith(b"<") or len(kept) <= MAX_PROSE


@pytest.mark.parametrize("offset", range(38))
def test_a_long_text_is_cut_before_it_is_masked_and_no_number_in_two(offset):
    """Masking makes it shorter, so what stands at the cut, wherever that falls, comes into sight."""
    said = "x" * offset + " fulano@padaria.example 529.982.247-25" * 2000
    kept = masked_body(json.dumps({"mensagem": said}).encode())
    assert kept is not None
    assert "***" in kept
    assert not re.search(r"\d|padaria", kept)


def test_an_address_with_a_long_beginning_is_masked_as_far_as_one_can_be():
    assert mask(f"x {'a' * 64}@padaria.example y") == "x *** y"


@given(st.from_regex(r"\d{3}\.\d{3}\.\d{3}-\d{2}", fullmatch=True), st.sampled_from(["mensagem", "tomador", "x", "id"]))
def test_no_document_survives_under_any_key(cpf, key):
    """Whether the key is one whose text is shown or not."""
    assert cpf not in (masked_body(json.dumps({key: f"CPF {cpf}."}).encode()) or "")
    assert cpf not in (masked_body(f"CPF {cpf}.".encode()) or "")


async def test_only_the_calls_of_this_stretch_are_taken_down(server, free, key):
    """Inside ``recording`` both bodies and the status are there; outside nothing is kept, and nothing leaks in."""
    server.says(404, {"error": {"message": "Não localizamos", "data": {"idIntegracao": "x"}}})
    async with PlugNotas(server.url, "k", guard=free) as gateway:
        await gateway.find(key)
        with recording() as tape:
            assert (tape.http_status, tape.pedido, tape.resposta) == (None, None, None)
            await gateway.find(key)
        assert tape.http_status == 404
        assert tape.pedido is None
        assert "Não localizamos" in (tape.resposta or "")
    observe(Exchange("GET", "/", 200, b"{}", None, 0.1))
    assert tape.http_status == 404


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (
            b'[{"id": "x", "valor": 1500.00, "novo": {"a": [true, null]}}]',
            '[{"id":"x","valor":1500.00,"novo":{"a":[true,null]}}]',
        ),
        (b'{"data": {"senha": "hunter2", "nome": "Ana"}}', f'{{"data":{{"senha":"{HIDDEN}","nome":"Ana"}}}}'),
        (b'{"a": "\\u0000"}', '{"a":"\ufffd"}'),
        (b'{"a": 0.' + b"1" * 20_000 + b"}", '{"a":"0.' + "1" * 20_000 + '"}'),
        (b'"a text"', None),
        (b"<html>", None),
        (b'{"a": NaN}', None),
        (b'{"a": "' + b"x" * MAX_WHOLE + b'"}', None),
    ],
    ids=["exact", "secret", "nul", "endless number", "text", "page", "nan", "huge"],
)
def test_json_is_kept_whole(body: bytes, kept: str | None) -> None:
    """Everything in it, numbers as exact as they came, so that the database takes it; only secrets are hidden."""
    assert whole_json(body) == kept


def test_what_fetches_a_document_does_not_replace_the_answer() -> None:
    """The first JSON of a stretch is the answer about the note; a document's error is none."""
    with recording() as tape:
        for body in (b"<html>", b'{"id": "note"}', b'{"error": {"message": "no XML yet"}}'):
            observe(Exchange("GET", "/", 200, body, None, 0.1))
    assert tape.recebido == '{"id":"note"}'
