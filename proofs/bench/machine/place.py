"""Where everything is measured: servers of our own, durable as in production, and a fresh database for each run."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import psutil
from redis.asyncio import Redis

from persistence.db.migrate import upgrade
from proofs.bench.machine.child import Child
from proofs.storm.machines.servers import open_servers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from pathlib import Path

    from proofs.storm.machines.servers import Servers

TEMPLATE = "prosa_bench_template"
_LOG_FILES = "SELECT setting::int / 16 FROM pg_settings WHERE name = 'max_wal_size'"  # in MB; a file has 16
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Place:
    """Running servers; ``pids`` has ``postgres`` and ``valkey`` for the CPU meter."""

    servers: Servers
    home: Path
    pids: Mapping[str, int] = field(default_factory=dict)

    @property
    def redis_url(self) -> str:
        """The Valkey of this run; ``database`` empties it."""
        return self.servers.redis_url

    @asynccontextmanager
    async def database(self, template: str = TEMPLATE) -> AsyncIterator[str]:
        """Yield the address of a fresh copy of a migrated database; Valkey is empty then too."""
        name = f"prosa_bench_{next(_numbers)}"
        await self._execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        await self.servers.flush_cache()
        try:
            yield self.at(name)
        finally:
            await self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def at(self, name: str) -> str:
        """The address of a database of this server, for the run-time account."""
        return urlsplit(self.servers.database_url)._replace(path=f"/{name}").geturl()

    def as_owner(self, url: str) -> str:
        """The address of the same database for the account that owns the tables."""
        return urlsplit(self.servers.owner_url)._replace(path=urlsplit(url).path).geturl()

    async def prepare(self) -> None:
        """Make the template by the project's own migrations, and a new server one that has been at work."""
        await self._execute(f"CREATE DATABASE {TEMPLATE}")
        await asyncio.to_thread(upgrade, self.as_owner(self.at(TEMPLATE)), self.at(TEMPLATE))
        await self._fill_log()

    def redis(self) -> Redis:
        """A client; to be closed by the caller."""
        return Redis.from_url(self.redis_url)

    async def _fill_log(self) -> None:
        """Go through as much write-ahead log as PostgreSQL keeps, and have it keep the files.

        A server that has been at work for a few minutes writes into old ones; a new server stops everybody for each
        (16 MB, 40 to 60 ms measured) until it has them.
        """
        connection = await asyncpg.connect(self.servers.owner_url)
        try:
            for _ in range(await connection.fetchval(_LOG_FILES)):
                await connection.execute("SELECT pg_logical_emit_message(true, 'bench', '')")
                await connection.execute("SELECT pg_switch_wal()")
            await connection.execute("CHECKPOINT")
        finally:
            await connection.close()

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.servers.owner_url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    @asynccontextmanager
    async def running(self, name: str, words: Sequence[str], env: Mapping[str, str]) -> AsyncIterator[Child]:
        """Start one process, wait until it is up, and end it."""
        async with AsyncExitStack() as stack:
            child = Child(words, env, self.home / f"{name}-{next(_numbers)}.log", cwd=self.home)
            stack.push_async_callback(child.stop)
            await child.up()
            yield child


@contextmanager
def open_place() -> Iterator[Place]:
    """Start PostgreSQL and Valkey from the main thread, in a directory that is gone afterwards."""
    with open_servers() as (servers, home):
        yield Place(servers, home, _pids())


def _pids() -> dict[str, int]:
    """The servers that we have just started, by role."""
    found: dict[str, int] = {}
    for process in psutil.Process().children():
        name = process.name()
        if name.startswith("postgres"):
            found["postgres"] = process.pid
        elif "valkey" in name or "redis" in name:
            found["valkey"] = process.pid
    return found
