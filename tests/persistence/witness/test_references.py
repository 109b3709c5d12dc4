"""Which note beyond the counters a confirmation finds by its references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from persistence import witness
from persistence.db.engine import Database
from persistence.fiscal import numbering
from persistence.fiscal.numbering import Sequencia
from tests.stored_work import clear, emission, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest_asyncio.fixture(loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    """A database without any work."""
    opened = await Database.open(database_url, size=2)
    await clear(opened)
    yield opened
    await opened.close()


async def test_a_note_is_found_until_an_emission_has_taken_it_in(database: Database) -> None:
    """By any of its references; what stands under a number of a stored emission is that one's, and found no more."""
    emissao_id = await emission(database)
    sequencia = Sequencia((await row(database, "nfse_emissao", emissao_id))["prestador_id"], "3550308", "900")
    async with database.transaction() as connection:
        numero = await numbering.allocate(connection, sequencia)
        await witness.keep(connection, sequencia, numero, "r1")
        assert await witness.number_of(connection, sequencia, ["r2", "r1"]) == ("900", numero, "r1")
        assert await witness.number_of(connection, sequencia, ["r2"]) is None
        await numbering.bind(connection, sequencia, numero, emissao_id)
        assert await witness.number_of(connection, sequencia, ["r2", "r1"]) is None
