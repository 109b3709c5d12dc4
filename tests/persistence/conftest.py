"""Homes for the tests of the embedded servers, beside the session's own; a database whose messages get ticks."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from persistence.db.engine import Database
from persistence.embedded import Embedded
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SOMEBODY = """
INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em) VALUES ('c', '1', '5511', now())
ON CONFLICT DO NOTHING
"""


@pytest.fixture
def passable() -> Iterator[Path]:
    """An empty directory whose parents everybody may pass through, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="prosa embedded "))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    """A home with a cluster already made, for tests that leave it as usable as they found it."""
    path = Path(tempfile.mkdtemp(prefix="prosa-embedded-"))
    Embedded.start(path).stop()
    yield path
    shutil.rmtree(path)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ticked_database(database_url: str) -> AsyncIterator[Database]:
    """A database with one conversation, ``c``."""
    database = await Database.open(database_url)
    await database.pool.execute(SOMEBODY)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def ticked(ticked_database: Database) -> Database:
    """The same without arrivals and messages."""
    await as_owner(ticked_database.pool, "TRUNCATE inbox, lanes, outbox")
    return ticked_database
