"""``/certificado/{token}``: shows a form to whoever holds the link, and takes one certificate by it."""

from __future__ import annotations

from typing import Final

import structlog
from aiohttp import web

from operations.certificate.link import CertificateLinks, LinkEndedError, NotNowError, TooManyFilesError
from public.form import FormRefusedError, read_form
from public.pages import Pages
from state_machine.values.certificate import LARGEST_FILE, CertificateRefusedError
from webhooks.bodies import Bodies

LINKS: Final = web.AppKey("LINKS", CertificateLinks)
BODIES: Final = web.AppKey("BODIES", Bodies)
PAGES: Final = web.AppKey("PAGES", Pages)

_TOO_MANY: Final = str(FormRefusedError("Foram arquivos demais desta empresa em uma hora. Tente de novo mais tarde."))

log = structlog.get_logger(__name__)


async def show(request: web.Request) -> web.StreamResponse:
    """Show the form; nothing changes, however often it is asked for."""
    pages = request.app[PAGES]
    try:
        return pages.form(await request.app[LINKS].find(request.match_info["token"]))
    except LinkEndedError:
        return pages.ended()


async def send(request: web.Request) -> web.StreamResponse:
    """Take the file and its password. Nobody who lacks an open link has a body read."""
    links, pages, token = request.app[LINKS], request.app[PAGES], request.match_info["token"]
    try:
        link = await links.find(token)
    except LinkEndedError:
        return _unread(request, pages.ended())
    try:
        arquivo, senha = await read_form(request, request.app[BODIES])
        if len(arquivo) > LARGEST_FILE:
            raise FormRefusedError.too_large()
    except FormRefusedError as refused:
        return _unread(request, pages.form(link, status=refused.status, erro=str(refused)))
    try:
        kept = await links.send(token, arquivo, senha)
    except LinkEndedError:
        return pages.ended()
    except TooManyFilesError:
        return pages.form(link, status=429, erro=_TOO_MANY)
    except NotNowError:
        return pages.form(link, status=503, erro=str(FormRefusedError.busy()))
    except CertificateRefusedError as refused:
        log.info("certificate_refused", motivo=refused.motivo.value)
        return await _refused(links, pages, token, refused)
    log.info("certificate_kept")
    return pages.kept(kept)


async def _refused(links: CertificateLinks, pages: Pages, token: str, refused: CertificateRefusedError) -> web.Response:
    try:
        now = await links.find(token)
    except LinkEndedError:
        return pages.last_try(str(refused))
    return pages.form(now, status=422, erro=str(refused))


def _unread(request: web.Request, response: web.Response) -> web.Response:
    if not request.content.is_eof():
        response.force_close()  # the rest of the body is not worth reading
    return response
