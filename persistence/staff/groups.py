"""One group of failures: its open members, with what tells whether each may be tried again; and who resolved it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert

from persistence.access.accounts import Alcance
from persistence.db.connection import Connection
from persistence.tables import empresa, grupo_resolvido, nfse_emissao, resolvida, session_snapshot
from persistence.tables.base import literals
from state_machine.invoice.session import COM_AUTORIDADE, Estado

LONGEST = timedelta(days=90)  # the longest period that the page of groups shows
_E = nfse_emissao.c
_answer = sa.func.coalesce(_E.leitura_gateway, _E.resposta_gateway)  # an older release kept its reading in the latter
CODE: sa.ColumnElement[Any] = sa.func.coalesce(
    sa.type_coerce(_answer, JSONB)[("codigos", "0")].astext,
    sa.type_coerce(_answer, JSONB)[("nota", "codigos", "0")].astext,
    sa.func.left(_E.erro_mensagem, 80),
    "sem código",
)
WHEN: sa.ColumnElement[Any] = sa.func.greatest(_E.criado_em, _E.processado_em)  # an old invoice may fail today
GROUP_RESOLVED = sa.and_(
    grupo_resolvido.c.empresa_id == _E.prestador_id,
    grupo_resolvido.c.status == _E.status,
    grupo_resolvido.c.grupo.is_not_distinct_from(sa.func.md5(CODE)),  # no hash key: only reckoned where the rest fits
)
# What changed after somebody had looked after it is open again, and what failed after its group was resolved.
LOOKED_AFTER = sa.or_(
    sa.func.coalesce(resolvida.c.em >= session_snapshot.c.updated_at, sa.false()),
    sa.func.coalesce(grupo_resolvido.c.em >= WHEN, sa.false()),
)
_later, _again = nfse_emissao.alias("depois"), session_snapshot.alias("retomada")
# What somebody began with the data of a refusal and gave up repairs nothing: another one must have left for the
# authority, or have come back from it.
_REPAIRS = literals(sorted(COM_AUTORIDADE | {Estado.APROVADO, Estado.ERRO, Estado.REJEITADO}))


def taken_up(sessao_id: str) -> str:
    """Return the SQL of whether a refused session's data went to the authority again in another one, however late."""
    return f"""EXISTS (WITH RECURSIVE depois AS (
        SELECT d.sessao_id, d.estado FROM session_snapshot d WHERE d.origem = {sessao_id}
        UNION SELECT d.sessao_id, d.estado FROM session_snapshot d JOIN depois ON d.origem = depois.sessao_id
    ) SELECT FROM depois WHERE estado IN ({_REPAIRS}))"""  # noqa: S608 - our own constants


# No later attempt was made of what was confirmed.
NEWEST = ~sa.exists().where(
    _later.c.sessao_id == _E.sessao_id, _later.c.revisao == _E.revisao, _later.c.tentativa > _E.tentativa
)
RETAKEN = sa.exists().where(_again.c.origem == _E.sessao_id)  # its person began something with the data
OPEN = sa.and_(~LOOKED_AFTER, NEWEST, ~sa.literal_column(taken_up("nfse_emissao.sessao_id"), sa.Boolean))


@dataclass(frozen=True, slots=True)
class Grupo:
    """Failures of one kind: the gateway's code, the emission's status, the company's city (IBGE)."""

    codigo: str
    status: str
    municipio: str
    desde: timedelta

    def dele(self, alcance: Alcance, desde: timedelta) -> sa.ColumnElement[bool]:
        """Return the condition that an emission beside its company is of this group, newer than ``desde``."""
        return sa.and_(
            _E.status == self.status,
            empresa.c.municipio_ibge == self.municipio,
            CODE.is_not_distinct_from(self.codigo),
            _E.criado_em > sa.func.now() - desde,
            alcance.em(_E.prestador_id),
        )


