"""Remembers what the CNPJ register said, and that it knew nothing, for as long as that stays good, and no longer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.moments import in_days
from persistence.tables import cnpj_cache

if TYPE_CHECKING:
    from persistence.db.connection import Connection

KNOWN_DAYS = 30  # the public register is a monthly copy
UNKNOWN_DAYS = 1  # a company opened last week may appear tomorrow


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A remembered answer; ``dados`` is ``None`` when the register did not know the CNPJ."""

    dados: dict[str, Any] | None


_GET = sa.select(cnpj_cache.c.dados).where(
    cnpj_cache.c.cnpj == sa.bindparam("_cnpj"), cnpj_cache.c.valido_ate > sa.func.now()
)

_NEW = insert(cnpj_cache).values(valido_ate=in_days("b_days"))
_PUT = _NEW.on_conflict_do_update(
    index_elements=[cnpj_cache.c.cnpj],
    set_={"dados": _NEW.excluded.dados, "valido_ate": _NEW.excluded.valido_ate},
)


_PRUNE = cnpj_cache.delete().where(cnpj_cache.c.valido_ate < sa.func.now())


async def prune(connection: Connection) -> int:
    """Forget every answer that is not good any more; returns how many."""
    return (await connection.execute(_PRUNE)).rowcount


async def get(connection: Connection, cnpj: str) -> CachedAnswer | None:
    """Return what is remembered and still good, or ``None``."""
    row = (await connection.execute(_GET, {"_cnpj": cnpj})).one_or_none()
    return CachedAnswer(row.dados) if row else None


async def put(connection: Connection, cnpj: str, dados: dict[str, Any] | None) -> None:
    """Remember an answer (``None``: the register does not know it)."""
    days = KNOWN_DAYS if dados is not None else UNKNOWN_DAYS
    await connection.execute(_PUT, {"cnpj": cnpj, "dados": dados, "b_days": days})
