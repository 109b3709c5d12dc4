"""The laws of the house that no other tool watches."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy.ext.asyncio import create_async_engine

from persistence.dsn import for_sqlalchemy
from persistence.tables import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 400  # lines; a module beyond it holds two nouns
PACKAGES = (
    "bench",
    "bot",
    "console",
    "extractor",
    "gateway",
    "persistence",
    "sandbox",
    "state_machine",
    "storm",
    "webhooks",
)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_longer_than_a_newcomer_reads_at_once(package: str) -> None:
    """Who writes line 301 splits the module by its nouns."""
    modules = (ROOT / package).rglob("*.py")
    assert not [f"{path.relative_to(ROOT)}" for path in modules if len(path.read_text().splitlines()) > LONGEST]


def test_the_migrations_make_what_the_tables_say(database_url: str) -> None:
    """A migrated database and ``persistence.tables`` are the same; whoever changes one changes the other."""

    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata))

    async def compare() -> list[object]:
        engine = create_async_engine(for_sqlalchemy(database_url))
        try:
            async with engine.connect() as connection:
                return await connection.run_sync(differences)
        finally:
            await engine.dispose()

    assert asyncio.run(compare()) == []
