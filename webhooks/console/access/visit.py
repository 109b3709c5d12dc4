"""One request of one person: who they are, their token, and the page that answers them.

The console's sections and who sees each.

Access control of the console: which role passes which route, and the CSRF token of every form.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from aiohttp import web
from aiohttp.hdrs import METH_GET
from aiohttp.typedefs import Handler

from persistence.access import sessions as staff_sessions
from persistence.access.accounts import Papel, Staff
from persistence.access.sessions import KEPT
from webhooks.bodies import read_body
from webhooks.console.deps import DEPS, ConsoleDeps
from webhooks.whatsapp_payload import client_address


@dataclass(frozen=True, slots=True)
class Secao:
    """One entry of the menu; ``tecla`` follows ``g``."""

    titulo: str
    caminho: str
    tecla: str
    papel: Papel = Papel.LEITURA
    aqui: bool = False


SECOES: Final = (
    Secao("Fila", "/console", "f"),
    Secao("Falhas", "/console/falhas", "r"),
    Secao("Empresas", "/console/empresas", "m"),
    Secao("Painel", "/console/painel", "p"),
    Secao("Saúde", "/console/saude", "s"),
    Secao("Lotes", "/console/lotes", "e"),
    Secao("Auditoria", "/console/auditoria", "a", Papel.SUPERVISOR),
    Secao("LGPD", "/console/pessoas", "l", Papel.ADMIN),
)


def menu(quem: Staff | None, caminho: str) -> tuple[Secao, ...]:
    """Return what this person sees, with the present section marked."""
    if quem is None or quem.senha_provisoria:
        return ()
    here = max((s.caminho for s in SECOES if _under(caminho, s.caminho)), key=len, default="")
    return tuple(
        Secao(s.titulo, s.caminho, s.tecla, s.papel, aqui=s.caminho == here)
        for s in SECOES
        if quem.papel.alcanca(s.papel)
    )


def _under(caminho: str, secao: str) -> bool:
    return caminho == secao or (secao != "/console" and caminho.startswith(f"{secao}/"))


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


SAFE: Final = frozenset({"GET", "HEAD"})
FORM_LIMIT: Final = 64 * 1024  # bytes; the longest form is a message of 4,096 characters
FORM_TYPE: Final = "application/x-www-form-urlencoded"  # as browsers send a form without files; ours have none
FIELDS: Final = 100  # the longest form has a dozen
NUMBERS: Final = frozenset({"numero", "mensagem", "empresa", "de", "ate", "para"})  # ids, amounts, revisions
DIGITS: Final = 18  # a bigint holds that many
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
    "X-Robots-Tag": "noindex, nofollow",
}
AUTO: Final = "X-Prosa-Auto"  # a page that fetches itself again, with nobody at the desk perhaps
HSTS: Final = "max-age=31536000"  # a year, as browsers' own lists ask; only where there is https


@dataclass(frozen=True, slots=True)
class Rota:
    """One route. ``papel`` is the least role that passes; ``None``: everybody, logged in or not.

    ``provisoria``: also for somebody who still has to choose a password. ``sozinha``: an open page asks by itself,
    which is no sign of a person.
    """

    metodo: str
    caminho: str
    papel: Papel | None
    mostra: str  # what it is for, in the table of docs/console.md
    faz: Callable[[Visita], Awaitable[web.StreamResponse]]
    provisoria: bool = False
    sozinha: bool = False


def guarded(rota: Rota) -> Handler:
    """Return the aiohttp handler that lets only those through whom the route admits."""

    async def handle(request: web.Request) -> web.StreamResponse:
        deps = request.app[DEPS]
        token = request.cookies.get(deps.cookie, "")
        quem = await _whose(deps, token, seen=not rota.sozinha and AUTO not in request.headers)
        if rota.papel is not None:
            if quem is None:
                raise _to_login(request)
            if quem.senha_provisoria and not rota.provisoria:
                raise web.HTTPSeeOther("/console/senha")
            if not quem.papel.alcanca(rota.papel):
                raise web.HTTPForbidden
        fresh = "" if token else secrets.token_urlsafe(32)
        response = await rota.faz(Visita(request, deps, token or fresh, quem))
        if fresh and deps.cookie not in response.cookies and not response.prepared and rota.metodo == "GET":
            set_cookie(deps, response, fresh)  # a form needs one; it opens nothing
        return response

    return handle


def set_cookie(deps: ConsoleDeps, response: web.StreamResponse, token: str) -> None:
    """Give the browser its token: for this host only, out of reach of scripts and of other sites' posts."""
    response.set_cookie(deps.cookie, token, path="/", httponly=True, secure=deps.secure, samesite="Lax")


def set_device_cookie(deps: ConsoleDeps, response: web.StreamResponse, token: str) -> None:
    """Let the browser be known at its next login; it opens nothing, and only our own form brings it."""
    response.set_cookie(
        deps.device_cookie,
        token,
        path="/",
        max_age=int(KEPT.total_seconds()),
        httponly=True,
        secure=deps.secure,
        samesite="Strict",
    )


def see_other(path: str) -> web.Response:
    """Return a redirect that may carry cookies."""
    return web.Response(status=303, headers={"Location": path})


def forms_are_ours(handler: Handler) -> Handler:
    """Refuse every unsafe request that another site could have made: wrong origin, or without the page's token."""

    async def look(request: web.Request) -> web.StreamResponse:
        if request.method in SAFE:
            return await handler(request)
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden(text="csrf")
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
            raise web.HTTPForbidden(text="csrf")
        token = request.cookies.get(request.app[DEPS].cookie, "")
        request[FORM] = form = await _form(request)
        given = form.get("csrf", "")
        if not token or not hmac.compare_digest(given.encode(), csrf_for(token).encode()):
            raise web.HTTPForbidden(text="csrf")
        return await handler(request)

    return look


async def _form(request: web.Request) -> dict[str, str]:
    """Return the form's fields, of several with one name the first. Raises 400, and what ``read_body`` raises."""
    raw = await read_body(request, request.app[DEPS].bodies, FORM_LIMIT)
    if request.content_type != FORM_TYPE:
        return {}
    try:
        pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS)
    except ValueError:  # not UTF-8, or more fields than any form of ours
        raise web.HTTPBadRequest from None
    _storable(pairs)
    return dict(reversed(pairs))


def address_is_sound(request: web.Request) -> None:
    """Raise 400 for an address that holds what the database can't: NUL, or a number that is too long for it."""
    _storable([("", request.path), *request.match_info.items(), *request.query.items()])


def _storable(given: Iterable[tuple[str, str]]) -> None:
    for name, text in given:
        if "\0" in name or "\0" in text or (name in NUMBERS and len(text) > DIGITS):
            raise web.HTTPBadRequest


async def harden(request: web.Request, response: web.StreamResponse) -> None:
    """Set the headers of every answer of the console, errors and streams too."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    response.headers.setdefault("Cache-Control", "no-store")
    if request.app[DEPS].secure:
        response.headers["Strict-Transport-Security"] = HSTS


async def _whose(deps: ConsoleDeps, token: str, *, seen: bool) -> Staff | None:
    if not token:
        return None
    async with deps.database.transaction() as connection:
        return await staff_sessions.find(connection, token, seen=seen)


def _to_login(request: web.Request) -> web.HTTPException:
    if request.method not in SAFE:
        return web.HTTPUnauthorized()
    back = quote(request.path_qs, safe="/?=&") if request.path != "/console" or request.query_string else ""
    return web.HTTPSeeOther(f"/console/entrar?volta={quote(back, safe='/')}" if back else "/console/entrar")
