"""Two accounts: the one that runs reads and writes rows, and the server refuses it everything else."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from bot.process.servers import open_storage
from bot.settings import Settings
from persistence.db.migrate import Schema, schema, upgrade
from persistence.roles import RoleError, grant, is_too_strong
from persistence.tables import metadata

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.embedded import Embedded

FORBIDDEN = (
    "UPDATE auditoria SET quem = 'x'",
    "DELETE FROM auditoria",
    "TRUNCATE auditoria",
    "ALTER TABLE auditoria DISABLE TRIGGER ALL",
    "DROP TRIGGER auditoria_so_cresce ON auditoria",
    "DROP TABLE auditoria",
    "SET session_replication_role = replica",
    "INSERT INTO auditoria_elo VALUES (1, 1, '', false)",
    "UPDATE auditoria_elo SET elo = ''",
    "DELETE FROM auditoria_elo",
    "UPDATE alembic_version SET version_num = '0001'",
    "CREATE TABLE mine (id int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE OR REPLACE FUNCTION auditoria_so_cresce() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
    "CREATE TRIGGER mine BEFORE INSERT ON inbox FOR EACH STATEMENT EXECUTE FUNCTION auditoria_so_cresce()",
    "TRUNCATE inbox",
    "ALTER TABLE inbox ADD COLUMN mine int",
    "CREATE DATABASE mine",
    "CREATE ROLE mine",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "COPY (SELECT 1) TO PROGRAM 'cat'",
    "COPY empresa FROM PROGRAM 'cat /etc/passwd'",
    "COPY (SELECT 1) TO '/tmp/prosa-copied'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT rolpassword FROM pg_authid",
    "ALTER SYSTEM SET log_statement = 'all'",
)


@pytest.fixture
async def virgin(embedded: Embedded) -> AsyncIterator[tuple[str, str]]:
    """An empty database and an account that the server does not know yet: both addresses."""
    name = f"roles_{os.urandom(4).hex()}"
    server = urlsplit(embedded.servers.owner_url)
    connection = await asyncpg.connect(embedded.servers.owner_url)
    await connection.execute(f"CREATE DATABASE {name}")
    owner = server._replace(path=f"/{name}").geturl()
    yield owner, server._replace(netloc=f"{name}:sesamo-{name}@127.0.0.1:{server.port}", path=f"/{name}").geturl()
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.execute(f"DROP ROLE IF EXISTS {name}")
    await connection.close()


@pytest.mark.parametrize("statement", FORBIDDEN)
async def test_the_server_refuses_what_running_never_needs(database_url: str, statement: str) -> None:
    """The run-time account rewrites no audit, silences no trigger, makes and empties no table, starts no program."""
    connection = await asyncpg.connect(database_url)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_every_table_can_be_read_and_all_but_the_audit_written(database_url: str) -> None:
    """A table that a migration adds is granted with it: running needs no second command."""
    connection = await asyncpg.connect(database_url)
    try:
        for name in metadata.tables:
            await connection.execute(f"SELECT FROM {name} LIMIT 0")
            rights = await connection.fetchval("SELECT has_table_privilege($1, 'INSERT')", name)
            assert rights is (name != "auditoria_elo"), name
            rights = await connection.fetchval("SELECT has_table_privilege($1, 'UPDATE, DELETE')", name)
            assert rights is (name not in {"auditoria", "auditoria_elo"}), name
    finally:
        await connection.close()


async def test_a_migration_makes_the_account_and_gives_it_its_rights(virgin: tuple[str, str]) -> None:
    """`prosa migrate` with both addresses is all that a new server needs; granting again, at once, changes nothing."""
    owner, run_time = virgin
    await asyncio.to_thread(upgrade, owner, run_time)
    await asyncio.gather(*(grant(owner, run_time) for _ in range(4)))
    connection = await asyncpg.connect(run_time)  # by its password
    await connection.execute("INSERT INTO auditoria (quem, acao) VALUES ('ana', 'x')")
    assert await connection.fetchval("SELECT count(*) FROM auditoria_elo") == 1
    await connection.close()
    assert await asyncio.to_thread(schema, run_time) is Schema.CURRENT
    assert not await is_too_strong(run_time)
    assert await is_too_strong(owner)


async def test_an_owner_who_may_not_make_accounts_says_what_to_do(virgin: tuple[str, str]) -> None:
    """The tables are migrated, and the sentence names the account and the way out."""
    owner, run_time = virgin
    await asyncio.to_thread(upgrade, owner, run_time)
    weak, another = run_time, owner.replace("prosa:", "alguem:", 1)
    with pytest.raises(RoleError, match="CREATE ROLE"):
        await grant(weak, another)


@pytest.fixture
def quiet_environment(monkeypatch: pytest.MonkeyPatch, redis_url: str) -> None:
    monkeypatch.setenv("PROSA_REDIS_URL", redis_url)


async def test_one_address_still_migrates_and_warns(virgin: tuple[str, str], quiet_environment: None) -> None:
    """An installation of before goes on as it was, and the log says what to change."""
    owner, run_time = virgin

    def one() -> list[str]:
        with capture_logs() as logs, open_storage(Settings(database_url=SecretStr(owner)), migrate=True):
            pass
        return [line["event"] for line in logs]

    def two() -> list[str]:
        with capture_logs() as logs:
            with open_storage(
                Settings(database_url=SecretStr(run_time), database_owner_url=SecretStr(owner)), migrate=True
            ):
                pass
            with open_storage(Settings(database_url=SecretStr(run_time))):  # as web and worker have it
                pass
        return [line["event"] for line in logs]

    assert await asyncio.to_thread(one) == ["database_account_too_strong"]
    assert await asyncio.to_thread(schema, owner) is Schema.CURRENT
    assert await asyncio.to_thread(two) == []
