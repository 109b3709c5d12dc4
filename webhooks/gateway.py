"""The fiscal gateway's webhook: stored as a hint to read the note again."""

from __future__ import annotations

import hashlib
from typing import Any

from aiohttp import web

from persistence.db import connection
from persistence.queue.inbox import Arrival
from persistence.rows import GatewayRow, HintedNote
from webhooks.bodies import is_any, read_body
from webhooks.deps import DEPS, NamedNote, refused, store
from webhooks.whatsapp_payload import correlation

PATH = "/webhooks/gateway/{secret}"
HEADER = "X-Prosa-Secret"
ORIGEM = "gateway"
MAX_BODY = 64 * 1024  # bytes; a note takes 1 kB, and what a larger batch would tell is asked for anyway


async def verify(request: web.Request) -> web.Response:
    """Answer a gateway that checks whether the address is alive."""
    return web.json_response({"status": "ok"}) if _admitted(request) else refused()


async def receive(request: web.Request) -> web.Response:
    """Store the body once, and a row for each note that it names, in its lane; an empty ping is only answered."""
    deps = request.app[DEPS]
    if not _admitted(request):
        deps.figures.refused("secret_refused", ORIGEM)
        return refused()
    raw = await read_body(request, deps.bodies, MAX_BODY)
    if not raw.strip():
        return web.json_response({"status": "ok"})
    return await store(deps, ORIGEM, arrivals(raw, list(deps.read_hints(raw))))


def arrivals(raw: bytes, hints: list[NamedNote]) -> list[Arrival]:
    """Return one arrival for each note named in ``raw``, or one for a body that names none.

    The first holds the whole body, each further one only the part that names its note. The key is the body's digest:
    the same words again are the same hint, and the sweep asks anyway.
    """
    digest = hashlib.sha256(raw).hexdigest()
    corpo = _corpo(raw)
    if not hints:
        return [_arrival(f"gateway:{digest}", "emissao:sem-chave", corpo, [])]
    keys = (f"gateway:{digest}:{number}" if number else f"gateway:{digest}" for number in range(len(hints)))
    parts = (corpo, *(None if isinstance(corpo, str) else hint.parte for hint in hints[1:]))  # a text has no parts
    return [
        _arrival(key, f"emissao:{hint.id_integracao}", part, [hint])
        for key, part, hint in zip(keys, parts, hints, strict=True)
    ]


def _arrival(chave: str, lane: str, corpo: Any, hints: list[NamedNote]) -> Arrival:
    named = tuple(HintedNote(hint.id_externo, hint.id_integracao, hint.protocolo) for hint in hints)
    return Arrival.of(GatewayRow(corpo, named), chave=chave, lane=lane, correlacao=correlation())


def _corpo(raw: bytes) -> Any:
    """Return the body as JSON where it is that and can be stored, else as text."""
    try:
        corpo = connection.read(raw)
        connection.storable({"corpo": corpo})  # as it will be stored: a level deeper than it is
    except ValueError:
        return raw.decode("utf-8", "replace")
    return corpo


def _admitted(request: web.Request) -> bool:
    deps = request.app[DEPS]
    path = is_any(request.match_info["secret"], deps.gateway_paths)
    header = not deps.gateway_headers or is_any(request.headers.get(HEADER), deps.gateway_headers)
    return path and header
