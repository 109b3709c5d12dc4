"""A simulator as an HTTP server on 127.0.0.1: opening, closing, its faults on the wire and its admin pages."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import struct
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

from proofs.sandbox.faults import Fault, Faults, Setting
from proofs.sandbox.ledger import Ledger

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Coroutine, Iterable
    from types import TracebackType

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

ADMIN = "/_sandbox/"  # never faulty, never authenticated: for tests and the demo page
MAX_BODY = 110 * 2**20  # Meta takes documents up to 100 MiB
HANG_LIMIT = 3600.0  # nobody's client waits longer; the server's end still interrupts it

_HTML = "<html><head><title>502 Bad Gateway</title></head><body><h1>Estamos em manutenção</h1></body></html>"


def dump(value: Any) -> str:
    """Return JSON as these services send it: UTF-8, not escaped."""
    return json.dumps(value, ensure_ascii=False)


def answer(value: Any, status: int = 200, **headers: str) -> web.Response:
    """Return ``value`` as a JSON response."""
    return web.json_response(value, status=status, headers=headers, dumps=dump)


def cut(request: web.Request) -> web.Response:
    """Reset the connection under ``request``; what is returned reaches nobody."""
    transport = request.transport
    if transport is not None:
        sock = transport.get_extra_info("socket")
        if sock is not None:  # linger 0 turns the close into a reset
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()


class PortError(Exception):
    """A simulator cannot listen where it should."""

    def __init__(self, name: str, port: int, why: Exception) -> None:
        super().__init__(
            f"O simulador {name} não pode escutar na porta {port} ({why}). Nada foi iniciado. "
            f"Escolha outra com --{name}-port (0 pega uma livre)."
        )


class Simulator(ABC):
    """One pretended service. Opening again after ``close`` uses the same port, so clients find it where it was."""

    name: str
    scheme = "http"

    def __init__(self, *, ledger: Ledger | None = None, faults: Faults | None = None, port: int = 0) -> None:
        self.ledger = ledger if ledger is not None else Ledger()
        self.faults = faults if faults is not None else Faults()
        self.faults.ledger = self.ledger
        self.port = port
        self._runner: web.AppRunner | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        """``http://127.0.0.1:port`` without a slash at the end, ``https`` where it speaks TLS; known once open."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @abstractmethod
    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the service's own routes."""

    @abstractmethod
    def error_body(self, status: int) -> dict[str, Any]:
        """Return the JSON that this service answers with ``status`` when it is in trouble."""

    def error(self, status: int, **headers: str) -> web.Response:
        """Answer with this service's trouble."""
        return answer(self.error_body(status), status, **headers)

    def tls(self) -> ssl.SSLContext | None:
        """Return the context under which it listens, ``None`` for plain HTTP."""
        return None

    def app(self) -> web.Application:
        """Build the application: routes, admin pages and faults."""
        app = web.Application(middlewares=[self._faulty], client_max_size=MAX_BODY)
        app.add_routes(self.routes())
        app.router.add_get(ADMIN + "ledger", self._get_ledger)
        app.router.add_get(ADMIN + "faults", self._get_faults)
        app.router.add_post(ADMIN + "faults", self._post_faults)
        return app

    async def open(self) -> Self:
        """Listen; a port of 0 becomes the one the system gives."""
        self._runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        try:
            site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True, ssl_context=self.tls())
            await site.start()
        except (OSError, OverflowError) as error:
            await self.close()
            raise PortError(self.name, self.port, error) from error
        self.port = self._runner.addresses[0][1]
        return self

    async def close(self) -> None:
        """Stop listening and end what runs in the background."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run ``work`` in the background until ``close``."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def working(self) -> bool:
        """Whether something runs in the background."""
        return bool(self._tasks)

    async def ended(self) -> None:
        """Wait until what runs in the background now has ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _get_ledger(self, request: web.Request) -> web.Response:
        """``?kind=a,b&after=seq``: the facts in memory."""
        kinds = [kind for kind in request.query.get("kind", "").split(",") if kind]
        after = int(request.query.get("after", "0"))
        return answer([record.as_dict() for record in self.ledger.of(*kinds) if record.seq > after])

    async def _get_faults(self, _: web.Request) -> web.Response:
        return answer(self.faults.as_dict())

    async def _post_faults(self, request: web.Request) -> web.Response:
        try:
            self.faults.configure(await request.json())
        except (ValueError, TypeError) as error:
            return answer({"error": str(error)}, 400)
        return answer(self.faults.as_dict())

    @web.middleware
    async def _faulty(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(ADMIN):
            return await handler(request)
        body = b"" if request.content_type.startswith("multipart/") else await request.read()  # its handler reads that
        key = f"{request.method} {request.path} {hashlib.sha256(body).hexdigest()[:12]}"  # names this very request
        text = f"{request.path} {body.decode(errors='replace')}"

        def strike(fault: Fault) -> Setting | None:
            return self.faults.strike(fault, key, method=request.method, text=text)

        if setting := strike(Fault.SLOW):
            await asyncio.sleep(setting.seconds)
        refused = self._refuse(request, strike)
        if refused is not None:
            return refused
        if setting := strike(Fault.ACCEPT_LATE):
            if not request.content_type.startswith("multipart/"):  # an unread body is gone with its connection
                self.spawn(_later(setting.seconds, handler, request))
            return cut(request)
        response = await handler(request)
        return await self._spoil(request, response, strike)

    def _refuse(self, request: web.Request, strike: Callable[[Fault], Setting | None]) -> web.Response | None:
        """Faults that come before the service has taken anything."""
        if strike(Fault.DROP_BEFORE):
            return cut(request)
        if setting := strike(Fault.TOO_MANY):
            return self.error(429, **{"Retry-After": str(max(1, round(setting.seconds)))})
        if strike(Fault.ERROR_500):
            return self.error(500)
        if setting := strike(Fault.UNAVAILABLE):
            wait = {"Retry-After": str(max(1, round(setting.seconds)))}
            return web.Response(status=503, text=_HTML, content_type="text/html", headers=wait)
        if strike(Fault.HTML):
            return web.Response(text=_HTML, content_type="text/html")
        return None

    async def _spoil(
        self,
        request: web.Request,
        response: web.StreamResponse,
        strike: Callable[[Fault], Setting | None],
    ) -> web.StreamResponse:
        """Faults that come after the service has taken the order."""
        if strike(Fault.LOSE_ANSWER):
            return cut(request)
        if setting := strike(Fault.HANG):
            await asyncio.sleep(min(setting.seconds, HANG_LIMIT))
            return cut(request)
        if strike(Fault.ERROR_500_ACCEPTED):
            return self.error(500)
        if strike(Fault.HTML_ACCEPTED):
            return web.Response(text=_HTML, content_type="text/html")
        if isinstance(response, web.Response) and isinstance(response.body, bytes) and strike(Fault.TRUNCATED):
            return web.Response(body=response.body[: len(response.body) // 2], content_type=response.content_type)
        return response


async def _later(seconds: float, handler: Handler, request: web.Request) -> None:
    await asyncio.sleep(seconds)
    await handler(request)
