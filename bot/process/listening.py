"""Opens the ports to listen on, before anything else is started, and says what is wrong with one that cannot be."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
