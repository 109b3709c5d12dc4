"""Renders the public pages, each whole in itself, and sets their headers."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from markupsafe import Markup

from console.render import masks
from state_machine.services.own import APURACOES_IBSCBS, ATIVIDADES_SN

if TYPE_CHECKING:
    import jinja2

    from operations.certificate.link import Kept
    from persistence.people.certificate_links import Link

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

    def kept(self, kept: Kept) -> web.Response:
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
