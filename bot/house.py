"""The composition root: opens every part, wires them, hands out one typed bundle; decides nothing else."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from redis.asyncio import Redis

from bot.budgets import Budgets
from bot.conversation.customers import Customers
from bot.conversation.effects import Hands
from bot.conversation.quarantine import Quarantine
from bot.conversation.turn import Conversations
from bot.delivery import sender as delivery
from bot.delivery.attachments import Attachments
from bot.delivery.sender import Delivery
from bot.delivery.ticks import Ticks
from bot.extractors import open_extractor
from bot.loops.pump import Pump
from bot.loops.schedule import Schedule
from bot.loops.supervision import Loop, together
from bot.loops.worker import LaneWorker, process_name
from bot.master_key import vault_of
from bot.model_use import Counted
from bot.orders import cancellation, emission
from bot.orders.audit import Audit
from bot.orders.breakers import Breakers
from bot.orders.cancellation import Cancellations
from bot.orders.emission import Emissions
from bot.orders.slow_notice import SlowNotices
from bot.policy import limits_of, lines_of, politica_of, prazos_of
from bot.subjects.account_notices import Notices
from bot.subjects.cancellation_talk import Cancelling
from bot.subjects.news import Outcomes
from bot.subjects.staff_commands import StaffCommands
from bot.subjects.staff_orders import Orders
from console.app import create_console, mount
from console.render.model_spend import Preco
from gateway.plugnotas.hint import hinted_keys
from gateway.register.cnpj import CNPJRegister
from gateway.registry import REGISTRY, Channels
from gateway.whatsapp.client import WhatsApp
from persistence.conversations.redis_line import RedisLine
from persistence.conversations.sessions import LiveSessions
from persistence.db.engine import Database, refuse_in_transaction
from persistence.fiscal.cancellation_work import LEASE_SECONDS as CANCELLATION_LEASE_SECONDS
from persistence.fiscal.emissions import LEASE_SECONDS as EMISSION_LEASE_SECONDS
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from persistence.queue.lanes import Lanes
from persistence.queue.outbox import LEASE_SECONDS as OUTBOX_LEASE_SECONDS
from state_machine.protocol.channel import Ambiente, Canal
from telemetry.metrics import Metrics
from webhooks.app import create_app, create_probe_app
from webhooks.deps import WebhookDeps

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Mapping

    from aiohttp import web

    from bot.settings import Settings
    from gateway.registry import ChannelRow
    from persistence.fiscal.cancellation_work import Tarefa as TarefaDeCancelamento
    from persistence.fiscal.emissions import Tarefa
    from persistence.queue.outbox import Saida

LANE_LEASE_SECONDS = 10.0  # renewed while a turn lasts; a dead worker's conversations wait this long
REDIS_TIMEOUT = 2.0  # seconds; a live session that takes longer is read from its snapshot


@dataclass(frozen=True, slots=True)
class House:
    """Everything that is open, for the web and the worker."""

    settings: Settings
    database: Database
    redis: Redis
    metrics: Metrics
    inbox: Inbox
    lanes: Lanes
    backlog: Backlog
    worker: LaneWorker
    emissions: Pump[Tarefa]
    cancellations: Pump[TarefaDeCancelamento]
    deliveries: Pump[Saida]
    schedule: Schedule
    audit: Audit
    breakers: Breakers
    slow_notices: SlowNotices
    live: LiveSessions
    budgets: Budgets

    def web_app(self, *, https: bool = True) -> web.Application:
        """Return the machines' entrance and the console; pages may be added to it before it starts."""
        deps, settings = self._web_deps(), self.settings
        app = create_app(deps)
        price = Preco(settings.openai_model, *settings.openai_price) if settings.openai_price else None
        console = create_console(
            self.database,
            self.inbox,
            self.backlog,
            vault_of(settings),
            secure=https,
            preco=price,
            vivas=self.live,
            proxies=settings.trusted_proxies,
            bodies=deps.bodies,
        )
        mount(app, console)
        return app

    def probe_app(self) -> web.Application:
        """Return what a process without webhooks answers: health and figures."""
        return create_probe_app(self._web_deps())

    def _web_deps(self) -> WebhookDeps:
        settings = self.settings
        return WebhookDeps(
            inbox=self.inbox,
            backlog=self.backlog,
            database=self.database,
            metrics=self.metrics,
            whatsapp_secrets=settings.app_secrets,
            whatsapp_verify_token=settings.whatsapp_verify_token.get_secret_value().encode(),
            gateway_paths=settings.gateway_paths,
            gateway_headers=settings.gateway_headers,
            read_hints=hinted_keys,
            ping_redis=self.redis.ping,
            metrics_token=settings.metrics_token.get_secret_value().encode() or None,
        )

    async def work(self, stop: asyncio.Event) -> None:
        """Run all background loops until ``stop`` is set, then let what is in flight finish.

        Raises ``LoopEndedError`` when one of them ends by itself; then the others have been stopped too.
        """
        loops: dict[str, Loop] = {
            "lanes": self.worker,
            "emissions": self.emissions,
            "cancellations": self.cancellations,
            "deliveries": self.deliveries,
            "breakers": self.breakers,
            "slow_notices": self.slow_notices,
            "schedule": self.schedule,
        }
        await together(loops, stop)

    async def run_until_idle(self) -> None:
        """Process everything that is due now, to the end; for tests and one-shot commands."""
        pumps = (self.emissions, self.cancellations, self.deliveries)
        while await self.worker.run_once() + sum([await pump.run_once() for pump in pumps]):
            pass


