"""One request of one person: who they are, their token, and the page that answers them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from aiohttp.hdrs import METH_GET

from console.menu import menu
from webhooks.addresses import client_address

if TYPE_CHECKING:
    from console.deps import ConsoleDeps
    from persistence.access.accounts import Staff

FORM: Final = web.RequestKey("FORM", dict[str, str])  # the fields that a request came with, once they are read
_CSRF: Final = b"prosa-csrf"  # keeps this hash apart from every other one of the same token


def csrf_for(token: str) -> str:
    """Return what a form must carry to be ours: made of the cookie, which no other site can read."""
    return hashlib.blake2s(token.encode(), person=_CSRF[:8], digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Visita:
    """``quem`` is ``None`` only on the routes that are open to everybody. ``token`` is the cookie's."""

    request: web.Request
    deps: ConsoleDeps
    token: str
    quem: Staff | None

    @property
    def staff(self) -> Staff:
        """Who is logged in; the route table says that somebody is."""
        if self.quem is None:
            raise web.HTTPForbidden
        return self.quem

    @property
    def endereco(self) -> str:
        """The address that the request comes from, as the throttle counts it."""
        return client_address(self.request, self.deps.proxies)

    async def campo(self, nome: str, limite: int = 500) -> str:
        """Return a form's field, trimmed; empty when it is missing. Raises 422 beyond ``limite`` characters."""
        valor: str = self.request.get(FORM, {}).get(nome, "")
        if len(valor) > limite:
            raise web.HTTPUnprocessableEntity(text="Um dos campos é grande demais.")
        return valor.strip()

    def pagina(self, template: str, *, status: int = 200, **contexto: Any) -> web.Response:
        """Render a page with what every page shows: who is here, the menu, the form token.

        Only a page that was asked for by ``GET`` keeps itself up to date: the address of another answers no question.
        """
        html = self.deps.templates.get_template(template).render(
            quem=self.quem,
            csrf=csrf_for(self.token),
            menu=menu(self.quem, self.request.path),
            caminho=self.request.path,
            lida=self.request.method == METH_GET,
            **contexto,
        )
        response = web.Response(text=html, content_type="text/html", status=status)
        response.enable_compression()
        return response
