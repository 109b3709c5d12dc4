"""The specification's own examples (5.1, 5.2), with documents whose check digits hold, and what else it demands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp

JOAO = {"nome": "João Silva", "email": "joao@example.com", "documento": "123.456.789-09"}
SPECIFICATION = pytest.mark.parametrize("erp", [False], indirect=True)  # PROSA_API_CHAVE_ESTRITA=false


async def test_5_1_create_a_client_with_idempotency(erp: Erp) -> None:
    """The second request under the key gets the client of the first; there is one."""
    first = await erp.post("/clientes", JOAO, "client-001")
    assert first.status == 201
    shown = {name: first.body[name] for name in (*JOAO, "versao", "idempotencia_key")}
    assert shown == {**JOAO, "documento": "12345678909", "versao": 1, "idempotencia_key": "client-001"}
    assert first.headers["Location"] == f"/api/v1/clientes/{first.body['id']}"
    assert "Idempotency-Replayed" not in first.headers
    second = await erp.post("/clientes", JOAO, "client-001")
    assert (second.status, second.body) == (201, first.body)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert await erp.count() == 1


@SPECIFICATION
async def test_5_1_the_same_client_also_for_other_data(erp: Erp) -> None:
    """In the specification's way the key alone decides, before any rule about the body."""
    first = await erp.post("/clientes", JOAO, "client-001")
    others: tuple[Any, ...] = ({**JOAO, "nome": "Outro"}, {"nome": ""}, [])
    for other in others:
        second = await erp.post("/clientes", other, "client-001")
        assert (second.status, second.body) == (201, first.body)
    assert await erp.count() == 1


async def test_5_2_create_a_proposal_with_idempotency(erp: Erp) -> None:
    """The amount is what was sent, as text; the proposal begins as a draft of version 1."""
    cliente = await erp.client()
    sent = f'{{"cliente_id": {cliente}, "valor": 1500.00}}'.encode()
    first = await erp.post("/propostas", sent, "proposta-001")
    assert first.status == 201
    shown = {name: first.body[name] for name in ("cliente_id", "valor", "estado", "versao", "idempotencia_key")}
    assert list(shown.values()) == [cliente, "1500.00", "rascunho", 1, "proposta-001"]
    second = await erp.post("/propostas", sent, "proposta-001")
    assert (second.status, second.body) == (201, first.body)
    assert await erp.count("propostas") == 1


@SPECIFICATION
async def test_5_2_the_original_amount_stays(erp: Erp) -> None:
    """Another amount under the same key changes nothing."""
    cliente = await erp.client()
    first = await erp.post("/propostas", {"cliente_id": cliente, "valor": "1500.00"}, "proposta-001")
    second = await erp.post("/propostas", {"cliente_id": cliente, "valor": "2000.00"}, "proposta-001")
    assert (second.status, second.body) == (201, first.body)
    assert second.body["valor"] == "1500.00"


async def test_another_body_under_a_key_is_refused(erp: Erp) -> None:
    """An ERP that used a key twice by mistake must not believe that its second invoice exists."""
    cliente = await erp.client()
    first = await erp.post("/propostas", {"cliente_id": cliente, "valor": 1500}, "p")
    for other in ({"cliente_id": cliente, "valor": 2000}, {"cliente_id": cliente, "valor": "x"}, {}):
        refused = await erp.post("/propostas", other, "p")
        assert (refused.status, refused.codigo) == (422, "chave_reutilizada")
    again = await erp.post("/propostas", {"valor": "1500.00", "cliente_id": cliente}, "p")
    assert (again.status, again.body) == (201, first.body)


async def test_a_key_is_looked_at_before_the_unique_email(erp: Erp) -> None:
    """A repetition never gets the refusal that a second client with the e-mail gets."""
    first = await erp.post("/clientes", JOAO, "a")
    refused = await erp.post("/clientes", {**JOAO, "email": "JOAO@example.com"}, "b")
    assert (refused.status, refused.codigo) == (409, "email_em_uso")
    assert (await erp.post("/clientes", JOAO, "a")).body == first.body
    assert await erp.count() == 1
    mended = await erp.post("/clientes", {**JOAO, "email": "jo@example.com"}, "b")
    assert mended.status == 201  # a refusal used no key up


