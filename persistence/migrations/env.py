"""Alembic's entry: connects, takes the migration lock, runs what is missing."""

from __future__ import annotations

import asyncio

from alembic import context
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine

from persistence.db.migrate import RUN_LOCK, newest, refusal
from persistence.tables import metadata

MIGRATION_LOCK = 7_015_022  # any constant; two replicas that start together migrate one after the other


def _migrate(connection: Connection) -> None:
    connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": MIGRATION_LOCK})
    connection.commit()
    try:
        revision = MigrationContext.configure(connection).get_current_revision()
        alone = bool(connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": RUN_LOCK}))
        connection.commit()
        if revision == newest():  # another came first, and may have been started since
            return
        if (refused := refusal(revision, alone=alone)) is not None:
            raise refused
        context.configure(
            connection=connection, target_metadata=metadata, compare_type=True, transaction_per_migration=True
        )
        with context.begin_transaction():
            context.run_migrations()
    finally:
        connection.execute(text("SELECT pg_advisory_unlock_all()"))
        connection.commit()


async def _run() -> None:
    engine = create_async_engine(context.config.attributes["url"])
    async with engine.connect() as connection:
        await connection.run_sync(_migrate)
    await engine.dispose()


asyncio.run(_run())
