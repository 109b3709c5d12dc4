"""A customer who wants to be forgotten also stands among the clients that other systems sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from operations.company import add_company
from persistence.batches import suppression
from persistence.db.engine import Database
from persistence.people.parts import FORGOTTEN
from persistence.people.person import count, erase, export, find
from persistence.tables import lotes
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Canal
from tests.made_batches import confirmed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CPF = "12345678909"
OTHER = "11144477735"
_CLIENT = """
INSERT INTO clientes (empresa_id, nome, email, documento, corpo_sha256)
SELECT id, $1::text, $1::text || '@exemplo.com.br', $2, 'x' FROM empresa RETURNING id
"""
_PROPOSAL = """
INSERT INTO propostas (empresa_id, cliente_id, valor, descricao, prestacao)
SELECT empresa_id, id, 10, 'aula', '{"local_prestacao": "3550308"}' FROM clientes
WHERE id = $1
"""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, size=1)
    await add_company(opened, COMPANY, Canal("plugnotas"))
    await opened.pool.execute("DELETE FROM propostas")
    await opened.pool.execute("DELETE FROM clientes")
    yield opened
    await opened.close()


_SUBMITTED = """
INSERT INTO idempotencia_operacoes (empresa_id, idempotencia_key, tipo_operacao, entidade_id, resultado, corpo_sha256)
SELECT empresa_id, id::text, 'submeter_proposta', id, '{"estado": "enviada", "descricao": "aula"}', 'x' FROM propostas
"""


async def test_what_was_noted_of_a_submission_forgets_the_words(database: Database) -> None:
    """The key stays, the text of the proposal does not; another person's stays."""
    for name, cpf in (("ana", CPF), ("caio", OTHER)):
        await database.pool.execute(_PROPOSAL, await database.pool.fetchval(_CLIENT, name, cpf))
    await database.pool.execute(_SUBMITTED)
    async with database.transaction() as connection:
        await erase(connection, await find(connection, CPF))
    left = await database.pool.fetch("SELECT resultado FROM idempotencia_operacoes ORDER BY entidade_id")
    assert [row["resultado"].get("descricao") for row in left] == [None, "aula"]
    assert left[0]["resultado"]["estado"] == "enviada"


@pytest.mark.parametrize("quem", [CPF, "ANA@exemplo.com.br"])
async def test_a_row_of_a_list_is_copied_out_and_erased(database: Database, quem: str) -> None:
    """The address finds it, or the CPF of the client who has it; its mail does not go; the no to mails stays."""
    await database.pool.execute("DELETE FROM lotes")
    await database.pool.fetchval(_CLIENT, "ana", CPF)
    lote = await confirmed(database, "lista.csv", "ana@exemplo.com.br", "caio@exemplo.com.br")
    async with database.transaction() as connection:
        empresa = await connection.scalar(sa.select(lotes.c.empresa_id).where(lotes.c.id == lote))
        await suppression.suppress(connection, empresa, "ana@exemplo.com.br", "pediu")
        person = await find(connection, quem)
        copied = await export(connection, person)
        await erase(connection, person)
        assert await count(connection, person) | {"endereço que não quer e-mails": 0} == dict.fromkeys(copied, 0)
    assert [row["email"] for row in copied["linhas de listas de e-mail"]] == ["ana@exemplo.com.br"]
    assert len(copied["endereço que não quer e-mails"]) == 1
    rows = await database.pool.fetch("SELECT email, estado, dados, chave FROM lote_linhas ORDER BY id")
    assert [(row["email"], row["estado"]) for row in rows] == [(None, "CANCELADA"), ("caio@exemplo.com.br", "PENDING")]
    assert "ana" not in rows[0]["chave"]
    assert await database.pool.fetchval("SELECT count(*) FROM clientes") == 0
    await database.pool.execute("DELETE FROM email_suprimido")


async def test_a_client_of_another_system_is_copied_out_and_erased(database: Database) -> None:
    """Who has a proposal stays as a number, who has none goes; nobody else is touched."""
    proposed, bare, other = [
        await database.pool.fetchval(_CLIENT, name, cpf) for name, cpf in (("ana", CPF), ("bia", CPF), ("caio", OTHER))
    ]
    for client in (proposed, other):
        await database.pool.execute(_PROPOSAL, client)
    async with database.transaction() as connection:
        person = await find(connection, CPF)
        copied = await export(connection, person)
        await erase(connection, person)
    assert {row["nome"] for rows in copied.values() for row in rows if "nome" in row} == {"ana", "bia"}
    left = await database.pool.fetch("SELECT id, nome, email, documento, corpo_sha256 FROM clientes ORDER BY id")
    assert [tuple(row) for row in left] == [
        (proposed, None, None, None, None),
        (other, "caio", "caio@exemplo.com.br", OTHER, "x"),
    ]
    assert bare not in {row["id"] for row in left}
    said = await database.pool.fetch("SELECT descricao, prestacao FROM propostas ORDER BY cliente_id")
    assert [(row["descricao"], row["prestacao"] is None) for row in said] == [(None, True), ("aula", False)]


async def test_what_waits_for_a_forgotten_client_ends(database: Database) -> None:
    """Nobody is asked for the document of a client without a name; keys of other systems may hold names, and go."""
    await database.pool.execute("DELETE FROM idempotencia_operacoes")
    cliente = await database.pool.fetchval(_CLIENT, "ana", CPF)
    await database.pool.execute("UPDATE clientes SET idempotencia_key = 'cliente-ana'")
    for estado in ("rascunho", "enviada", "emitida"):
        await database.pool.execute(_PROPOSAL, cliente)
        await database.pool.execute(
            "UPDATE propostas SET estado = $1, idempotencia_key = 'ana-' || id WHERE estado = 'rascunho' "
            "AND idempotencia_key IS NULL",
            estado,
        )
    await database.pool.execute(_SUBMITTED)
    async with database.transaction() as connection:
        await erase(connection, await find(connection, CPF))
    found = await database.pool.fetch("SELECT estado, motivo, idempotencia_key FROM propostas ORDER BY id")
    assert [tuple(row) for row in found] == [("cancelada", FORGOTTEN, None)] * 2 + [("emitida", None, None)]
    client = await database.pool.fetchrow("SELECT nome, email, documento, idempotencia_key FROM clientes")
    assert tuple(client) == (None,) * 4
    keys = await database.pool.fetch("SELECT idempotencia_key FROM idempotencia_operacoes")
    assert all(row["idempotencia_key"].startswith("apagada:") for row in keys)
