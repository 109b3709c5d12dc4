"""The public pages as aiohttp applications to be mounted beside webhooks and console: routes, headers, failures.

Renders the public pages, each whole in itself, and sets their headers.

``/certificado/{token}``: shows a form to whoever holds the link, and takes one certificate by it.

``/descadastro/{token}``: whoever got a mail says no to more of them, with one click (RFC 8058).

To add a page for people without a login: its route and page here, and its template. The address is the right, so it is
long, ends by itself, and is masked in ``telemetry/logs.py``. Tests are in ``tests/webhooks``.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any, Final, Self

import jinja2
import structlog
from aiohttp import web
from aiohttp.typedefs import Handler
from markupsafe import Markup

from operations.certificate import CertificateLinks, KeptFile, LinkEndedError, NotNowError, Simples, TooManyFilesError
from persistence.batches import suppression
from persistence.db.connection import Connection, is_outage
from persistence.db.connection import Row as Found
from persistence.db.engine import Database
from persistence.people.certificate_links import PATH, Link
from state_machine.services.codes import APURACOES_IBSCBS, ATIVIDADES_SN
from state_machine.values.certificate import LARGEST_FILE, CertificateRefusedError
from state_machine.values.errors import ProsaError
from webhooks.bodies import READ_SECONDS, Bodies, read_form
from webhooks.console.render import masks
from webhooks.console.render.format import environment

# The style stands in the page: a second request would name a second address, and needs a road of its own.
_POLICY: Final = (
    "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
}
_HSTS: Final = "max-age=31536000"
_FAILED: Final = {
    500: "Algo deu errado aqui, e o erro foi registrado. Volte à conversa: se ele foi guardado, está dito lá.",
    503: "O banco não respondeu, e nada mudou. Espere um minuto e abra o link de novo.",
}


class Pages:
    """The pages by name; ``style`` is their one style sheet."""

    def __init__(self, templates: jinja2.Environment, style: str, *, secure: bool) -> None:
        self._templates = templates
        self._style = style
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        self._headers = _HEADERS | {"Content-Security-Policy": _POLICY.format(style=digest)}
        if secure:
            self._headers["Strict-Transport-Security"] = _HSTS

    def form(self, link: Link, *, status: int = 200, erro: str = "") -> web.Response:
        """Ask for the file and its password; ``erro`` says why what was sent is not taken."""
        cnpj = masks.document(link.cnpj)
        choices = {"apuracoes": APURACOES_IBSCBS, "atividades": ATIVIDADES_SN}
        return self._page("enviar.html", status, link=link, cnpj=cnpj, erro=erro, **choices)

    def kept(self, kept: KeptFile) -> web.Response:
        """Say that it is done, and what to do next."""
        return self._page("guardado.html", 200, kept=kept)

    def last_try(self, erro: str) -> web.Response:
        """Say why the file was refused, and that the link has ended with it."""
        return self._page("aviso.html", 422, titulo="Este link terminou", aviso=_ENDED, erro=erro)

    def ended(self) -> web.Response:
        """Say the same of every link that is not open."""
        return self._page("aviso.html", 404, titulo="Este link não vale mais", aviso=_ENDED, erro="")

    def stop_mail(self, empresa: str) -> web.Response:
        """Ask the reader of a mail whether the company is to send no more."""
        return self._page("sair.html", 200, empresa=empresa)

    def mail_stopped(self, empresa: str) -> web.Response:
        """Say that no more mails come."""
        return self._page("aviso.html", 200, titulo="Pronto", aviso=_STOPPED.format(empresa=empresa), erro="")

    def unknown_mail(self) -> web.Response:
        """Say that the link is of no mail that we know."""
        return self._page("aviso.html", 404, titulo="Este link não vale", aviso=_NO_MAIL, erro="")

    def failed(self, status: int) -> web.Response:
        """Say that it is our fault."""
        return self._page("aviso.html", status, titulo="Não deu certo agora", aviso=_FAILED[status], erro="")

    async def harden(self, _: web.Request, response: web.StreamResponse) -> None:
        """Set the headers of every answer under this path."""
        for name, value in self._headers.items():
            response.headers[name] = value

    def _page(self, template: str, status: int, **context: Any) -> web.Response:
        html = self._templates.get_template(template).render(folha=Markup(self._style), **context)  # noqa: S704 - ours
        return web.Response(text=html, content_type="text/html", status=status)


_STOPPED: Final = "{empresa} não manda mais nenhum e-mail a este endereço."
_NO_MAIL: Final = "Confira se o endereço está inteiro, como no e-mail. Nada mudou."
_ENDED: Final = (
    "Ele vale por 15 minutos, serve para um certificado só, e termina depois de cinco tentativas ou quando você pede "
    "outro. Volte à conversa no WhatsApp e escreva “certificado”: eu mando um novo."
)


LINKS: Final = web.AppKey("LINKS", CertificateLinks)
BODIES: Final = web.AppKey("BODIES", Bodies)
PAGES: Final = web.AppKey("PAGES", Pages)

SENHA: Final = "senha"
# What may be said beside it, each by its field: the codes that there are.
_CHOICES: Final = {"apuracao_ibscbs": APURACOES_IBSCBS, "atividade_sn": ATIVIDADES_SN}
REST: Final = 8 * 1024  # bytes; the longest password, and what a form puts around it and the file
_KEPT: Final = "Nada foi guardado, e esta tentativa não foi contada."
# By the status of what was not read.
_UNREAD: Final = {
    400: "O formulário chegou com defeito. Abra o link de novo e tente outra vez.",
    408: "O arquivo não chegou inteiro a tempo. Confira a conexão e tente de novo.",
    413: "O arquivo passa de 64 KB, e um certificado A1 tem uns 10 KB. Confira se é o .pfx ou .p12.",
    415: "O que chegou não é o formulário desta página. Envie por ela.",
    503: "Há muitos envios neste momento. Tente de novo em um minuto.",
}


class FormRefusedError(ProsaError, ValueError):
    """The form was not read; the message says so in pt-BR. ``status``: of the answer."""

    code = "form_refused"

    def __init__(self, said: str, status: int = 422) -> None:
        super().__init__(f"{said} {_KEPT}")
        self.status = status

    @classmethod
    def unread(cls, status: int) -> Self:
        """Return the refusal of what was not read, by its status."""
        return cls(_UNREAD[status], status)


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
        arquivo, senha, simples = await _sent(request)
    except FormRefusedError as refused:
        return _unread(request, pages.form(link, status=refused.status, erro=str(refused)))
    try:
        kept = await links.send(token, arquivo, senha, simples)
    except LinkEndedError:
        return pages.ended()
    except TooManyFilesError:
        return pages.form(link, status=429, erro=_TOO_MANY)
    except NotNowError:
        return pages.form(link, status=503, erro=str(FormRefusedError.unread(503)))
    except CertificateRefusedError as refused:
        log.info("certificate_refused", motivo=refused.motivo.value)
        return await _refused(links, pages, token, refused)
    log.info("certificate_kept")
    return pages.kept(kept)


async def _sent(request: web.Request) -> tuple[bytes, str, Simples]:
    """Return file and password, neither of them empty, and what was chosen. Raises ``FormRefusedError``."""
    try:
        form = await read_form(
            request, request.app[BODIES], (SENHA, *_CHOICES), file=LARGEST_FILE, rest=REST, seconds=READ_SECONDS
        )
    except web.HTTPException as error:
        raise FormRefusedError.unread(error.status) from None
    if not form.content:
        raise FormRefusedError("Faltou escolher o arquivo do certificado.")
    if not form.fields.get(SENHA):
        raise FormRefusedError("Faltou escrever a senha do certificado.")
    try:
        chosen = {name: form.fields.get(name, b"").decode() for name in _CHOICES}
        if any(value and value not in _CHOICES[name] for name, value in chosen.items()):
            raise FormRefusedError("Escolha uma das opções da lista.")
        simples = Simples(chosen["apuracao_ibscbs"] or None, chosen["atividade_sn"] or None)
        return form.content, form.fields[SENHA].decode(), simples
    except UnicodeDecodeError:
        raise FormRefusedError("A senha chegou com caracteres que não consigo ler. Escreva de novo.", 400) from None


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


DATABASE: Final = web.AppKey("DATABASE", Database)
MAIL_PAGES: Final = web.AppKey("MAIL_PAGES", Pages)


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


HERE: Final = Path(__file__).parent


def create_public(links: CertificateLinks, bodies: Bodies, *, secure: bool) -> web.Application:
    """Build the pages of ``/certificado/``; ``secure`` is false only where there is no https (the demo)."""
    pages, app = _pages(secure=secure), web.Application()
    app[LINKS], app[BODIES], app[PAGES] = links, bodies, pages
    app.router.add_get("/{token}", _safe(pages, show))  # HEAD too
    app.router.add_post("/{token}", _safe(pages, send))
    app.on_response_prepare.append(pages.harden)
    return app


def create_unsubscribe(database: Database, *, secure: bool) -> web.Application:
    """Build the pages of ``/descadastro/``."""
    pages, app = _pages(secure=secure), web.Application()
    app[DATABASE], app[MAIL_PAGES] = database, pages
    app.router.add_get("/{token}", _safe(pages, ask))  # HEAD too
    app.router.add_post("/{token}", _safe(pages, stop))
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
