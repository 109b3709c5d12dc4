"""The console as an aiohttp application to be mounted under /console: routes, access control, error pages."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import structlog
from aiohttp import web
from aiohttp.hdrs import METH_ANY

from console.access.locks import address_is_sound, forms_are_ours, guarded, harden
from console.access.visit import Visita
from console.deps import DEPS, ConsoleDeps
from console.render.assets import Assets
from console.render.format import environment
from console.routes import ROTAS
from persistence.access.views import AT_MOST
from persistence.db.outage import is_outage
from webhooks.bodies import FULL, Bodies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aiohttp.typedefs import Handler

    from console.render.model_spend import Preco
    from operations.channel import KnownChannels
    from persistence.conversations.sessions import LiveSessions
    from persistence.crypto import Vault
    from persistence.db.engine import Database
    from persistence.queue.backlog import Backlog
    from persistence.queue.inbox import Inbox
    from webhooks.addresses import Network

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
) -> web.Application:
    """Build the application; ``secure`` is false only where there is no https (the demo on 127.0.0.1).

    ``preco``: what the model costs, where the operator said it. ``channels``: the channels that a company may be given.
    ``origins``: what staff read of each kind of origin. ``proxies``: whose X-Forwarded-For is believed.
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
