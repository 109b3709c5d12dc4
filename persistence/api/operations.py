"""Keeps what other systems had done once to what stood already, each under its caller's key."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.api.entities import PATIENCE, UnderWayError
from persistence.tables import idempotencia_operacoes, propostas

if TYPE_CHECKING:
    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found
    from state_machine.protocol.channel import Ambiente

KEPT: Final = timedelta(days=30)
SUBMIT: Final = "submeter_proposta"  # the specification's word
SEND_LIST, CONFIRM_BATCH = "mandar_lote", "confirmar_lote"
_O, _P = idempotencia_operacoes.c, propostas.c
# Statements are composed once: that costs more than running them.
_FOUND = sa.select(_O.entidade_id, _O.corpo_sha256, _O.resultado).where(
    _O.empresa_id == sa.bindparam("b_empresa"),
    _O.ambiente == sa.bindparam("b_ambiente"),
    _O.idempotencia_key == sa.bindparam("b_key"),
    _O.tipo_operacao == sa.bindparam("b_tipo"),
)
_LOCKED = (
    sa.select(propostas)
    .where(
        _P.empresa_id == sa.bindparam("b_empresa"),
        _P.ambiente == sa.bindparam("b_ambiente"),
        _P.id == sa.bindparam("b_id"),
    )
    .with_for_update()
)
_ADD = insert(idempotencia_operacoes).on_conflict_do_nothing().returning(_O.id)


async def find(connection: Connection, empresa_id: int, ambiente: Ambiente, key: str, tipo: str) -> Found | None:
    """Return (entidade_id, corpo_sha256, resultado) of what was done under this key; ``None``: nothing yet."""
    values = {"b_empresa": empresa_id, "b_ambiente": ambiente.value, "b_key": key, "b_tipo": tipo}
    return (await connection.execute(_FOUND, values)).one_or_none()


async def lock(connection: Connection, empresa_id: int, ambiente: Ambiente, proposta_id: int) -> Found | None:
    """Return one of the company's proposals in this environment, which nobody else changes until the transaction ends.

    Raises ``UnderWayError`` when somebody else's change takes too long.
    """
    await connection.exec_driver_sql(PATIENCE)
    try:
        values = {"b_empresa": empresa_id, "b_ambiente": ambiente.value, "b_id": proposta_id}
        found = await connection.execute(_LOCKED, values)
    except asyncpg.LockNotAvailableError as error:
        raise UnderWayError from error
    return found.one_or_none()


async def add(connection: Connection, values: dict[str, Any]) -> bool:
    """Store what was done; false: under this key something else was done meanwhile. Raises ``UnderWayError``."""
    try:
        return bool((await connection.execute(_ADD, values)).rows)
    except asyncpg.LockNotAvailableError as error:
        raise UnderWayError from error


async def forget(connection: Connection) -> int:
    """Delete the operations that are older than their keys are kept; return how many."""
    old = idempotencia_operacoes.delete().where(_O.created_at < sa.func.now() - KEPT)
    return (await connection.execute(old)).rowcount
