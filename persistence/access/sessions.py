"""Keeps the console's sessions; it knows tokens only as hashes."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence.access.accounts import SELECT, as_staff
from persistence.tables import staff, staff_sessao

if TYPE_CHECKING:
    from persistence.access.accounts import Staff
    from persistence.db.connection import Connection

IDLE = timedelta(minutes=30)  # a desk left open
ABSOLUTE = timedelta(hours=12)  # a long shift; then everybody logs in again
SEEN_EVERY = timedelta(seconds=30)  # a page is no reason for a write each time


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


async def open_session(connection: Connection, token: str, staff_id: int) -> None:
    """Begin a session under a fresh ``token``; those that have run out are forgotten."""
    await connection.execute(staff_sessao.delete().where(staff_sessao.c.expira_em < sa.func.now()))
    values = {"token_hash": _hash(token), "staff_id": staff_id, "expira_em": sa.func.now() + ABSOLUTE}
    await connection.execute(staff_sessao.insert().values(**values))


async def find(connection: Connection, token: str, *, seen: bool = True) -> Staff | None:
    """Return whose session this is, unless it is over; ``seen``: a person looked, not only their open page."""
    ours = staff_sessao.c.token_hash == _hash(token)
    live = sa.and_(ours, staff_sessao.c.expira_em > sa.func.now(), staff_sessao.c.visto_em > sa.func.now() - IDLE)
    joined = SELECT.add_columns(staff_sessao.c.visto_em).join(staff_sessao, staff_sessao.c.staff_id == staff.c.id)
    row = (await connection.execute(joined.where(live, staff.c.desativado_em.is_(None)))).one_or_none()
    if row is None:
        return None
    if seen and row.agora - row.visto_em > SEEN_EVERY:
        await connection.execute(staff_sessao.update().where(ours).values(visto_em=sa.func.now()))
    return as_staff(row)


async def close_session(connection: Connection, token: str) -> None:
    """End a session."""
    await connection.execute(staff_sessao.delete().where(staff_sessao.c.token_hash == _hash(token)))


async def close_all(connection: Connection, staff_id: int) -> None:
    """End all sessions of somebody."""
    await connection.execute(staff_sessao.delete().where(staff_sessao.c.staff_id == staff_id))
