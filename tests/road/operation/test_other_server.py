"""`prosa serve` against `python -m proofs.sandbox`: three processes that share nothing but HTTP and settings."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import aiohttp

from operations.company import add_company
from persistence.db.engine import Database
from proofs.demo.world import COMPANY
from proofs.sandbox.world import Ports, World, WorldConfig
from tests import children
from tests.patience import PATIENCE
from tests.road.road_people import FULL, new_phone, until
from tests.road.road_process import ROOT, Prosa, environment

if TYPE_CHECKING:
    from pathlib import Path

FREE = ("--meta-port=0", "--plugnotas-port=0", "--cnpj-port=0", "--model-port=0")


async def test_the_road_works_against_any_server_that_speaks_the_contracts(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """With three addresses set and nothing else, an invoice is issued, and the other process's book has it once."""
    ready = asyncio.get_running_loop().create_future()

    async def read(process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            if not ready.done():
                ready.set_result(json.loads(line))

    sandbox = await children.start(
        sys.executable,
        "-m",
        "proofs.sandbox",
        *FREE,
        "--bot-url=-",
        "--processing=0.05",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    reader = asyncio.create_task(read(sandbox))
    prosa: Prosa | None = None
    try:
        async with asyncio.timeout(PATIENCE):
            urls: dict[str, Any] = await ready
        ports = Ports(*(int(urls[name].rsplit(":", 1)[1]) for name in ("meta", "plugnotas", "cnpj", "model")))
        world = World(config=WorldConfig(ports=ports))  # never opened: it only knows addresses and default secrets
        for simulator in world.simulators:
            simulator.port = getattr(ports, simulator.name)
        prosa = Prosa(("serve",), environment(world, database_url, redis_url), tmp_path)
        assert sandbox.stdin is not None
        sandbox.stdin.write(f"{await prosa.start()}\n".encode())
        await _issue(urls, database_url)
    finally:
        if prosa is not None:
            await prosa.terminate()
        sandbox.terminate()
        await sandbox.wait()
        await reader


async def _issue(urls: dict[str, Any], database_url: str) -> None:
    who = new_phone()
    database = await Database.open(database_url, size=1)
    await add_company(database, replace(COMPANY, usuarios=(who,)))
    await database.close()
    async with aiohttp.ClientSession(raise_for_status=True) as session:

        async def say(**words: Any) -> None:
            async with session.post(f"{urls['meta']}/_sandbox/user", json={"who": who, **words}):
                pass

        async def heard(count: int) -> list[dict[str, Any]] | None:
            async with session.get(f"{urls['meta']}/_sandbox/conversations/{who}") as response:
                bubbles = (await response.json())["bubbles"]
            answers = [bubble for bubble in bubbles if bubble["side"] == "bot"]
            return answers if len(answers) >= count else None

        await say(text=FULL)
        [summary] = await until(lambda: heard(1), PATIENCE)
        button = summary["buttons"][0]
        await say(button={"id": button["id"], "title": button["title"]}, context=summary["id"])
        [_, *files] = await until(lambda: heard(3), PATIENCE)
        async with session.get(files[0]["attachment"]["url"]) as response:
            assert (await response.read()).startswith(b"%PDF")
        async with session.get(f"{urls['plugnotas']}/_sandbox/ledger?kind=note.created") as response:
            assert len(await response.json()) == 1
