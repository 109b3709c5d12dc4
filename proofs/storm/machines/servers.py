"""PostgreSQL and Valkey of one storm, to be crashed and flushed."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING

import asyncpg
from redis.asyncio import Redis

from persistence.embedded import postgres, valkey
from persistence.embedded.home import Home, open_home
from persistence.embedded.process import relaunch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from persistence.embedded.process import Server

CRASH_SECONDS = 60.0  # for the recovery from the write-ahead log; measured: below one
LOOK_EVERY = 0.02  # seconds


class Servers:
    """Both servers, durable as in production: what was committed must survive the crash."""

    def __init__(self, home: Path) -> None:
        self._home: Home = open_home(home)
        owner, run_time, cache = (token_urlsafe(24) for _ in range(3))
        self._database = postgres.start(self._home, owner, run_time, new_passwords=True, durable=True)
        self._cache: Server | None = None
        self._cache = valkey.start(self._home, cache)
        self.owner_url = postgres.url(self._database, owner)
        self.database_url = postgres.url(self._database, run_time, postgres.RUN_TIME_USER)
        self.redis_url = valkey.url(self._cache, cache)

    async def crash_database(self) -> float:
        """Stop PostgreSQL at once (no checkpoint: ``immediate``), start it on the same port; returns seconds away."""
        started = time.monotonic()
        await self._halt()
        await self._rise()
        return time.monotonic() - started

    async def copy_database(self) -> None:
        """Keep a copy of what is on the disk, as whoever takes a snapshot of the volume does."""
        await self._halt()
        await self._copy(self._home.postgres, self._kept)
        await self._rise()

    async def put_back(self, *, promote: bool) -> None:
        """Have the copy in the place of the database: what was committed since is gone.

        ``promote``: it comes up as a replica that takes over, on a timeline of its own.
        """
        await self._halt()
        await self._copy(self._kept, self._home.postgres)
        if promote:
            signal_file = self._home.postgres / "standby.signal"
            signal_file.touch()
            self._home.give(signal_file)
        await self._rise()
        if promote:
            connection = await asyncpg.connect(self.owner_url)
            try:
                await connection.fetchval("SELECT pg_promote(true, 60)")
            finally:
                await connection.close()

    @property
    def _kept(self) -> Path:
        return self._home.root / "postgres.copy"

    async def _copy(self, source: Path, target: Path) -> None:
        """Copy a stopped cluster with its owner and rights."""
        await asyncio.to_thread(shutil.rmtree, target, ignore_errors=True)
        copying = await asyncio.create_subprocess_exec("cp", "-a", source, target)
        if await copying.wait():
            raise RuntimeError(f"{source.name} could not be copied")

    async def _halt(self) -> None:
        dead = self._database
        dead.process.send_signal(signal.SIGQUIT)
        while dead.process.poll() is None:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(LOOK_EVERY)

    async def _rise(self) -> None:
        # One that can't start ends the storm with it: the verdict would be worth nothing.
        alive = self._database = relaunch(self._database, self._home)
        async with asyncio.timeout(CRASH_SECONDS):
            while not await self._answers(alive):
                if alive.process.poll() is not None:  # while nobody listened, somebody else's connection had its port
                    alive = self._database = relaunch(alive, self._home)
                await asyncio.sleep(LOOK_EVERY)

    async def _answers(self, server: Server) -> bool:
        """Tell whether it takes connections; a replica that is not promoted yet says "standby", not "ready"."""
        if server.program.ready(server.process.pid, server.port):
            return True
        if not (self._home.postgres / "standby.signal").exists():
            return False
        try:
            connection = await asyncpg.connect(self.owner_url)
        except (OSError, asyncpg.PostgresError):
            return False
        await connection.close()
        return True

    async def flush_cache(self) -> None:
        """Forget everything in Valkey."""
        async with Redis.from_url(self.redis_url) as redis:
            await redis.flushall()

    def stop(self) -> None:
        """End both."""
        for server in (self._cache, self._database):
            if server is not None:
                server.stop()


@contextmanager
def open_servers() -> Iterator[tuple[Servers, Path]]:
    """Start both from the main thread in a directory that is gone afterwards; yields them and that directory."""
    home = Path(tempfile.mkdtemp(prefix="prosa-storm-"))
    servers: Servers | None = None
    try:
        servers = Servers(home)
        yield servers, home
    finally:
        if servers is not None:
            servers.stop()
        shutil.rmtree(home, ignore_errors=True)
