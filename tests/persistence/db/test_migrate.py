from __future__ import annotations

import asyncio
import sys

import asyncpg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from persistence.db.migrate import _SCRIPTS, Schema, newest, schema, upgrade
from tests import children


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
    """Older ones are named by our scripts; what none of them names is of a release to come."""
    connection = await asyncpg.connect(owner_url)
    kept = await connection.fetchval("SELECT version_num FROM alembic_version")
    await connection.execute("DELETE FROM alembic_version")
    if revision is not None:
        await connection.execute("INSERT INTO alembic_version VALUES ($1)", revision)
    try:
        assert await asyncio.to_thread(schema, owner_url) is standing
        if standing is not Schema.BEHIND:
            await asyncio.to_thread(upgrade, owner_url)
            assert await connection.fetchval("SELECT version_num FROM alembic_version") == revision
    finally:
        await connection.execute("DELETE FROM alembic_version")
        await connection.execute("INSERT INTO alembic_version VALUES ($1)", kept)
        await connection.close()


def test_asking_for_the_schema_does_not_wait_for_alembic() -> None:
    """A start on a current database imports no migration tool."""
    code = "import sys, persistence.db.migrate; sys.exit('alembic' in sys.modules)"
    assert children.run([sys.executable, "-c", code]).returncode == 0
