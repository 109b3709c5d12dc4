"""Finds the attempts at one confirmed revision: which is the newest, and where it belongs; changes none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence.tables import nfse_emissao, session_snapshot

if TYPE_CHECKING:
    from persistence.connection import Connection

# Statements are composed once: that costs more than running them.
_NEWEST = (
    nfse_emissao.select()
    .where(nfse_emissao.c.sessao_id == sa.bindparam("b_sessao"), nfse_emissao.c.revisao == sa.bindparam("b_revisao"))
    .order_by(nfse_emissao.c.tentativa.desc())
    .limit(1)
    .with_for_update()
)
_NAMED = (
    sa.select(nfse_emissao, session_snapshot.c.conversa, session_snapshot.c.estado, session_snapshot.c.pendente)
    .join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
    .where(nfse_emissao.c.id_integracao == sa.bindparam("b_id_integracao"))
)


async def newest(connection: Connection, sessao_id: str, revisao: int) -> Any | None:
    """Return the newest attempt's row, locked until the transaction ends; ``None`` before the first."""
    return (await connection.execute(_NEWEST, {"b_sessao": sessao_id, "b_revisao": revisao})).one_or_none()


async def named(connection: Connection, id_integracao: str) -> Any | None:
    """Return an attempt with its session's ``conversa``, ``estado`` and ``pendente``; ``None`` if there is none."""
    return (await connection.execute(_NAMED, {"b_id_integracao": id_integracao})).one_or_none()
