"""Keeps what other systems make: clients and proposals, each once under its caller's key, never another company's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert

from persistence.db.connection import Connection
from persistence.db.connection import Row as Found
from persistence.fiscal.history import DAY
from persistence.fiscal.issued import SUBSTITUTA
from persistence.tables import cliente_tomador, clientes, nfse_emissao, nfse_processada, propostas, session_snapshot
from state_machine.protocol.channel import Ambiente
from state_machine.values.errors import ProsaError

WAIT: Final = "2s"  # for another's transaction under the same key: each takes milliseconds, unless its database suffers
LARGEST_ID: Final = 2**63 - 1
_N: Final = nfse_processada.c
_FACTS: Final = {
    "emissao_id": nfse_emissao.c.id,
    "canal": nfse_emissao.c.canal,
    "numero": _N.numero,
    "chave": _N.chave,
    "emitida_em": DAY,
    "valor": sa.cast(nfse_emissao.c.valor_servico, sa.Text),
    "nome": cliente_tomador.c.razao_social,
    "documento": nfse_emissao.c.tomador_documento,
    "status": _N.status,
    "substituida_por": SUBSTITUTA,
}
# The note that came of a proposal, as it stands now: the latest one of its session.
_NOTA: Final = (
    sa.select(sa.func.jsonb_build_object(*itertools.chain(*_FACTS.items()), type_=JSONB))
    .join(nfse_emissao, nfse_emissao.c.id == _N.emissao_id)
    .join(cliente_tomador, cliente_tomador.c.id == nfse_emissao.c.tomador_id)
    .join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
    .where(session_snapshot.c.sessao_id == propostas.c.sessao_id)
    .order_by(_N.id.desc())
    .limit(1)
    .correlate(propostas)
    .scalar_subquery()
    .label("nota")
)
# Statements are composed once: that costs more than running them.
_MINE = {
    table: sa.select(table, *told).where(
        table.c.empresa_id == sa.bindparam("b_empresa"), table.c.ambiente == sa.bindparam("b_ambiente")
    )
    for table, told in ((clientes, ()), (propostas, (_NOTA,)))
}
_BY_KEY = {table: mine.where(table.c.idempotencia_key == sa.bindparam("b_key")) for table, mine in _MINE.items()}
_BY_ID = {table: mine.where(table.c.id == sa.bindparam("b_id")) for table, mine in _MINE.items()}
# Its own statement's patience: a value that is computed before the row meets another's.
_QUEM = sa.case((sa.func.set_config("lock_timeout", WAIT, sa.true()) == WAIT, sa.bindparam("b_usuario", type_=sa.Text)))
_ADD = {
    table: insert(table).values(usuario=_QUEM).on_conflict_do_nothing().returning(table)
    for table in (clientes, propostas)
}
PATIENCE: Final = f"SET LOCAL lock_timeout = '{WAIT}'"


class UnderWayError(ProsaError):
    """Another transaction is about to store under the same key or e-mail; nobody knows yet whether it will."""

    code = "under_way"


async def by_key(
    connection: Connection, table: sa.Table, empresa_id: int, ambiente: Ambiente, key: str
) -> Found | None:
    """Return what the company made under this key in this environment, as it is now."""
    values = {"b_empresa": empresa_id, "b_ambiente": ambiente.value, "b_key": key}
    return (await connection.execute(_BY_KEY[table], values)).one_or_none()


async def by_id(connection: Connection, table: sa.Table, empresa_id: int, ambiente: Ambiente, id_: int) -> Found | None:
    """Return one of the company's; ``None`` for what does not exist, is another's, or of the other environment."""
    values = {"b_empresa": empresa_id, "b_ambiente": ambiente.value, "b_id": id_}
    return (await connection.execute(_BY_ID[table], values)).one_or_none()


async def newest(
    connection: Connection, table: sa.Table, empresa_id: int, ambiente: Ambiente, before: int, limit: int, *where: Any
) -> Sequence[Found]:
    """Return up to ``limit`` of what the company made in this environment, newest first, below an id."""
    statement = _MINE[table].where(table.c.id < before, *where).order_by(table.c.id.desc()).limit(limit)
    values = {"b_empresa": empresa_id, "b_ambiente": ambiente.value}
    return (await connection.execute(statement, values)).all()


async def add(connection: Connection, table: sa.Table, values: dict[str, Any]) -> Found | None:
    """Store a row and return it; ``None`` when one with the same key, or e-mail, was stored before or meanwhile.

    Who meets another's unfinished transaction waits for its end. Raises ``UnderWayError`` when that takes too long.
    """
    given = {("b_usuario" if name == "usuario" else name): value for name, value in values.items()}
    try:
        return (await connection.execute(_ADD[table], given)).one_or_none()
    except asyncpg.LockNotAvailableError as error:
        raise UnderWayError from error
