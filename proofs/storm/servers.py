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
        dead = self._database
        dead.process.send_signal(signal.SIGQUIT)
        while dead.process.poll() is None:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(LOOK_EVERY)
        # One that can't start ends the storm with it: the verdict would be worth nothing.
        alive = self._database = relaunch(dead, self._home)
        async with asyncio.timeout(CRASH_SECONDS):
            while not alive.program.ready(alive.process.pid, alive.port):
                if alive.process.poll() is not None:  # while nobody listened, somebody else's connection had its port
                    alive = self._database = relaunch(alive, self._home)
                await asyncio.sleep(LOOK_EVERY)
        return time.monotonic() - started

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