async def members(connection: Connection, alcance: Alcance, grupo: Grupo, limite: int) -> list[Any]:
    """List emissions of the group that nobody has resolved, the oldest first.

    ``ultima``: no later attempt exists; ``retomada``: its person took the data up in another session. ``conversa``,
    ``estado`` and ``pendente`` are ``None`` where no conversation ordered it.
    """
    s = session_snapshot.c
    joined = nfse_emissao.outerjoin(session_snapshot, s.id == _E.session_id).join(
        empresa, empresa.c.id == _E.prestador_id
    )
    joined = joined.outerjoin(resolvida, resolvida.c.sessao_id == _E.sessao_id)
    joined = joined.outerjoin(grupo_resolvido, GROUP_RESOLVED)
    statement = (
        sa.select(
            _E.id,
            _E.sessao_id,
            _E.id_integracao,
            _E.status,
            _E.criado_em,
            _E.valor_servico,
            _E.competencia,
            sa.func.now().label("agora"),
            s.conversa,
            s.estado,
            s.pendente,
            _E.prestador_id.label("empresa_id"),
            empresa.c.razao_social,
            NEWEST.label("ultima"),
            RETAKEN.label("retomada"),
        )
        .select_from(joined)
        .where(grupo.dele(alcance, grupo.desde), ~LOOKED_AFTER)
        .order_by(_E.id)
        .limit(limite)
    )
    return list(await connection.execute(statement))


async def resolution(connection: Connection, alcance: Alcance, grupo: Grupo) -> Any | None:
    """Return who resolved the group last, why and until when: (quem, motivo, em); ``None``: nobody."""
    statement = last_resolution(alcance, grupo.codigo, grupo.status, grupo.municipio)
    return (await connection.execute(statement)).one_or_none()


def last_resolution(alcance: Alcance, codigo: Any, status: Any, municipio: Any) -> sa.Select[Any]:
    """Select (quem, motivo, em) of a group's last resolution; its names are values, or columns of another query."""
    g = grupo_resolvido.c
    statement = sa.select(g.quem, g.motivo, g.em).join(empresa, empresa.c.id == g.empresa_id)
    ours = sa.and_(g.grupo == sa.func.md5(codigo), g.status == status, empresa.c.municipio_ibge == municipio)
    return statement.where(ours, alcance.em(g.empresa_id)).order_by(g.em.desc()).limit(1)


async def resolve(
    connection: Connection, alcance: Alcance, grupo: Grupo, quem: str, motivo: str, ate: datetime
) -> list[int]:
    """Note that the group's cause is mended: what failed until ``ate`` is open no more. Returns the companies' ids."""
    found = sa.select(
        _E.prestador_id,
        sa.literal(grupo.status),
        sa.func.md5(grupo.codigo),
        sa.literal(quem),
        sa.literal(motivo),
        sa.func.least(sa.cast(ate, sa.TIMESTAMP(timezone=True)), sa.func.now()),
    )
    found = found.select_from(nfse_emissao.join(empresa, empresa.c.id == _E.prestador_id))
    found = found.where(grupo.dele(alcance, LONGEST), ate >= WHEN).distinct()
    statement = insert(grupo_resolvido).from_select(["empresa_id", "status", "grupo", "quem", "motivo", "em"], found)
    newest: dict[str, Any] = {"quem": statement.excluded.quem, "motivo": statement.excluded.motivo}
    newest["em"] = sa.func.greatest(grupo_resolvido.c.em, statement.excluded.em)
    upsert = statement.on_conflict_do_update(index_elements=list(grupo_resolvido.primary_key.columns), set_=newest)
    return list((await connection.execute(upsert.returning(grupo_resolvido.c.empresa_id))).scalars())


async def reopen(connection: Connection, alcance: Alcance, grupo: Grupo) -> list[int]:
    """Take that back: the group's failures are open again. Returns the companies' ids."""
    of_the_city = sa.select(empresa.c.id).where(empresa.c.municipio_ibge == grupo.municipio)
    gone = grupo_resolvido.delete().where(_rows(alcance, grupo), grupo_resolvido.c.empresa_id.in_(of_the_city))
    return list((await connection.execute(gone.returning(grupo_resolvido.c.empresa_id))).scalars())


def _rows(alcance: Alcance, grupo: Grupo) -> sa.ColumnElement[bool]:
    g = grupo_resolvido.c
    return sa.and_(g.status == grupo.status, g.grupo == sa.func.md5(grupo.codigo), alcance.em(g.empresa_id))
