"""Keeps what each process says of its circuit breakers, while it says it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.tables import disjuntor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from persistence.db.connection import Connection

SEEN_EVERY: Final = 30.0  # seconds between two words of a process that has nothing new to say
SILENT: Final = timedelta(seconds=4 * SEEN_EVERY)  # three words missed: its process is gone, or cut off
FORGOTTEN: Final = timedelta(hours=1)  # nobody comes back under the name of a dead process


async def publish(connection: Connection, processo: str, abertos: Mapping[str, int]) -> None:
    """Store how many breakers of each destination are open; what is long silent is forgotten on the way."""
    d = disjuntor.c
    await connection.execute(disjuntor.delete().where(d.visto_em < sa.func.now() - FORGOTTEN))
    if not abertos:
        return
    said = [
        {"processo": processo, "destino": destino, "aberto": quantos > 0, "quantos": quantos}
        for destino, quantos in sorted(abertos.items())
    ]
    statement = insert(disjuntor).values(said)
    news = statement.excluded.aberto
    values = {
        "aberto": news,
        "quantos": statement.excluded.quantos,
        "mudou_em": sa.case((d.aberto == news, d.mudou_em), else_=sa.func.now()),
        "visto_em": sa.func.now(),
    }
    await connection.execute(statement.on_conflict_do_update(index_elements=[d.processo, d.destino], set_=values))


async def withdraw(connection: Connection, processo: str) -> None:
    """Forget a process that ends."""
    await connection.execute(disjuntor.delete().where(disjuntor.c.processo == processo))


async def alive(connection: Connection) -> list[Any]:
    """List (processo, destino, aberto, quantos, mudou_em) of every process that spoke lately, the open ones first."""
    d = disjuntor.c
    statement = sa.select(d.processo, d.destino, d.aberto, d.quantos, d.mudou_em)
    statement = statement.where(d.visto_em > sa.func.now() - SILENT)
    return list(await connection.execute(statement.order_by(d.aberto.desc(), d.processo, d.destino)))
