"""Owns the one pair of embedded servers of a home: who starts them, who joins them, who stops them."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import urlsplit

import psutil
import structlog

from persistence.embedded import postgres, valkey
from persistence.embedded.home import EmbeddedError, Home, home_error, open_home
from persistence.embedded.process import START_SECONDS, Server

log = structlog.get_logger(__name__)

WAIT_SECONDS = 2 * START_SECONDS  # the owner may be starting both servers, one after the other
POLL_SECONDS = 0.05  # a person waits for this
PASSWORDS = ("postgres", "postgres_app", "valkey")
PASSWORD_BYTES = 24  # 192 bits, in letters that need no escaping in an address


@dataclass(frozen=True, slots=True)
class Servers:
    """Where the servers answer: addresses with their passwords, for asyncpg and redis-py; never log them.

    ``database_url`` is the run-time account's, ``owner_url`` that of the account to which the tables belong.
    """

    database_url: str
    redis_url: str
    owner_url: str


class Embedded:
    """The servers of a home, started by us or joined.

    The first process that asks owns them and stops them when it ends. A process that asks meanwhile joins them and
    leaves them alone at its end; when the owner ends first, its connections fail as with any database that goes away,
    and its next start makes it the owner.
    """

    def __init__(self, servers: Servers, owned: ExitStack | None, database: Server | None = None) -> None:
        self.servers = servers
        self._owned = owned
        self._database = database

    @property
    def attached(self) -> bool:
        """Whether another process owns the servers."""
        return self._owned is None

    @classmethod
    def start(cls, home: Path, *, durable: bool = True) -> Self:
        """Start or join the servers of `home`, from the main thread; takes 0.1 s, the first time 1 s.

        With `durable=False` the database doesn't wait for the disk, so a power cut may destroy it: for tests only.

        Raises:
            EmbeddedError: they could not start; the data is as it was.
        """
        try:
            return cls._start(home, durable=durable)
        except (EmbeddedError, OSError) as error:
            raise home_error(home, error) or error from error

    @classmethod
    def _start(cls, home: Path, *, durable: bool) -> Self:
        place = open_home(home)
        running = place.root / "running.json"
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            lock = _lock(place.root / "lock")
            if lock is not None:
                return cls._own(place, running, lock, durable=durable)
            servers = _running(running)
            if servers is not None:
                log.info("embedded_attached", home=str(place.root))
                return cls(servers, None)
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"Outro processo usa {place.root} (trava {place.root / 'lock'}), mas os servidores dele não "
                    "respondem. Os dados ficaram como estavam. Encerre esse processo, ou use outro diretório."
                )
            time.sleep(POLL_SECONDS)

    @classmethod
    def _own(cls, place: Home, running: Path, lock: IO[str], *, durable: bool) -> Self:
        with ExitStack() as stack:
            stack.enter_context(lock)  # released last
            running.unlink(missing_ok=True)  # of an owner that died
            passwords, fresh = _passwords(place.root / "secrets.json")
            database = postgres.start(
                place, passwords["postgres"], passwords["postgres_app"], new_passwords=fresh, durable=durable
            )
            stack.callback(database.stop)
            cache = valkey.start(place, passwords["valkey"])
            stack.callback(cache.stop)
            servers = Servers(
                postgres.url(database, passwords["postgres_app"], postgres.RUN_TIME_USER),
                valkey.url(cache, passwords["valkey"]),
                postgres.url(database, passwords["postgres"]),
            )
            _write(running, {"pid": os.getpid(), **asdict(servers)})
            stack.callback(running.unlink, missing_ok=True)
            log.info("embedded_started", home=str(place.root), postgres_port=database.port, valkey_port=cache.port)
            return cls(servers, stack.pop_all(), database)
        raise AssertionError("unreachable: the stack swallows nothing")

    def check(self) -> None:
        """Look whether our PostgreSQL still runs: nobody else would start it again. Takes microseconds.

        Raises:
            EmbeddedError: it has ended.
        """
        if self._database is not None and self._database.process.poll() is not None:
            ended = self._database.ended()
            raise home_error(self._database.program.directory.parent, ended) or ended

    def stop(self) -> None:
        """Stop the servers if they are ours; the data stays. Again does nothing."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.stop()


def _lock(path: Path) -> IO[str] | None:
    """The open file whose closing releases the lock, or None while another process holds it."""
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def running(home: Path) -> Servers | None:
    """The servers of `home` if a process runs them now; starts and makes nothing, and changes nothing there."""
    home = home.expanduser().absolute()
    return next((found for place in (home / "data", home) if (found := _running(place / "running.json"))), None)


def _running(path: Path) -> Servers | None:
    """The servers that a living owner announced, if they answer."""
    try:
        said: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, PermissionError):  # the home of another account is none of ours
        return None
    # The release before knew one account, which owns the tables.
    servers = Servers(said["database_url"], said["redis_url"], said.get("owner_url", said["database_url"]))
    alive = psutil.pid_exists(said["pid"]) and all(map(_listens, (servers.database_url, servers.redis_url)))
    return servers if alive else None


def _listens(url: str) -> bool:
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=1).close()
    except OSError:
        return False
    return True


def _passwords(path: Path) -> tuple[dict[str, str], bool]:
    """The passwords of this home, and whether one of them was drawn just now."""
    known: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    drawn = {name: secrets.token_urlsafe(PASSWORD_BYTES) for name in PASSWORDS if name not in known}
    if drawn:
        _write(path, known | drawn)
    return known | drawn, bool(drawn)


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write `content` so that others of this machine cannot read it and nobody ever sees half of it."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(content, file)
    unfinished.replace(path)
