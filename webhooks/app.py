"""The webhooks as one aiohttp application: routes, size limit, 503 while the process ends."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from aiohttp import web

from webhooks import gateway, health, whatsapp
from webhooks.deps import DEPS, WebhookDeps
from webhooks.storing import unavailable

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler


def create_app(deps: WebhookDeps) -> web.Application:
    """Build the application; further routes (console, API) may be added to it before it starts."""
    app = web.Application(client_max_size=whatsapp.MAX_BODY)
    app[DEPS] = deps
    app.add_routes(
        [
            web.get(whatsapp.PATH, _entrance(whatsapp, whatsapp.verify)),
            web.post(whatsapp.PATH, _entrance(whatsapp, whatsapp.receive)),
            web.get(gateway.PATH, _entrance(gateway, gateway.verify)),
            web.post(gateway.PATH, _entrance(gateway, gateway.receive)),
            *_probes(),
        ]
    )
    app.on_response_prepare.append(_no_sniffing)
    app.on_shutdown.append(close_doors)
    app.on_cleanup.append(_tell)
    return app


def create_probe_app(deps: WebhookDeps, *, inside: bool = True) -> web.Application:
    """Build an application that only answers the operator's machines, for a process that takes no webhooks.

    ``inside``: only they reach its port, so that figures need no token from there.
    """
    app = web.Application()
    app[DEPS], app[health.INSIDE] = deps, inside
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
    app[DEPS].figures.close()


class _Door(Protocol):
    """What the modules with webhook routes have in common."""

    ORIGEM: str
    MAX_BODY: int


def _entrance(door: _Door, handler: Handler) -> Handler:
    """Wrap a webhook in the 503 of a process that ends, figures and refusals; a middleware of aiohttp is slower."""

    async def enter(request: web.Request) -> web.StreamResponse:
        deps = request.app[DEPS]
        if deps.doors.closed:
            refusal = unavailable()
            refusal.force_close()
            return refusal
        began = perf_counter()
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = _refusal(error, door.MAX_BODY)
        if not request.content.is_eof():
            response.force_close()  # the rest of the body is not worth reading
        deps.figures.answered(door.ORIGEM, response.status, perf_counter() - began)
        return response

    return enter


def _refusal(error: web.HTTPException, limit: int) -> web.Response:
    """Say why a body was not taken."""
    match error:
        case web.HTTPServiceUnavailable():
            return unavailable()
        case web.HTTPRequestEntityTooLarge():
            return web.json_response({"erro": "corpo grande demais", "limite_bytes": limit}, status=error.status)
        case _:
            return web.json_response({"erro": error.reason}, status=error.status)


async def _no_sniffing(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["X-Content-Type-Options"] = "nosniff"