@asynccontextmanager
async def open_house(
    settings: Settings, database_url: str, redis_url: str, *, registry: Mapping[str, ChannelRow] = REGISTRY
) -> AsyncIterator[House]:
    """Open the house on these servers; everything is closed again in reverse order.

    ``registry``: the channels that it knows.
    """
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        database = await Database.open(database_url)
        stack.push_async_callback(database.close)
        redis = Redis.from_url(redis_url, socket_timeout=REDIS_TIMEOUT, socket_connect_timeout=REDIS_TIMEOUT)
        stack.push_async_callback(redis.aclose)
        inbox = Inbox(database, settings.debounce_seconds)
        stack.push_async_callback(inbox.close)
        lanes = Lanes(database, LANE_LEASE_SECONDS)
        stack.push_async_callback(lanes.close)
        backlog = Backlog(database, tuple(registry))

        breakers = Breakers(database, process_name())
        channels = Channels(
            registry,
            settings,
            Canal(settings.gateway, Ambiente(settings.fiscal_environment)),
            guard=refuse_in_transaction,
            lines=lines_of(settings, metrics, breakers.watch),
        )
        stack.push_async_callback(channels.aclose)
        whatsapp = await stack.enter_async_context(
            WhatsApp(
                settings.whatsapp_api_url,
                settings.whatsapp_phone_number_id,
                settings.whatsapp_access_token.get_secret_value(),
                guard=refuse_in_transaction,
            )
        )
        register = await stack.enter_async_context(CNPJRegister(settings.cnpj_api_url, guard=refuse_in_transaction))

        def ring() -> None:
            emissions.ring()
            cancels.ring()
            deliveries.ring()

        politica = politica_of(settings)
        issuing = Emissions(database, inbox, lanes, channels, politica, ring=ring)
        cancelling = Cancellations(database, inbox, lanes, channels, politica, ring=ring)
        sending = Delivery(database, whatsapp, Attachments(database, whatsapp, channels), metrics)
        emissions = Pump(
            "emissions",
            issuing.claim,
            issuing.work,
            issuing.renew,
            lease_seconds=EMISSION_LEASE_SECONDS,
            concurrency=emission.CONCURRENCY,
        )
        cancels = Pump(
            "cancellations",
            cancelling.claim,
            cancelling.work,
            cancelling.renew,
            lease_seconds=CANCELLATION_LEASE_SECONDS,
            concurrency=cancellation.CONCURRENCY,
        )
        deliveries = Pump(
            "deliveries",
            sending.claim,
            sending.work,
            sending.renew,
            lease_seconds=OUTBOX_LEASE_SECONDS,
            concurrency=delivery.CONCURRENCY,
        )

        line = RedisLine(redis, REDIS_TIMEOUT)
        stack.push_async_callback(line.close)
        budgets = Budgets(line, limits_of(settings), lambda budget: metrics.budget_refusals.labels(budget).inc())
        extractor = await stack.enter_async_context(
            open_extractor(settings, refuse_in_transaction, breakers.watch, budgets.model)
        )
        live = LiveSessions(line, settings.session_ttl_seconds)
        desk = Cancelling(database, inbox, lanes, ring=ring, prazo=timedelta(hours=settings.plugnotas_cancel_hours))
        conversations = Conversations(
            database,
            lanes,
            live,
            Counted(extractor, database, settings.openai_model),
            Customers(database, register),
            whatsapp,
            Hands(channels),
            desk,
            budgets,
            ttl_seconds=settings.session_ttl_seconds,
            repeat_seconds=settings.repeat_window_seconds,
            ring=ring,
            ring_delivery=deliveries.ring,
        )
        stack.push_async_callback(conversations.close)
        outcomes = Outcomes(conversations)
        notices = Notices(database, lanes, metrics)
        worker = LaneWorker(
            lanes,
            {
                "mensagem": notices.unless_foreign(settings.whatsapp_phone_number_id, conversations.on_messages),
                "emissao": outcomes.on_emission,
                "prazo": outcomes.on_deadline,
                "ordem": Orders(database, lanes, conversations, ring=ring).on_order,
                "retomar": outcomes.on_resumed,
                "cancelamento": cancelling.on_news,
                "prazo_cancelamento": desk.on_deadline,
                "gateway": issuing.on_hint,
                "status": Ticks(database, lanes, metrics).on_status,
                "aviso_meta": notices.on_notice,
                "ilegivel": notices.on_notice,
                "equipe": StaffCommands(database, lanes, live, conversations, ring).on_command,
            },
            metrics,
            set_aside=Quarantine(database, lanes, live, conversations, ring).set_aside,
        )
        audit = Audit(database, channels, metrics, ring=ring)
        schedule = Schedule(database, inbox, backlog, audit.daily, prazos_of(settings))
        yield House(
            settings,
            database,
            redis,
            metrics,
            inbox,
            lanes,
            backlog,
            worker,
            emissions,
            cancels,
            deliveries,
            schedule,
            audit,
            breakers,
            SlowNotices(database, inbox, politica.avisar_apos),
            live,
            budgets,
        )
