"""Growth: what a turn costs, and what a worker holds, with few and with many stored and live sessions."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from proofs.bench.figure import Figure, at_most, times_at_most
from proofs.bench.load.seed import seed
from proofs.bench.load.town import admit, open_town, person
from proofs.bench.machine.cpu import resident
from proofs.bench.rows.turns import PEOPLE, talk
from proofs.storm.labels import written

if TYPE_CHECKING:
    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan
    from proofs.bench.rows.turns import Ran

ROW = "growth"
FEW_SIDE, MANY_SIDE = "poucas sessões", "muitas sessões"
FEW = 1_000
PIPELINE = 2_000  # SETs sent together


async def measure(place: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; the many live sessions are copies of one that a real turn left in Redis."""
    async with AsyncExitStack() as stack:
        few = await stack.enter_async_context(place.database())
        many = await stack.enter_async_context(place.database())
        for url, sessions in ((few, FEW), (many, plan.sessions)):
            plan.step(f"gravando {written(sessions, ',d')} sessões")
            await admit(url, (plan.rounds + 1) * PEOPLE)
            await seed(place.as_owner(url), sessions)
        offsets = {FEW_SIDE: 0, MANY_SIDE: 0}

        async def at(name: str, url: str) -> tuple[Ran, int]:
            first = offsets[name]
            offsets[name] += PEOPLE
            async with open_town(place, people=(plan.rounds + 1) * PEOPLE, database=url) as town:
                ran = await talk(town, plan.seconds, people=PEOPLE, pause=0, first=first)
                return ran, resident(town.workers[0].pid)

        await at(FEW_SIDE, few)  # leaves live sessions behind, one of which is copied
        per_session = await enliven(place, plan.live)
        found = await plan.in_turns({FEW_SIDE: lambda: at(FEW_SIDE, few), MANY_SIDE: lambda: at(MANY_SIDE, many)})
    return figures(found, per_session, plan)


def figures(found: dict[str, list[tuple[Ran, int]]], per_session: float, plan: Plan) -> list[Figure]:
    """Turn the rounds of both sides into figures."""
    few, many = found[FEW_SIDE], found[MANY_SIDE]

    def cost(runs: list[tuple[Ran, int]], *roles: str) -> tuple[float, ...]:
        return tuple(ran.cost(*roles) for ran, _ in runs)

    live = f"{written(plan.live, ',d')} vivas"
    against, note = f"{written(FEW, ',d')} gravadas", f"{written(plan.sessions, ',d')} gravadas, {live}"
    return [
        Figure(row=ROW, name="CPU de web, worker e PostgreSQL por turno", unit="ms",
               ours=cost(many, "web", "worker", "postgres"), reference=cost(few, "web", "worker", "postgres"),
               against=against, reach=times_at_most(1.2), note=note),
        Figure(row=ROW, name="memória de um worker", unit="MB", ours=tuple(size / 1e6 for _, size in many),
               reference=tuple(size / 1e6 for _, size in few), against=against, reach=times_at_most(1.2), note=note),
        Figure(row=ROW, name="Redis por sessão viva", unit="bytes", ours=(per_session,), reach=at_most(4096),
               note=live),
    ]  # fmt: skip


async def enliven(place: Place, live: int) -> float:
    """Put ``live`` copies of a live session under keys of their own; returns the bytes that each takes."""
    async with place.redis() as redis:
        key = f"prosa:sessao:106540352242922:{person(0)}"
        model: Any = await redis.get(key)
        if model is None:
            raise RuntimeError("nenhum turno deixou uma sessão viva no Redis")
        sessao = json.loads(model)
        before = int((await redis.info("memory"))["used_memory"])
        for first in range(0, live, PIPELINE):
            pipeline = redis.pipeline(transaction=False)
            for number in range(first, min(first + PIPELINE, live)):
                who = f"106540352242922:55319{60_000_000 + number}"
                data = json.dumps({**sessao, "conversa": who}, ensure_ascii=False, separators=(",", ":"))
                pipeline.set(f"prosa:sessao:{who}", data, ex=3600)
            await pipeline.execute()
        after = int((await redis.info("memory"))["used_memory"])
    return (after - before) / max(1, live)
