"""The whole outcome table of the emission protocol, over real HTTP and real broken sockets."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from typing import Any

import pytest

from gateway.http.wire import retry_after
from gateway.lines import QUOTAS, CallKind
from gateway.plugnotas.adapter import PlugNotas
from state_machine.protocol.emission import (
    Absent,
    Accepted,
    Arquivo,
    CannotTell,
    Duplicate,
    Found,
    Misconfigured,
    NotReady,
    NotSent,
    Postponed,
    Rejected,
    Situacao,
    Unknown,
)
from tests.patience import PATIENCE

OURS = {"idIntegracao": "zap-0001-1", "prestador": "11222333000181", "id": "5bb4f0f5f9d3e4a1b2c3d4e5"}
THEIRS = {**OURS, "idIntegracao": "zap-0002-1"}
TAKEN = {"documents": [OURS], "message": "Nota(as) em processamento", "protocol": "a6f0bd5c-1"}
CURRENT = {
    **OURS,
    "situacao": "CONCLUIDO",
    "tomador": "12345678000195",
    "valorServico": 1500.1,
    "numeroNfse": "42",
    "emissao": "21/11/2026",
    "pdf": "https://gateway.example/nfse/pdf/1",
}
FIELDS = {
    "error": {
        "message": "Falha na validação do JSON de NFSe",
        "data": {"fields": {"tomador.cpfCnpj": "E0188 CNPJ inválido", "servico[0].valor": ["a", "b"]}},
    }
}
ABSENT: dict[str, Any] = {
    "error": {"message": "Não localizamos qualquer NFSe com os parâmetros informados", "data": {"id": "x"}}
}
LATER = {"error": {"message": "Limite de requisições excedido"}}
HTML = "<html><body>Bad gateway</body></html>"


def conflict(current: object) -> dict[str, object]:
    return {"error": {"message": "Já existe um(a) NFSe com os parâmetros informados", "data": {"current": current}}}


ACCEPTED = Accepted(OURS["id"], "a6f0bd5c-1")

ALREADY = "Já existe um(a) NFSe com os parâmetros informados"


def said(message: str, **fields: str) -> tuple[dict[str, Any], dict[str, str]]:
    return {"error": {"message": message, "data": {"fields": fields}}}, {}


def sounds(message: str, *codes: str) -> Duplicate:
    return Duplicate(recusa=Rejected(message, codes))


SUBMISSIONS = [
    ("taken", 200, TAKEN, {}, ACCEPTED),
    ("created", 201, TAKEN, {}, ACCEPTED),
    ("ours among others", 200, {**TAKEN, "documents": [THEIRS, OURS]}, {}, ACCEPTED),
    ("taken without protocol", 200, {"documents": [OURS]}, {}, Accepted(OURS["id"], None)),
    ("another's note", 200, {**TAKEN, "documents": [THEIRS]}, {}, Unknown),
    ("protocol without note", 200, {"protocol": "a6f0bd5c-1"}, {}, Unknown),
    ("empty 200", 200, b"", {}, Unknown),
    ("HTML with 200", 200, HTML, {}, Unknown),
    ("truncated JSON", 200, b'{"documents":[{"idIntegracao":"zap-0001-1"', {}, Unknown),
    ("JSON null", 200, b"null", {}, Unknown),
    ("NaN", 200, b'{"documents":[{"idIntegracao":"zap-0001-1","id":NaN}]}', {}, Unknown),
    ("bottomless JSON", 200, b"[" * 100_000, {}, Unknown),
    ("not UTF-8", 200, b'{"documents":"\xff\xfe\xfa"}', {}, Unknown),
    ("documents of the wrong type", 200, {"documents": {"idIntegracao": "zap-0001-1"}}, {}, Unknown),
    ("400 with a protocol", 400, {"error": {"message": "x"}, **TAKEN}, {}, ACCEPTED),
    ("400 with a protocol inside", 400, {"error": {"message": "x", "data": TAKEN}}, {}, ACCEPTED),
    ("400 with only a protocol", 400, {"error": {"message": "x"}, "protocol": "p"}, {}, Accepted(None, "p")),
    ("400 with another's documents", 400, {**TAKEN, "documents": [THEIRS]}, {}, Unknown),
    ("400 without our shape", 400, {"message": "Bad Request"}, {}, Unknown),
    ("400 about another note", 400, {"error": {"message": "x", "data": {"idIntegracao": "zap-9"}}}, {}, Unknown),
    ("400 HTML", 400, HTML, {}, Unknown),
    ("409 with another's note", 409, conflict({**CURRENT, "idIntegracao": "zap-0002-1"}), {}, Unknown),
    ("409 of another company", 409, conflict({**CURRENT, "prestador": "99999999000191"}), {}, Unknown),
    ("409 without current", 409, conflict(None), {}, sounds(ALREADY)),
    ("400 that says so in words", 400, conflict(None), {}, sounds(ALREADY)),
    ("400 with E0014", 400, *said("E0014 - recusada pela SEFIN"), sounds("E0014 - recusada pela SEFIN", "E0014")),
    ("400 with E10", 400, *said("E10 - RPS consta na base"), sounds("E10 - RPS consta na base", "E10")),
    ("422 that says so in words", 422, *said("RPS já informado"), sounds("RPS já informado")),
    ("422 about the key", 422, *said("x", idIntegracao="em uso"), Duplicate),
    (
        "409 that names another as new",
        409,
        {"error": {"message": "x", "data": {"new": {"idIntegracao": "zap-9"}}}},
        {},
        Unknown,
    ),
    ("409 HTML", 409, HTML, {}, Unknown),
    ("401", 401, {"error": {"message": "O token informado é inválido"}}, {}, Misconfigured("HTTP 401")),
    ("403 HTML", 403, HTML, {}, Misconfigured("HTTP 403")),
    ("429 with seconds", 429, LATER, {"Retry_After": "7"}, Postponed(7.0, "HTTP 429")),
    ("429 without", 429, LATER, {}, Postponed(None, "HTTP 429")),
    ("503 with seconds", 503, LATER, {"Retry_After": "120"}, Postponed(120.0, "HTTP 503")),
    ("503 with nonsense", 503, LATER, {"Retry_After": "soon"}, Postponed(None, "HTTP 503")),
    ("429 without a word", 429, b"", {"Retry_After": "7"}, Unknown),
    ("429 of a proxy", 429, HTML, {}, Unknown),
    ("503 of a proxy", 503, b"upstream connect error or disconnect/reset before headers", {}, Unknown),
    ("503 of a framework", 503, {"message": "Service Unavailable"}, {"Retry_After": "7"}, Unknown),
    ("500 in our shape", 500, {"error": {"message": "Erro interno"}}, {}, Unknown),
    ("500 with a note", 500, TAKEN, {}, Unknown),
    ("502 HTML", 502, HTML, {}, Unknown),
    ("504", 504, b"", {}, Unknown),
    ("404 of a proxy", 404, HTML, {}, Unknown),
    ("404 of another service", 404, {"message": "no Route matched"}, {}, Unknown),
    ("404 of the gateway", 404, ABSENT, {}, Rejected(ABSENT["error"]["message"])),
    ("302", 302, b"", {"Location": "https://elsewhere.example/"}, Unknown),
    ("422 of a proxy", 422, HTML, {}, Unknown),
    ("422 about another note", 422, {"error": {"message": "x", "data": {"idIntegracao": "zap-9"}}}, {}, Unknown),
    ("422 of the gateway", 422, FIELDS, {}, Rejected),
    ("a status nobody knows", 599, FIELDS, {}, Unknown),
]


def matches(value: object, expected: object) -> bool:
    return isinstance(value, expected) if isinstance(expected, type) else value == expected


@pytest.mark.parametrize("case", SUBMISSIONS, ids=lambda case: case[0])
async def test_every_answer_to_a_submission_has_one_meaning(server, free, intent, case):
    """Whatever the gateway answers is one of the seven outcomes; only what speaks plainly of our note is definite."""
    _, status, body, headers, expected = case
    server.says(status, body, **headers)
    async with PlugNotas(server.url, "key", guard=free) as gateway:
        outcome = await gateway.submit(gateway.payload(intent))
    assert matches(outcome, expected)
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("status", "body", "refused"),
    [(400, HTML, True), (404, {"message": "x"}, True), (500, HTML, False), (200, {}, False), (302, b"", False)],
)
async def test_a_refusal_that_nobody_understands_is_told_from_a_failure(server, free, intent, status, body, refused):
    """It may say the same for ever; what failed may do better."""
    server.says(status, body)
    async with PlugNotas(server.url, "key", guard=free) as gateway:
        outcome = await gateway.submit(gateway.payload(intent))
    assert isinstance(outcome, Unknown)
    assert outcome.recusada is refused


async def test_a_validation_failure_is_a_rejection_with_its_fields(server, free, intent):
    """A 400 in the documented shape is final for this attempt and names the fields and codes."""
    server.says(400, FIELDS)
    async with PlugNotas(server.url, "key", guard=free) as gateway:
        outcome = await gateway.submit(gateway.payload(intent))
    assert outcome == Rejected(
        "Falha na validação do JSON de NFSe",
        ("E0188",),
        (("tomador.cpfCnpj", "E0188 CNPJ inválido"), ("servico[0].valor", "a; b")),
    )


@pytest.mark.parametrize("status", [409, 400])
async def test_a_duplicate_carries_the_note_that_stands_under_our_key(server, free, intent, status):
    """The note comes back with exact money, so that the caller can compare before adopting."""
    server.says(status, conflict(CURRENT))
    async with PlugNotas(server.url, "key", guard=free) as gateway:
        outcome = await gateway.submit(gateway.payload(intent))
    assert isinstance(outcome, Duplicate)
    assert outcome.nota is not None
    assert outcome.nota.valor == Decimal("1500.10")
    assert (outcome.nota.situacao, outcome.nota.numero) == (Situacao.AUTORIZADA, "42")


@pytest.mark.parametrize("fault", ["hang", "reset", "close", "truncate", "drip", "gibberish"])
async def test_a_submission_whose_answer_is_lost_is_unknown(faulty, free, intent, key, fault):
    """Once bytes have left, no failure of the line may be read as "not sent", and none outlasts the deadline."""
    url = await faulty(fault)
    # A quarter of it is for connecting; less than a busy machine needs would read as "certainly not sent".
    seconds = 1.0 if fault in {"hang", "drip"} else PATIENCE
    async with PlugNotas(url, "key", guard=free, submit_timeout=seconds, query_timeout=seconds) as gateway:
        assert isinstance(await gateway.submit(gateway.payload(intent)), Unknown)
        assert isinstance(await gateway.find(key), CannotTell)
        assert isinstance(await gateway.download("11222333000181", "5bb4", "pdf"), NotReady)


async def test_a_refused_connection_is_certainly_not_sent(closed_url, free, intent, key):
    """Nobody listened, so nothing was sent; a question stays without an answer."""
    async with PlugNotas(closed_url, "key", guard=free) as gateway:
        assert await gateway.submit(gateway.payload(intent)) == NotSent("ConnectError")
        assert await gateway.find(key) == CannotTell("ConnectError")


async def test_a_failed_tls_handshake_is_certainly_not_sent(server, free, intent):
    """A server that speaks no TLS never saw the request."""
    server.says(200, TAKEN)
    async with PlugNotas(server.url.replace("http:", "https:"), "key", guard=free) as gateway:
        assert await gateway.submit(gateway.payload(intent)) == NotSent("ConnectError")
    assert server.received == []


async def test_a_submission_that_found_no_free_connection_is_certainly_not_sent(faulty, free, intent):
    """When all places of its company are taken, the one too many is known to have stayed here."""
    places = QUOTAS[CallKind.SUBMISSION].company
    async with PlugNotas(await faulty("hang"), "key", guard=free, submit_timeout=10.0) as gateway:
        payload = gateway.payload(intent)
        outcomes = await asyncio.gather(*(gateway.submit(payload) for _ in range(places + 1)))
    assert outcomes.count(NotSent("PoolTimeout")) == 1
    assert sum(isinstance(outcome, Unknown) for outcome in outcomes) == places


FINDINGS = [
    ("summary", 200, CURRENT, Found),
    ("list of one", 200, [CURRENT], Found),
    ("list with ours", 200, [{**CURRENT, "idIntegracao": "zap-2"}, CURRENT], Found),
    ("another's reference", 200, {**CURRENT, "idIntegracao": "zap-2"}, CannotTell),
    ("another company's", 200, {**CURRENT, "prestador": "99999999000191"}, CannotTell),
    ("without reference", 200, {"id": "5bb4", "situacao": "CONCLUIDO"}, CannotTell),
    ("two of ours", 200, [CURRENT, CURRENT], CannotTell),
    ("empty list", 200, [], CannotTell),
    ("empty body", 200, b"", CannotTell),
    ("HTML", 200, HTML, CannotTell),
    ("truncated", 200, b'{"id":"5bb4","idIntegracao":"zap-0001-1"', CannotTell),
    ("202", 202, CURRENT, CannotTell),
    ("404 in so many words", 404, ABSENT, Absent()),
    ("404 naming the key", 404, {"error": {"message": "x", "data": {"idOrProtocol": "y"}}}, Absent()),
    ("404 of a proxy", 404, HTML, CannotTell),
    ("404 of a router", 404, {"error": {"message": "Not Found"}}, CannotTell),
    ("404 of another API", 404, {"message": "no route matched"}, CannotTell),
    ("401", 401, {"error": {"message": "token"}}, CannotTell("HTTP 401")),
    ("429", 429, b"", CannotTell("HTTP 429", 3.0)),
    ("500", 500, ABSENT, CannotTell("HTTP 500", 3.0)),
]


@pytest.mark.parametrize("case", FINDINGS, ids=lambda case: case[0])
async def test_only_a_plain_statement_answers_a_question(server, free, key, case):
    """A note is found only under our own key, absent only when the gateway itself says so."""
    _, status, body, expected = case
    server.says(status, body, **({"Retry_After": "3"} if status in {429, 500} else {}))
    async with PlugNotas(server.url, "key", guard=free) as gateway:
        found = await gateway.find(key)
    assert matches(found, expected)
    assert server.received[0].path == "/nfse/consultar/zap-0001-1/11222333000181"


DOWNLOADS = [
    ("pdf", 200, b"%PDF-1.7 ...", Arquivo(b"%PDF-1.7 ...", "application/pdf")),
    ("xml", 200, b'\xef\xbb\xbf<?xml version="1.0"?><NFSe/>\n', Arquivo),
    ("xml", 200, b"<NFSe/>", Arquivo(b"<NFSe/>", "application/xml")),
    ("pdf", 202, {"message": "em processamento"}, NotReady("not rendered yet")),
    ("pdf", 200, b"<html>login</html>", NotReady),
    ("xml", 200, b"<!DOCTYPE html><html></html>", NotReady),
    ("xml", 200, b"<NFSe><Numero>4", NotReady),
    ("xml", 200, {"message": "em processamento"}, NotReady),
    ("pdf", 200, b"", NotReady),
    ("pdf", 404, ABSENT, NotReady("HTTP 404")),
]


@pytest.mark.parametrize("case", DOWNLOADS)
async def test_only_bytes_that_are_the_document_are_a_document(server, free, case):
    """A login page, a fragment or a "please wait" is never handed on as an invoice."""
    formato, status, body, expected = case
    server.says(status, body)
    async with PlugNotas(server.url, "key", guard=free) as gateway:
        got = await gateway.download("11222333000181", "5bb4f0f5", formato)
    assert matches(got, expected)
    assert server.received[0].path == f"/nfse/{formato}/5bb4f0f5"


def test_retry_after_is_read_in_both_of_its_forms():
    """Seconds and HTTP dates are honoured, the past is now, and nobody makes us wait more than a day."""
    soon = datetime.now(UTC) + timedelta(seconds=90)
    assert retry_after({"retry-after": "12"}) == 12.0
    assert 80 < (retry_after({"retry-after": format_datetime(soon, usegmt=True)}) or 0) <= 90
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert retry_after({"retry-after": "999999999"}) == 3600.0
    assert [retry_after({"retry-after": bad}) for bad in ("-1", "", "later", "9" * 40)] == [None] * 4
    assert retry_after({}) is None
