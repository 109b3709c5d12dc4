from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest
import pytest_asyncio
from alembic.config import Config
from alembic.script import ScriptDirectory

from persistence.db.connection import DatabaseAwayError
from persistence.db.engine import Database
from persistence.db.migrate import _SCRIPTS, RUN_LOCK, Schema, SchemaError, enter, newest, schema, upgrade
from tests import children
from tests.old_schema import OldSchema, old_schema
from tests.stored_work import cancellation, emission, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.embedded import Embedded

VERSION = "SELECT version_num FROM alembic_version"
ALONE = "SELECT pg_try_advisory_lock($1) AND pg_advisory_unlock($1)"
OTHER = [
    "payload_enviado",
    "ultimo_envio_em",
    "bytes_antes",
    "nbs",
    "ind_op",
    "class_trib",
    "email_contador",
]  # gone, or new
DUMP = f"SELECT coalesce(jsonb_agg(to_jsonb(t) - ARRAY{OTHER} ORDER BY to_jsonb(t)::text), '[]')::text FROM {{}} t"  # noqa: S608 - names of our own
GONE = {"nfse_preparo", "staff_tentativa", "alembic_version"}


@pytest_asyncio.fixture(loop_scope="module")
async def old(embedded: Embedded) -> AsyncIterator[OldSchema]:
    """A database at the last revision of the releases that ran side by side."""
    async with old_schema(embedded, "one_stop", "0062") as made:
        yield made


async def _rows(connection: asyncpg.Connection[Any]) -> dict[str, str]:
    tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    names = sorted({row["tablename"] for row in tables} - GONE)
    return {name: await connection.fetchval(DUMP.format(name)) for name in names}


def test_the_newest_revision_is_the_one_that_alembic_means() -> None:
    """Reading the scripts ourselves finds the same head."""
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    assert newest() == ScriptDirectory.from_config(config).get_current_head()


@pytest.mark.parametrize(
    ("revision", "standing"),
    [("0016", Schema.BEHIND), (newest(), Schema.CURRENT), ("later", Schema.AHEAD), (None, Schema.BEHIND)],
)
async def test_how_a_schema_stands_to_us(owner_url: str, revision: str | None, standing: Schema) -> None:
    """What comes after all that our scripts name is of a release to come, and no connection of ours goes there."""
    connection = await asyncpg.connect(owner_url)
    kept = await connection.fetchval(VERSION)
    await connection.execute("DELETE FROM alembic_version")
    if revision is not None:
        await connection.execute("INSERT INTO alembic_version VALUES ($1)", revision)
    try:
        assert await asyncio.to_thread(schema, owner_url) is standing
        if standing is not Schema.BEHIND:
            await asyncio.to_thread(upgrade, owner_url)
            assert await connection.fetchval(VERSION) == revision
        if standing is not Schema.CURRENT:
            with pytest.raises(DatabaseAwayError):
                await Database.open(owner_url, size=1, enter=enter)
    finally:
        await connection.execute("DELETE FROM alembic_version")
        await connection.execute("INSERT INTO alembic_version VALUES ($1)", kept)
        await connection.close()


async def test_an_upgrade_keeps_every_row(old: OldSchema) -> None:
    """With work under way: an order, its cancellation, a message; what is gone nobody reads, new tables are empty."""
    before = await Database.open(old.owner_url, size=1)
    for column in ({}, {"status": "enviado"}, {"status": "desconhecido", "bytes": b"<DPS/>"}):
        await emission(before, **column)
    await cancellation(before)
    await message(before)
    await before.close()
    connection = await asyncpg.connect(old.owner_url)
    kept = await _rows(connection)
    await old.upgrade()
    now = await _rows(connection)
    [sums] = json.loads(now.pop("soma_mensal"))  # made of the notes that there were
    assert (sums["quantas"], sums["soma"]) == (1, 1500.00)
    assert now == {**dict.fromkeys(now, "[]"), **kept}
    assert await connection.fetchval(VERSION) == newest()
    await connection.close()


async def test_a_request_that_stands_in_no_other_column_is_not_thrown_away(old: OldSchema) -> None:
    """The migration stops there, and nothing has changed."""
    before = await Database.open(old.owner_url, size=1)
    await emission(before)
    await before.close()
    connection = await asyncpg.connect(old.owner_url)
    await connection.execute("ALTER TABLE nfse_emissao DISABLE TRIGGER nfse_emissao_pedido")
    await connection.execute("UPDATE nfse_emissao SET bytes = NULL, intencao = NULL")
    with pytest.raises(Exception, match="payload_enviado"):
        await old.upgrade()
    assert await connection.fetchval("SELECT count(payload_enviado) FROM nfse_emissao") == 1
    await connection.close()


async def test_nothing_is_migrated_while_another_release_runs(old: OldSchema) -> None:
    """The sentence says so, nothing has changed, and once that process has ended it goes."""
    running, connection = await asyncpg.connect(old.owner_url), await asyncpg.connect(old.owner_url)
    assert await running.fetchval("SELECT pg_try_advisory_lock_shared($1)", RUN_LOCK)
    with pytest.raises(SchemaError, match=r"Nada mudou. Pare todos"):
        await old.upgrade()
    assert await connection.fetchval(VERSION) == "0062"
    await running.close()
    await old.upgrade()
    assert await connection.fetchval(VERSION) == newest()
    assert await connection.fetchval(ALONE, RUN_LOCK)
    await connection.close()


async def test_a_schema_before_the_first_that_we_know_is_left_alone(old: OldSchema) -> None:
    """The release between is named by its schema."""
    connection = await asyncpg.connect(old.owner_url)
    await connection.execute("UPDATE alembic_version SET version_num = '0061'")
    with pytest.raises(SchemaError, match=r"0061\)\. Nada mudou\. Instale antes .* à 0062"):
        await old.upgrade()
    assert await connection.fetchval("SELECT to_regclass('nfse_preparo') IS NOT NULL")
    assert await connection.fetchval(VERSION) == "0061"
    await connection.close()


async def test_a_process_holds_the_schema_for_as_long_as_it_has_a_connection(owner_url: str) -> None:
    """Whoever migrates would be refused; there is nothing to migrate, which is no error; nobody enters meanwhile."""
    connection = await asyncpg.connect(owner_url)
    first, second = [await Database.open(owner_url, size=1, enter=enter) for _ in range(2)]
    await first.close()
    assert not await connection.fetchval(ALONE, RUN_LOCK)
    await asyncio.to_thread(upgrade, owner_url)
    await second.close()
    assert await connection.fetchval("SELECT pg_try_advisory_lock($1)", RUN_LOCK)
    with pytest.raises(DatabaseAwayError):
        await Database.open(owner_url, size=1, enter=enter)
    await connection.close()


def test_asking_for_the_schema_does_not_wait_for_alembic() -> None:
    """A start on a current database imports no migration tool."""
    code = "import sys, persistence.db.migrate; sys.exit('alembic' in sys.modules)"
    assert children.run([sys.executable, "-c", code]).returncode == 0
