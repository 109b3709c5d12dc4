"""The composition root: opens the stores and clients, builds what runs on them, returns one object.

The HTTP servers of a process: webhooks, console and API, the API alone, or only health and figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aiohttp import web

from bot.budgets import politica_of, prazos_of
from bot.loops.jobs import Beats, JobContext, Schedule
from bot.loops.pump import Loop, together
from bot.loops.worker import LaneWorker
from bot.master_key import vault_of
from bot.orders.accept import Door
from bot.orders.audit import Audit
from bot.orders.cancellation import seen_cancelled
from bot.orders.origins import ORIGINS, OriginRow, Origins, SlowNotices
from bot.settings import Settings
from bot.wiring.handlers import Pumps, jobs, open_worker
from bot.wiring.outside import Stores, open_outside, open_stores
from gateway.http.guarded import is_postable
from gateway.plugnotas.note import hinted_keys
from gateway.registry import REGISTRY, ChannelRow, rows_for
from operations.certificate import CertificateLinks
from operations.month import LINKS, kept_documents
from operations.national.distribution import Feed
from operations.national.verify import ask_due
from state_machine.protocol.channel import Ambiente
from webhooks.api.app import create_api
from webhooks.api.app import mount as mount_api
from webhooks.api.batches import BUDGET
from webhooks.api.call import ApiDeps, Bounds
from webhooks.app import create_app, create_probe_app
from webhooks.bodies import Bodies
from webhooks.console.app import create_console, mount
from webhooks.console.render.model_spend import Preco
from webhooks.deps import WebhookDeps
from webhooks.month import Months, create_links
from webhooks.public.app import create_public, create_unsubscribe, mount_unsubscribe
from webhooks.public.app import mount as mount_public


def web_app(stores: Stores, origins: Mapping[str, str], *, https: bool) -> web.Application:
    """Return the machines' entrance and the console.

    ``origins``: what staff read of each kind of origin. ``https``: the console's cookies are for it only.
    """
    deps, settings, months = _deps(stores), stores.settings, _months(stores)
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
        months=months,
    )
    mount(app, console)
    _with_api(app, stores, deps)
    if settings.public_url:
        cofre, roots, unchecked = vault_of(settings), settings.company_roots(), settings.icp_brasil_unchecked_replaces
        links = CertificateLinks(stores.database, stores.inbox, cofre, roots, unchecked=unchecked)
        app.add_subapp(LINKS, create_links(months))
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
        _months(stores),
        strict=settings.api_chave_estrita,
        mails=bool(settings.smtp_url.get_secret_value()),
        bounds=Bounds(
            requests=settings.company_requests_per_minute,
            lists=settings.company_lists_at_once,
            list_bytes=settings.company_list_bytes_per_day,
            mails=settings.company_mails_per_day,
        ),
        cofre=vault_of(settings),
        postable=partial(is_postable, permitted=settings.webhook_redes_permitidas),
    )
    mount_api(app, create_api(parts))


def _months(stores: Stores) -> Months:
    rows = rows_for(stores.settings).items()
    drawn, shown = ({name for name, row in rows if getattr(row.natureza, what)} for what in ("draws", "page"))
    return Months(stores.database, kept_documents(stores.database, drawn, shown), stores.settings.app_secrets)


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


@dataclass(frozen=True)
class House(Stores):
    """The open stores, and what works on them: ``loops`` by name; the worker, pumps and schedule are among them.

    ``door`` takes orders for invoices, from ``origins``.
    """

    door: Door
    origins: Origins
    worker: LaneWorker
    pumps: Pumps
    schedule: Schedule
    audit: Audit
    loops: Mapping[str, Loop]

    def web_app(self, *, https: bool = True) -> web.Application:
        """Return the machines' entrance, the console and the API; pages may be added to it before it starts."""
        return web_app(self, self.origins.titles, https=https)

    def api_app(self) -> web.Application:
        """Return what a process with the API alone answers."""
        return api_app(self)

    def probe_app(self) -> web.Application:
        """Return what a process without webhooks answers: health and figures."""
        return probe_app(self)

    async def work(self, stop: asyncio.Event) -> None:
        """Run all background loops until ``stop`` is set, then let what is in flight finish.

        Raises ``LoopEndedError`` when one of them ends by itself; then the others have been stopped too.
        """
        await together(self.loops, stop)


@asynccontextmanager
async def open_house(
    settings: Settings,
    database_url: str,
    redis_url: str,
    *,
    registry: Mapping[str, ChannelRow] = REGISTRY,
    origins: Mapping[str, OriginRow] = ORIGINS,
    witness_file: Path | None = None,
) -> AsyncIterator[House]:
    """Open the house on these servers, with the channels of ``registry`` and the origins of ``origins``.

    All is closed again in reverse order.
    """
    opened = open_stores(settings, database_url, redis_url, witness_file)
    async with opened as stores, open_outside(stores, registry) as outside:
        known = Origins(stores.inbox, origins)
        pumps, door = Pumps(stores, outside, known), Door(outside.channels, stores.witness)
        async with open_worker(stores, outside, pumps, door) as worker:
            database, inbox = stores.database, stores.inbox
            feed = Feed(database, outside.channels, partial(seen_cancelled, known))
            audit = Audit(database, outside.channels, stores.metrics, ring=pumps.ring, feed=feed)
            cities = partial(ask_due, database, outside.channels)
            prazos = prazos_of(settings)
            context = JobContext(database, inbox, stores.backlog, audit.daily, prazos, cities, feed.read_due)
            schedule = Schedule(context, jobs())
            rings = {"lanes": stores.lanes.ring, **{name: pump.ring for name, pump in pumps.items()}}
            slow_notices = SlowNotices(database, known, politica_of(settings).avisar_apos, rings)
            loops: dict[str, Loop] = {"lanes": worker, **pumps}
            loops |= {"breakers": outside.breakers, "slow_notices": slow_notices, "schedule": schedule}
            loops["witness"] = Beats(database, stores.witness, stores.keepers)
            yield House(
                **vars(stores),
                door=door,
                origins=known,
                worker=worker,
                pumps=pumps,
                schedule=schedule,
                audit=audit,
                loops=loops,
            )
