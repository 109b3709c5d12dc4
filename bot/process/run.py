"""Runs a process of the product: web, worker, both, or the API alone, until a signal."""

from __future__ import annotations

import asyncio
import gc
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bot.process.connections import Connections, bounded
from bot.process.listening import bound, listening

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Sequence

    from aiohttp import web

    from bot.house import House
    from bot.settings import Settings
    from webhooks.addresses import Network

SHUTDOWN_SECONDS = 5.0  # for requests in progress; each takes milliseconds

# How many objects are made before the cycle collector looks at them, and how often before it looks at older ones too.
# With Python's own (700, 10, 10) it looked 111 times during 40,000 webhooks, 0.8 ms each, and found nothing.
COLLECT = (50_000, 20, 100)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Front:
    """What a process answers: ``port`` is the setting that says where, ``number`` what it says, ``None`` nowhere.

    ``console``: staff log in there, so that a proxy with https stands before it. ``told``: the log says where it is.
    """

    port: str
    number: Callable[[Settings], int | None]
    app: Callable[[House], web.Application]
    told: bool = True
    console: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """What one process of the product does."""

    name: str
    front: Front
    works: bool


_WEB = Front("PROSA_PORT", lambda settings: settings.port, lambda house: house.web_app(), console=True)
_API = Front("PROSA_API_PORT", lambda settings: settings.api_port or settings.port, lambda house: house.api_app())
_PROBES = Front(
    "PROSA_PROBE_PORT", lambda settings: settings.probe_port or None, lambda house: house.probe_app(), told=False
)

PARTS = {
    part.name: part
    for part in (
        Part("serve", _WEB, works=True),
        Part("web", _WEB, works=False),
        Part("worker", _PROBES, works=True),
        Part("api", _API, works=False),
    )
}


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Listen, serve ``app`` and yield its address; port 0 takes a free one. Raises ``DoorError``."""
    with listening(host, port, port="PROSA_PORT") as sockets:
        async with answering(app, sockets):
            yield bound(sockets, host)


@asynccontextmanager
async def answering(
    app: web.Application, sockets: Sequence[socket.socket], trusted: Sequence[Network] = ()
) -> AsyncIterator[None]:
    """Serve ``app`` on sockets that listen already, within the bounds of ``bot.process.connections``."""
    async with bounded(app, sockets, Connections(trusted), shutdown_seconds=SHUTDOWN_SECONDS):
        yield


def settle() -> None:
    """Tell the cycle collector that what is loaded stays: going through it took 90 ms each time (134,000 objects).

    Called once by each process that runs for long, when it has opened everything.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT)


async def run(house: House, stop: asyncio.Event, part: Part, sockets: Sequence[socket.socket]) -> None:
    """Run a part until ``stop`` or until one of its loops dies, which sets ``stop``; both ends go on side by side.

    The doors close and requests are finished (5 s) while what is in hand is drained (6 s).

    Raises:
        ExceptionGroup: with the ``LoopEndedError`` of a loop that died.
    """
    settle()
    proxies = house.settings.trusted_proxies
    async with asyncio.TaskGroup() as group, answering(part.front.app(house), sockets, proxies):
        if part.works:
            group.create_task(house.work(stop))
        address = {"address": bound(sockets, house.settings.host)} if part.front.told else {}
        log.info("started", component=part.name, **address)
        if part.front.console and house.settings.master_key.get_secret_value() and not proxies:
            log.warning("trusted_proxies_unset")  # the console needs https, so somebody stands before it
        await stop.wait()
    log.info("stopped")
