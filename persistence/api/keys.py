"""Keeps the keys of the API: the companies that each may act for, and how long. Of a key only the SHA-256 is kept."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from persistence.tables import api_chave, api_chave_empresa, empresa
from persistence.versions import known
from state_machine.protocol.channel import Ambiente

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.db.connection import Connection
    from persistence.db.engine import Database

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
    _K.resumo == sa.bindparam("b_resumo"), _K.revogada_em.is_(None)
)
_TOUCH = api_chave.update().where(_K.id == sa.bindparam("b_id")).values(usada_em=sa.func.now())


@dataclass(frozen=True, slots=True)
class Holder:
    """Who shows a key that holds: its visible prefix, and the companies it may act for as CNPJ and id."""

    prefixo: str
    ambiente: Ambiente
    empresas: dict[str, int]


async def make(
    connection: Connection, empresas: Sequence[int], ambiente: Ambiente, escopos: Sequence[str]
) -> tuple[str, str]:
    """Make a key for these companies; return it, for the only time, and its visible prefix."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    beginning = f"prosa_{WORDS[ambiente]}_"
    prefixo = beginning + secret[:VISIBLE]
    row = {
        "resumo": _digest(beginning + secret),
        "prefixo": prefixo,
        "ambiente": ambiente.value,
        "escopos": list(escopos),
    }
    made = await connection.execute(api_chave.insert().values(row).returning(_K.id))
    chave_id = made.scalar_one()
    for empresa_id in empresas:
        await connection.execute(api_chave_empresa.insert().values(chave_id=chave_id, empresa_id=empresa_id))
    return beginning + secret, prefixo


async def holder(database: Database, chave: str) -> Holder | None:
    """Return who shows this key, and note that it was used; ``None`` for one that is unknown or was revoked."""
    if not SHAPE.fullmatch(chave):
        return None
    async with database.alone() as connection:
        row = (await connection.execute(_HELD, {"b_resumo": _digest(chave)})).one_or_none()
        if row is None:
            return None
        if not row.recente:
            await connection.execute(_TOUCH, {"b_id": row.id})
    return Holder(row.prefixo, known(Ambiente, row.ambiente), dict(zip(row.cnpjs, row.empresas, strict=True)))


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
