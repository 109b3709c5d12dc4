"""The console as an aiohttp application to be mounted under /console: routes, access control, error pages.

The console's own styles and scripts, served from memory.

Tells open pages that something changed, by server-sent events or to who asks; what changed they fetch themselves.

Every route of the console and the least role that passes it, in one table; docs and tests are made from it.

To add a page or an action: a row in ``ROTAS`` with its least role; a handler in ``pages``, or in ``actions``, where it
is an inbox row, an audit row and an idempotency record in one transaction (``actions/form.py``); what it reads in
``persistence/staff``, limited by ``visita.staff.alcance``; a template that extends ``base.html``, with the field
``csrf`` in a form and no inline script. A link in the menu is a row in ``access/visit.py``. Then ``python -m
proofs.scripts.route_table docs/console.md``. ``tests/webhooks/console/access/test_console_routes.py`` tries every
route with every role.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

import structlog
from aiohttp import web
from aiohttp.hdrs import METH_ANY
from aiohttp.typedefs import Handler

from operations.channel import KnownChannels
from operations.month import kept_documents
from persistence.access import sessions as staff_sessions
from persistence.access.accounts import Papel
from persistence.access.views import AT_MOST
from persistence.conversations.sessions import LiveSessions
from persistence.crypto import Vault
from persistence.db.connection import is_outage
from persistence.db.engine import Database
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from persistence.staff.queue import pulse
from webhooks.bodies import FULL, Bodies
from webhooks.console.access import accounts
from webhooks.console.access.visit import Rota, Visita, address_is_sound, forms_are_ours, guarded, harden
from webhooks.console.actions import commands, groups
from webhooks.console.actions import form as actions
from webhooks.console.companies import changes
from webhooks.console.companies import pages as companies
from webhooks.console.deps import DEPS, ConsoleDeps
from webhooks.console.pages import case, figures, people, queue, records, search, snapshot
from webhooks.console.render import export
from webhooks.console.render.format import environment
from webhooks.console.render.model_spend import Preco
from webhooks.month import FILE, Months
from webhooks.whatsapp_payload import Network

TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Assets:
    """The files of one folder, few and small."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in TYPES}
        self._etag = hashlib.sha256(b"".join(self._files.values())).hexdigest()[:16]

    async def asset(self, request: web.Request) -> web.Response:
        """``GET /console/estatico/{nome}``, compressed; open to everybody: it tells nothing."""
        nome = request.match_info["nome"]
        if nome not in self._files:
            raise web.HTTPNotFound
        headers = {"Cache-Control": "no-cache", "ETag": f'"{self._etag}"'}
        if request.headers.get("If-None-Match") == f'"{self._etag}"':
            return web.Response(status=304, headers=headers)
        body, kind = self._files[nome], TYPES[Path(nome).suffix]
        response = web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)
        response.enable_compression()
        return response


LOOK_EVERY: Final = 2.0  # seconds; people read slower than that, and a stream outlives its session by no more
STREAM_SECONDS: Final = 300.0  # then the browser comes back by itself


async def stream(visita: Visita) -> web.StreamResponse:
    """``GET /console/eventos``: an event ``mudou`` for every change; ``?agora=1`` answers the number once (polling)."""
    database = visita.deps.database
    if visita.request.query.get("agora"):
        return web.json_response({"pulso": await pulse(database)})
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
    await response.prepare(visita.request)
    loop = asyncio.get_running_loop()
    until, last = loop.time() + STREAM_SECONDS, None
    with suppress(ConnectionError, TimeoutError):
        while loop.time() < until and not visita.deps.closing.is_set() and await _still_here(visita):
            now = await pulse(database)
            await response.write(f"event: mudou\ndata: {now}\n\n".encode() if now != last else b": vivo\n\n")
            last = now
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await visita.deps.closing.wait()
    return response


async def _still_here(visita: Visita) -> bool:
    """Tell whether the session lasts, with the rights that it had; looking is no sign of a person at the desk."""
    async with visita.deps.database.alone() as connection:
        return await staff_sessions.find(connection, visita.token, seen=False) == visita.staff


_REMOVE: Final = "/contatos/{codigo}/remover-usuario"

