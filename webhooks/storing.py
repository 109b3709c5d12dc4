"""The last step of every webhook: 200 once its arrivals are stored, 503 when they cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from aiohttp import web

from persistence.db.outage import DatabaseAwayError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.queue.arrival import Arrival
    from webhooks.deps import WebhookDeps

STORED = b'{"status": "ok"}'
RETRY_AFTER = "5"  # seconds; a restarting database is back by then

log = structlog.get_logger()


async def store(deps: WebhookDeps, origem: str, arrivals: Sequence[Arrival]) -> web.Response:
    """Store and answer. Raises ``UnstorableError``, and what the database objects to in the arrivals."""
    try:
        new = await deps.inbox.put(arrivals)
    except DatabaseAwayError as error:
        log.warning("arrival_refused", origem=origem, quantos=len(arrivals), erro=type(error).__name__)
        return unavailable()
    deps.figures.stored(origem, new, arrivals)
    return web.Response(body=STORED, content_type="application/json")


def unavailable() -> web.Response:
    """Ask the sender to keep it and come back."""
    return web.json_response({"erro": "indisponivel"}, status=503, headers={"Retry-After": RETRY_AFTER})


def refused() -> web.Response:
    """Tell a stranger nothing."""
    return web.json_response({"erro": "nao autorizado"}, status=401)
