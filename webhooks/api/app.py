"""The API as an aiohttp application to be mounted: the caller, then the route; a problem document, whatever fails.

To add a route: a row in ``ROUTES``, which the caller's key guards by itself and of which the description is made; its
models in ``submission``, its refusals in ``PROBLEMAS`` of ``problems``. What makes something is a ``Resource``, which
keeps the caller's key. Then its rows in ``docs/api.md`` and tests in ``tests/webhooks/api``.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, Final

import structlog
from aiohttp import hdrs, web
from pydantic import BaseModel

from operations.month import MIME, Mes, MonthError, month_named
from persistence.db.connection import is_outage
from webhooks.api import batches, hooks, items
from webhooks.api.batches import Confirmacao, LinhaResposta, ListaNova, LoteResposta
from webhooks.api.call import DEPS, ApiCall, ApiDeps, PageQuery, as_json, caller, company
from webhooks.api.openapi import FORM, Route, openapi
from webhooks.api.problems import RETRY, ProblemError, document
from webhooks.api.submission import (
    CLIENTES,
    NOTE_MIME,
    PREFIX,
    PROPOSTAS,
    ClienteNovo,
    ClienteResposta,
    PropostaNova,
    PropostaResposta,
    PropostasQuery,
    Submissao,
    note_file,
    submit,
)
from webhooks.month import FILE, asked

log = structlog.get_logger(__name__)


class MesResposta(BaseModel):
    """A month by competence: how many notes stand, how many were cancelled, and the sum in BRL of those that stand.

    ``faltam``: numbers between the first and the last that no note here has.
    """

    mes: str
    notas: int
    canceladas: int
    total: Decimal
    faltam: list[str]


async def _month(call: ApiCall) -> Mes:
    try:
        return await call.deps.months.read(call.empresa_id, month_named(call.request.match_info["mes"]))
    except MonthError as error:
        raise ProblemError("nao_encontrado", str(error)) from None


async def month_total(call: ApiCall) -> web.Response:
    """Show how many notes a month has by their competence, the sum without cancelled ones, and what is missing."""
    mes = await _month(call)
    standing = sum(linha.vale for linha in mes.notas)
    told = MesResposta(
        mes=call.request.match_info["mes"],
        notas=standing,
        canceladas=len(mes.notas) - standing,
        total=mes.total,
        faltam=list(mes.faltam),
    )
    return as_json(told.model_dump(mode="json"))


async def month_file(call: ApiCall) -> web.StreamResponse:
    """Answer with the month's ZIP, CSV or XLSX."""
    return await call.deps.months.send(call.request, await _month(call), asked(call.request)[1])


