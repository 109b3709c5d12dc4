"""Finds the servers that a command works on: those of the settings, else embedded ones; then the schema."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import make_url

from persistence.db.migrate import Schema, schema, upgrade
from persistence.roles import is_too_strong
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bot.settings import Settings
    from persistence.embedded import Embedded


WATCH_SECONDS = 1.0  # a look at a process of ours takes microseconds

log = structlog.get_logger()


class SchemaError(ProsaError):
    """The database's schema is older than this version."""

    code = "schema"


@dataclass(frozen=True, slots=True)
class Storage:
    """Addresses with their passwords; never logged."""

    database_url: str
    redis_url: str
    embedded: bool
    owner_url: str | None = None  # of the account that migrates, where it is not the one that runs
    owned: Embedded | None = None  # the servers that end with this process
    witness_file: Path | None = None  # what remembers how far the database was; None: no place on this machine

    async def watch(self) -> None:
        """Raise ``EmbeddedError`` once a PostgreSQL of ours has ended by itself: nobody else would start it again."""
        while True:
            if self.owned is not None:
                self.owned.check()
            await asyncio.sleep(WATCH_SECONDS)


@contextmanager
def open_storage(settings: Settings, *, migrate: bool = False) -> Iterator[Storage]:
    """Yield the servers to use; embedded ones are started or joined, and brought to the newest schema by themselves.

    A database of yours is only changed by ``prosa migrate`` (``migrate=True``). Raises ``SchemaError`` if it is behind,
    ``RoleError`` if the run-time account can't be given its rights, ``EmbeddedError`` if the embedded servers can't
    start.
    """
    database = settings.database_url.get_secret_value() if settings.database_url else None
    owner = settings.database_owner_url.get_secret_value() if settings.database_owner_url else None
    cache = settings.redis_url.get_secret_value() if settings.redis_url else None
    if database and cache:
        file = _witness_of(database, settings.home)
        storage = Storage(database, cache, embedded=False, owner_url=owner, witness_file=file)
        yield _checked(storage, migrate=migrate)
        return
    from persistence.embedded import Embedded  # noqa: PLC0415 - its wheels are only needed here

    with Embedded.start(settings.home) as embedded:
        servers = embedded.servers
        storage = Storage(
            database or servers.database_url,
            cache or servers.redis_url,
            embedded=database is None,
            owner_url=owner if database else servers.owner_url,
            owned=embedded,
            witness_file=settings.home / "historia.json",
        )
        yield _checked(storage, migrate=migrate or storage.embedded)


def _witness_of(database_url: str, home: Path) -> Path | None:
    """Return a file of this one database, whoever connects to it, where ``home`` can be written."""
    url = make_url(database_url)
    which = sha256(f"{url.host}:{url.port}/{url.database}".encode()).hexdigest()[:12]
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return home / f"historia-{which}.json"


def _checked(storage: Storage, *, migrate: bool) -> Storage:
    if migrate:
        upgrade(storage.owner_url or storage.database_url, storage.database_url)
    standing = schema(storage.database_url)
    if standing is Schema.BEHIND:
        raise SchemaError(
            "O banco é de uma versão mais antiga da Prosa. Nada mudou. Para trazê-lo a esta versão: prosa migrate"
        )
    if standing is Schema.AHEAD:
        log.warning("schema_is_newer")
    if not storage.embedded and asyncio.run(is_too_strong(storage.database_url)):
        log.warning("database_account_too_strong")
    return storage
