"""Bounds what connections may cost: how many there are, how long one may take to ask, and how much it may send to ask.

aiohttp brings the deadline: until a request's headers are whole a connection is idle to it, and ends after
``keepalive_timeout``, however it trickles. It counts no connections, so that is done here, in the way of nginx: when
there are too many, the one that has waited longest without asking anything makes room for the new one.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import structlog
from aiohttp import web
from aiohttp.hdrs import SERVER

from bot.process.listening import BACKLOG
from webhooks.addresses import grouped, is_trusted

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Sequence

    from webhooks.addresses import Network

HEADER_SECONDS: Final = 15.0  # for whole headers, and between two requests; a proxy's own idle limit may be longer
MOST: Final = 1000  # connections; a proxy needs as many as requests run at once, and each takes milliseconds
PER_ADDRESS: Final = 100  # likewise, for one client that comes without a proxy
RESERVED: Final = 96  # descriptors: 16 of the database's, Redis', the logs', and what is asked of others
TELL_EVERY: Final = 10.0  # seconds; whoever knocks a thousand times fills no log
NAME: Final = "Prosa"  # without versions, which would tell what to try
OPTIONS: Final[dict[str, Any]] = {
    "access_log": None,
    "keepalive_timeout": HEADER_SECONDS,
    "lingering_time": 2.0,  # seconds; so long the rest of a refused body is read and forgotten, to be heard
    "auto_decompress": False,  # nobody has a reason to send us compressed bodies, and a signature is over what is sent
    "max_headers": 64,  # with the next one: what may be sent before anybody looks at it, 256 kB
    "max_field_size": 4096,  # bytes
}
_REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)

log = structlog.get_logger(__name__)


class Connections:
    """The open connections of one server, by address, and which of them wait for a request."""

    def __init__(
        self, trusted: Sequence[Network] = (), *, most: int | None = None, per_address: int = PER_ADDRESS
    ) -> None:
        self._trusted = trusted
        self._most = most or affordable()
        self._per_address = per_address
        self._open = 0
        self._by_address: Counter[str] = Counter()
        self._waiting: dict[HttpConnection, None] = {}  # in the order in which they began to wait
        self._refused = 0
        self._told_at = -TELL_EVERY

    def admit(self, connection: HttpConnection) -> bool:
        """Let a new connection in, at the cost of one that waits where there are too many; false: there is no room."""
        address = connection.address
        many = not is_trusted(connection.peer, self._trusted) and self._by_address[address] >= self._per_address
        if (many or self._open >= self._most) and not self._make_room(address if many else None):
            self._tell()
            return False
        self._open += 1
        self._by_address[address] += 1
        self._waiting[connection] = None
        return True

    def leave(self, connection: HttpConnection) -> None:
        """Forget one that has ended; one that was sent away has been forgotten already."""
        if not connection.admitted:
            return
        connection.admitted = False
        self._waiting.pop(connection, None)
        self._open -= 1
        if self._by_address[connection.address] > 1:
            self._by_address[connection.address] -= 1
        else:
            del self._by_address[connection.address]

    def _make_room(self, address: str | None) -> bool:
        for waiting in self._waiting:
            if address is None or waiting.address == address:
                self.leave(waiting)
                waiting.cut()
                return True
        return False

    def _tell(self) -> None:
        self._refused += 1
        now = asyncio.get_running_loop().time()
        if now >= self._told_at + TELL_EVERY:
            log.warning("connections_refused", count=self._refused)
            self._refused, self._told_at = 0, now

    def around(self, handler: Any) -> Any:
        """Return the server's handler, which says of each request when it is worked on: that connection waits not."""

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            connection: Any = request.protocol
            self._waiting.pop(connection, None)
            try:
                response: web.StreamResponse = await handler(request)
            finally:
                if connection.admitted:
                    self._waiting[connection] = None  # also while its answer is written: who does not read it, waits
            return response

        return handle


class HttpConnection(web.RequestHandler):
    """One connection, admitted or sent away when it is made."""

    __slots__ = ("_connections", "address", "admitted", "peer")

    def __init__(self, connections: Connections, server: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop=loop, **OPTIONS)
        self._connections = connections
        self.peer = self.address = ""
        self.admitted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it, or tell it to come again."""
        name = transport.get_extra_info("peername")
        self.peer = str(name[0]) if isinstance(name, tuple) else ""
        self.address = grouped(self.peer)
        self.admitted = self._connections.admit(self)
        if self.admitted:
            super().connection_made(transport)
        elif isinstance(transport, asyncio.WriteTransport):
            transport.write(_REFUSAL)
            transport.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count it no more."""
        self._connections.leave(self)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Say no more than the status: aiohttp would repeat what was sent, and name its version."""
        said = HTTPStatus(status).phrase if message else None
        response = super().handle_error(request, status, exc, said)
        response.headers[SERVER] = NAME
        return response

    def cut(self) -> None:
        """End it at once: what it has sent was no request."""
        if self.transport is not None:
            self.transport.abort()


async def _name(_: web.Request, response: web.StreamResponse) -> None:
    response.headers[SERVER] = NAME


def affordable() -> int:
    """Return how many connections this process has descriptors for, at most ``MOST``."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if allowed == resource.RLIM_INFINITY else max(1, min(MOST, allowed - RESERVED))


@asynccontextmanager
async def bounded(
    app: web.Application, sockets: Sequence[socket.socket], connections: Connections, *, shutdown_seconds: float
) -> AsyncIterator[None]:
    """Serve ``app`` on sockets that listen already; requests in progress get ``shutdown_seconds`` at the end."""
    loop = asyncio.get_running_loop()
    app.on_response_prepare.append(_name)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=shutdown_seconds, handler_cancellation=False)
    await runner.setup()
    server = runner.server
    assert server is not None  # noqa: S101 - it is there once the runner is set up
    server.request_handler = connections.around(server.request_handler)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(runner.cleanup)
        for door in sockets:
            listening = await loop.create_server(
                partial(HttpConnection, connections, server, loop), sock=door, backlog=BACKLOG
            )
            stack.callback(listening.close)
        yield
