"""Keeps the console's sessions; it knows tokens only as hashes.

Keeps from which browsers an account has logged in before; it knows their tokens only as hashes.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.access.accounts import SELECT, Staff, as_staff
from persistence.db.connection import Connection
from persistence.tables import staff, staff_aparelho, staff_sessao

KEPT: Final = timedelta(days=180)  # after the last login from it; then the browser is a stranger's again


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


async def knows_device(connection: Connection, token: str, staff_id: int) -> bool:
    """Tell whether this account has logged in from the browser that holds ``token``."""
    a = staff_aparelho.c
    fresh = a.visto_em > sa.func.now() - KEPT
    statement = sa.select(sa.true()).where(a.token_hash == _hash(token), a.staff_id == staff_id, fresh)
    return (await connection.execute(statement)).first() is not None


async def remember_device(connection: Connection, token: str, staff_id: int) -> str:
    """Return the browser's new token (256 random bits); what the old one was good for moves to it.

    A new one at each login: a token that was planted, or copied earlier, is worth nothing after it.
    """
    a, fresh = staff_aparelho.c, secrets.token_urlsafe(32)
    await connection.execute(staff_aparelho.delete().where(a.staff_id == staff_id, a.visto_em <= sa.func.now() - KEPT))
    if token:
        moved = staff_aparelho.update().where(a.token_hash == _hash(token)).values(token_hash=_hash(fresh))
        await connection.execute(moved)
    statement = insert(staff_aparelho).values(token_hash=_hash(fresh), staff_id=staff_id)
    seen = statement.on_conflict_do_update(index_elements=[a.token_hash, a.staff_id], set_={"visto_em": sa.func.now()})
    await connection.execute(seen)
    return fresh


IDLE = timedelta(minutes=30)  # a desk left open
ABSOLUTE = timedelta(hours=12)  # a long shift; then everybody logs in again
SEEN_EVERY = timedelta(seconds=30)  # a page is no reason for a write each time


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
