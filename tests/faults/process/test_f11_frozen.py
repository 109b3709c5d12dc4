from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.faults.tcp_proxy import TcpProxy
from tests.road.road_people import FULL, until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from proofs.sandbox.ledger import Record
    from proofs.sandbox.server import Simulator
    from tests.road.road_process import Prosa
    from tests.road.road_stage import Stage

OTHERS = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
TELLING_SECONDS = 5.0  # a backend that sends to the frozen process stays active for as long as it is frozen
NOBODY_AT_WORK = f"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND {OTHERS})"  # noqa: S608 - ours
NOBODY_INSIDE = f"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE state LIKE 'idle in%' AND {OTHERS})"  # noqa: S608 - ours


async def test_a_worker_that_wakes_up_past_its_leases_changes_nothing(stage: Stage) -> None:
    """Frozen with a turn and an order in hand, taken over, thawed: its commits are refused, and all is there once."""
    urls = stage.world.urls
    async with TcpProxy(urls.plugnotas) as gateway, TcpProxy(urls.cnpj_api) as register:
        await stage.start("web")
        # It is given no answer before it is thawed, however long a busy machine takes to freeze it.
        frozen = await stage.start(
            "worker",
            PROSA_PLUGNOTAS_URL=gateway.url,
            PROSA_CNPJ_API_URL=register.url,
            PROSA_GATEWAY_TIMEOUT_SECONDS="60",
            PROSA_CNPJ_API_TIMEOUT_SECONDS="60",
        )
        ana, bia = await stage.person(), await stage.person()
        await ana.say(FULL)
        await stage.settled()
        gateway.held = register.held = True
        ordered = next_of(stage.world.plugnotas, "note.created")
        await ana.touch("Confirmar")
        await ordered()
        await stage.database.pool.execute("DELETE FROM cnpj_cache")
        asked = next_of(stage.world.cnpj, "lookup")
        await bia.tell(FULL)
        await asked()
        await freeze_between_transactions(stage, frozen)
        await stage.leases_run_out()
        await stage.start("worker")
        await bia.expect("R$ 1.500,00")
        pool = stage.database.pool
        await until(lambda: pool.fetchval("SELECT bool_or(epoch > 1) FROM nfse_emissao"))
        frozen.proceed()
        gateway.held = register.held = False
        await until(lambda: _said(frozen, "lease_lost"))
        await until(lambda: _said(frozen, "emission_lease_lost"))
        await ana.files()
        await stage.one_note(ana)
        assert len(bia.answers) == 1
        assert len(await stage.sessions(bia)) == 1


async def freeze_between_transactions(stage: Stage, prosa: Prosa) -> None:
    """Freeze it while it holds no row: a lock would keep everybody from its leases until the database cuts it off."""
    pool = stage.database.pool

    async def frozen() -> bool:
        prosa.freeze()

        async def told() -> bool:  # what was asked before the freeze is answered, or waits for one who is inside
            return bool(await pool.fetchval(NOBODY_AT_WORK)) or not await pool.fetchval(NOBODY_INSIDE)

        try:
            async with asyncio.timeout(TELLING_SECONDS):
                await until(told)
        except TimeoutError:  # it holds on to something else: another moment serves as well
            prosa.proceed()
            return False
        if await pool.fetchval(NOBODY_INSIDE) and await pool.fetchval(NOBODY_AT_WORK):
            return True
        prosa.proceed()
        return False

    await until(frozen)


def next_of(simulator: Simulator, kind: str) -> Callable[[], Awaitable[Record]]:
    """Return what waits for the first fact of this kind from now on."""
    begun = len(simulator.ledger.of())
    return lambda: simulator.ledger.wait_for(lambda record: record.seq > begun and record.kind == kind)


async def _said(prosa: Prosa, event: str) -> bool:
    return any(entry.get("event") == event for entry in prosa.log)
