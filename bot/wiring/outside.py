"""The clients of what is outside: channels to authorities, WhatsApp, CNPJ and CEP registers, model.

Chooses the extractor: two readers, behind a model when there is a key; counts what the model takes.

Tells the other processes, by the database, how this one's circuit breakers stand.

The stores of a process: PostgreSQL, Redis, and what is built on them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog
from redis.asyncio import Redis

from bot.budgets import Budgets, limits_of, lines_of
from bot.loops.worker import process_name
from bot.master_key import vault_of
from bot.ports import CepLookup, Register
from bot.settings import Settings
from extractor.contract import Context, Extraction, Extractor
from extractor.hybrid import HybridExtractor
from extractor.two_readers import TwoReaders
from gateway.register import CepRegister, CNPJRegister
from gateway.registry import ChannelRow, Channels
from gateway.whatsapp.client import WhatsApp
from persistence import outside
from persistence.conversations.sessions import LiveSessions, RedisLine, connect
from persistence.db.connection import is_outage
from persistence.db.engine import Database, refuse_in_transaction
from persistence.db.migrate import enter
from persistence.outside import SEEN_EVERY
from persistence.people.certificates import KeptCertificates
from persistence.people.goods import KeptGoods
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from persistence.queue.lanes import Lanes
from persistence.witness import Keepers, Witness
from state_machine.protocol.channel import Ambiente, Canal
from state_machine.protocol.retry import Breaker
from telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


@asynccontextmanager
async def open_extractor(
    settings: Settings,
    guard: Callable[[], None],
    watch: Callable[[str], Callable[[bool], None]],
    may_ask: Callable[[str], Awaitable[bool]],
) -> AsyncIterator[Extractor]:
    """Open the extractor of these settings; ``guard`` is called before anything leaves for a model.

    ``watch`` returns what the model's breaker, where there is one, tells its changes to; ``may_ask`` tells whether the
    budget of a conversation allows a question.
    """
    key = settings.openai_api_key.get_secret_value()
    if not key:
        yield TwoReaders()
        return
    from extractor.model.openai_client import ModelClient  # noqa: PLC0415 - the SDK takes most of a second to import

    client = ModelClient(
        api_key=key,
        base_url=settings.openai_base_url,
        model=settings.openai_model,
        before_request=guard,
        breaker=Breaker(clock=time.monotonic, on_change=watch("modelo")),
    )
    async with HybridExtractor(client, may_ask) as extractor:
        yield extractor


class MeteredExtractor:
    """An extractor that reads as the one inside it does; ``modelo`` is what its model is called."""

    def __init__(self, inside: Extractor, database: Database, modelo: str) -> None:
        self._inside = inside
        self._database = database
        self._modelo = modelo

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Read one turn, and count."""
        leitura = await self._inside.extract(texto, contexto)
        if leitura.uso is not None:
            try:
                async with self._database.alone() as connection:
                    await outside.add_model_use(connection, self._modelo, **asdict(leitura.uso))
            except Exception as error:  # noqa: BLE001 - the words were read: asking again would only cost more
                log.warning("model_use_not_counted", error=type(error).__name__, outage=is_outage(error))
        return leitura


PATIENCE = 2.0  # seconds for a word; a process that ends waits for its last one


