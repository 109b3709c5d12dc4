"""``/descadastro/{token}``: whoever got a mail says no to more of them, with one click (RFC 8058)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog
from aiohttp import web

from persistence.batches import suppression
from persistence.db.engine import Database
from public.pages import Pages

if TYPE_CHECKING:
    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found

DATABASE: Final = web.AppKey("DATABASE", Database)
MAIL_PAGES: Final = web.AppKey("MAIL_PAGES", Pages)

log = structlog.get_logger(__name__)


async def ask(request: web.Request) -> web.StreamResponse:
    """Ask whether to stop; nothing changes, as programs that look at every link of a mail come here too."""
    async with request.app[DATABASE].alone() as connection:
        found = await _found(connection, request)
    pages = request.app[MAIL_PAGES]
    return pages.unknown_mail() if found is None else pages.stop_mail(found.razao_social)


async def stop(request: web.Request) -> web.StreamResponse:
    """Stop the mails of the company, for whoever posts: a mail program does it for its reader, with no page shown."""
    pages = request.app[MAIL_PAGES]
    async with request.app[DATABASE].transaction() as connection:
        found = await _found(connection, request)
        new = found is not None and await suppression.suppress(
            connection, found.empresa_id, found.email, suppression.LINK
        )
    if new:
        log.info("mail_unsubscribed")
    response = pages.unknown_mail() if found is None else pages.mail_stopped(found.razao_social)
    if not request.content.is_eof():
        response.force_close()  # what the body says decides nothing, and is not read
    return response


async def _found(connection: Connection, request: web.Request) -> Found | None:
    token = request.match_info["token"]
    return await suppression.find(connection, token) if token.isascii() and token.isprintable() else None
