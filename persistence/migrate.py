"""Brings a database to the newest schema, and tells whether it is there; runs alembic, holds no schema itself."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import asyncpg

from persistence.dsn import for_asyncpg, for_sqlalchemy

_SCRIPTS = Path(__file__).parent / "migrations"
_OWN = re.compile(r"""^revision = ["'](\w+)["']""", re.MULTILINE)
_BEFORE = re.compile(r"""^down_revision = ["'](\w+)["']""", re.MULTILINE)
CONNECT_SECONDS = 5.0  # a database that is away must be told soon


def upgrade(dsn: str) -> None:
    """Apply all migrations to ``postgresql://…``. Blocking; safe from several processes at once (advisory lock)."""
    if is_current(dsn):
        return
    from alembic import command  # noqa: PLC0415 - a start that has nothing to migrate must not wait for it
    from alembic.config import Config  # noqa: PLC0415 - likewise

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["url"] = for_sqlalchemy(dsn)
    command.upgrade(config, "head")


def is_current(dsn: str) -> bool:
    """Tell whether the database has exactly the newest schema. Blocking."""
    return asyncio.run(_revision(dsn)) == newest()


def newest() -> str:
    """Return the revision that no other follows, read from the scripts: importing alembic is a quarter of a start."""
    scripts = [path.read_text(encoding="utf-8") for path in (_SCRIPTS / "versions").glob("*.py")]
    [head] = {name for text in scripts for name in _OWN.findall(text)} - {
        name for text in scripts for name in _BEFORE.findall(text)
    }
    return str(head)


async def _revision(dsn: str) -> str | None:
    connection = await asyncpg.connect(for_asyncpg(dsn), timeout=CONNECT_SECONDS)
    try:
        if not await connection.fetchval("SELECT to_regclass('alembic_version') IS NOT NULL"):
            return None
        revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
        return revision
    finally:
        await connection.close()
