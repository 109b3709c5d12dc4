"""A database that forgets its newest commits, and the operator who has the program go on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import asyncpg

from proofs.storm.channels.table import CHANNELS
from proofs.storm.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from proofs.sandbox.world import World
    from proofs.storm.machines.servers import Servers
    from proofs.storm.plan import Blow

UNSURE = timedelta(seconds=30)  # before the copy: what was seen outside by then was committed, frozen workers included
FORGETS = 3.0  # seconds of commits that are gone, at least
LATE = 5.0  # seconds: what the gateway takes late it has taken by then, before the operator reads its numbers
TRIES = 40  # of the operator's command: the authority, and the database after a crash, are away at times
PAUSE = 0.5  # seconds between tries
SEQUENCES = """
SELECT n.id, e.cnpj, c.canal, n.serie, n.ultimo FROM numeracao n
JOIN empresa e ON e.id = n.empresa_id JOIN empresa_canal c ON c.empresa_id = e.id
WHERE n.modelo = 'nfse'
"""


@dataclass(frozen=True, slots=True)
class Loss:
    """What the database may know nothing of: everything between these moments, by the clock of the books."""

    begun: datetime
    ended: datetime

    def holds(self, at: datetime) -> bool:
        """Say whether something that was seen then may be forgotten."""
        return self.begun <= at <= self.ended


class Oblivion:
    """Has the database forget, and everybody who spoke with the product meanwhile ask again."""

    def __init__(self, world: World, servers: Servers, environment: Mapping[str, str]) -> None:
        self.losses: list[Loss] = []
        self._world = world
        self._servers = servers
        self._environment = environment
        self._over = asyncio.Event()  # of the present loss; the next one has an event of its own

    async def felt(self) -> None:
        """Wait until a loss is over that begins or goes on after this call."""
        await self._over.wait()

    async def strike(self, blow: Blow, fair: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        """Copy, go on for a while, put the copy back; then an operator has the program go on, and the people are told.

        The operator asks the authorities in ``fair`` weather.
        """
        begun = datetime.now(UTC) - UNSURE
        await self._servers.copy_database()
        await asyncio.sleep(FORGETS + blow.lasts)
        await self._servers.put_back(promote=blow.kind is Kind.FAILOVER)
        await asyncio.sleep(LATE)
        async with fair():
            await self._go_on()
        self.losses.append(Loss(begun, datetime.now(UTC)))
        over, self._over = self._over, asyncio.Event()
        over.set()

    async def _go_on(self) -> None:
        said = ""
        for _ in range(TRIES):
            try:
                numbers = await self._numbers()
            except (OSError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError):
                await asyncio.sleep(PAUSE)
                continue
            command = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "bot.cli",
                "restaurado",
                *(word for number, last in numbers for word in ("--rps", f"{number}:{last}")),
                env=dict(self._environment),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            told, _ = await command.communicate()
            if command.returncode == 0:
                return
            said = told.decode(errors="replace")
            await asyncio.sleep(PAUSE)
        raise RuntimeError(f"prosa restaurado: {said}")

    async def _numbers(self) -> list[tuple[int, int]]:
        """Return each sequence whose last number an operator reads on the gateway's page, with that number."""
        connection = await asyncpg.connect(self._servers.database_url)
        try:
            known = await connection.fetch(SEQUENCES)
        finally:
            await connection.close()
        lasts = ((row, CHANNELS[row["canal"]].last_number) for row in known)
        return [
            (row["id"], max(row["ultimo"], last(self._world, row["cnpj"], row["serie"])))
            for row, last in lasts
            if last is not None
        ]