class Breakers:
    """Speaks at once when a breaker changes, and now and then in between, so that silence means a dead process.

    ``processo`` is a name that no other process has.
    """

    def __init__(self, database: Database, processo: str, *, every: float = SEEN_EVERY) -> None:
        self._database = database
        self._processo = processo
        self._every = every
        self._open: dict[str, int] = {}
        self._news = asyncio.Event()
        self._stopping = False

    def watch(self, destino: str) -> Callable[[int], None]:
        """Return what is told how many breakers of ``destino`` are open; all begin closed."""
        self._open[destino] = 0

        def changed(abertos: int) -> None:
            self._open[destino] = int(abertos)
            self._news.set()

        return changed

    async def run_once(self) -> None:
        """Say how all of them stand now."""
        async with self._database.transaction() as connection:
            await outside.publish_breakers(connection, self._processo, self._open)

    async def run(self) -> None:
        """Speak until ``stop``, then withdraw; a database that is away is told later."""
        while not self._stopping:
            self._news.clear()
            await self._try(self.run_once)
            try:
                async with asyncio.timeout(self._every):
                    await self._news.wait()
            except TimeoutError:
                pass
        await self._try(self._withdraw)

    def stop(self) -> None:
        """Say no more."""
        self._stopping = True
        self._news.set()

    async def _withdraw(self) -> None:
        async with self._database.transaction() as connection:
            await outside.withdraw_breakers(connection, self._processo)

    async def _try(self, say: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await say()
        except Exception as error:  # noqa: BLE001 - nobody's work may end because a page would like to know
            log.warning("breakers_not_told", error=type(error).__name__, outage=is_outage(error))


LANE_LEASE_SECONDS = 10.0  # renewed while a turn lasts; a dead worker's conversations wait this long
REDIS_TIMEOUT = 2.0  # seconds; a live session that takes longer is read from its snapshot


@dataclass(frozen=True)
class Stores:
    """The open stores, the settings that they were opened with, and the process's figures."""

    settings: Settings
    metrics: Metrics
    database: Database
    redis: Redis
    inbox: Inbox
    lanes: Lanes
    backlog: Backlog
    live: LiveSessions
    budgets: Budgets
    witness: Witness
    keepers: Keepers


@asynccontextmanager
async def open_stores(
    settings: Settings,
    database_url: str,
    redis_url: str,
    witness_file: Path | None = None,
) -> AsyncIterator[Stores]:
    """Open them on these servers; they are closed again in reverse order.

    ``witness_file``: where the database's history is remembered beside Redis, ``None`` where there is no place for it.
    """
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        database = await Database.open(database_url, enter=enter)
        stack.push_async_callback(database.close)
        redis = connect(redis_url, REDIS_TIMEOUT)
        stack.push_async_callback(redis.aclose)
        line = RedisLine(redis, REDIS_TIMEOUT)
        inbox = Inbox(database, settings.debounce_seconds)
        stack.push_async_callback(inbox.close)
        lanes = Lanes(database, LANE_LEASE_SECONDS)
        stack.push_async_callback(lanes.close)
        budgets = Budgets(line, limits_of(settings), lambda budget: metrics.budget_refusals.labels(budget).inc())
        live = LiveSessions(line, settings.session_ttl_seconds)
        witness, keepers = Witness(), Keepers(line, witness_file)
        witness.heard(await keepers.recall())
        backlog = Backlog(database)
        yield Stores(
            settings, metrics, database, redis, inbox, lanes, backlog, live, budgets, witness=witness, keepers=keepers
        )


@dataclass(frozen=True, slots=True)
class Outside:
    """The channels to authorities, the open clients, and how the circuit breakers stand."""

    channels: Channels
    whatsapp: WhatsApp
    register: Register
    cep_register: CepLookup
    extractor: Extractor
    breakers: Breakers


@asynccontextmanager
async def open_outside(stores: Stores, registry: Mapping[str, ChannelRow]) -> AsyncIterator[Outside]:
    """Open them, and the channels of ``registry``; none of them calls anybody under an open transaction."""
    settings = stores.settings
    breakers = Breakers(stores.database, process_name())
    async with AsyncExitStack() as stack:
        channels = Channels(
            registry,
            settings,
            Canal(settings.gateway, Ambiente(settings.fiscal_environment)),
            guard=refuse_in_transaction,
            lines=lines_of(settings, stores.metrics, breakers.watch),
            certificates=KeptCertificates(stores.database, vault_of(settings)),
            kept=KeptGoods(stores.database),
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
        register = await stack.enter_async_context(
            CNPJRegister(settings.cnpj_api_url, timeout=settings.cnpj_api_timeout_seconds, guard=refuse_in_transaction)
        )
        cep_register = await stack.enter_async_context(CepRegister(settings.cep_url, guard=refuse_in_transaction))
        extractor = await stack.enter_async_context(
            open_extractor(settings, refuse_in_transaction, breakers.watch, stores.budgets.model)
        )
        metered = MeteredExtractor(extractor, stores.database, settings.openai_model)
        yield Outside(channels, whatsapp, register, cep_register, metered, breakers)
