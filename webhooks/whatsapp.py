"""Meta's webhook: the verification, and notifications, acknowledged once they are stored."""

from __future__ import annotations

from http import HTTPStatus

import orjson
import structlog
from aiohttp import web

from persistence.db.connection import UnstorableError, is_objection
from webhooks.bodies import is_any, may_be_signed, read_body, signed_by_any
from webhooks.deps import DEPS, WebhookDeps, refused, store, unavailable
from webhooks.whatsapp_payload import Notification, read_notification, unreadable

PATH = "/webhooks/whatsapp"
ORIGEM = "whatsapp"
HEADER = "X-Hub-Signature-256"
MAX_BODY = 3 * 1024 * 1024 + 64 * 1024  # Meta sends up to 3 MiB; the margin spares us an argument about the last byte

log = structlog.get_logger()


async def verify(request: web.Request) -> web.Response:
    """Echo Meta's challenge to whoever knows our verify token; 403 otherwise."""
    query = request.query
    known = is_any(query.get("hub.verify_token"), (request.app[DEPS].whatsapp_verify_token,))
    if query.get("hub.mode") != "subscribe" or not known:
        return web.Response(status=403)
    return web.Response(text=query.get("hub.challenge", ""))


async def receive(request: web.Request) -> web.Response:
    """Signature over the raw bytes, then every message and status into the inbox, then 200.

    Without a header that may be a signature nothing of the body is read.
    """
    deps = request.app[DEPS]
    signature = request.headers.get(HEADER)
    if not may_be_signed(signature):
        deps.figures.refused("signature_refused", ORIGEM)
        return refused()
    raw = await read_body(request, deps.bodies, MAX_BODY)
    if not signed_by_any(raw, signature, deps.whatsapp_secrets):
        deps.figures.refused("signature_refused", ORIGEM)
        return refused()
    notification = read_notification(raw)
    try:
        return await _store(deps, notification)
    except UnstorableError:
        return await _store(deps, notification.storable(raw))
    except Exception as error:  # noqa: BLE001 - nothing signed by Meta may be answered with 500 for seven days
        log.warning("arrival_unexpected", origem=ORIGEM, erro=type(error).__name__)
        if not is_objection(error):  # ours, or the database's: Meta keeps it
            return unavailable()
        return await _store_singly(deps, notification)


async def _store_singly(deps: WebhookDeps, notification: Notification) -> web.Response:
    """Store one arrival at a time, so that only what the database objects to is kept as unreadable."""
    response = unavailable()
    for arrival in notification.arrivals:
        single = Notification((arrival,))
        try:
            response = await _store(deps, single)
        except Exception as error:  # noqa: BLE001 - as above
            if not is_objection(error):
                return unavailable()
            response = await _store(deps, unreadable(orjson.dumps(arrival.payload), type(error).__name__))
        if response.status != HTTPStatus.OK:
            return response
    return response


async def _store(deps: WebhookDeps, notification: Notification) -> web.Response:
    response = await store(deps, ORIGEM, notification.arrivals)
    deps.figures.messages(notification.message_types())
    return response
