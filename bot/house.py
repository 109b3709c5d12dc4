"""The composition root: opens the stores and clients, builds what runs on them, returns one object."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot.loops.jobs import JobContext
from bot.loops.schedule import Schedule
from bot.loops.supervision import together
from bot.loops.witness import Beats
from bot.orders.accept import Door
from bot.orders.audit import Audit
from bot.orders.cancellation_news import seen_cancelled
from bot.orders.origins import ORIGINS, Origins
from bot.orders.slow_notice import SlowNotices
from bot.policy import politica_of, prazos_of
from bot.subjects.table import jobs
from bot.wiring.handlers import open_worker
from bot.wiring.outside import open_outside
from bot.wiring.pumps import Pumps
from bot.wiring.stores import Stores, open_stores
from bot.wiring.web import api_app, probe_app, web_app
from gateway.registry import REGISTRY
from operations.national.cities import ask_due
from operations.national.distribution import Feed

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from aiohttp import web

    from bot.loops.supervision import Loop
    from bot.loops.worker import LaneWorker
    from bot.orders.origins import OriginRow
    from bot.settings import Settings
    from gateway.registry import ChannelRow


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
    opened = open_stores(settings, database_url, redis_url, (tuple(registry), tuple(origins)), witness_file)
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
            slow_notices = SlowNotices(database, known, politica_of(settings).avisar_apos)
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
