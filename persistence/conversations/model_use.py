"""Adds up what asking the model takes, by day in Brazil and model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.tables import modelo_uso

if TYPE_CHECKING:
    from persistence.db.connection import Connection

_M = modelo_uso.c
_TODAY = sa.cast(sa.func.timezone("America/Sao_Paulo", sa.func.now()), sa.Date)

_NEW = insert(modelo_uso).values(dia=_TODAY)
_ADD = _NEW.on_conflict_do_update(
    index_elements=[_M.dia, _M.modelo],
    set_={name: _M[name] + _NEW.excluded[name] for name in ("chamadas", "sem_conta", "entrada", "saida")},
)


async def add(connection: Connection, modelo: str, *, chamadas: int, sem_conta: int, entrada: int, saida: int) -> None:
    """Add to today's counts: requests, those of them without a count, tokens read and written by the model."""
    counts = {"chamadas": chamadas, "sem_conta": sem_conta, "entrada": entrada, "saida": saida}
    await connection.execute(_ADD, {"modelo": modelo, **counts})


async def per_day(connection: Connection, days: int) -> list[Any]:
    """List (dia, modelo, chamadas, sem_conta, entrada, saida) of so many days, today included, the oldest first."""
    before = _TODAY - sa.literal(days, sa.Integer)
    return list(await connection.execute(modelo_uso.select().where(_M.dia > before).order_by(_M.dia, _M.modelo)))
