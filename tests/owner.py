"""The account that owns the tables, for the few things that a test does and the program may not: emptying, altering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg

if TYPE_CHECKING:
    from persistence.embedded import Embedded

TRIES = 20
_servers: list[Embedded] = []  # of this session; a fixture notes it, so that helpers need no fixture of their own


def note(embedded: Embedded) -> None:
    """Say whose account it is."""
    _servers[:] = [embedded]


async def as_owner(where: Any, statements: str) -> None:
    """Run ``statements`` as the owner in the database of ``where``, a pool or connection of the run-time account.

    Who empties tables locks them all, in an order that is not that of the product's reads: a deadlock is tried again.
    """
    name = await where.fetchval("SELECT current_database()")
    connection = await asyncpg.connect(urlsplit(_servers[0].servers.owner_url)._replace(path=f"/{name}").geturl())
    try:
        for left in reversed(range(TRIES)):
            try:
                await connection.execute(statements)
                break
            except asyncpg.DeadlockDetectedError:
                if not left:
                    raise
    finally:
        await connection.close()
