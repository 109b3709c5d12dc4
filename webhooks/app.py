"""The machines' entrance as one aiohttp application: routes, size limit, closed doors; it reads no content."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from aiohttp import web

from webhooks import gateway, health, whatsapp
from webhooks.deps import DEPS, WebhookDeps
from webhooks.storing import unavailable

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler

MAX_BODY = 3 * 1024 * 1024 + 64 * 1024  # Meta sends up to 3 MiB; the margin spares us an argument about the last byte


def create_app(deps: WebhookDeps) -> web.Application:
    """Build the application; further routes (console, API) may be added to it before it starts."""
    app = web.Application(client_max_size=MAX_BODY)
    app[DEPS] = deps
    app.add_routes(
        [
            web.get(whatsapp.PATH, _entrance(whatsapp.ORIGEM, whatsapp.verify)),
            web.post(whatsapp.PATH, _entrance(whatsapp.ORIGEM, whatsapp.receive)),
            web.get(gateway.PATH, _entrance(gateway.ORIGEM, gateway.verify)),
            web.post(gateway.PATH, _entrance(gateway.ORIGEM, gateway.receive)),
            *_probes(),
        ]
    )
    app.on_response_prepare.append(_no_sniffing)
    app.on_shutdown.append(close_doors)
    app.on_cleanup.append(_tell)
    return app


def create_probe_app(deps: WebhookDeps) -> web.Application:
    """Build an application that only answers the operator's machines, for a process that takes no webhooks."""
    app = web.Application()
    app[DEPS] = deps
    app.add_routes(_probes())
    return app


def _probes() -> list[web.RouteDef]:
    return [
        web.get("/healthz", health.healthz),
        web.get("/readyz", health.readyz),
        web.get("/metrics", health.metrics),
    ]


async def close_doors(app: web.Application) -> None:
    """Answer 503 to every webhook from now on, on connections that are still open too."""
    app[DEPS].doors.closed = True


async def _tell(app: web.Application) -> None:
    app[DEPS].figures.tell()


def _entrance(origem: str, handler: Handler) -> Handler:
    """Put closed doors, figures and the size limit around a webhook; aiohttp takes its time for a middleware."""

    async def enter(request: web.Request) -> web.StreamResponse:
        deps = request.app[DEPS]
        if deps.doors.closed:
            refusal = unavailable()
            refusal.force_close()
            return refusal
        began = perf_counter()
        try:
            response = await handler(request)
        except web.HTTPRequestEntityTooLarge:
            response = web.json_response({"erro": "corpo grande demais", "limite_bytes": MAX_BODY}, status=413)
            response.force_close()  # the rest of the body is not worth reading
        deps.figures.answered(origem, response.status, perf_counter() - began)
        return response

    return enter


async def _no_sniffing(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["X-Content-Type-Options"] = "nosniff"
