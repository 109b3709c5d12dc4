"""`prosa serve` with one row more in the registry: as an entry point of a product that knows this channel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bot.cli.opening import Named, settings, until_stopped
from bot.house import open_house
from bot.process.run import PARTS, run
from gateway.registry import REGISTRY
from tests.road.second_channel.adapter import row

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Sequence

    from bot.process.servers import Storage


def main() -> None:
    """Serve until a signal."""
    chosen, part = settings(secrets=True), PARTS["serve"]
    registry = {**REGISTRY, **row(os.environ["CITY_URL"])}

    async def work(storage: Storage, stop: asyncio.Event, sockets: Sequence[socket.socket]) -> None:
        async with open_house(chosen, storage.database_url, storage.redis_url, registry=registry) as house:
            await run(house, stop, part, sockets)

    until_stopped(chosen, work, port=chosen.port, named=Named(part.front.port, "PROSA_HOME"))


if __name__ == "__main__":
    main()
