"""Keeps the keys of the API: the companies that each may act for, and how long. Of a key only the SHA-256 is kept.

Keeps what other systems had done once to what stood already, each under its caller's key.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.api.entities import PATIENCE, UnderWayError
from persistence.db.connection import Connection
from persistence.db.connection import Row as Found
from persistence.db.engine import Database
from persistence.tables import api_chave, api_chave_empresa, empresa, idempotencia_operacoes, propostas
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


async def find_operation(
    connection: Connection, empresa_id: int, ambiente: Ambiente, key: str, tipo: str
) -> Found | None:
    """Return (entidade_id, corpo_sha256, resultado) of what was done under this key; ``None``: nothing yet."""
    values = {"b_empresa": empresa_id, "b_ambiente": ambiente.value, "b_key": key, "b_tipo": tipo}
    return (await connection.execute(_FOUND, values)).one_or_none()


async def lock_operation(connection: Connection, empresa_id: int, ambiente: Ambiente, proposta_id: int) -> Found | None:
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


async def add_operation(connection: Connection, values: dict[str, Any]) -> bool:
    """Store what was done; false: under this key something else was done meanwhile. Raises ``UnderWayError``."""
    try:
        return bool((await connection.execute(_ADD, values)).rows)
    except asyncpg.LockNotAvailableError as error:
        raise UnderWayError from error


async def forget_operations(connection: Connection) -> int:
    """Delete the operations that are older than their keys are kept; return how many."""
    old = idempotencia_operacoes.delete().where(_O.created_at < sa.func.now() - KEPT)
    return (await connection.execute(old)).rowcount


SCOPES: Final = frozenset(
    {
        *("clientes:ler", "clientes:escrever"),
        *("propostas:ler", "propostas:escrever", "propostas:submeter"),
        *("lotes:ler", "lotes:escrever", "lotes:confirmar"),
        *("webhooks:ler", "webhooks:escrever"),
        *("produtos:ler", "produtos:escrever"),
    }
)
SECRET_BYTES: Final = 32
VISIBLE: Final = 8  # characters of the secret that name a key: 48 bits; the other 208 stay secret
WORDS: Final = {Ambiente.PRODUCAO: "live", Ambiente.HOMOLOGACAO: "test"}
SHAPE: Final = re.compile(r"prosa_(?:live|test)_[A-Za-z0-9_-]{43}")
USED: Final = timedelta(minutes=1)  # how exact the last use is: not every request writes
_K = api_chave.c
_OF_COMPANIES = sa.func.array_agg(api_chave_empresa.c.empresa_id)
_CNPJS = sa.func.array_agg(empresa.c.cnpj)
_JOINED = (
    sa.select(api_chave, _OF_COMPANIES.label("empresas"), _CNPJS.label("cnpjs"))
    .join(api_chave_empresa, api_chave_empresa.c.chave_id == _K.id)
    .join(empresa, empresa.c.id == api_chave_empresa.c.empresa_id)
    .group_by(_K.id)
)
_HELD = _JOINED.add_columns((_K.usada_em > sa.func.now() - USED).label("recente")).where(
    _K.resumo == sa.bindparam("b_resumo"),
    _K.revogada_em.is_(None),
    sa.or_(_K.vale_ate.is_(None), _K.vale_ate > sa.func.now()),
)
_TOUCH = api_chave.update().where(_K.id == sa.bindparam("b_id")).values(usada_em=sa.func.now())


@dataclass(frozen=True, slots=True)
class Holder:
    """Who shows a key that holds: its visible prefix, and the companies it may act for as CNPJ and id.

    ``escopos`` is what it may do there, as ``propostas:escrever``; empty: everything.
    """

    prefixo: str
    ambiente: Ambiente
    empresas: dict[str, int]
    escopos: frozenset[str]

    def may(self, escopo: str) -> bool:
        """Tell whether it may do this; ``propostas:*`` is all that is done to proposals."""
        return not self.escopos or not self.escopos.isdisjoint({escopo, f"{escopo.partition(':')[0]}:*"})


async def make(
    connection: Connection, empresas: Sequence[int], ambiente: Ambiente, escopos: Sequence[str], vale: timedelta
) -> tuple[str, str]:
    """Make a key for these companies that holds for ``vale``; return it, for the only time, and its visible prefix."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    beginning = f"prosa_{WORDS[ambiente]}_"
    prefixo = beginning + secret[:VISIBLE]
    row = {
        "resumo": _digest(beginning + secret),
        "prefixo": prefixo,
        "ambiente": ambiente.value,
        "escopos": list(escopos),
        "vale_ate": sa.func.now() + vale,
    }
    made = await connection.execute(api_chave.insert().values(row).returning(_K.id))
    chave_id = made.scalar_one()
    for empresa_id in empresas:
        await connection.execute(api_chave_empresa.insert().values(chave_id=chave_id, empresa_id=empresa_id))
    return beginning + secret, prefixo


async def holder(database: Database, chave: str) -> Holder | None:
    """Return who shows this key, and note that it was used; ``None`` for one that is unknown or holds no more."""
    if not SHAPE.fullmatch(chave):
        return None
    async with database.alone() as connection:
        row = (await connection.execute(_HELD, {"b_resumo": _digest(chave)})).one_or_none()
        if row is None:
            return None
        if not row.recente:
            await connection.execute(_TOUCH, {"b_id": row.id})
    return Holder(
        row.prefixo,
        Ambiente(row.ambiente),
        dict(zip(row.cnpjs, row.empresas, strict=True)),
        frozenset(row.escopos),
    )


async def of_company(connection: Connection, empresa_id: int) -> list[Any]:
    """Return the keys that may act for a company, the newest first, revoked ones too."""
    mine = sa.select(api_chave_empresa.c.chave_id).where(api_chave_empresa.c.empresa_id == empresa_id)
    return list(await connection.execute(_JOINED.where(_K.id.in_(mine)).order_by(_K.id.desc())))


async def revoke(connection: Connection, prefixo: str) -> list[int]:
    """Have a key hold no longer; return the companies it acted for, none where there is no such key that holds."""
    ended = api_chave.update().where(_K.prefixo == prefixo, _K.revogada_em.is_(None))
    chave_id = await connection.scalar(ended.values(revogada_em=sa.func.now()).returning(_K.id))
    if chave_id is None:
        return []
    of_it = sa.select(api_chave_empresa.c.empresa_id).where(api_chave_empresa.c.chave_id == chave_id)
    return (await connection.execute(of_it)).scalars()


def _digest(chave: str) -> str:
    return hashlib.sha256(chave.encode()).hexdigest()
