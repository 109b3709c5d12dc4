"""Acknowledgement: durable 200s per second beside the same server storing nothing, pywa, and FastAPI with INSERTs."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import TYPE_CHECKING, Any

from bench.bare import bare_inserts
from bench.cores import can_part
from bench.figure import Figure, at_least, at_most, times_at_least, times_at_most
from bench.pressing import CONNECTIONS, Pressed, by_turns, pressed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.place import Place
    from bench.plan import Plan

ROW = "ack"
APART, TOGETHER = "own core", "shared cores"
RATE, CPU = f"durable 200s per second, {CONNECTIONS} connections", "CPU of the server per request"
IDLE_PAUSE = 0.02  # seconds between the messages of an idle house
NEEDS = {"pywa": ("pywa", "fastapi", "uvicorn"), "fastapi-insert": ("fastapi", "uvicorn")}
PEERS = {"pywa": ("pywa on FastAPI + uvicorn, stores nothing", 2.5), "fastapi-insert": ("FastAPI, one INSERT each", 3)}


async def measure(place: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; raises ``RuntimeError`` when an answer was not 200 or a 200 was not stored.

    Under load the server has a core to itself, like one whose database and callers are elsewhere; ours and verifying
    are also pressed without, as all then get into each other's way.
    """
    apart = can_part()
    pair = ("ours", "verify")
    sides: dict[str, Callable[[], Awaitable[Any]]] = {}
    if apart:
        sides[APART] = partial(by_turns, place, pair, plan.seconds, apart=True)
    else:
        plan.step("this system does not hold processes to cores: all share them")
    sides[TOGETHER] = partial(by_turns, place, pair, plan.seconds)
    for name, modules in NEEDS.items():
        if all(importlib.util.find_spec(module) for module in modules):
            sides[name] = partial(pressed, place, name, plan.seconds, apart=apart)
        else:
            plan.step(f"{name} left out: install requirements-bench.lock")
    sides["empty"] = partial(pressed, place, "empty", min(plan.seconds, 3), apart=apart)
    sides["idle"] = partial(pressed, place, "ours", plan.seconds, connections=1, pause=IDLE_PAUSE)
    sides["idle-empty"] = partial(pressed, place, "empty", plan.seconds, connections=1, pause=IDLE_PAUSE)
    sides["idle-bare"] = partial(_bare, place, plan.seconds)
    return figures(await plan.in_turns(sides))


async def _bare(place: Place, seconds: float) -> tuple[float, float]:
    async with place.database() as database:
        return await bare_inserts(database, seconds=seconds, pause=IDLE_PAUSE)


def figures(found: dict[str, list[Any]]) -> list[Figure]:
    """Turn the rounds of each side into figures: ``Pressed``, pairs of it, and p50 and p99 of the bare INSERT."""
    modes = [mode for mode in (APART, TOGETHER) if mode in found]
    made = [figure for mode in modes for figure in _beside_verifying(mode, found[mode])]
    where = modes[0]
    ours = [pair["ours"] for pair in found[where]]
    rate = _of(ours, "per_second")
    for peer, (what, bound) in PEERS.items():
        if peer in found:
            made.append(
                Figure(row=ROW, name=f"{RATE}, {where}", unit="/s", ours=rate, reference=_of(found[peer], "per_second"),
                       against=what, reach=times_at_least(bound))
            )  # fmt: skip
            made.append(
                Figure(row=ROW, name=f"{CPU}, {where}", unit="µs", ours=_of(ours, "cpu_us"),
                       reference=_of(found[peer], "cpu_us"), against=what)
            )  # fmt: skip
    made += [
        *(
            Figure(
                row=ROW, name=f"{name}, idle", unit="ms", ours=_of(found["idle"], f"{name}_ms"),
                reference=_of(found["idle-empty"], f"{name}_ms"), against="a server that looks at nothing", reach=reach,
            )
            for name, reach in (("p50", None), ("p99", at_most(3)))
        ),
        *(
            Figure(
                row=ROW, name=f"{name}, idle", unit="ms", ours=_of(found["idle"], f"{name}_ms"),
                reference=tuple(bare[place] for bare in found["idle-bare"]), against="one INSERT by itself",
                note="PostgreSQL and the disk, without HTTP and without us",
            )
            for place, name in enumerate(("p50", "p99"))
        ),
        Figure(
            row=ROW, name="the load generator's own limit", unit="/s", ours=_of(found["empty"], "per_second"),
            reference=rate, against="our rate", reach=at_least(0), note="against an empty server",
        ),
    ]  # fmt: skip
    return made


def _beside_verifying(where: str, pairs: list[dict[str, Pressed]]) -> list[Figure]:
    ours, verify = [pair["ours"] for pair in pairs], [pair["verify"] for pair in pairs]
    return [
        Figure(
            row=ROW, name=f"{what}, {where}", unit=unit, ours=_of(ours, field), reference=_of(verify, field),
            against="verifying only", reach=reach,
        )
        for what, unit, field, reach in (
            (RATE, "/s", "per_second", times_at_least(0.9)),
            ("p99 under that load", "ms", "p99_ms", times_at_most(2)),
            (CPU, "µs", "cpu_us", None),
        )
    ]  # fmt: skip


def _of(runs: list[Pressed], name: str) -> tuple[float, ...]:
    return tuple(getattr(run, name) for run in runs)
