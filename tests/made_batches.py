"""Lists of addresses for tests, and a company that sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.demo.world import COMPANY
from operations.batches.upload import Upload, upload
from operations.company import add_company
from persistence.batches import records
from state_machine.protocol.channel import Canal

if TYPE_CHECKING:
    from persistence.db.engine import Database

QUEM = "linha de comando"


async def company(database: Database) -> int:
    """Return the id of a company; it is made the first time."""
    await add_company(database, COMPANY, Canal("plugnotas"))
    return int(await database.pool.fetchval("SELECT id FROM empresa"))


def listed(nome: str, *emails: str) -> Upload:
    """Return a file with these addresses, and words for all of them."""
    return Upload(nome, "\n".join(("email", *emails)).encode(), "Suas notas", "Bom dia!")


async def confirmed(database: Database, nome: str, *emails: str) -> int:
    """Return the id of a batch of these addresses to which somebody said yes."""
    batch, _ = await upload(database, await company(database), listed(nome, *emails), QUEM)
    async with database.transaction() as connection:
        assert await records.confirm(connection, batch.id, batch.revisao, QUEM)
    return int(batch.id)
