"""`prosa serve` with one origin more: as an entry point of a product that knows it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.cli.opening import Named, settings, until_stopped
from bot.house import open_house
from bot.orders.origins import ORIGINS
from bot.process.run import PARTS, run
from tests.road.second_origin.agenda import keep_ordering, row

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from bot.process.servers import Storage


def main() -> None:
    """Serve until a signal."""
    chosen, part = settings(secrets=True), PARTS["serve"]

    async def work(storage: Storage, stop: asyncio.Event, sockets: Sequence[socket.socket]) -> None:
        origins = {**ORIGINS, **row()}
        async with open_house(chosen, storage.database_url, storage.redis_url, origins=origins) as house:
            ordering = asyncio.create_task(keep_ordering(house))
            try:
                await run(house, stop, part, sockets)
            finally:
                ordering.cancel()

    until_stopped(chosen, work, port=chosen.port, named=Named(part.front.port, "PROSA_HOME"))


if __name__ == "__main__":
    main()
