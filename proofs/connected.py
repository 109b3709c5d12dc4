"""Opens a house in this process, with its background work and the simulated world around it, over real HTTP."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bot.house import open_house
from bot.orders.origins import ORIGINS
from bot.process.run import serving
from gateway.registry import REGISTRY
from proofs.demo.world import demo_settings
from proofs.sandbox.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from bot.house import House
    from bot.orders.origins import OriginRow
    from bot.settings import Settings
    from gateway.registry import ChannelRow
    from proofs.sandbox.world import WorldConfig

# Short waits: for more messages of a turn, and before the gateway is asked about a note.
IMPATIENT: Final = {"repeat_window_seconds": 0, "debounce_seconds": 0.05, "reconcile_ladder": (0.2, 0.5, 1.0)}


@dataclass(frozen=True, slots=True)
class Connected:
    """What is open: the world, the house in it, and the house's address."""

    world: World
    house: House
    address: str


@asynccontextmanager
async def connected(
    settings: Settings,
    database_url: str,
    redis_url: str,
    config: WorldConfig,
    *,
    between: Callable[[World], Awaitable[dict[str, Any]]] | None = None,
    registry: Mapping[str, ChannelRow] = REGISTRY,
    origins: Mapping[str, OriginRow] = ORIGINS,
    changes: Mapping[str, Any] | None = None,
) -> AsyncIterator[Connected]:
    """Open all of it on stores of the newest schema; on the way out the work in flight ends first.

    ``changes`` are settings that differ from the demo's and from ``IMPATIENT``; ``between`` puts something between
    house and world, and returns the settings that lead through it; ``registry`` and ``origins`` have
    the channels and the origins that the house knows.
    """
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(World(config=config))
        through = await between(world) if between is not None else {}
        update = {**IMPATIENT, **(changes or {}), **through}
        configured = demo_settings(settings, world, 0).model_copy(update=update)
        house = await stack.enter_async_context(
            open_house(configured, database_url, redis_url, registry=registry, origins=origins)
        )
        address = await stack.enter_async_context(serving(house.web_app(), "127.0.0.1", 0))
        world.connect(address)
        stop = asyncio.Event()
        work = asyncio.create_task(house.work(stop))

        async def drain() -> None:
            stop.set()
            await work

        stack.push_async_callback(drain)
        yield Connected(world, house, address)
