"""Keeps from which browsers an account has logged in before; it knows their tokens only as hashes."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.tables import staff_aparelho

if TYPE_CHECKING:
    from persistence.db.connection import Connection

KEPT: Final = timedelta(days=180)  # after the last login from it; then the browser is a stranger's again


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


async def knows(connection: Connection, token: str, staff_id: int) -> bool:
    """Tell whether this account has logged in from the browser that holds ``token``."""
    a = staff_aparelho.c
    fresh = a.visto_em > sa.func.now() - KEPT
    statement = sa.select(sa.true()).where(a.token_hash == _hash(token), a.staff_id == staff_id, fresh)
    return (await connection.execute(statement)).first() is not None


async def remember(connection: Connection, token: str, staff_id: int) -> str:
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
