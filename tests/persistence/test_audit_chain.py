"""The audit's chain of hashes: written by whoever writes the audit, and broken by every change from outside."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from persistence.audit import records as audit
from persistence.audit import records as audit_chain
from persistence.audit.records import Cabeca, UnreadableHeadError, verify
from persistence.db.engine import Database
from persistence.tables import auditoria
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


ROWS = 12


@pytest_asyncio.fixture(loop_scope="module")
async def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """An audit of a dozen rows, in an otherwise empty chain; read in batches of five."""
    monkeypatch.setattr(audit_chain, "BATCH", 5)
    opened = await Database.open(database_url, size=8)
    await tamper(opened, "TRUNCATE auditoria, auditoria_elo RESTART IDENTITY")
    for number in range(ROWS):
        await write(opened, number)
    yield opened
    await opened.close()


async def write(database: Database, number: int) -> int:
    async with database.transaction() as connection:
        return await audit.write(
            connection,
            staff_id=number,
            quem="ana",
            acao="revelar",
            alvo=None,
            motivo="ação",
            detalhe={"b": [1.5], "a": "é"},
        )


async def tamper(database: Database, statements: str) -> None:
    """As a superuser who silences every trigger: what the server can't refuse."""
    await as_owner(database.pool, f"SET session_replication_role = replica; {statements}")


async def verified(database: Database, guardada: Cabeca | None = None) -> audit_chain.Verificacao:
    async with database.transaction() as connection:
        return await verify(connection, guardada)


async def test_an_audit_as_it_was_written_holds(database: Database) -> None:
    """Every row has its link, over any number of batches, and the head is the last one's."""
    found = await verified(database)
    assert (found.linhas, found.de_antes, found.quebra) == (ROWS, 0, None)
    assert found.cabeca is not None
    assert found.cabeca.n == ROWS
    assert Cabeca.read(str(found.cabeca)) == found.cabeca


async def test_writers_at_once_make_one_chain(database: Database) -> None:
    """Eight at a time, some of which roll back: no link is lost, none forks, none waits for ever."""

    async def one(number: int) -> None:
        async with database.transaction() as connection:
            await audit.write(connection, staff_id=number, quem="bia", acao="x")
            await connection.exec_driver_sql("SELECT pg_sleep(0.01)")
            await audit.write(connection, staff_id=number, quem="bia", acao="y")
            if number % 5 == 0:
                raise LookupError

    results = await asyncio.gather(*(one(number) for number in range(40)), return_exceptions=True)
    assert {type(result) for result in results} == {type(None), LookupError}
    found = await verified(database)
    assert (found.linhas, found.quebra) == (ROWS + 2 * 32, None)


@pytest.mark.parametrize("column", [name for name in auditoria.c.keys() if name != "id"])  # noqa: SIM118 - columns
async def test_no_column_can_be_altered(database: Database, column: str) -> None:
    """Whatever part of a row is changed, the chain breaks at that row."""
    kind = {"staff_id": "77", "empresa_id": "77", "detalhe": """'{"a": "e"}'""", "em": "em + interval '1 us'"}
    await tamper(database, f"UPDATE auditoria SET {column} = {kind.get(column, repr('outro'))} WHERE id = 7")  # noqa: S608 - ours
    found = await verified(database)
    assert found.quebra is not None
    assert (found.linhas, found.quebra.linha) == (6, 7)


@pytest.mark.parametrize(
    ("statements", "linha"),
    [
        ("DELETE FROM auditoria WHERE id = 3", 3),
        ("DELETE FROM auditoria WHERE id = 3; DELETE FROM auditoria_elo WHERE auditoria_id = 3", 4),
        ("DELETE FROM auditoria_elo WHERE auditoria_id = 12", 12),
        ("INSERT INTO auditoria (quem, acao) VALUES ('eva', 'nada')", 13),
        ("UPDATE auditoria_elo SET elo = '\\x00' WHERE n = 5", 5),
        ("UPDATE auditoria_elo SET na_migracao = true WHERE n = 5", 5),
        ("INSERT INTO auditoria_elo VALUES (13, 99, '\\x00', false)", 99),
    ],
)
async def test_what_is_deleted_or_inserted_is_found(database: Database, statements: str, linha: int) -> None:
    """The first row at which the audit is not as it was written is named."""
    await tamper(database, statements)
    found = await verified(database)
    assert found.quebra is not None
    assert found.quebra.linha == linha


async def test_a_head_kept_elsewhere_tells_of_a_chain_written_anew(database: Database) -> None:
    """Who owns the server can make a new chain without its last rows, but not one that has the head of before."""
    kept = (await verified(database)).cabeca
    assert kept is not None
    await tamper(database, "DELETE FROM auditoria WHERE id = 12; DELETE FROM auditoria_elo WHERE n = 12")
    assert (await verified(database)).quebra is None
    short = (await verified(database, kept)).quebra
    assert short is not None
    assert short.linha is None
    await write(database, 99)
    longer = (await verified(database, kept)).quebra
    assert longer is not None
    assert "reescrita" in longer.porque


@pytest.mark.parametrize("texto", ["", "12", "12:zz", "x:" + "0" * 64, "-1:" + "0" * 64])
def test_what_is_no_head_is_refused(texto: str) -> None:
    """A head is a number and 64 hexadecimal digits."""
    with pytest.raises(UnreadableHeadError):
        Cabeca.read(texto)
