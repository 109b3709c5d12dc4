"""The stores of a process: PostgreSQL, Redis, and what is built on them."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.budgets import Budgets
from bot.policy import limits_of
from persistence.conversations.redis_line import RedisLine, connect
from persistence.conversations.sessions import LiveSessions
from persistence.db.engine import Database
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from persistence.queue.lanes import Lanes
from persistence.witness.outside import Keepers
from persistence.witness.row import Witness
from telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection
    from pathlib import Path

    from redis.asyncio import Redis

    from bot.settings import Settings

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
    known: tuple[Collection[str], Collection[str]],
    witness_file: Path | None = None,
) -> AsyncIterator[Stores]:
    """Open them on these servers; they are closed again in reverse order. ``known``: channels and origins.

    ``witness_file``: where the database's history is remembered beside Redis, ``None`` where there is no place for it.
    """
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        database = await Database.open(database_url)
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
        backlog = Backlog(database, *known)
        yield Stores(
            settings, metrics, database, redis, inbox, lanes, backlog, live, budgets, witness=witness, keepers=keepers
        )