# By path: what each method does. A path parameter is a number, what is none is another address.
_OF_A_LIST: Final = (
    *("conteudo_repetido", "texto_diferente", "ambiente_mudou", "arquivo_grande", "tipo_de_arquivo", "ainda_nao"),
    *("conteudo_nao_e_csv", "nome_de_arquivo", "linhas_demais", "lista_vazia", "sem_coluna_email", "colunas_iguais"),
    *("colunas_demais", "csv_invalido", "lista_em_leitura", "listas_demais"),
)
_ID: Final = "{id:[0-9]{1,19}}"
ROUTES: Final[Mapping[str, Mapping[str, Route]]] = {
    "/clientes": {
        "GET": Route(escopo="clientes:ler", act=CLIENTES.show_all, answer=ClienteResposta, query=PageQuery),
        "POST": Route(
            escopo="clientes:escrever",
            act=CLIENTES.create,
            body=ClienteNovo,
            answer=ClienteResposta,
            status=(201,),
            refuses=("email_em_uso",),
        ),
    },
    f"/clientes/{_ID}": {"GET": Route(escopo="clientes:ler", act=CLIENTES.show, answer=ClienteResposta)},
    "/propostas": {
        "GET": Route(escopo="propostas:ler", act=PROPOSTAS.show_all, answer=PropostaResposta, query=PropostasQuery),
        "POST": Route(
            escopo="propostas:escrever",
            act=PROPOSTAS.create,
            body=PropostaNova,
            answer=PropostaResposta,
            status=(201,),
        ),
    },
    f"/propostas/{_ID}": {"GET": Route(escopo="propostas:ler", act=PROPOSTAS.show, answer=PropostaResposta)},
    f"/propostas/{_ID}/nota.{{formato:{'|'.join(NOTE_MIME)}}}": {
        "GET": Route(
            escopo="propostas:ler", act=note_file, answer=tuple(NOTE_MIME.values()), refuses=("sem_documento",)
        )
    },
    f"/propostas/{_ID}/submeter": {
        "POST": Route(
            escopo="propostas:submeter",
            act=submit,
            body=Submissao,
            answer=PropostaResposta,
            refuses=("versao_desatualizada", "estado_invalido", "sem_aprovador", "ambiente_mudou"),
        )
    },
    f"/fechamentos/{FILE}": {
        "GET": Route(escopo="propostas:ler", act=month_file, answer=tuple(MIME.values())),
    },
    "/fechamentos/{mes:20[0-9]{2}-[0-9]{2}}": {
        "GET": Route(escopo="propostas:ler", act=month_total, answer=MesResposta),
    },
    "/lotes": {
        "GET": Route(escopo="lotes:ler", act=batches.show_all, answer=LoteResposta, query=PageQuery),
        "POST": Route(
            escopo="lotes:escrever",
            act=batches.create,
            body=ListaNova,
            takes=FORM,
            answer=LoteResposta,
            status=(201, 200),
            refuses=_OF_A_LIST,
        ),
    },
    f"/lotes/{_ID}": {"GET": Route(escopo="lotes:ler", act=batches.show, answer=LoteResposta)},
    f"/lotes/{_ID}/linhas": {
        "GET": Route(escopo="lotes:ler", act=batches.show_rows, answer=LinhaResposta, query=PageQuery)
    },
    f"/lotes/{_ID}/confirmar": {
        "POST": Route(
            escopo="lotes:confirmar",
            act=batches.confirm,
            body=Confirmacao,
            answer=LoteResposta,
            refuses=("revisao_diferente", "sem_servidor_de_email", "ambiente_mudou", "emails_demais"),
        )
    },
    "/produtos": {"GET": Route(escopo="produtos:ler", act=items.show_products, answer=items.ProdutosResposta)},
    "/produtos/{codigo:(?:[0-9A-Za-z._/-]|%2F){1,60}}": {
        "PUT": Route(
            escopo="produtos:escrever",
            act=items.keep_product,
            body=items.ProdutoNovo,
            keyed=False,
            answer=items.ProdutoResposta,
            refuses=("produto_recusado", "ambiente_mudou"),
        ),
        "DELETE": Route(
            escopo="produtos:escrever", act=items.remove_product, answer=(), status=(204,), refuses=("ambiente_mudou",)
        ),
    },
    "/webhooks": {
        "GET": Route(escopo="webhooks:ler", act=hooks.show_all, answer=hooks.WebhooksResposta),
        "POST": Route(
            escopo="webhooks:escrever",
            act=hooks.create,
            body=hooks.WebhookNovo,
            keyed=False,
            answer=hooks.WebhookCriado,
            status=(201,),
            refuses=("sem_chave_mestra", "webhooks_demais"),
        ),
    },
    "/webhooks/{webhook:[0-9a-f-]{36}}": {
        "DELETE": Route(escopo="webhooks:escrever", act=hooks.remove, answer=(), status=(204,)),
    },
    "/webhooks/{webhook:[0-9a-f-]{36}}/reenviar": {
        "POST": Route(escopo="webhooks:escrever", act=hooks.resend, answer=hooks.Reenvio),
    },
}


async def described(_: web.Request) -> web.Response:
    """Answer with the API's description, to anybody."""
    return as_json(_description())


@cache
def _description() -> dict[str, Any]:
    return openapi(ROUTES, PREFIX)


def create_api(deps: ApiDeps) -> web.Application:
    """Build the application of ``/api/v1``."""
    app = web.Application()
    app[DEPS] = deps
    app.router.add_get("/openapi.json", described)
    for path, acts in ROUTES.items():
        app.router.add_route(hdrs.METH_ANY, path, _told(acts))
    for anything in ("", "/{resto:(?s:.*)}"):
        app.router.add_route(hdrs.METH_ANY, anything, _told({}))
    app.on_response_prepare.append(_private)
    return app


def mount(app: web.Application, api: web.Application) -> None:
    """Put the API under its path of another application."""
    app.add_subapp(PREFIX, api)


def _told(acts: Mapping[str, Route]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
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


async def _done(request: web.Request, acts: Mapping[str, Route], correlacao: str) -> web.StreamResponse:
    deps = request.app[DEPS]
    who = await caller(request, deps)
    if not acts:
        raise ProblemError("nao_encontrado", "Não há nada neste endereço.")
    route = acts.get("GET" if request.method == "HEAD" else request.method)
    if route is None:
        allowed = ", ".join(acts)
        raise ProblemError("metodo_nao_permitido", f"Aqui se usa {allowed}.", headers={hdrs.ALLOW: allowed})
    if not who.may(route.escopo):
        raise ProblemError("escopo_insuficiente", f"Esta chave não tem o escopo {route.escopo}. Nada foi feito.")
    empresa_id = company(request, who)
    deps.bounds.request(empresa_id)
    return await route.act(ApiCall(request, deps, empresa_id, who.prefixo, who.ambiente, correlacao))


async def _private(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
