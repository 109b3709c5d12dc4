"""An order that no conversation gave: issued once, told and cancelled, whenever its process is killed."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from operations.cancel_order import Ordem, cancel
from operations.company import add_company
from proofs.demo.world import COMPANY
from tests.owner import as_owner
from tests.road.road_people import new_phone, until
from tests.road.road_process import Prosa
from tests.road.road_stage import open_stage, waits_passing
from tests.road.second_origin.agenda import DROPPED, TABLES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from proofs.sandbox.ledger import Record
    from tests.road.road_stage import Stage

LOJA = replace(COMPANY, cnpj="99.000.003/0001-92", razao_social="ASSINATURAS LTDA")
CUSTOMER = "12345678000195"
_ids = itertools.count(1)


@pytest.fixture
async def stage(database_url: str, redis_url: str, tmp_path: Path) -> AsyncIterator[Stage]:
    async with open_stage(database_url, redis_url, tmp_path) as opened:
        await as_owner(opened.database.pool, DROPPED)
        await as_owner(opened.database.pool, TABLES)
        await add_company(opened.database, replace(LOJA, usuarios=(new_phone(),)))
        yield opened
        await opened.clear()
        await as_owner(opened.database.pool, DROPPED)


async def _start(stage: Stage) -> Prosa:
    prosa = Prosa((), stage.env, stage.cwd, module="tests.road.second_origin.serve")
    stage.started.append(prosa)
    stage.world.connect(await prosa.start())
    return prosa


async def _due(stage: Stage) -> str:
    """Put an invoice into the agenda; returns its id."""
    due, pool = f"A{next(_ids)}", stage.database.pool
    company = await pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", "99000003000192")
    await pool.execute("INSERT INTO agenda VALUES ($1, $2, $3, $4)", due, company, CUSTOMER, Decimal(next(_ids)))
    return due


async def _heard(stage: Stage, due: str) -> list[tuple[str, str]]:
    heard = "SELECT tipo, aviso FROM agenda_ouviu WHERE agenda_id = $1 AND aviso <> 'demorou'"  # on a slow machine
    rows = await stage.database.pool.fetch(heard, due)
    return [(row["tipo"], row["aviso"]) for row in rows]


async def _hears(stage: Stage, due: str, tipo: str, aviso: str) -> None:
    async def heard() -> bool:
        return (tipo, aviso) in await _heard(stage, due)

    await until(heard)


def _notes(stage: Stage, due: str) -> list[Record]:
    created = stage.world.plugnotas.ledger.of("note.created")
    return [record for record in created if record.data["payload"]["idIntegracao"].startswith(f"{due}-")]


@dataclass(frozen=True)
class Moment:
    """When to kill: as soon as the gateway's book has a fact that fits."""

    name: str
    fits: Callable[[Record], bool]


MOMENTS = [
    Moment("the note is made", lambda r: r.kind == "note.created"),
    Moment("the authority has decided", lambda r: r.kind == "note.settled"),
    Moment("the cancellation is taken", lambda r: r.kind == "cancel.asked"),
]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.name.replace(" ", "-"))
async def test_killed_at_a_moment_of_its_way(stage: Stage, moment: Moment) -> None:
    """One note, told once, and cancelled once by staff's command, with nobody to write to."""
    prosa, struck = await _start(stage), asyncio.Event()

    def look(record: Record) -> None:
        if not struck.is_set() and moment.fits(record):
            prosa.strike()
            struck.set()

    async def revive() -> None:
        await struck.wait()
        await prosa.ended()
        await stage.leases_run_out()
        await _start(stage)

    async with waits_passing(stage):
        hush = stage.world.plugnotas.ledger.listen(look)
        revived = asyncio.create_task(revive())
        try:
            due = await _due(stage)
            await _hears(stage, due, "emissao", "autorizada")
            assert len(_notes(stage, due)) == 1
            await cancel(stage.database, Ordem(nota=f"{due}-r1-1", motivo="pedido em duplicidade pelo cliente"))
            await _hears(stage, due, "cancelamento", "cancelada")
            await revived
        finally:
            hush()
            revived.cancel()
    assert sorted(await _heard(stage, due)) == [("cancelamento", "cancelada"), ("emissao", "autorizada")]
    assert len(_notes(stage, due)) == 1
    assert await stage.database.pool.fetchval("SELECT count(*) FROM outbox") == 0


async def test_killed_before_the_commit(stage: Stage) -> None:
    """What was not committed was never ordered: the next process orders it, once."""
    pool, prosa = stage.database.pool, await _start(stage)
    blocked = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT FROM empresa FOR UPDATE")  # the customer's row refers to it
        due = await _due(stage)
        await until(lambda: pool.fetchval(blocked))
        await prosa.kill()
    assert await pool.fetchval("SELECT count(*) FROM nfse_emissao WHERE sessao_id = $1", due) == 0
    await _start(stage)
    async with waits_passing(stage):
        await _hears(stage, due, "emissao", "autorizada")
    assert len(_notes(stage, due)) == 1
