"""Brings a database to the newest schema, and tells whether it is there; runs alembic, holds no schema itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.ext.asyncio import create_async_engine

from persistence.dsn import for_sqlalchemy

_SCRIPTS = Path(__file__).parent / "migrations"


def _config(dsn: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["url"] = for_sqlalchemy(dsn)
    return config


def upgrade(dsn: str) -> None:
    """Apply all migrations to ``postgresql://…``. Blocking; safe from several processes at once (advisory lock)."""
    if not is_current(dsn):
        command.upgrade(_config(dsn), "head")


def is_current(dsn: str) -> bool:
    """Tell whether the database has exactly the newest schema. Blocking."""
    return asyncio.run(_revision(dsn)) == ScriptDirectory.from_config(_config(dsn)).get_current_head()


async def _revision(dsn: str) -> str | None:
    engine = create_async_engine(for_sqlalchemy(dsn))
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())
    finally:
        await engine.dispose()
