"""The adapter's cancellation, against a scripted server and against the simulated PlugNotas, over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.http.wire import MaybeSentError
from gateway.plugnotas.adapter import PlugNotas, cancel_outcome
from proofs.sandbox.plugnotas.plugnotas import TOO_LATE, PlugNotasConfig, PlugNotasSimulator
from state_machine.cancellation.machine import Codigo, MotivoCancelamento
from state_machine.cancellation.reconciliation import AlreadyCancelled, Cancelled, InProcess, Refused, Stands
from state_machine.protocol.emission import Accepted, CannotTell, Misconfigured, NotSent, Postponed, Rejected, Unknown

KEY = "sandbox-plugnotas-api-key"
WHY = MotivoCancelamento(Codigo.ERRO_NA_EMISSAO, "Erro na emissão da nota")
ID = "a" * 24
CNPJ = "11222333000181"


def _error(message: str, **data: Any) -> dict[str, Any]:
    return {"error": {"message": message, "data": data}}


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (200, {"message": "Cancelamento em processamento", "data": {"protocol": "p-1"}}, Accepted(None, "p-1")),
        (400, {**_error("Tente depois"), "protocol": "p-1"}, Accepted(None, "p-1")),
        (409, _error("A NFSe já está cancelada"), AlreadyCancelled()),
        (400, _error("Nota já foi cancelada"), AlreadyCancelled()),
        (
            409,
            _error("Conflito", current={"id": ID, "idIntegracao": "x", "situacao": "CANCELADO"}),
            AlreadyCancelled(),
        ),
        (409, _error("x", current={"id": "b" * 24, "situacao": "CANCELADO"}), Unknown("HTTP 409 about another note")),
        (400, _error("Cancelamento já solicitado"), Unknown("HTTP 400: a cancellation is under way", recusada=True)),
        (400, _error("E0840: já existe evento"), Unknown("HTTP 400: a cancellation is under way", recusada=True)),
        (400, _error("Não é possível cancelar"), Rejected("Não é possível cancelar")),
        (422, _error("E0822 prazo"), Rejected("o prazo que a cidade dá para cancelar já passou", ("E0822",))),
        (401, _error("token"), Misconfigured("HTTP 401")),
        (503, _error("Em manutenção"), Postponed(None, "HTTP 503")),
        (503, b"", Unknown("HTTP 503 that does not speak of a cancellation")),
        (500, _error("Erro interno"), Unknown("HTTP 500 that does not speak of a cancellation")),
        (200, "<html>ok</html>", Unknown("HTTP 200 that does not speak of a cancellation")),
        (200, {"message": "ok"}, Unknown("HTTP 200 that does not speak of a cancellation")),
        (404, b"", Unknown("HTTP 404 that does not speak of a cancellation", recusada=True)),
        (302, b"", Unknown("HTTP 302 that does not speak of a cancellation")),
    ],
)
async def test_every_answer_has_one_meaning(server, free, status, body, outcome):
    """What is not plainly something else is unknown: it is asked about before anything is sent again."""
    server.says(status, body)
    async with PlugNotas(server.url, KEY, guard=free) as gateway:
        assert await gateway.cancel(CNPJ, ID, WHY) == outcome
    assert (server.received[0].method, server.received[0].path) == ("POST", f"/nfse/cancelar/{ID}")
    assert server.received[0].body.decode() == '{"motivo": "Erro na emissão da nota", "codigo": "1"}'


async def test_a_refused_connection_was_certainly_not_sent(free):
    """Sending again is safe then."""
    async with PlugNotas("http://127.0.0.1:9", KEY, guard=free) as gateway:
        assert isinstance(await gateway.cancel(CNPJ, ID, WHY), NotSent)


@pytest.mark.parametrize("lost", ["ReadTimeout", "ReadError", "RemoteProtocolError"])
def test_a_request_whose_answer_is_lost_is_unknown(lost):
    """It may have been taken: it is asked about before it is sent again."""
    assert cancel_outcome(MaybeSentError(lost), ID) == Unknown(lost)


@pytest.mark.parametrize("wrong", ["", "a/b", "../x", "a" * 101])
async def test_an_id_that_is_none_never_becomes_a_path(server, free, wrong):
    """It came from outside."""
    async with PlugNotas(server.url, KEY, guard=free) as gateway:
        with pytest.raises(ValueError, match="id"):
            await gateway.cancel(CNPJ, wrong, WHY)
    assert server.received == []


def _note(key, situacao: str, id_externo: str = ID) -> list[dict[str, Any]]:
    return [{"id": id_externo, "idIntegracao": key.id_integracao, "situacao": situacao, "numeroNfse": "1"}]


@pytest.mark.parametrize(
    ("status", "request_says", "situacao", "expected"),
    [
        (200, {"data": {"situacao": "PROCESSANDO", "response": "em processamento"}}, "CONCLUIDO", InProcess),
        (200, {"data": {"situacao": "REJEITADO", "response": "não autorizado"}}, "CONCLUIDO", Refused),
        (200, {"data": {"situacao": "REJEITADO", "response": "não autorizado"}}, "CANCELADO", Cancelled),
        (200, {"data": {"situacao": "CONCLUIDO", "response": "Nota cancelada"}}, "CONCLUIDO", InProcess),
        (200, {"message": "Cancelamento em processamento"}, "CONCLUIDO", InProcess),
        (200, {"message": "O município não autorizou"}, "CONCLUIDO", Refused),
        (200, {"message": "palavra nova"}, "CONCLUIDO", InProcess),
        (404, _error("Não localizamos"), "CONCLUIDO", Stands),
        (404, b"", "CONCLUIDO", CannotTell),
        (500, b"", "CONCLUIDO", CannotTell),
        (500, b"", "CANCELADO", Cancelled),
        (200, {"data": {"situacao": "REJEITADO"}}, "PROCESSANDO", InProcess),
    ],
)
async def test_the_note_decides_and_a_refusal_counts_only_while_it_stands(
    server, free, key, status, request_says, situacao, expected
):
    """The request is asked about first, the note after it, so that no end is concluded from an older reading."""
    server.says(status, request_says)
    server.says(200, _note(key, situacao))
    async with PlugNotas(server.url, KEY, guard=free) as gateway:
        assert isinstance(await gateway.cancellation(key, ID, "p-1"), expected)
    assert [r.path.split("/")[2] for r in server.received] == ["cancelar", "consultar"]


async def test_another_note_under_our_key_tells_nothing(server, free, key):
    """Its id is not the one that the user confirmed."""
    server.says(200, _note(key, "CANCELADO", "b" * 24))
    async with PlugNotas(server.url, KEY, guard=free) as gateway:
        assert isinstance(await gateway.cancellation(key, ID, None), CannotTell)


@pytest.mark.parametrize("limit", [None, 0.0])
async def test_the_whole_way_at_the_simulated_gateway(free, intent, key, limit):
    """Taken, in process, cancelled, and already cancelled ever after; past the city's limit refused and standing."""
    config = PlugNotasConfig(processing=0.0, rendering=0.0, cancel_within=limit)
    async with PlugNotasSimulator(config) as city, PlugNotas(city.url, KEY, guard=free) as gateway:
        await gateway.submit(gateway.payload(replace(intent)))
        settled = await city.ledger.wait_for(lambda record: record.kind == "note.settled")
        note_id = settled.data["id"]
        assert await gateway.cancellation(key, note_id, None) == Stands()
        taken = await gateway.cancel(key.prestador, note_id, WHY)
        assert isinstance(taken, Accepted)
        await city.ledger.wait_for(lambda record: record.kind == "cancel.settled")
        found = await gateway.cancellation(key, note_id, taken.protocolo)
        if limit is None:
            assert isinstance(found, Cancelled)
            assert await gateway.cancel(key.prestador, note_id, WHY) == AlreadyCancelled()
        else:
            assert TOO_LATE.startswith("E0822")
            assert found == Refused("o prazo que a cidade dá para cancelar já passou")
            assert await gateway.cancellation(key, note_id, None) == Stands()
