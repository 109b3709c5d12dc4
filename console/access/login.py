"""The pages by which staff come in, choose a password and leave; what a login needs is decided in ``accounts``."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import web

from console.access.accounts import LoginRefusal, change_password, log_in, too_soon
from console.access.credentials import SENHA_MAX, SENHA_MIN
from console.access.locks import see_other, set_cookie, set_device_cookie
from persistence.access import sessions as staff_sessions
from persistence.audit import records as audit

if TYPE_CHECKING:
    from console.access.visit import Visita

INICIO = "/console"


async def show(visita: Visita) -> web.StreamResponse:
    """The login form; who is logged in goes on."""
    if visita.quem is not None:
        raise web.HTTPSeeOther(INICIO)
    return visita.pagina("entrar.html", erro=None, nome="", volta=_safe(visita.request.query.get("volta", "")))


async def enter(visita: Visita) -> web.StreamResponse:
    """Log in, with a fresh token: the one that the browser brought is worth nothing."""
    nome, volta = await visita.campo("nome"), _safe(await visita.campo("volta"))
    senha, codigo = await visita.campo("senha"), await visita.campo("codigo", 20)
    answer = await log_in(
        visita.deps.database,
        visita.deps.cofre,
        visita.deps.passwords,
        nome,
        senha,
        codigo,
        endereco=visita.endereco,
        aparelho=visita.request.cookies.get(visita.deps.device_cookie, ""),
    )
    if isinstance(answer, LoginRefusal) and answer.sem_chave:
        erro = "O console está sem a chave que confere os códigos. Quem opera precisa definir PROSA_MASTER_KEY."
        return visita.pagina("entrar.html", status=503, erro=erro, nome=nome[:40], volta=volta)
    if isinstance(answer, LoginRefusal):
        erro = (
            too_soon(answer.espera)
            if answer.espera
            else "Nome, senha ou código não conferem. Cada código vale uma vez só: se já usou este, espere o próximo."
        )
        status = 429 if answer.espera else 401
        response = visita.pagina("entrar.html", status=status, erro=erro, nome=nome[:40], volta=volta)
        if answer.espera:
            response.headers["Retry-After"] = str(answer.espera)
        return response
    response = see_other(volta or INICIO)
    set_cookie(visita.deps, response, answer.token)
    set_device_cookie(visita.deps, response, answer.aparelho)
    return response


async def leave(visita: Visita) -> web.StreamResponse:
    """End the session, in the database too."""
    async with visita.deps.database.transaction() as connection:
        await staff_sessions.close_session(connection, visita.token)
        await audit.write(connection, staff_id=visita.staff.id, quem=visita.staff.nome, acao="saiu")
    response = see_other("/console/entrar")
    response.del_cookie(visita.deps.cookie, path="/", secure=visita.deps.secure or None, httponly=True, samesite="Lax")
    return response


async def show_password(visita: Visita) -> web.StreamResponse:
    """The form to choose a password."""
    return visita.pagina("senha.html", erro=None, minimo=SENHA_MIN, maximo=SENHA_MAX)


async def set_password(visita: Visita) -> web.StreamResponse:
    """Choose a password; all sessions end, and the next login uses it."""
    atual, nova = await visita.campo("atual"), await visita.campo("nova")
    repetida = await visita.campo("repetida")
    erro = await change_password(visita.deps.database, visita.deps.passwords, visita.staff, atual, nova, repetida)
    if erro:
        return visita.pagina("senha.html", status=422, erro=erro, minimo=SENHA_MIN, maximo=SENHA_MAX)
    raise web.HTTPSeeOther("/console/entrar")


def _safe(volta: str) -> str:
    """Return the page to go back to, if it is one of ours."""
    parts = urlsplit(volta)
    ours = not parts.scheme and not parts.netloc and (parts.path == INICIO or parts.path.startswith(f"{INICIO}/"))
    return volta if ours and "\\" not in volta and volta.isprintable() else ""
