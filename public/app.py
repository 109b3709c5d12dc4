"""The public pages as aiohttp applications to be mounted beside webhooks and console: routes, headers, failures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from aiohttp import web

from console.render.format import environment
from persistence.batches import suppression
from persistence.db.outage import is_outage
from persistence.people.certificate_links import PATH
from public import certificate, unsubscribe
from public.pages import Pages

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler

    from operations.certificate.link import CertificateLinks
    from persistence.db.engine import Database
    from webhooks.bodies import Bodies

HERE: Final = Path(__file__).parent

log = structlog.get_logger(__name__)


def create_public(links: CertificateLinks, bodies: Bodies, *, secure: bool) -> web.Application:
    """Build the pages of ``/certificado/``; ``secure`` is false only where there is no https (the demo)."""
    pages, app = _pages(secure=secure), web.Application()
    app[certificate.LINKS], app[certificate.BODIES], app[certificate.PAGES] = links, bodies, pages
    app.router.add_get("/{token}", _safe(pages, certificate.show))  # HEAD too
    app.router.add_post("/{token}", _safe(pages, certificate.send))
    app.on_response_prepare.append(pages.harden)
    return app


def create_unsubscribe(database: Database, *, secure: bool) -> web.Application:
    """Build the pages of ``/descadastro/``."""
    pages, app = _pages(secure=secure), web.Application()
    app[unsubscribe.DATABASE], app[unsubscribe.MAIL_PAGES] = database, pages
    app.router.add_get("/{token}", _safe(pages, unsubscribe.ask))  # HEAD too
    app.router.add_post("/{token}", _safe(pages, unsubscribe.stop))
    app.on_response_prepare.append(pages.harden)
    return app


def mount(app: web.Application, public: web.Application) -> None:
    """Put the pages of the certificate under their path of another application."""
    app.add_subapp(PATH, public)


def mount_unsubscribe(app: web.Application, public: web.Application) -> None:
    """Put the pages of mails under their path of another application."""
    app.add_subapp(suppression.PATH, public)


def _pages(*, secure: bool) -> Pages:
    return Pages(environment(HERE / "templates"), (HERE / "folha.css").read_text(), secure=secure)


def _safe(pages: Pages, handler: Handler) -> Handler:
    """Answer with a page whatever happens; what is logged has no address in it."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except Exception as error:
            if is_outage(error):
                return pages.failed(503)
            log.exception("public_page_failed", error=type(error).__name__)
            return pages.failed(500)

    return answer
