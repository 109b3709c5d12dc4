"""Runs the house as a process: web, worker or both, until a signal; opens nothing by itself."""

from __future__ import annotations

import asyncio
import gc
import signal
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import structlog
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.house import House

SHUTDOWN_SECONDS = 5.0  # for requests in progress; each takes milliseconds

# How many objects are made before the cycle collector looks at them, and how often before it looks at older ones too.
# With Python's own (700, 10, 10) it looked 111 times during 40,000 webhooks, 0.8 ms each, and found nothing.
COLLECT = (50_000, 20, 100)

log = structlog.get_logger(__name__)


def stop_on_signals() -> asyncio.Event:
    """Return an event that SIGTERM or SIGINT sets."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Serve ``app`` and yield its address; port 0 takes a free one."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS, handler_cancellation=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        bound = runner.addresses[0][1]
        yield f"http://{host}:{bound}"
    finally:
        await runner.cleanup()


def settle() -> None:
    """Tell the cycle collector that what is loaded stays: going through it took 90 ms each time (134,000 objects).

    Called once by each process that runs for long, when it has opened everything.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT)


async def run(house: House, stop: asyncio.Event, *, with_web: bool, with_worker: bool) -> None:
    """Run the chosen parts until ``stop``; the web closes its doors before the worker is drained."""
    settings = house.settings
    settle()
    if not with_web:
        async with AsyncExitStack() as stack:
            if settings.probe_port:
                await stack.enter_async_context(serving(house.probe_app(), settings.host, settings.probe_port))
            log.info("started", component="worker")
            await house.work(stop)
        log.info("stopped")
        return
    work_stop = asyncio.Event()
    work = asyncio.create_task(house.work(work_stop)) if with_worker else None
    async with serving(house.web_app(), settings.host, settings.port) as address:
        log.info("started", component="serve" if with_worker else "web", address=address)
        waits = [asyncio.create_task(stop.wait()), *([work] if work else [])]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        work_stop.set()  # drains while the last requests are answered: both together must fit into 10 s
    if work:
        await work
    log.info("stopped")
