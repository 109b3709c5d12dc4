"""The webhooks as one aiohttp application: routes, size limit, 503 while the process ends.

Tells the operator's machines how the process is: health and metrics, without personal data.

To add a route for machines: it here, its handler in this package, its bounds in ``bodies``, its row in
``docs/webhooks.md``. It ends at ``Inbox.put``. Tests are in ``tests/webhooks``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from functools import partial
from time import perf_counter
from typing import Protocol

from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import CONTENT_TYPE_LATEST

from persistence.people import certificates
from state_machine.protocol.emission import COM_PESSOAS
from webhooks import gateway, whatsapp
from webhooks.bodies import is_any
from webhooks.deps import DEPS, WebhookDeps, unavailable
from webhooks.whatsapp_payload import FORWARDED, is_internal

INSIDE = web.AppKey("INSIDE", bool)  # of an application that answers only the operator's machines
_UNSET = (
    "As métricas pedem um token. Defina PROSA_METRICS_TOKEN, reinicie e envie Authorization: Bearer com ele, "
    "ou leia /metrics na porta PROSA_PROBE_PORT de um worker, por um endereço interno."
)
_WRONG = "As métricas pedem Authorization: Bearer com o valor de PROSA_METRICS_TOKEN. O enviado não confere."
PROBE_SECONDS = 2.0  # an orchestrator's probe waits a few seconds at most


async def healthz(_: web.Request) -> web.Response:
    """The process is alive."""
    return web.json_response({"status": "ok"})


async def readyz(request: web.Request) -> web.Response:
    """200 when requests can be taken: the database answers. Redis may be away: turns are slower then, not wrong."""
    deps = request.app[DEPS]
    database, redis = await asyncio.gather(_answers(deps.database.ping()), _answers(deps.ping_redis()))
    ready = database and not deps.doors.closed
    report = {
        "status": "ok" if ready else "unavailable",
        "database": "ok" if database else "away",
        "redis": "ok" if redis else "degraded",
        "doors": "closed" if deps.doors.closed else "open",
    }
    return web.json_response(report, status=200 if ready else 503)


async def metrics(request: web.Request) -> web.Response:
    """Prometheus' text format, for ``Authorization: Bearer`` and the token; without it on an internal probe port."""
    deps = request.app[DEPS]
    if (refusal := _kept_out(request, deps)) is not None:
        return web.json_response({"erro": refusal}, status=403, dumps=partial(json.dumps, ensure_ascii=False))
    await _count(deps)
    return web.Response(body=deps.metrics.expose(), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _count(deps: WebhookDeps) -> None:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            counts = await deps.backlog.pending()
            emissions = await deps.backlog.emissions()
            held = await deps.backlog.held()
            async with deps.database.transaction() as connection:
                ending = await certificates.count_ending(connection)
    except Exception:  # noqa: BLE001 - the other figures matter most while the database is away
        return
    deps.metrics.inbox_open.set(counts.open)
    deps.metrics.inbox_in_quarantine.set(counts.quarantined)
    deps.metrics.inbox_lag_seconds.set(counts.lag_seconds)
    deps.metrics.lanes_due.set(counts.due_lanes)
    deps.metrics.lanes_leased.set(counts.leased_lanes)
    deps.metrics.outbox_open.set(counts.outbox_open)
    deps.metrics.outbox_failed.set(counts.outbox_failed)
    deps.metrics.companies_suspended.set(counts.suspended)
    for days, count in ending.items():
        deps.metrics.certificates_ending.labels(days).set(count)
    deps.metrics.emissions.clear()
    for group in emissions:
        deps.metrics.emissions.labels(group.status).set(group.count)
    deps.metrics.emissions_held.clear()
    for why, count in held.items():
        deps.metrics.emissions_held.labels(why).set(count)
    waiting = [group.oldest_seconds for group in emissions if group.status not in COM_PESSOAS]
    deps.metrics.emission_age_seconds.set(max(waiting, default=0.0))


async def _answers(ping: Awaitable[object]) -> bool:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await ping
    except Exception:  # noqa: BLE001 - any failure means the same here
        return False
    return True


def _kept_out(request: web.Request, deps: WebhookDeps) -> str | None:
    """Return why the figures are not told, in pt-BR, or ``None`` where they are."""
    if deps.metrics_token is not None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if is_any(token, (deps.metrics_token,)):
            return None
    if request.app.get(INSIDE, False) and _comes_from_inside(request):
        return None
    return _UNSET if deps.metrics_token is None else _WRONG


def _comes_from_inside(request: web.Request) -> bool:
    """True when it was asked by an address that the internet does not reach, and not through a proxy."""
    if FORWARDED in request.headers or "Forwarded" in request.headers:
        return False
    ours = request.get_extra_info("sockname")
    return isinstance(ours, tuple) and is_internal(str(ours[0]))


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
    app[DEPS], app[INSIDE] = deps, inside
    app.add_routes(_probes())
    return app


def _probes() -> list[web.RouteDef]:
    return [
        web.get("/healthz", healthz),
        web.get("/readyz", readyz),
        web.get("/metrics", metrics),
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
