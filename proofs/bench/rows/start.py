"""Start times: ``prosa serve`` to its first ready answer, and ``prosa demo`` to its page, with warm files."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import aiohttp

from proofs.bench.figure import Figure, at_most
from proofs.bench.machine.child import Child
from proofs.bench.machine.environment import settings
from proofs.storm.labels import written

if TYPE_CHECKING:
    from pathlib import Path

    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "start"
MOST_SECONDS = 60.0


async def measure(place: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; the first start of each, which compiles and makes its database, is told apart."""
    pycache = {"PYTHONPYCACHEPREFIX": str(place.home / "pycache"), "PYTHONDONTWRITEBYTECODE": ""}
    await served(place, pycache)
    demo_home = place.home / "demo"
    first = await demonstrated(place, demo_home, pycache)
    found = await plan.in_turns(
        {
            "serve": lambda: served(place, pycache),
            "demo": lambda: demonstrated(place, demo_home, pycache),
            "help": lambda: helped(place, pycache),
        }
    )
    return [
        Figure(row=ROW, name="prosa serve até ficar pronto, a quente", unit="s", ours=tuple(found["serve"]),
               reach=at_most(1.5), note="com os servidores já no ar"),
        Figure(row=ROW, name="prosa demo até a página, a quente", unit="s", ours=tuple(found["demo"]), reach=at_most(5),
               note=f"com PostgreSQL e Valkey próprios; a primeira vez levou {written(first, '.1f')} s"),
        Figure(row=ROW, name="prosa --help", unit="s", ours=tuple(found["help"])),
    ]  # fmt: skip


async def served(place: Place, env: dict[str, str]) -> float:
    """Return the seconds until ``/readyz`` says 200."""
    async with place.database() as database:
        child = Child(["bot.cli", "serve"], {**settings(place, database), **env}, _log(place), cwd=place.home)
        try:
            address = await child.up()
            async with aiohttp.ClientSession() as session, session.get(f"{address}/readyz") as answer:
                answer.raise_for_status()
            return time.perf_counter() - child.started_at
        finally:
            await child.stop()


async def demonstrated(place: Place, home: Path, env: dict[str, str]) -> float:
    """Return the seconds until the demo's page answers; its home is kept for the next time."""
    child = Child(["proofs", "demo", "--port", "0", "--home", str(home)], env, _log(place), cwd=place.home)
    try:
        async with asyncio.timeout(MOST_SECONDS):
            while "http://" not in (said := child.log.read_text()):
                if child.process.poll() is not None:
                    raise RuntimeError(f"prosa demo não iniciou: {said[-2000:]}")
                await asyncio.sleep(0.005)
        address = "http://" + said.partition("http://")[2].split()[0]
        async with aiohttp.ClientSession() as session, session.get(address) as answer:
            answer.raise_for_status()
        return time.perf_counter() - child.started_at
    finally:
        await child.stop()


async def helped(place: Place, env: dict[str, str]) -> float:
    """Return the seconds of a command that needs nothing."""
    child = Child(["proofs", "--help"], env, _log(place), cwd=place.home)
    await asyncio.to_thread(child.process.wait)
    return time.perf_counter() - child.started_at


def _log(place: Place) -> Path:
    return place.home / f"start-{time.monotonic_ns()}.log"
