"""The API as an aiohttp application to be mounted: the caller, then the route; a problem document, whatever fails.

To add a route: a row in ``ROUTES``, which the caller's key guards by itself; its models in ``submission``, its
refusals in ``PROBLEMAS`` of ``problems``. What makes something is a ``Resource``, which keeps the caller's key. Then
its rows in ``docs/api.md`` and tests in ``tests/webhooks/api``.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog
from aiohttp import hdrs, web

from operations.month import Mes, MonthError, month_named
from persistence.db.connection import is_outage
from webhooks.api import batches
from webhooks.api.call import DEPS, ApiCall, ApiDeps, as_json, caller, company
from webhooks.api.problems import RETRY, ProblemError, document
from webhooks.api.submission import CLIENTES, PREFIX, PROPOSTAS, note_file, submit
from webhooks.month import FILE, asked

Act = Callable[[ApiCall], Awaitable[web.StreamResponse]]


log = structlog.get_logger(__name__)


async def _month(call: ApiCall) -> Mes:
    try:
        return await call.deps.months.read(call.empresa_id, month_named(call.request.match_info["mes"]))
    except MonthError as error:
        raise ProblemError("nao_encontrado", str(error)) from None


async def month_total(call: ApiCall) -> web.Response:
    """Show how many notes a month has by their competence, the sum without cancelled ones, and what is missing."""
    mes = await _month(call)
    standing = sum(linha.vale for linha in mes.notas)
    told = {"notas": standing, "canceladas": len(mes.notas) - standing, "total": str(mes.total), "faltam": mes.faltam}
    return as_json({"mes": call.request.match_info["mes"], **told})


async def month_file(call: ApiCall) -> web.StreamResponse:
    """Answer with the month's ZIP, CSV or XLSX."""
    return await call.deps.months.send(call.request, await _month(call), asked(call.request)[1])


# By path: what each method does, and the scope of a key that may. A path parameter is a number, what is none is another
# address.
ROUTES: Final[Mapping[str, Mapping[str, tuple[str, Act]]]] = {
    "/clientes": {"GET": ("clientes:ler", CLIENTES.show_all), "POST": ("clientes:escrever", CLIENTES.create)},
    "/clientes/{id:[0-9]{1,19}}": {"GET": ("clientes:ler", CLIENTES.show)},
    "/propostas": {
        "GET": ("propostas:ler", PROPOSTAS.show_all),
        "POST": ("propostas:escrever", PROPOSTAS.create),
    },
    "/propostas/{id:[0-9]{1,19}}": {"GET": ("propostas:ler", PROPOSTAS.show)},
    "/propostas/{id:[0-9]{1,19}}/nota.{formato:pdf|xml}": {"GET": ("propostas:ler", note_file)},
    "/propostas/{id:[0-9]{1,19}}/submeter": {"POST": ("propostas:submeter", submit)},
    f"/fechamentos/{FILE}": {"GET": ("propostas:ler", month_file)},
    "/fechamentos/{mes:20[0-9]{2}-[0-9]{2}}": {"GET": ("propostas:ler", month_total)},
    "/lotes": {"GET": ("lotes:ler", batches.show_all), "POST": ("lotes:escrever", batches.create)},
    "/lotes/{id:[0-9]{1,19}}": {"GET": ("lotes:ler", batches.show)},
    "/lotes/{id:[0-9]{1,19}}/linhas": {"GET": ("lotes:ler", batches.show_rows)},
    "/lotes/{id:[0-9]{1,19}}/confirmar": {"POST": ("lotes:confirmar", batches.confirm)},
}


def create_api(deps: ApiDeps) -> web.Application:
    """Build the application of ``/api/v1``."""
    app = web.Application()
    app[DEPS] = deps
    for path, acts in ROUTES.items():
        app.router.add_route(hdrs.METH_ANY, path, _told(acts))
    for anything in ("", "/{resto:(?s:.*)}"):
        app.router.add_route(hdrs.METH_ANY, anything, _told({}))
    app.on_response_prepare.append(_private)
    return app


def mount(app: web.Application, api: web.Application) -> None:
    """Put the API under its path of another application."""
    app.add_subapp(PREFIX, api)


def _told(acts: Mapping[str, tuple[str, Act]]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Lead a request of a known caller to what its method does; tell every refusal as a problem document."""

    async def answer(request: web.Request) -> web.StreamResponse:
        correlacao = f"api-{uuid.uuid4().hex[:12]}"
        try:
            response = await _done(request, acts, correlacao)
        except ProblemError as error:
            response = document(error, correlacao)
        except Exception as error:
            if is_outage(error):
                away = ProblemError("indisponivel", "Repita com a mesma chave: será feito uma vez só.", headers=RETRY)
                response = document(away, correlacao)
            else:
                log.exception("api_failed", error=type(error).__name__, correlacao=correlacao)
                response = document(ProblemError("erro_interno", "Repita com a mesma chave."), correlacao)
        if not request.content.is_eof():
            response.force_close()  # the rest of the body is not worth reading
        return response

    return answer


async def _done(request: web.Request, acts: Mapping[str, tuple[str, Act]], correlacao: str) -> web.StreamResponse:
    deps = request.app[DEPS]
    who = await caller(request, deps)
    if not acts:
        raise ProblemError("nao_encontrado", "Não há nada neste endereço.")
    escopo, act = acts.get("GET" if request.method == "HEAD" else request.method, ("", None))
    if act is None:
        allowed = ", ".join(acts)
        raise ProblemError("metodo_nao_permitido", f"Aqui se usa {allowed}.", headers={hdrs.ALLOW: allowed})
    if not who.may(escopo):
        raise ProblemError("escopo_insuficiente", f"Esta chave não tem o escopo {escopo}. Nada foi feito.")
    empresa_id = company(request, who)
    deps.bounds.request(empresa_id)
    return await act(ApiCall(request, deps, empresa_id, who.prefixo, who.ambiente, correlacao))


async def _private(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
