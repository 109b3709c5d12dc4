"""The HTTP servers of a process: webhooks, console and API, the API alone, or only health and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from api.app import create_api
from api.app import mount as mount_api
from api.batches import BUDGET
from api.call import ApiDeps, Bounds
from bot.master_key import vault_of
from console.app import create_console, mount
from console.render.model_spend import Preco
from gateway.plugnotas.hint import hinted_keys
from gateway.registry import rows_for
from operations.certificate.link import CertificateLinks
from public.app import create_public, create_unsubscribe, mount_unsubscribe
from public.app import mount as mount_public
from state_machine.protocol.channel import Ambiente
from webhooks.app import create_app, create_probe_app
from webhooks.bodies import Bodies
from webhooks.deps import WebhookDeps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web

    from bot.wiring.stores import Stores


def web_app(stores: Stores, origins: Mapping[str, str], *, https: bool) -> web.Application:
    """Return the machines' entrance and the console.

    ``origins``: what staff read of each kind of origin. ``https``: the console's cookies are for it only.
    """
    deps, settings = _deps(stores), stores.settings
    app = create_app(deps)
    price = Preco(settings.openai_model, *settings.openai_price) if settings.openai_price else None
    console = create_console(
        stores.database,
        stores.inbox,
        stores.backlog,
        vault_of(settings),
        secure=https,
        preco=price,
        vivas=stores.live,
        channels=rows_for(settings),
        origins=origins,
        proxies=settings.trusted_proxies,
    )
    mount(app, console)
    _with_api(app, stores, deps)
    if settings.public_url:
        cofre, roots, unchecked = vault_of(settings), settings.company_roots(), settings.icp_brasil_unchecked_replaces
        links = CertificateLinks(stores.database, stores.inbox, cofre, roots, unchecked=unchecked)
        mount_public(app, create_public(links, deps.bodies, secure=https))
        mount_unsubscribe(app, create_unsubscribe(stores.database, secure=https))
    return app


def api_app(stores: Stores) -> web.Application:
    """Return the API as a process of its own answers it, with health; strangers reach its port, so figures ask."""
    deps = _deps(stores)
    app = create_probe_app(deps, inside=False)
    _with_api(app, stores, deps)
    return app


def probe_app(stores: Stores) -> web.Application:
    """Return what a process without webhooks answers."""
    return create_probe_app(_deps(stores))


def _with_api(app: web.Application, stores: Stores, deps: WebhookDeps) -> None:
    settings = stores.settings
    own = Ambiente(settings.fiscal_environment)
    parts = ApiDeps(
        stores.database,
        deps.bodies,
        stores.inbox,
        own,
        Bodies(large_budget=BUDGET, trusted=settings.trusted_proxies),
        strict=settings.api_chave_estrita,
        mails=bool(settings.smtp_url.get_secret_value()),
        bounds=Bounds(
            requests=settings.company_requests_per_minute,
            lists=settings.company_lists_at_once,
            list_bytes=settings.company_list_bytes_per_day,
            mails=settings.company_mails_per_day,
        ),
    )
    mount_api(app, create_api(parts))


def _deps(stores: Stores) -> WebhookDeps:
    settings = stores.settings
    return WebhookDeps(
        inbox=stores.inbox,
        backlog=stores.backlog,
        database=stores.database,
        metrics=stores.metrics,
        whatsapp_secrets=settings.app_secrets,
        whatsapp_verify_token=settings.whatsapp_verify_token.get_secret_value().encode(),
        gateway_paths=settings.gateway_paths,
        gateway_headers=settings.gateway_headers,
        read_hints=hinted_keys,
        ping_redis=stores.redis.ping,
        bodies=Bodies(trusted=settings.trusted_proxies),
        metrics_token=settings.metrics_token.get_secret_value().encode() or None,
    )
