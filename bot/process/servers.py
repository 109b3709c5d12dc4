"""Finds the servers that a command works on: those of the settings, else embedded ones; then the schema.

Opens the ports to listen on, before anything else is started, and says what is wrong with one that cannot be.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import make_url

from bot.settings import Settings
from persistence.db.migrate import Schema, SchemaError, schema, upgrade
from persistence.embedded import Embedded
from persistence.roles import is_too_strong
from state_machine.values.errors import ProsaError

BACKLOG = 128  # connections that wait until we are up: aiohttp's own default
UNREAD = 64 * 1024  # bytes a connection may have unread: 3 MiB come within READ_SECONDS at 150 ms of round trip
HIGHEST = 65_535

# What the operator reads, by what the system answers; ``{port}`` and ``{host}`` are the option or setting of each.
_WHY = {
    errno.EADDRINUSE: "A porta {number} de {address} já está em uso por outro programa. Escolha outra com {port}, "
    "ou encerre esse programa.",
    errno.EACCES: "Esta conta não pode abrir a porta {number}. Escolha uma acima de 1023 com {port}.",
    errno.EADDRNOTAVAIL: "O endereço {address} não é desta máquina. Corrija {host}.",
}
_NO_HOST = "O endereço {address} não existe. Corrija {host}."
_ANY = "Não foi possível abrir a porta {number} de {address} ({error}). Confira {port} e {host}."
_NO_PORT = "A porta {number} não existe: vá de 1 a {highest}, ou 0 para uma livre, com {port}."
NOTHING = " Nada foi iniciado."


class DoorError(ProsaError):
    """A port that cannot be listened on; the message says which option or setting to change."""

    code = "door"


@contextmanager
def listening(address: str, number: int, *, port: str, host: str = "PROSA_HOST") -> Iterator[list[socket.socket]]:
    """Listen on every address that ``address`` stands for; 0 takes a free port. Closed again at the end.

    Whoever connects meanwhile waits until somebody serves. ``port`` and ``host`` are what an error tells to change.

    Raises:
        DoorError: it cannot be done; nothing listens.
    """

    def refusal(why: str, error: OSError | None = None) -> DoorError:
        words = {"address": address, "number": number, "port": port, "host": host, "highest": HIGHEST}
        return DoorError(why.format(**words, error=error.strerror if error else "") + NOTHING)

    if not 0 <= number <= HIGHEST:
        raise refusal(_NO_PORT)
    with ExitStack() as stack:
        try:
            found = socket.getaddrinfo(address, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets = [stack.enter_context(_open(family, where)) for family, _, _, _, where in dict.fromkeys(found)]
        except socket.gaierror as error:
            raise refusal(_NO_HOST, error) from error
        except OSError as error:
            raise refusal(_WHY.get(error.errno or 0, _ANY), error) from error
        yield sockets


def bound(sockets: Sequence[socket.socket], address: str) -> str:
    """Return the address to give to people and programs."""
    return f"http://{address}:{sockets[0].getsockname()[1]}"


def _open(family: int, where: tuple[Any, ...]) -> socket.socket:
    door = socket.socket(family, socket.SOCK_STREAM)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of the last run may still linger
        # Connections inherit it. A read takes what is there, up to 256 kB: withheld bodies would take that much each.
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD)
        if family == socket.AF_INET6:
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # IPv4 has a socket of its own
        door.bind(where)
        door.listen(BACKLOG)
    except BaseException:
        door.close()
        raise
    door.setblocking(False)  # noqa: FBT003 - its only argument
    return door


WATCH_SECONDS = 1.0  # a look at a process of ours takes microseconds

log = structlog.get_logger()


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

    A database of yours is only changed by ``prosa migrate`` (``migrate=True``). Raises ``SchemaError`` if it is another
    release's or may not be changed now, ``RoleError`` if the run-time account can't be given its rights,
    ``EmbeddedError`` if the embedded servers can't start.
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
        raise SchemaError(
            "O banco já é de uma versão mais nova da Prosa. Nada mudou. Instale aquela versão, ou restaure a cópia do "
            "banco feita antes de atualizar."
        )
    if not storage.embedded and asyncio.run(is_too_strong(storage.database_url)):
        log.warning("database_account_too_strong")
    return storage
