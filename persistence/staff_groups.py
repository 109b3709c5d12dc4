"""Lists the open members of one group of failures, with what tells whether each may be tried again; changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence.staff_figures import CODE
from persistence.tables import empresa, nfse_emissao, resolvida, session_snapshot

if TYPE_CHECKING:
    from datetime import timedelta

    from persistence.connection import Connection
    from persistence.staff import Alcance


@dataclass(frozen=True, slots=True)
class Grupo:
    """Failures of one kind: the gateway's code, the emission's status, the company's city (IBGE)."""

    codigo: str
    status: str
    municipio: str
    desde: timedelta


async def members(connection: Connection, alcance: Alcance, grupo: Grupo, limite: int) -> list[Any]:
    """List emissions of the group that nobody has resolved, the oldest first.

    ``ultima``: no later attempt exists; ``retomada``: its person took the data up in another session.
    """
    e, s = nfse_emissao.c, session_snapshot.c
    later, again = nfse_emissao.alias("depois"), session_snapshot.alias("retomada")
    newest = ~sa.exists().where(
        later.c.sessao_id == e.sessao_id, later.c.revisao == e.revisao, later.c.tentativa > e.tentativa
    )
    joined = nfse_emissao.join(session_snapshot, s.id == e.session_id).join(empresa, empresa.c.id == e.prestador_id)
    joined = joined.outerjoin(resolvida, sa.and_(resolvida.c.sessao_id == e.sessao_id, resolvida.c.em >= s.updated_at))
    statement = (
        sa.select(
            e.id,
            e.sessao_id,
            e.id_integracao,
            e.status,
            e.criado_em,
            e.valor_servico,
            s.conversa,
            s.estado,
            s.pendente,
            s.empresa_id,
            empresa.c.razao_social,
            newest.label("ultima"),
            sa.exists().where(again.c.origem == e.sessao_id).label("retomada"),
        )
        .select_from(joined)
        .where(
            e.status == grupo.status,
            empresa.c.municipio_ibge == grupo.municipio,
            CODE.is_not_distinct_from(grupo.codigo),
        )
        .where(e.criado_em > sa.func.now() - grupo.desde, resolvida.c.em.is_(None), alcance.em(e.prestador_id))
        .order_by(e.id)
        .limit(limite)
    )
    return list(await connection.execute(statement))
