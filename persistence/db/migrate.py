"""Brings a database to the newest schema with alembic, and tells whether it is there.

A release is installed while nothing of another one runs: every connection of a process holds ``RUN_LOCK`` shared, and
migrating takes it alone.
"""

from __future__ import annotations

import asyncio
import re
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import asyncpg

from persistence.db.connection import DatabaseAwayError
from persistence.db.engine import for_asyncpg, for_sqlalchemy
from persistence.roles import grant
from state_machine.values.errors import ProsaError

_SCRIPTS = Path(__file__).parents[1] / "migrations"
_OWN = re.compile(r"""^revision = ["'](\w+)["']""", re.MULTILINE)
_BEFORE = re.compile(r"""^down_revision = ["'](\w+)["']""", re.MULTILINE)
CONNECT_SECONDS = 5.0  # a database that is away must be told soon
RUN_LOCK = 7_015_025  # any constant; shared by all that run on the schema, held alone by who changes it


class Schema(Enum):
    """How a database's schema stands to this version of us."""

    BEHIND = "behind"  # none at all, too
    CURRENT = "current"
    AHEAD = "ahead"  # a later version has migrated it


class SchemaError(ProsaError):
    """The database's schema is not this version's, or may not be changed now; the message says what to do."""

    code = "schema"


def upgrade(dsn: str, run_time_dsn: str | None = None) -> None:
    """Apply all migrations to ``postgresql://…``, and let the account of ``run_time_dsn``, if apart, run on them.

    Blocking; safe from several processes at once (advisory lock). Raises ``RoleError``, and ``SchemaError`` while a
    process of another release runs, or when the schema is older than the first one that we know.
    """
    level = schema(dsn)
    if level is Schema.BEHIND:
        _migrate(dsn)
    if run_time_dsn is not None and level is not Schema.AHEAD:  # a later version knows better what it may be given
        asyncio.run(grant(dsn, run_time_dsn))


def _migrate(dsn: str) -> None:
    from alembic import command  # noqa: PLC0415 - a start that has nothing to migrate must not wait for it
    from alembic.config import Config  # noqa: PLC0415 - likewise

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["url"] = for_sqlalchemy(dsn)
    command.upgrade(config, "head")


def refusal(revision: str | None, *, alone: bool) -> SchemaError | None:
    """Return why a database that stands at ``revision`` is not migrated; ``alone``: nobody else holds ``RUN_LOCK``."""
    if revision is not None and revision < min(_named(_OWN)):
        return SchemaError(
            f"O banco é de uma versão antiga demais da Prosa (tabelas na {revision}). Nada mudou. Instale antes uma "
            f"versão que o leve à {min(_named(_OWN))}, rode com ela: prosa migrate, e depois o mesmo com esta."
        )
    if not alone:
        return SchemaError(
            "Um processo da versão anterior da Prosa ainda usa o banco. Nada mudou. Pare todos (web, worker, api, "
            "serve), espere que terminem, e rode de novo: prosa migrate"
        )
    return None


async def enter(connection: asyncpg.Connection[Any]) -> None:
    """Keep the schema as it is for as long as a connection is open.

    Raises ``DatabaseAwayError`` where it is not ours: this process has no database until it is replaced.
    """
    if not await connection.fetchval("SELECT pg_try_advisory_lock_shared($1)", RUN_LOCK):
        raise DatabaseAwayError("the database is being migrated")
    if await standing(connection) is not Schema.CURRENT:
        raise DatabaseAwayError("the schema is another release's")


def schema(dsn: str) -> Schema:
    """Tell how the database's schema stands to ours: a revision past all that our scripts name is a later one's."""
    return asyncio.run(_ask(dsn))


async def standing(connection: asyncpg.Connection[Any]) -> Schema:
    """Tell the same of the database at the other end of a connection."""
    if not await connection.fetchval("SELECT to_regclass('alembic_version') IS NOT NULL"):
        return Schema.BEHIND
    revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    if revision == newest():
        return Schema.CURRENT
    return Schema.BEHIND if revision is None or revision < newest() else Schema.AHEAD


@cache
def newest() -> str:
    """Return the revision that no other follows, read from the scripts: importing alembic is a quarter of a start."""
    [head] = _named(_OWN) - _named(_BEFORE)
    return head


@cache
def _named(line: re.Pattern[str]) -> set[str]:
    scripts = (_SCRIPTS / "versions").glob("*.py")
    return {str(name) for path in scripts for name in line.findall(path.read_text(encoding="utf-8"))}


async def _ask(dsn: str) -> Schema:
    connection = await asyncpg.connect(for_asyncpg(dsn), timeout=CONNECT_SECONDS)
    try:
        return await standing(connection)
    finally:
        await connection.close()
