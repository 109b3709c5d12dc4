"""A database as an older release migrated it, with rows as that release wrote them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
from alembic import command
from alembic.config import Config

from persistence.db.engine import for_sqlalchemy
from persistence.db.migrate import _SCRIPTS, upgrade

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.embedded import Embedded


@dataclass(frozen=True)
class OldSchema:
    """``owner_url`` may do anything; ``url`` is the run-time account's, which has rights once it is migrated."""

    owner_url: str
    url: str

    async def upgrade(self) -> None:
        """Bring it to this release's schema."""
        await asyncio.to_thread(upgrade, self.owner_url, self.url)


@asynccontextmanager
async def old_schema(embedded: Embedded, name: str, revision: str) -> AsyncIterator[OldSchema]:
    """Make a database of that name with the schema of a revision; it is gone afterwards."""
    server = embedded.servers.owner_url
    admin, owner_url = await asyncpg.connect(server), urlsplit(server)._replace(path=f"/{name}").geturl()
    await admin.execute(f"CREATE DATABASE {name}")
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["url"] = for_sqlalchemy(owner_url)
    await asyncio.to_thread(command.upgrade, config, revision)
    yield OldSchema(owner_url, urlsplit(embedded.servers.database_url)._replace(path=f"/{name}").geturl())
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()
