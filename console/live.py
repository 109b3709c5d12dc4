"""Tells open pages that something changed, by server-sent events or to who asks; what changed they fetch themselves."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aiohttp import web

from persistence.access import sessions as staff_sessions
from persistence.staff.pulse import pulse

if TYPE_CHECKING:
    from console.access.visit import Visita

LOOK_EVERY: Final = 2.0  # seconds; people read slower than that, and a stream outlives its session by no more
STREAM_SECONDS: Final = 300.0  # then the browser comes back by itself


async def stream(visita: Visita) -> web.StreamResponse:
    """``GET /console/eventos``: an event ``mudou`` for every change; ``?agora=1`` answers the number once (polling)."""
    database = visita.deps.database
    if visita.request.query.get("agora"):
        return web.json_response({"pulso": await pulse(database)})
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
    await response.prepare(visita.request)
    loop = asyncio.get_running_loop()
    until, last = loop.time() + STREAM_SECONDS, None
    with suppress(ConnectionError, TimeoutError):
        while loop.time() < until and not visita.deps.closing.is_set() and await _still_here(visita):
            now = await pulse(database)
            await response.write(f"event: mudou\ndata: {now}\n\n".encode() if now != last else b": vivo\n\n")
            last = now
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await visita.deps.closing.wait()
    return response


async def _still_here(visita: Visita) -> bool:
    """Tell whether the session lasts, with the rights that it had; looking is no sign of a person at the desk."""
    async with visita.deps.database.alone() as connection:
        return await staff_sessions.find(connection, visita.token, seen=False) == visita.staff
