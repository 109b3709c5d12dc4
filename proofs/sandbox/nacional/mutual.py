"""What SEFIN and ADN share: TLS that looks at the company's certificate before anything else is done."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from cryptography import x509

from proofs.sandbox.nacional.authority import holder
from proofs.sandbox.server import ADMIN, Simulator

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from proofs.sandbox.nacional.authority import Authority

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_COMPANY: Final = web.RequestKey("company", str)


class MutualTls(Simulator):
    """A simulator that knows who asks by the certificate of the connection.

    A certificate of another authority, or one that is not in time, ends the handshake; the client may see a reset, for
    asyncio's TLS sends no alert then. No certificate passes the handshake and is refused by ``uncertified``.
    """

    scheme = "https"

    def __init__(self, authority: Authority, **server: Any) -> None:
        super().__init__(**server)
        self.authority = authority

    def tls(self) -> ssl.SSLContext:
        """Return the authority's context."""
        return self.authority.server_context()

    def app(self) -> web.Application:
        """Build the application; faults strike only who has a certificate."""
        app = super().app()
        app.middlewares.insert(0, self._identified)
        return app

    @abstractmethod
    def uncertified(self, request: web.Request) -> web.Response:
        """Answer who shows no certificate."""

    @web.middleware
    async def _identified(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Read the certificate while the connection stands: a fault may cut it and go on with the order."""
        if request.path.startswith(ADMIN):
            return await handler(request)
        transport = request.transport
        tls = transport.get_extra_info("ssl_object") if transport is not None else None
        shown = tls.getpeercert(binary_form=True) if tls is not None else None
        if shown is None:
            self.ledger.append("call", method=request.method, path=request.path, status=0, company=None)
            return self.uncertified(request)
        named = holder(x509.load_der_x509_certificate(shown))
        if named is not None:
            request[_COMPANY] = named
        return await handler(request)


def company(request: web.Request) -> str | None:
    """Return the CNPJ of the certificate under which ``request`` came, ``None`` for one that names none."""
    return request.get(_COMPANY)
