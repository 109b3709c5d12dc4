"""Brings a database to the newest schema with alembic, and tells whether it is there."""

from __future__ import annotations

import asyncio
import re
from enum import Enum
from pathlib import Path

import asyncpg

from persistence.db.engine import for_asyncpg, for_sqlalchemy
from persistence.roles import grant

_SCRIPTS = Path(__file__).parents[1] / "migrations"
_OWN = re.compile(r"""^revision = ["'](\w+)["']""", re.MULTILINE)
_BEFORE = re.compile(r"""^down_revision = ["'](\w+)["']""", re.MULTILINE)
CONNECT_SECONDS = 5.0  # a database that is away must be told soon


class Schema(Enum):
    """How a database's schema stands to this version of us."""

    BEHIND = "behind"  # none at all, too
    CURRENT = "current"
    AHEAD = "ahead"  # a later version has migrated it; migrations only add, so that the release before goes on working


def upgrade(dsn: str, run_time_dsn: str | None = None) -> None:
    """Apply all migrations to ``postgresql://…``, and let the account of ``run_time_dsn``, if apart, run on them.

    Blocking; safe from several processes at once (advisory lock). Raises ``RoleError``.
    """
    standing = schema(dsn)
    if standing is Schema.BEHIND:
        _migrate(dsn)
    if run_time_dsn is not None and standing is not Schema.AHEAD:  # a later version knows better what it may be given
        asyncio.run(grant(dsn, run_time_dsn))


def _migrate(dsn: str) -> None:
    from alembic import command  # noqa: PLC0415 - a start that has nothing to migrate must not wait for it
    from alembic.config import Config  # noqa: PLC0415 - likewise

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["url"] = for_sqlalchemy(dsn)
    command.upgrade(config, "head")


def schema(dsn: str) -> Schema:
    """Tell how the database's schema stands to ours: a revision that none of our scripts names is a later one's."""
    return asyncio.run(_ask(dsn))


async def standing(connection: asyncpg.Connection) -> Schema:
    """Tell the same of the database at the other end of a connection."""
    if not await connection.fetchval("SELECT to_regclass('alembic_version') IS NOT NULL"):
        return Schema.BEHIND
    revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    if revision == newest():
        return Schema.CURRENT
    return Schema.BEHIND if revision is None or revision in _named(_OWN) else Schema.AHEAD


def newest() -> str:
    """Return the revision that no other follows, read from the scripts: importing alembic is a quarter of a start."""
    [head] = _named(_OWN) - _named(_BEFORE)
    return head


def _named(line: re.Pattern[str]) -> set[str]:
    scripts = (_SCRIPTS / "versions").glob("*.py")
    return {str(name) for path in scripts for name in line.findall(path.read_text(encoding="utf-8"))}


async def _ask(dsn: str) -> Schema:
    connection = await asyncpg.connect(for_asyncpg(dsn), timeout=CONNECT_SECONDS)
    try:
        return await standing(connection)
    finally:
        await connection.close()
