"""A customer who wants to be forgotten also stands among the clients that other systems sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.demo.world import COMPANY
from operations.company import add_company
from persistence.db.engine import Database
from persistence.people.erase import erase
from persistence.people.person import export, find
from state_machine.protocol.channel import Canal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CPF = "12345678909"
OTHER = "11144477735"
_CLIENT = """
INSERT INTO clientes (empresa_id, nome, email, documento, corpo_sha256)
SELECT id, $1::text, $1::text || '@exemplo.com.br', $2, 'x' FROM empresa RETURNING id
"""
_PROPOSAL = """
INSERT INTO propostas (empresa_id, cliente_id, valor, descricao) SELECT empresa_id, id, 10, 'aula' FROM clientes
WHERE id = $1
"""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, size=1)
    await add_company(opened, COMPANY, Canal("plugnotas"))
    yield opened
    await opened.close()


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
        (proposed, "apagado", None, None, None),
        (other, "caio", "caio@exemplo.com.br", OTHER, "x"),
    ]
    assert bare not in {row["id"] for row in left}
    said = await database.pool.fetch("SELECT descricao FROM propostas ORDER BY cliente_id")
    assert [row["descricao"] for row in said] == [None, "aula"]
