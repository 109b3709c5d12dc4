"""Keeps the console's sessions and counts attempts to log in; it knows tokens only as hashes."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence.staff import SELECT, as_staff
from persistence.tables import staff, staff_sessao, staff_tentativa

if TYPE_CHECKING:
    from persistence.connection import Connection
    from persistence.staff import Staff

IDLE = timedelta(minutes=30)  # a desk left open
ABSOLUTE = timedelta(hours=12)  # a long shift; then everybody logs in again
SEEN_EVERY = timedelta(seconds=30)  # a page is no reason for a write each time
WINDOW = timedelta(minutes=15)  # in which attempts count
PER_ACCOUNT = 10  # a person mistypes a few times; more is guessing
PER_ADDRESS = 40  # an office shares one address


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


async def attempt(connection: Connection, conta: str, endereco: str) -> None:
    """Note an attempt to log in; committed before the password is looked at, so that parallel guesses count."""
    await connection.execute(staff_tentativa.insert().values(conta=conta, endereco=endereco))


async def too_many(connection: Connection, conta: str, endereco: str) -> bool:
    """Tell whether this account or this address tried too often lately."""
    lately = staff_tentativa.c.em > sa.func.now() - WINDOW
    for column, value, limit in (
        (staff_tentativa.c.conta, conta, PER_ACCOUNT),
        (staff_tentativa.c.endereco, endereco, PER_ADDRESS),
    ):
        count = sa.select(sa.func.count()).select_from(staff_tentativa).where(column == value, lately)
        if (await connection.execute(count)).scalar_one() > limit:
            return True
    return False


async def forgive(connection: Connection, conta: str) -> None:
    """Forget the attempts of an account that has just logged in, and everybody's that no longer count."""
    old = staff_tentativa.c.em < sa.func.now() - WINDOW
    await connection.execute(staff_tentativa.delete().where(sa.or_(staff_tentativa.c.conta == conta, old)))
