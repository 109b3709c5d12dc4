"""Keeps the dashboard's sums over all companies, counted by one worker now and then; the counting is staff_figures'."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.access.accounts import Alcance
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.staff import figures as staff_figures
from persistence.staff.figures import Caminho
from persistence.tables import painel

DAYS: Final = (7, 30, 90)
FRESH: Final = timedelta(minutes=30)  # three countings; older sums mean that no worker runs, and the page counts itself


@dataclass(frozen=True, slots=True)
class Painel:
    """What the dashboard shows, and when it was counted."""

    caminho: Caminho
    por_dia: list[tuple[str, int]]
    recusas: list[tuple[str, int]]
    contado_em: datetime


async def read(connection: Connection, alcance: Alcance, days: int) -> Painel:
    """Return the kept sums for who sees every company; else, and without fresh ones, count now."""
    if alcance.todas:
        fresh = painel.c.contado_em > sa.func.now() - FRESH
        whole = painel.c.dados.has_key("substituidas")  # the release before keeps sums without them
        row = (await connection.execute(painel.select().where(painel.c.dias == days, fresh, whole))).one_or_none()
        if row is not None:
            return _of(row.dados, row.contado_em)
    return await _count(connection, alcance, days)


async def refresh(database: Database) -> int:
    """Count every period anew, each in a transaction of its own; returns how many."""
    for days in DAYS:
        async with database.transaction() as connection:
            counted = await _count(connection, Alcance(todas=True), days)
            caminho = asdict(counted.caminho)
            values = {
                "dados": {
                    # Beside: the release before reads every key of the way.
                    **{name: caminho.pop(name) for name in ("canceladas", "substituidas")},
                    "caminho": caminho,
                    "por_dia": counted.por_dia,
                    "recusas": counted.recusas,
                },
                "contado_em": counted.contado_em,
            }
            statement = insert(painel).values(dias=days, **values)
            await connection.execute(statement.on_conflict_do_update(index_elements=[painel.c.dias], set_=values))
    return len(DAYS)


async def _count(connection: Connection, alcance: Alcance, days: int) -> Painel:
    since = timedelta(days=days)
    return Painel(
        await staff_figures.way(connection, alcance, since),
        await staff_figures.per_day(connection, alcance, since),
        await staff_figures.refusals(connection, alcance, since),
        (await connection.execute(sa.select(sa.func.now()))).scalar_one(),
    )


def _of(dados: dict[str, Any], contado_em: datetime) -> Painel:
    return Painel(
        Caminho(**dados["caminho"], canceladas=dados["canceladas"], substituidas=dados["substituidas"]),
        [(str(dia), int(quantas)) for dia, quantas in dados["por_dia"]],
        [(str(codigo), int(quantas)) for codigo, quantas in dados["recusas"]],
        contado_em,
    )
