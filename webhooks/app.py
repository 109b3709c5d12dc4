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
ORIGINS = {"/webhooks/whatsapp": whatsapp.ORIGEM, gateway.PATH: gateway.ORIGEM}
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})  # answered to the end


def create_app(deps: WebhookDeps) -> web.Application:
    """Build the application; further routes (console, API) may be added to it before it starts."""
    app = web.Application(middlewares=[_entrance], client_max_size=MAX_BODY)
    app[DEPS] = deps
    app.add_routes(
        [
            web.get(whatsapp.PATH, whatsapp.verify),
            web.post(whatsapp.PATH, whatsapp.receive),
            web.get(gateway.PATH, gateway.verify),
            web.post(gateway.PATH, gateway.receive),
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
    """Answer 503 to whatever comes from now on, on connections that are still open too."""
    app[DEPS].doors.closed = True


async def _tell(app: web.Application) -> None:
    app[DEPS].figures.tell()


@web.middleware
async def _entrance(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Closed doors, figures and the size limit, in one: aiohttp takes its time for each middleware."""
    deps = request.app[DEPS]
    if deps.doors.closed and request.path not in PROBES:
        response: web.StreamResponse = unavailable()
        response.force_close()
        return response
    resource = request.match_info.route.resource
    origem = ORIGINS.get(resource.canonical) if resource else None
    if origem is None:
        return await _bounded(request, handler)
    began = perf_counter()
    response = await _bounded(request, handler)
    deps.figures.answered(origem, response.status, perf_counter() - began)
    return response


async def _bounded(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPRequestEntityTooLarge:
        response = web.json_response({"erro": "corpo grande demais", "limite_bytes": MAX_BODY}, status=413)
        response.force_close()  # the rest of the body is not worth reading
        return response


async def _no_sniffing(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["X-Content-Type-Options"] = "nosniff"
