"""Keeps what each process says of its circuit breakers, while it says it.

Adds up what asking the model takes, by day in Brazil and model.

Remembers what the CNPJ register said, and that it knew nothing, for as long as that stays good, and no longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.clock import in_days
from persistence.db.connection import Connection
from persistence.tables import cnpj_cache, disjuntor, modelo_uso

SEEN_EVERY: Final = 30.0  # seconds between two words of a process that has nothing new to say
SILENT: Final = timedelta(seconds=4 * SEEN_EVERY)  # three words missed: its process is gone, or cut off
FORGOTTEN: Final = timedelta(hours=1)  # nobody comes back under the name of a dead process


async def publish_breakers(connection: Connection, processo: str, abertos: Mapping[str, int]) -> None:
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


async def withdraw_breakers(connection: Connection, processo: str) -> None:
    """Forget a process that ends."""
    await connection.execute(disjuntor.delete().where(disjuntor.c.processo == processo))


async def live_breakers(connection: Connection) -> list[Any]:
    """List (processo, destino, aberto, quantos, mudou_em) of every process that spoke lately, the open ones first."""
    d = disjuntor.c
    statement = sa.select(d.processo, d.destino, d.aberto, d.quantos, d.mudou_em)
    statement = statement.where(d.visto_em > sa.func.now() - SILENT)
    return list(await connection.execute(statement.order_by(d.aberto.desc(), d.processo, d.destino)))


_M = modelo_uso.c
_TODAY = sa.cast(sa.func.timezone("America/Sao_Paulo", sa.func.now()), sa.Date)

_USED = insert(modelo_uso).values(dia=_TODAY)
_ADD = _USED.on_conflict_do_update(
    index_elements=[_M.dia, _M.modelo],
    set_={name: _M[name] + _USED.excluded[name] for name in ("chamadas", "sem_conta", "entrada", "saida")},
)


async def add_model_use(
    connection: Connection, modelo: str, *, chamadas: int, sem_conta: int, entrada: int, saida: int
) -> None:
    """Add to today's counts: requests, those of them without a count, tokens read and written by the model."""
    counts = {"chamadas": chamadas, "sem_conta": sem_conta, "entrada": entrada, "saida": saida}
    await connection.execute(_ADD, {"modelo": modelo, **counts})


async def model_use_per_day(connection: Connection, days: int) -> list[Any]:
    """List (dia, modelo, chamadas, sem_conta, entrada, saida) of so many days, today included, the oldest first."""
    before = _TODAY - sa.literal(days, sa.Integer)
    return list(await connection.execute(modelo_uso.select().where(_M.dia > before).order_by(_M.dia, _M.modelo)))


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


async def prune_register(connection: Connection) -> int:
    """Forget every answer that is not good any more; returns how many."""
    return (await connection.execute(_PRUNE)).rowcount


async def cached_company(connection: Connection, cnpj: str) -> CachedAnswer | None:
    """Return what is remembered and still good, or ``None``."""
    row = (await connection.execute(_GET, {"_cnpj": cnpj})).one_or_none()
    return CachedAnswer(row.dados) if row else None


async def cache_company(connection: Connection, cnpj: str, dados: dict[str, Any] | None) -> None:
    """Remember an answer (``None``: the register does not know it)."""
    days = KNOWN_DAYS if dados is not None else UNKNOWN_DAYS
    await connection.execute(_PUT, {"cnpj": cnpj, "dados": dados, "b_days": days})
