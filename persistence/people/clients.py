"""A company's own clients as people call them, and the nicknames that its people once made clear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
from persistence.tables import cliente_apelido, cliente_tomador, cnpj_cache
from state_machine.invoice.choices import MOST, Cliente

# Statements are composed once: that costs more than running them.
_MINE = cliente_tomador.c.empresa_id == sa.bindparam("b_empresa")
_NICKNAMES = (
    sa.select(sa.func.array_agg(cliente_apelido.c.apelido))
    .where(
        cliente_apelido.c.empresa_id == cliente_tomador.c.empresa_id,
        cliente_apelido.c.documento == cliente_tomador.c.cnpj,
    )
    .scalar_subquery()
)
_MANY = sa.select(sa.exists(sa.select(cliente_tomador.c.id).where(_MINE).offset(MOST)))
_ALIKE = sa.func.clientes_parecidos(
    sa.bindparam("b_empresa", type_=sa.BigInteger), sa.bindparam("b_nomes", type_=sa.ARRAY(sa.Text)), MOST + 1
)
_SOME = cliente_tomador.c.cnpj.in_(sa.select(_ALIKE).union_all(sa.select(sa.bindparam("b_documento", type_=sa.Text))))
_ALL = (
    sa.select(
        cliente_tomador.c.cnpj,
        cliente_tomador.c.razao_social,
        sa.func.coalesce(
            cliente_tomador.c.dados_receita_raw["nome_fantasia"].astext, cnpj_cache.c.dados["nome_fantasia"].astext
        ).label("nome_fantasia"),
        cnpj_cache.c.dados["razao_social"].astext.label("no_registro"),
        _NICKNAMES.label("apelidos"),
    )
    .outerjoin(cnpj_cache, cnpj_cache.c.cnpj == cliente_tomador.c.cnpj)
    .where(_MINE)
    .order_by(cliente_tomador.c.id.desc())
)
_BY_NAME = _ALL.where(_SOME).limit(MOST + 1)
_NEW = insert(cliente_apelido)
_EMAIL = sa.select(cliente_tomador.c.email).where(_MINE, cliente_tomador.c.cnpj == sa.bindparam("b_documento"))
_REMEMBER = _NEW.on_conflict_do_update(
    index_elements=[cliente_apelido.c.empresa_id, cliente_apelido.c.documento, cliente_apelido.c.apelido],
    set_={"usado_em": sa.func.now(), "conversa": _NEW.excluded.conversa},
)


async def of_company(
    connection: Connection, empresa_id: int, nomes: Sequence[str], documento: str | None = None
) -> list[Cliente]:
    """Return the company's clients among whom those called by ``nomes`` are, the newest first, never another's.

    Of more than ``MOST`` those alone whose names are like one of these, and whose is ``documento``; one more than
    ``MOST`` at most, since comparing names costs time.
    """
    mine: dict[str, Any] = {"b_empresa": empresa_id}
    if await connection.scalar(_MANY, mine):
        some = {"b_nomes": [*nomes], "b_documento": documento}
        rows = await connection.execute(_BY_NAME, mine | some)
    else:
        rows = await connection.execute(_ALL, mine)
    return [
        Cliente(
            row.cnpj,
            row.razao_social or row.no_registro,
            tuple(name for name in (row.nome_fantasia, row.no_registro, *(row.apelidos or ())) if name),
        )
        for row in rows
    ]


async def email_of(connection: Connection, empresa_id: int, documento: str) -> str | None:
    """Return the address of one of the company's clients, where one was told."""
    values = {"b_empresa": empresa_id, "b_documento": documento}
    found: str | None = (await connection.execute(_EMAIL, values)).scalar_one_or_none()
    return found


def remember(connection: Connection, empresa_id: int, apelido: str, documento: str, conversa: str) -> None:
    """Remember at the end of the transaction that a company's person called this client so, and when."""
    values = {"empresa_id": empresa_id, "apelido": apelido, "documento": documento, "conversa": conversa}
    connection.later(_REMEMBER, values)