ROTAS: Final[tuple[Rota, ...]] = (
    Rota("GET", "/entrar", None, "formulário de entrada", accounts.login_page),
    Rota("POST", "/entrar", None, "entrar", accounts.enter),
    Rota("POST", "/sair", Papel.LEITURA, "sair", accounts.leave, provisoria=True),
    Rota("GET", "/senha", Papel.LEITURA, "formulário da senha", accounts.show_password, provisoria=True),
    Rota("POST", "/senha", Papel.LEITURA, "trocar a senha", accounts.set_password, provisoria=True),
    Rota("GET", "", Papel.LEITURA, "fila, desconhecidas, paradas", queue.show),
    Rota("POST", "/vistas", Papel.LEITURA, "salvar uma vista da fila, como aba sua", queue.save_view),
    Rota("POST", "/vistas/{numero}/apagar", Papel.LEITURA, "apagar uma vista sua", queue.forget_view),
    Rota("GET", "/busca", Papel.LEITURA, "o que uma busca achou", search.show),
    Rota("POST", "/busca", Papel.LEITURA, "buscar", search.ask),
    Rota("GET", "/sessoes/{sessao_id}", Papel.LEITURA, "uma nota e a sua conversa", case.show),
    Rota("POST", "/sessoes/{sessao_id}/mostrar", Papel.SUPORTE, "mostrar dados sem máscara, com motivo", case.reveal),
    Rota("GET", "/sessoes/{sessao_id}/snapshot", Papel.LEITURA, "versões, envios", snapshot.show),
    Rota("POST", "/sessoes/{sessao_id}/documentos", Papel.SUPORTE, "o PDF ou o XML, com motivo", commands.download),
    Rota("GET", "/sessoes/{sessao_id}/acoes/{acao}", Papel.SUPORTE, "o que uma ação faz", actions.form),
    Rota("POST", "/sessoes/{sessao_id}/acoes/{acao}", Papel.SUPORTE, "uma ação (encerrar: supervisor)", actions.act),
    Rota("GET", "/quarentena/{numero}", Papel.LEITURA, "uma mensagem parada", records.quarantine),
    Rota("POST", "/quarentena/{numero}", Papel.SUPERVISOR, "reprocessar uma mensagem parada", records.replay),
    Rota("GET", "/falhas", Papel.LEITURA, "grupos de falha", figures.failures),
    Rota("GET", "/falhas/grupo", Papel.SUPERVISOR, "um grupo, e o que aconteceria com cada nota", groups.show),
    Rota("POST", "/falhas/grupo", Papel.SUPERVISOR, "tentar de novo um grupo inteiro", groups.act),
    Rota("POST", "/falhas/grupo/resolver", Papel.SUPERVISOR, "resolver ou reabrir um grupo", groups.resolve_group),
    Rota("GET", "/painel", Papel.LEITURA, "painel", figures.dashboard),
    Rota("GET", "/saude", Papel.LEITURA, "saúde", figures.health),
    Rota("POST", "/saude/leiaute", Papel.ADMIN, "o leiaute em que o emissor nacional emite", figures.choose_layout),
    Rota("GET", "/exportar.{formato}", Papel.SUPERVISOR, "a lista como CSV ou JSON, mascarada", export.show),
    Rota("GET", "/eventos", Papel.LEITURA, "novidades", stream, sozinha=True),
    Rota("GET", "/auditoria", Papel.SUPERVISOR, "auditoria", records.audits),
    Rota("GET", "/contatos/{codigo}", Papel.LEITURA, "uma conversa inteira", case.contact),
    Rota("GET", _REMOVE, Papel.SUPERVISOR, "o que muda se um telefone não puder mais emitir", people.ask_removal),
    Rota(
        "POST",
        _REMOVE,
        Papel.SUPERVISOR,
        "tirar de um telefone o direito de emitir, com motivo",
        people.confirm_removal,
    ),
    Rota("GET", "/empresas", Papel.LEITURA, "empresas, com o que cada uma pede", companies.listed),
    Rota("GET", "/empresas/{numero}", Papel.LEITURA, "uma empresa: canal, códigos, pessoas, mês", companies.show),
    Rota(
        "GET", f"/empresas/{{numero}}/fechamento/{FILE}", Papel.SUPERVISOR, "o mês em ZIP, CSV ou XLSX", companies.month
    ),
    Rota("POST", "/empresas/{numero}/{mudanca}", Papel.SUPERVISOR, "mudar uma empresa, com motivo", changes.act),
    Rota("GET", "/lotes", Papel.LEITURA, "listas que viram e-mails, e até onde foram", records.lists),
    Rota("POST", "/lotes/{numero}/confirmar", Papel.SUPERVISOR, "enviar o que foi lido de uma lista", records.confirm),
    Rota("POST", "/lotes/{numero}/parar", Papel.SUPORTE, "parar o que não saiu de uma lista", records.stop),
    Rota("GET", "/pessoas", Papel.ADMIN, "pedidos da LGPD", people.show),
    Rota("POST", "/pessoas/ensaio", Papel.ADMIN, "o que está guardado sobre uma pessoa", people.rehearsal),
    Rota("POST", "/pessoas/exportar", Papel.ADMIN, "a cópia dos dados de uma pessoa, com motivo", people.export),
    Rota("POST", "/pessoas/apagar", Papel.ADMIN, "apagar os dados de uma pessoa, com motivo", people.erase),
)


log = structlog.get_logger(__name__)

