"""Acknowledgement: durable 200s per second beside the same server storing nothing, pywa, and FastAPI with INSERTs."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import TYPE_CHECKING, Any

from proofs.bench.figure import Figure, at_least, at_most, percentile, times_at_least, times_at_most
from proofs.bench.load.pressing import CONNECTIONS, Pressed, by_turns, pressed, serving
from proofs.bench.machine.cores import can_part
from proofs.bench.peers.bare import bare

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "ack"
APART, TOGETHER = "núcleo próprio", "núcleos divididos"
RATE, CPU = f"respostas 200 gravadas por segundo, {CONNECTIONS} conexões", "CPU do servidor por requisição"
EMPTY, IDLE, IDLE_EMPTY = "servidor vazio", "ocioso", "ocioso, servidor vazio"
IDLE_PAUSE = 0.02  # seconds between the messages of an idle house
IDLE_SECONDS = 2.5  # of a turn there
NEEDS = {"pywa": ("pywa", "fastapi", "uvicorn"), "fastapi-insert": ("fastapi", "uvicorn")}
PEERS = {
    "pywa": ("pywa em FastAPI + uvicorn, não grava nada", 2.5),
    "fastapi-insert": ("FastAPI, um INSERT por mensagem", 3),
}


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
        plan.step("este sistema não prende processos a núcleos: todos os dividem")
    sides[TOGETHER] = partial(by_turns, place, pair, plan.seconds)
    for name, modules in NEEDS.items():
        if all(importlib.util.find_spec(module) for module in modules):
            sides[name] = partial(pressed, place, name, plan.seconds, apart=apart)
        else:
            plan.step(f"{name} ficou de fora: instale requirements/bench.lock")
    sides[EMPTY] = partial(pressed, place, "empty", min(plan.seconds, 3), apart=apart)
    sides[IDLE] = partial(_idle, place, plan.seconds)
    sides[IDLE_EMPTY] = partial(pressed, place, "empty", plan.seconds, connections=1, pause=IDLE_PAUSE)
    return figures(await plan.in_turns(sides))


async def _idle(place: Place, seconds: float) -> tuple[Pressed, list[float]]:
    """Send one message every now and then, by turns with a bare INSERT, so that both meet the same disk."""
    async with serving(place, "ours") as ours, place.database() as url, bare(place.as_owner(url)) as insert:
        await ours.warm(min(1.0, seconds / 4), connections=1, pause=IDLE_PAUSE)
        turns = max(1, round(seconds / IDLE_SECONDS))
        for _ in range(turns):
            await ours.press(seconds / turns, connections=1, pause=IDLE_PAUSE)
            await insert.press(seconds / turns, pause=IDLE_PAUSE)
        return await ours.told(), insert.taken_ms


def figures(found: dict[str, list[Any]]) -> list[Figure]:
    """Turn the rounds of each side into figures: ``Pressed``, pairs of it, and p50 and p99 of the bare INSERT."""
    modes = [mode for mode in (APART, TOGETHER) if mode in found]
    where = modes[0]
    made = [figure for mode in modes for figure in _beside_verifying(mode, found[mode], bound=mode == where)]
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
    idle = [ours for ours, _ in found[IDLE]]
    alone = [taken for _, taken in found[IDLE]]
    made += [
        figure
        for name, share, reach in (("p50, ocioso", 0.5, None), ("p99, ocioso", 0.99, at_most(3)))
        for figure in (
            Figure(
                row=ROW, name=name, unit="ms", ours=tuple(run.taken_ms(share) for run in idle),
                reference=tuple(percentile(taken, share) for taken in alone), against="um INSERT sozinho",
                reach=reach, note="PostgreSQL e disco, sem HTTP e sem a Prosa",
            ),
            Figure(
                row=ROW, name=name, unit="ms", ours=tuple(run.taken_ms(share) for run in idle),
                reference=tuple(run.taken_ms(share) for run in found[IDLE_EMPTY]),
                against="um servidor que não lê nada",
            ),
        )
    ]  # fmt: skip
    made += [
        Figure(
            row=ROW, name="limite do próprio gerador de carga", unit="/s", ours=_of(found[EMPTY], "per_second"),
            reference=rate, against="o nosso ritmo", reach=at_least(0), note="contra um servidor vazio",
        ),
    ]  # fmt: skip
    return made


def _beside_verifying(where: str, pairs: list[dict[str, Pressed]], *, bound: bool) -> list[Figure]:
    ours, verify = [pair["ours"] for pair in pairs], [pair["verify"] for pair in pairs]
    figure = partial(Figure, row=ROW, against="só conferir, sem gravar")
    return [
        figure(
            name=f"{RATE}, {where}", unit="/s", reach=times_at_least(0.9) if bound else None,
            ours=tuple(rate for run in ours for rate in run.rates()),
            reference=tuple(rate for run in verify for rate in run.rates()),
            note="fatias de cerca de meio segundo, cada uma com a vizinha do outro lado",
        ),
        figure(
            name=f"o mesmo, fatias somadas, {where}", unit="/s", ours=_of(ours, "per_second"),
            reference=_of(verify, "per_second"), note="um disco que trava pesa o quanto a parada dura",
        ),
        figure(
            name=f"p99 sob essa carga, {where}", unit="ms", ours=tuple(run.taken_ms(0.99) for run in ours),
            reference=tuple(run.taken_ms(0.99) for run in verify), reach=times_at_most(2) if bound else None,
        ),
        figure(
            name=f"{CPU}, {where}", unit="µs", ours=_of(ours, "cpu_us"), reference=_of(verify, "cpu_us")
        ),
    ]  # fmt: skip


def _of(runs: list[Pressed], name: str) -> tuple[float, ...]:
    return tuple(getattr(run, name) for run in runs)