async def test_a_repetition_gets_the_entity_as_it_is_now(erp: Erp) -> None:
    """Not what was answered then."""
    cliente = await erp.client()
    body = {"cliente_id": cliente, "valor": 1500}
    first = await erp.post("/propostas", body, "p")
    await erp.database.pool.execute("UPDATE propostas SET valor = 1800, versao = 3, estado = 'aceita'")
    again = await erp.post("/propostas", body, "p")
    assert (again.body["id"], again.body["valor"]) == (first.body["id"], "1800.00")
    assert (again.body["versao"], again.body["estado"]) == (3, "aceita")


@pytest.mark.parametrize("path", ["/clientes", "/propostas"])
async def test_fifty_at_once_are_one(erp: Erp, path: str) -> None:
    """All of them get the entity of whichever was first, none an error."""
    body = JOAO if path == "/clientes" else {"cliente_id": await erp.client(), "valor": "0.01"}
    answers = await asyncio.gather(*(erp.post(path, body, "once") for _ in range(50)))
    assert {answer.status for answer in answers} == {201}
    assert len({str(answer.body) for answer in answers}) == 1
    assert sum("Idempotency-Replayed" not in answer.headers for answer in answers) == 1
    assert await erp.count(path[1:]) == 1


async def test_fifty_clients_with_one_email_at_once_are_one(erp: Erp) -> None:
    """Each under a key of its own: one is made, the others hear that the e-mail is taken."""
    answers = await asyncio.gather(*(erp.post("/clientes", JOAO, f"key-{number}") for number in range(50)))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 49
    assert {answer.codigo for answer in answers if answer.status == 409} == {"email_em_uso"}


async def test_a_key_under_way_is_told_to_come_back(erp: Erp) -> None:
    """While another transaction under the key has not ended nobody knows; afterwards everybody gets its entity."""
    async with erp.database.pool.acquire() as other:
        transaction = other.transaction()
        await transaction.start()
        await other.execute(
            "INSERT INTO clientes (empresa_id, nome, email, idempotencia_key)"
            " SELECT id, 'x', 'x@y.z', 'slow' FROM empresa WHERE cnpj = '99000002000148'"
        )
        waiting = await erp.post("/clientes", JOAO, "slow")
        assert (waiting.status, waiting.codigo, waiting.headers["Retry-After"]) == (409, "em_andamento", "1")
        await transaction.rollback()
    assert (await erp.post("/clientes", JOAO, "slow")).status == 201


async def test_a_proposal_is_three_statements(erp: Erp) -> None:
    """Who asks, the client, and what is stored; a repetition looks for what was made besides."""
    body = {"cliente_id": await erp.client(), "valor": "0.01"}
    await erp.post("/propostas", body, "warm")
    asked: list[str] = []
    for driver, _ in erp.database._turns._idle:
        driver.add_query_logger(lambda said: asked.append(said.query))
    assert (await erp.post("/propostas", body, "counted")).status == 201
    assert len(asked) == 3, asked
    assert (await erp.post("/propostas", body, "counted")).headers["Idempotency-Replayed"] == "true"
    assert len(asked) == 3 + 4, asked


async def test_a_key_is_its_companys_own(erp: Erp) -> None:
    """Two companies may choose the same key, and the same e-mail; so may a client and a proposal."""
    ours = await erp.post("/clientes", JOAO, "k")
    theirs = await erp.post("/clientes", JOAO, "k", chave=erp.theirs)
    assert (ours.status, theirs.status) == (201, 201)
    assert ours.body["id"] != theirs.body["id"]
    assert (await erp.post("/propostas", {"cliente_id": ours.body["id"], "valor": 1}, "k")).status == 201


async def test_who_made_it_is_kept(erp: Erp) -> None:
    """By the visible beginning of the key, which opens nothing."""
    await erp.client()
    assert await erp.database.pool.fetchval("SELECT usuario FROM clientes") == erp.ours[:19]