HERE: Final = Path(__file__).parent
PREFIX: Final = "/console"
ERROS: Final = {
    400: ("Não entendi o endereço ou um dos campos", "Há neles um caractere ou número impossível; nada foi feito."),
    401: ("Sua sessão terminou", "Entre de novo; nada do que você enviou foi feito."),
    403: ("Isso não é para o seu papel", "Se você precisa desta página, peça a quem administra o console."),
    404: ("Não encontrei", "Não existe, ou é de uma empresa que você não atende."),
    405: ("Isso não se faz por aqui", "Volte e use os botões da página."),
    408: ("O que você enviou não chegou inteiro", "Nada foi feito. Confira a conexão e tente de novo."),
    409: ("Já foi pedido de outro jeito", "Este formulário já serviu para outro pedido. Abra a página de novo."),
    413: ("É grande demais", "O que você enviou passa do limite desta página; nada foi feito."),
    422: ("Faltou alguma coisa", "Volte e confira os campos; nada foi feito."),
    500: (
        "Algo deu errado aqui",
        "O erro foi registrado. Se você pediu uma ação, confira na conversa se ela foi feita.",
    ),
    503: ("O banco não respondeu", "Nada foi feito. Tente de novo em alguns segundos."),
}
LATE: Final = ("Já não cabe", "O caso mudou desde que você abriu a página; nada foi feito. Abra de novo e veja.")
VIEWS: Final = (f"Você já tem {AT_MOST} abas", "Apague uma das suas antes de salvar outra; nada mudou.")
BUSY: Final = ("Muitos envios ao mesmo tempo", "Nada foi feito. Tente de novo em alguns segundos.")
DOCUMENT: Final = (
    "O arquivo ainda não está aqui",
    "A Prosa o busca no gateway antes de mandar à pessoa. Tente em alguns minutos, ou use Reenviar PDF e XML.",
)
CSRF: Final = ("Não reconheci este formulário", "Abra a página de novo e repita; nada foi feito.")


def create_console(
    database: Database,
    inbox: Inbox,
    backlog: Backlog,
    cofre: Vault,
    *,
    secure: bool,
    preco: Preco | None = None,
    vivas: LiveSessions | None = None,
    channels: KnownChannels = MappingProxyType({}),
    origins: Mapping[str, str] = MappingProxyType({}),
    proxies: Sequence[Network] = (),
    months: Months | None = None,
) -> web.Application:
    """Build the application; ``secure`` is false only where there is no https (the demo on 127.0.0.1).

    ``preco``: what the model costs, where the operator said it. ``channels``: the channels that a company may be given.
    ``origins``: what staff read of each kind of origin. ``proxies``: whose X-Forwarded-For is believed.
    ``months``: where the months of companies are read.
    """
    app = web.Application()  # no middleware: aiohttp would lead every webhook past it, at a tenth of its cost
    app[DEPS] = ConsoleDeps(
        database=database,
        inbox=inbox,
        backlog=backlog,
        cofre=cofre,
        secure=secure,
        templates=environment(HERE / "templates"),
        preco=preco,
        vivas=vivas,
        channels=channels,
        origins=origins,
        proxies=proxies,
        bodies=Bodies(trusted=proxies),
        months=months or Months(database, kept_documents(database, ())),
    )
    for rota in ROTAS:
        app.router.add_route(rota.metodo, rota.caminho, _worded(forms_are_ours(guarded(rota))))
    app.router.add_get("/estatico/{nome}", _worded(Assets(HERE / "static").asset))
    for anything in ("", "/{resto:(?s:.*)}"):
        app.router.add_route(METH_ANY, anything, _worded(forms_are_ours(_nowhere)))
    app.on_response_prepare.append(harden)
    app.on_shutdown.append(_end_streams)
    return app


async def _end_streams(app: web.Application) -> None:
    app[DEPS].closing.set()


def mount(app: web.Application, console: web.Application) -> None:
    """Put the console under /console of another application."""
    app.add_subapp(PREFIX, console)


def _worded(handler: Handler) -> Handler:
    """Say every refusal as a page in pt-BR: what happened, what was kept, what to do next."""

    async def say(request: web.Request) -> web.StreamResponse:
        try:
            address_is_sound(request)
            return await handler(request)
        except web.HTTPRedirection:
            raise
        except web.HTTPException as error:
            said = {"csrf": CSRF, "late": LATE, "views": VIEWS, "document": DOCUMENT, FULL: BUSY}.get(error.text or "")
            return _page(request, error.status, *(said or ERROS.get(error.status, ERROS[422])))
        except Exception as error:
            if is_outage(error):
                return _page(request, 503, *ERROS[503])
            log.exception("console_failed", error=type(error).__name__)
            return _page(request, 500, *ERROS[500])

    return say


async def _nowhere(request: web.Request) -> web.StreamResponse:
    """Tell a page that does not exist from one that is not asked for like that."""
    methods: set[str] = set()
    for resource in request.app.router.resources():
        methods |= (await resource.resolve(request))[1]
    if methods := methods - {METH_ANY}:
        raise web.HTTPMethodNotAllowed(request.method, methods)
    raise web.HTTPNotFound


def _page(request: web.Request, status: int, titulo: str, conselho: str) -> web.Response:
    visita = Visita(request, request.app[DEPS], "", None)
    return visita.pagina("erro.html", status=status, titulo=titulo, conselho=conselho)
