"""Finds the servers that a command works on: those of the settings, else embedded ones; then the schema."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from persistence.migrate import is_current, upgrade

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.settings import Settings
    from persistence.embedded import Embedded


WATCH_SECONDS = 1.0  # a look at a process of ours takes microseconds


class SchemaError(Exception):
    """The database has not the schema of this version."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Addresses with their passwords; never logged."""

    database_url: str
    redis_url: str
    embedded: bool
    owned: Embedded | None = None  # the servers that end with this process

    async def watch(self) -> None:
        """Raise ``EmbeddedError`` once a PostgreSQL of ours has ended by itself: nobody else would start it again."""
        while self.owned is not None:
            self.owned.check()
            await asyncio.sleep(WATCH_SECONDS)


@contextmanager
def open_storage(settings: Settings, *, migrate: bool = False) -> Iterator[Storage]:
    """Yield the servers to use; embedded ones are started or joined, and brought to the newest schema by themselves.

    A database of yours is only changed by ``prosa migrate`` (``migrate=True``). Raises ``SchemaError`` if it is behind,
    ``EmbeddedError`` if the embedded servers can't start.
    """
    database = settings.database_url.get_secret_value() if settings.database_url else None
    cache = settings.redis_url.get_secret_value() if settings.redis_url else None
    if database and cache:
        yield _checked(Storage(database, cache, embedded=False), migrate=migrate)
        return
    from persistence.embedded import Embedded  # noqa: PLC0415 - its wheels are only needed here

    with Embedded.start(settings.home) as embedded:
        servers = embedded.servers
        storage = Storage(
            database or servers.database_url, cache or servers.redis_url, embedded=database is None, owned=embedded
        )
        yield _checked(storage, migrate=migrate or storage.embedded)


def _checked(storage: Storage, *, migrate: bool) -> Storage:
    if migrate:
        upgrade(storage.database_url)
    elif not is_current(storage.database_url):
        raise SchemaError(
            "O banco é de uma versão mais antiga ou mais nova da Prosa. Nada mudou. "
            "Para trazê-lo a esta versão: prosa migrate"
        )
    return storage
