"""Ports on which nobody is to listen, or somebody else does; nobody is given them meanwhile."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def held_port() -> Iterator[int]:
    """Hold a port of 127.0.0.1: connections are refused until somebody listens on it with ``reuse_port=True``.

    A port that was found free and let go may be given to anybody before it is bound again.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextmanager
def listening() -> Iterator[socket.socket]:
    """Listen on a port of 127.0.0.1, as another program does; nobody need answer."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other


@contextmanager
def taken_port() -> Iterator[int]:
    """Give the number of a port on which another program listens."""
    with listening() as other:
        yield other.getsockname()[1]
