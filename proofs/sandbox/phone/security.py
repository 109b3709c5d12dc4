"""The page's access control: response headers, same-origin posts and the typed error answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
# The browser's own XML and PDF viewers bring their styles with them; a document can run no script either way.
DOCUMENT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


LOCAL: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})


def is_ours(request: web.Request, *hosts: str) -> bool:
    """Tell whether the page was asked for by a name of this machine, or one of ``hosts``.

    A name of somebody else may lead here too: its page would be of one origin with this one (DNS rebinding).
    """
    return re.sub(r":\d*$", "", request.host).lower() in {*LOCAL, *hosts}


def refusal(status: int, sentence: str) -> web.Response:
    """Return the JSON that the page shows as it stands."""
    return web.json_response({"erro": sentence}, status=status)


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse posts from other origins and word every error in pt-BR."""
    if request.method == "POST" and request.headers.get("Origin") != f"{request.scheme}://{request.host}":
        return refusal(403, "Esta página só aceita o que vem dela mesma.")
    try:
        return await handler(request)
    except web.HTTPRequestEntityTooLarge:
        return refusal(413, "É grande demais para esta demonstração.")
    except web.HTTPNotFound:
        return refusal(404, "Não encontrei o que você pediu.")
    except web.HTTPMethodNotAllowed:
        return refusal(405, "Isso não se faz por aqui.")


async def harden(_: web.Request, response: web.StreamResponse) -> None:
    """Set the headers that a response did not choose itself; a signal, so that streams and errors have them too."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
