"""Runs a process of the product: web, worker, both, or the API alone, until a signal.

Bounds what connections may cost: how many there are, how long one may take to ask, and how much it may send to ask.

aiohttp brings the deadline: until a request's headers are whole a connection is idle to it, and ends after
``keepalive_timeout``, however it trickles. It counts no connections, so that is done here, in the way of nginx: when
there are too many, the one that has waited longest without asking anything makes room for the new one.

Ends a process that runs for long: asked by a signal, or because something failed; within ten seconds, always.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import structlog
from aiohttp import web
from aiohttp.hdrs import SERVER

from bot.house import House
from bot.process.servers import BACKLOG, bound, listening
from bot.settings import Settings
from webhooks.whatsapp_payload import Network, grouped, is_trusted

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


SHUTDOWN_SECONDS = 5.0  # for requests in progress; each takes milliseconds


@dataclass(frozen=True, slots=True)
class Front:
    """What a process answers: ``port`` is the setting that says where, ``number`` what it says, ``None`` nowhere.

    ``console``: staff log in there, so that a proxy with https stands before it. ``told``: the log says where it is.
    """

    port: str
    number: Callable[[Settings], int | None]
    app: Callable[[House], web.Application]
    told: bool = True
    console: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """What one process of the product does."""

    name: str
    front: Front
    works: bool


_WEB = Front("PROSA_PORT", lambda settings: settings.port, lambda house: house.web_app(), console=True)
_API = Front("PROSA_API_PORT", lambda settings: settings.api_port or settings.port, lambda house: house.api_app())
_PROBES = Front(
    "PROSA_PROBE_PORT", lambda settings: settings.probe_port or None, lambda house: house.probe_app(), told=False
)

PARTS = {
    part.name: part
    for part in (
        Part("serve", _WEB, works=True),
        Part("web", _WEB, works=False),
        Part("worker", _PROBES, works=True),
        Part("api", _API, works=False),
    )
}


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Listen, serve ``app`` and yield its address; port 0 takes a free one. Raises ``DoorError``."""
    with listening(host, port, port="PROSA_PORT") as sockets:
        async with answering(app, sockets):
            yield bound(sockets, host)


@asynccontextmanager
async def answering(
    app: web.Application, sockets: Sequence[socket.socket], trusted: Sequence[Network] = ()
) -> AsyncIterator[None]:
    """Serve ``app`` on sockets that listen already, within the bounds of ``bot.process.run``."""
    async with bounded(app, sockets, Connections(trusted), shutdown_seconds=SHUTDOWN_SECONDS):
        yield


def settle() -> None:
    """Tell the cycle collector that what is loaded stays: going through it took 90 ms each time (134,000 objects).

    Called once by each process that runs for long, when it has opened everything.
    """
    gc.freeze()


async def run(house: House, stop: asyncio.Event, part: Part, sockets: Sequence[socket.socket]) -> None:
    """Run a part until ``stop`` or until one of its loops dies, which sets ``stop``; both ends go on side by side.

    The doors close and requests are finished (5 s) while what is in hand is drained (6 s).

    Raises:
        ExceptionGroup: with the ``LoopEndedError`` of a loop that died.
    """
    settle()
    proxies = house.settings.trusted_proxies
    async with asyncio.TaskGroup() as group, answering(part.front.app(house), sockets, proxies):
        if part.works:
            group.create_task(house.work(stop))
        address = {"address": bound(sockets, house.settings.host)} if part.front.told else {}
        log.info("started", component=part.name, **address)
        if part.front.console and house.settings.master_key.get_secret_value() and not proxies:
            log.warning("trusted_proxies_unset")  # the console needs https, so somebody stands before it
        await stop.wait()
    log.info("stopped")


END_SECONDS = 9.0  # a container is killed 10 s after SIGTERM; what runs is drained for 6 s, the rest takes one
DEAF_SECONDS = 0.5  # later than that, for a process in which not even another thread gets to run
PIPE_BYTES = 512  # a write of so much to a pipe that is ready never blocks (POSIX: PIPE_BUF)
ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # SIGHUP: the terminal was closed
STUCK = (
    f"O encerramento passou de {END_SECONDS:.0f} s{{where}} e foi cortado. Nada se perdeu: o que estava em andamento "
    "continua quando a Prosa iniciar de novo.\n"
)


class Ending:
    """How this process ends; made once, in the main thread, before anything is started.

    Until ``stop_event`` is called nothing is in hand, and a signal ends the process at once. After that the first
    signal sets the event, and the second one ends the process at once. Whoever begins the end, by whatever cause, has
    ``END_SECONDS`` for it: then the process is ended hard, status 1. The embedded servers die with it in any case.
    """

    def __init__(self) -> None:
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begun = False
        for number in ASKING:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # ignored: `nohup`
                signal.signal(number, self._asked)

    def stop_event(self) -> asyncio.Event:
        """Return the event that asks what runs on this loop to end; a failure may set it too."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        return self._stop

    def begin(self) -> None:
        """Give the end its time; again does nothing."""
        if self._begun:
            return
        self._begun = True
        # Neither needs the event loop; the first needs not even the interpreter, and so comes first.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        faulthandler.dump_traceback_later(END_SECONDS + DEAF_SECONDS, exit=True, file=nowhere)
        threading.Thread(target=_cut_late, name="ending", daemon=True).start()

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        if self._stop is None or self._loop is None or self._begun:
            cut(128 + number)
        self.begin()
        self._loop.call_soon_threadsafe(self._stop.set)


def say(sentence: str) -> None:
    """Write a sentence for people to standard error, if anybody can still read it."""
    with contextlib.suppress(OSError, ValueError):  # the terminal was closed, the disk is full
        sys.stderr.write(sentence)
        sys.stderr.flush()


def cut(status: int, sentence: str = "") -> NoReturn:
    """End now: no more Python code runs but this. Says ``sentence`` only where that cannot block."""
    with contextlib.suppress(OSError, ValueError):
        if sentence and select.select([], [2], [], 0)[1]:
            os.write(2, sentence.encode()[:PIPE_BYTES])
    os._exit(status)


def _cut_late() -> None:
    time.sleep(END_SECONDS)
    main = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - the only way to see another
    where = f" em {Path(main.f_code.co_filename).name}:{main.f_lineno}" if main else ""
    cut(1, STUCK.format(where=where))
