"""Keeps the views of the queue that each member of staff named for themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
from persistence.tables import staff, staff_vista
from state_machine.values.errors import ProsaError

NAME_LENGTH = 40  # characters; a tab on a phone has one line for it
AT_MOST = 20  # of one person; more tabs than that is a search again


@dataclass(frozen=True, slots=True)
class Vista:
    """A name for filters of the queue, as its address has them: ``{"ver": "todas", "estado": "erro"}``."""

    id: int
    nome: str
    filtros: dict[str, str]


class TooManyViewsError(ProsaError):
    """This person has as many views as one may have; nothing was stored."""

    code = "too_many_views"


async def views_of(connection: Connection, staff_id: int) -> list[Vista]:
    """Return somebody's own views, by name."""
    v = staff_vista.c
    rows = await connection.execute(
        sa.select(v.id, v.nome, v.filtros).where(v.staff_id == staff_id).order_by(v.nome, v.id)
    )
    return [Vista(row.id, row.nome, row.filtros) for row in rows]


async def save(connection: Connection, staff_id: int, nome: str, filtros: Mapping[str, str]) -> None:
    """Keep a view; one of the same name is replaced. Raises ``TooManyViewsError``."""
    await connection.execute(sa.select(staff.c.id).where(staff.c.id == staff_id).with_for_update())  # two presses count
    others = sa.select(sa.func.count()).where(staff_vista.c.staff_id == staff_id, staff_vista.c.nome != nome)
    if (await connection.execute(others)).scalar_one() >= AT_MOST:
        raise TooManyViewsError
    statement = insert(staff_vista).values(staff_id=staff_id, nome=nome, filtros=dict(filtros))
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=[staff_vista.c.staff_id, staff_vista.c.nome], set_={"filtros": statement.excluded.filtros}
        )
    )


async def forget(connection: Connection, staff_id: int, vista_id: int) -> dict[str, str]:
    """Forget a view of this person; returns its filters, none when there is no such view of theirs."""
    gone = staff_vista.delete().where(staff_vista.c.id == vista_id, staff_vista.c.staff_id == staff_id)
    filtros = (await connection.execute(gone.returning(staff_vista.c.filtros))).scalar_one_or_none()
    return dict(filtros or {})
