"""Measures a large list's way through the API: ``python proofs/scripts/upload_bench.py`` sends 10,000 rows in 10 MB.

Of each step: how long it took, the longest moment in which the event loop did nothing else, how much of a processor
the loop's thread used in one go, and by how much the process grew at most. Who sends is another process.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.process.run import settle
from operations.api import make_key
from operations.company import add_company
from operations.month import kept_documents
from persistence.db.engine import Database
from persistence.db.migrate import upgrade
from persistence.embedded import Embedded
from persistence.queue.inbox import Inbox
from proofs.demo.world import COMPANY
from state_machine.mailing.reading import LARGEST, MOST_ROWS
from state_machine.protocol.channel import Ambiente, Canal
from webhooks.api.app import create_api, mount
from webhooks.api.batches import BUDGET
from webhooks.api.call import ApiDeps
from webhooks.bodies import Bodies
from webhooks.month import Months

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TICK = 0.001  # seconds
ROUNDS = 3


@dataclass
class Loop:
    """What was seen of the event loop: seconds."""

    longest: float = 0.0
    busiest: float = 0.0

    async def watch(self) -> None:
        """Look at both clocks every millisecond."""
        wall, used = time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(TICK)
            now, cpu = time.perf_counter(), time.thread_time()
            self.longest, self.busiest = max(self.longest, now - wall - TICK), max(self.busiest, cpu - used)
            wall, used = now, cpu


@asynccontextmanager
async def figures(name: str) -> AsyncIterator[None]:
    """Print what a step cost."""
    _begin_peak()
    before, began, loop = _memory("VmRSS"), time.perf_counter(), Loop()
    watching = asyncio.create_task(loop.watch())
    await asyncio.sleep(0)
    yield
    watching.cancel()
    took, grew = time.perf_counter() - began, _memory("VmHWM") - before
    print(
        f"{name:32} {took:5.1f} s   loop away {loop.longest * 1000:4.0f} ms   "
        f"busy in one go {loop.busiest * 1000:4.0f} ms   grew {grew:4.0f} MB of {before:.0f}"
    )


def _begin_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")  # proc(5): the peak is now what there is


def _memory(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(name)).split()[1]) / 1024


async def _curl(base: str, chave: str, path: str, *said: str) -> Any:
    given = ("-H", f"Authorization: Bearer {chave}", *said, f"{base}{path}")
    process = await asyncio.create_subprocess_exec("curl", "-s", *given, stdout=asyncio.subprocess.PIPE)
    raw, _ = await process.communicate()
    return json.loads(raw)


async def measure(url: str, home: Path) -> None:
    """Send each kind of list, under new keys and again, and read its rows."""
    database = await Database.open(url)
    await add_company(database, COMPANY, Canal("plugnotas"))
    (chave,) = await make_key(database, [COMPANY.cnpj], [], Ambiente.PRODUCAO, tudo=True)
    inbox = Inbox(database, 0.0)
    months = Months(database, kept_documents(database, ()))
    deps = ApiDeps(database, Bodies(), inbox, Ambiente.PRODUCAO, Bodies(large_budget=BUDGET), months, mails=True)
    app = web.Application()
    mount(app, create_api(deps))
    async with TestServer(app) as server:
        base = f"{server.make_url('/api/v1')}"
        settle()  # as every process of ours that runs for long
        async with figures("nothing, for two seconds"):
            await asyncio.sleep(2)
        for number in range(ROUNDS):
            for kind, file in _files(home, number).items():
                key = f"Idempotency-Key: {file.stem}"
                sent = ("-H", key, "-F", f"arquivo=@{file}", "-F", "tipo=envio", "-F", "assunto=Oi")
                async with figures(f"{kind}: sent"):
                    batch = await _curl(base, chave, "/lotes", *sent)
                assert batch.get("totais", {}).get("linhas") == MOST_ROWS, batch
                async with figures(f"{kind}: sent again"):
                    await _curl(base, chave, "/lotes", *sent)
                async with figures(f"{kind}: 1,000 rows shown"):
                    await _curl(base, chave, f"/lotes/{batch['id']}/linhas?limite=1000")
    await inbox.close()
    await database.close()


def _files(home: Path, number: int) -> dict[str, Path]:
    """Return a list of 10 MB with texts, and one of addresses alone, each new."""
    text = "palavra ção " * 70  # 980 bytes
    heads = {"with texts": ("email;mensagem", text), "without texts": ("email;documento", "12345678000195")}
    made = {}
    for kind, (head, cell) in heads.items():
        made[kind] = home / f"{kind.replace(' ', '-')}-{number}.csv"
        with made[kind].open("w") as file:
            file.write(head)
            file.writelines(f"\nuser{row}-{number}@test.com.br;{cell}" for row in range(MOST_ROWS))
        assert made[kind].stat().st_size <= LARGEST
    return made


def main() -> None:
    """Open servers of its own, which are gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="prosa-bench-"))
    try:
        with Embedded.start(home / "servers", durable=False) as servers:
            upgrade(servers.servers.owner_url, servers.servers.database_url)
            asyncio.run(measure(servers.servers.database_url, home))
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
