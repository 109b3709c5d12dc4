"""What the tests of the embedded servers ask: who lives in a home, and what its database says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import asyncpg

from persistence.embedded.process import unfinished, working_in

if TYPE_CHECKING:
    from pathlib import Path


def living(path: Path) -> list[int]:
    """The pids of the servers that work in a data directory of this home, or in one that is being made."""
    return working_in("", path / "postgres", unfinished(path / "postgres"), path / "valkey")


async def ask(url: str, statement: str) -> Any:
    """The one value that `statement` returns."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()
