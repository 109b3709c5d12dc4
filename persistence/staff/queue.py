"""Finds what staff must look at, inside their companies: sessions, contacts that belong to none, quarantined rows.

One small number that changes whenever something happened that a page of the staff may show.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import sqlalchemy as sa

from persistence.access.accounts import SHOWN, Alcance
from persistence.conversations.conversations import APAGADO
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.staff.case import CANCELADAS, NOTA, PEDIU, SUBSTITUIDAS, SUBSTITUTA_DA_SESSAO, may_see, waiting
from persistence.staff.groups import CODE, NEWEST, taken_up
from persistence.tables import (
    StatusSaida,
    conversas,
    empresa,
    inbox,
    nfse_emissao,
    nfse_processada,
    session_snapshot,
    staff,
    usuario,
)
from persistence.tables.base import literals
from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.session import COM_AUTORIDADE, ESPERAM_USUARIO, FINAIS, REASON_ON_ENTRY, Estado
from state_machine.protocol.emission import PEDEM_OLHOS, StatusEmissao

# The newest rows by primary key, and what changes in place: each is the end of an index.
_PULSE: Final = """
SELECT concat_ws('.',
    (SELECT max(id) FROM transicoes), (SELECT max(id) FROM outbox), (SELECT max(id) FROM gateway_tentativas),
    (SELECT max(id) FROM inbox WHERE tipo = 'mensagem' AND id > (SELECT coalesce(max(id), 0) - 1000 FROM inbox)),
    (SELECT count(*) FROM inbox WHERE estado = 2), (SELECT max(id) FROM auditoria), (SELECT max(id) FROM anotacao),
    (SELECT max(mudou_em) FROM disjuntor), (SELECT max(id) FROM lotes),
    (SELECT count(*) FROM lotes WHERE status = 'PROCESSING'),
    (SELECT max(last_attempt) FROM lote_linhas WHERE last_attempt IS NOT NULL))
"""


async def pulse(database: Database) -> str:
    """Return the present number, as text."""
    return str(await database.pool.fetchval(_PULSE))


@dataclass(frozen=True, slots=True)
class Filtros:
    """What the list is narrowed to; values in BRL. ``antes`` is the id that the next page continues from.

    The list of who waits continues from ``depois``: since when the last one waits, and its id.
    ``estado`` is a state of sessions, or a key of ``FORA``; *aprovado* leaves out the notes that count no more.
    """

    estado: str | None = None
    motivo: str | None = None
    empresa_id: int | None = None
    atendente: str | None = None
    valor_de: Decimal | None = None
    valor_ate: Decimal | None = None
    antes: int | None = None
    depois: tuple[datetime, int] | None = None


# What became of an authorised note that counts no more: no state of a session.
_REPLACED = session_snapshot.c.id.in_(SUBSTITUIDAS)
FORA = {"cancelada": ~_REPLACED, "substituida": _REPLACED}
ENTERED_BY = {str(REASON_ON_ENTRY[estado]): (estado,) for estado in FINAIS}  # a session that ended, by its reason
NOT_ENDED = tuple(ESPERAM_USUARIO | COM_AUTORIDADE)
COUNTED = 1000  # rows of a tab; a page that says "999+" is opened as often as one that says 4,812
# Each source has an index of its own, so that the list costs what needs eyes, not what was ever done.
_EYES = f"""
WITH olhos AS (
    SELECT id, 'erro' AS causa, updated_at AS desde FROM session_snapshot WHERE estado = '{Estado.ERRO}'
    UNION ALL
    SELECT r.id, 'recusa_nossa', r.updated_at FROM session_snapshot r
        WHERE r.estado = '{Estado.REJEITADO}' AND r.pendente IS NULL
        AND r.rascunho -> 'substitui' -> 'recusada' IS DISTINCT FROM 'true'  -- its person has the way that is left
        AND r.updated_at > now() - interval '30 days'
        AND NOT {taken_up("r.sessao_id")}
    UNION ALL
    SELECT session_id, status, criado_em FROM nfse_emissao WHERE status IN ({literals(PEDEM_OLHOS)})
        AND (status <> '{StatusEmissao.DESCONHECIDO}' OR criado_em < now() - interval '2 minutes')
    UNION ALL
    SELECT session_id, 'espera_pessoa', criado_em FROM nfse_emissao WHERE retida = 'pessoa'
    UNION ALL
    SELECT e.session_id, 'duas_notas', e.criado_em FROM nfse_emissao e JOIN nfse_processada p ON p.emissao_id = e.id
        WHERE e.status = '{StatusEmissao.CONCLUIDO}' AND e.tentativa > 1
        AND p.status <> '{StatusNota.CANCELADO}' AND EXISTS (
            SELECT FROM nfse_emissao a JOIN nfse_processada n ON n.emissao_id = a.id
            WHERE a.sessao_id = e.sessao_id AND a.revisao = e.revisao AND a.id <> e.id
                AND n.status <> '{StatusNota.CANCELADO}')
    UNION ALL
    SELECT id, 'demora', updated_at FROM session_snapshot
        WHERE estado IN ({literals(COM_AUTORIDADE)}) AND updated_at < now() - interval '10 minutes'
    UNION ALL
    SELECT s.id, 'nao_entregue', o.criado_em FROM outbox o
        JOIN session_snapshot s ON s.sessao_id = o.sessao_id
        WHERE o.erro IS NOT NULL AND o.status = '{StatusSaida.FALHOU}' AND o.criado_em > now() - interval '7 days'
    UNION ALL
    SELECT s.id, 'assumida', c.assumida_em FROM conversas c CROSS JOIN LATERAL (
        SELECT id FROM session_snapshot WHERE conversa = c.conversa ORDER BY id DESC LIMIT 1) s
        WHERE c.atendente_id IS NOT NULL
    UNION ALL
    SELECT s.id, 'pediu_pessoa', c.pessoa_pedida_em FROM conversas c CROSS JOIN LATERAL (
        SELECT id FROM session_snapshot WHERE conversa = c.conversa AND created_at <= c.pessoa_pedida_em
        ORDER BY id DESC LIMIT 1) s
        WHERE c.pessoa_pedida_em IS NOT NULL
)
SELECT o.id, array_agg(DISTINCT o.causa) AS causas, min(o.desde) AS desde
FROM olhos o JOIN session_snapshot s ON s.id = o.id
    LEFT JOIN resolvida r ON r.sessao_id = s.sessao_id
WHERE r.em IS NULL OR r.em < s.updated_at OR o.causa IN ('assumida', 'pediu_pessoa')
GROUP BY o.id
"""  # noqa: S608 - our own constants
_S = session_snapshot.c
_eyes = (
    sa.text(_EYES)
    .columns(
        sa.column("id", sa.BigInteger),
        sa.column("causas", sa.ARRAY(sa.Text)),
        sa.column("desde", sa.DateTime(timezone=True)),
    )
    .cte("olhos")
)
_COLUMNS = (
    _S.id,
    _S.sessao_id,
    _S.estado,
    _S.snapshot_reason,
    _S.valor,
    _S.cnpj,
    _S.cnpj_razao_social,
    _S.created_at,
    _S.updated_at,
    _S.empresa_id,
    empresa.c.razao_social,
    conversas.c.wa_id,
    conversas.c.nome_perfil,
    NOTA,
    SUBSTITUTA_DA_SESSAO,
    conversas.c.atendente_id,
    PEDIU,
    SHOWN.label("atendente"),
    sa.func.extract("epoch", sa.func.now() - _S.created_at).label("idade"),
)


def listing(*more: Any) -> sa.Select[Any]:
    """Return the columns of a list of sessions, and the joins that they need."""
    joined = session_snapshot.join(empresa, empresa.c.id == _S.empresa_id)
    joined = joined.join(conversas, conversas.c.conversa == _S.conversa)
    joined = joined.outerjoin(staff, staff.c.id == conversas.c.atendente_id)
    return sa.select(*_COLUMNS, *more).select_from(joined)


async def needing_eyes(connection: Connection, alcance: Alcance, filtros: Filtros, limite: int) -> list[Any]:
    """List the people who wait for somebody, who waits longest first: one row each, of their oldest note that waits.

    ``todas_causas`` says why, over all that waits for this person; ``espera`` for how many seconds, since ``desde``;
    ``outras`` counts the further notes. ``codigo_recusa`` and ``erro_mensagem`` are of the newest attempt of that note.
    """
    desde = sa.func.min(_eyes.c.desde).over(partition_by=_S.conversa)
    said = sa.func.string_agg(sa.func.array_to_string(_eyes.c.causas, " "), " ").over(partition_by=_S.conversa)
    rows = narrowed(
        alcance,
        filtros,
        sa.func.row_number().over(partition_by=_S.conversa, order_by=_S.id).label("lugar"),
        (sa.func.count().over(partition_by=_S.conversa) - 1).label("outras"),
        sa.func.string_to_array(said, " ", type_=sa.ARRAY(sa.Text)).label("todas_causas"),
        desde.label("desde"),
        _last(CODE.label("codigo_recusa")),
        _last(nfse_emissao.c.erro_mensagem),
        sa.func.extract("epoch", sa.func.now() - desde).label("espera"),
        sa.func.max(PEDIU).over(partition_by=_S.conversa).label("pedido"),
        conversas.c.codigo,
        atencao=True,
    ).subquery()
    statement = sa.select(rows).where(rows.c.lugar == 1).order_by(rows.c.desde, rows.c.id).limit(limite)
    if filtros.depois is not None:
        statement = statement.where(sa.tuple_(rows.c.desde, rows.c.id) > sa.tuple_(*filtros.depois))
    return list(await connection.execute(statement))


async def all_sessions(connection: Connection, alcance: Alcance, filtros: Filtros, limite: int) -> list[Any]:
    """List sessions, the newest first; ``numero`` and ``canal`` are of the newest attempt's note."""
    statement = narrowed(alcance, filtros, _last(nfse_processada.c.numero), _last(nfse_emissao.c.canal), atencao=False)
    if filtros.antes is not None:
        statement = statement.where(_S.id < filtros.antes)
    return list(await connection.execute(statement.order_by(_S.id.desc()).limit(limite)))


def _last(column: sa.Column[Any] | sa.Label[Any]) -> sa.Label[Any]:
    tried = sa.select(column).where(nfse_emissao.c.session_id == _S.id).order_by(nfse_emissao.c.id.desc()).limit(1)
    noted = nfse_emissao.outerjoin(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
    return tried.select_from(noted).correlate(session_snapshot).scalar_subquery().label(column.name)


async def stopped_by_one_cause(connection: Connection, alcance: Alcance, since: timedelta) -> list[Any]:
    """List what the gateway said that stops two notes or more.

    Each is (codigo, mensagem, status, municipio_ibge, quantas), ``mensagem`` being the words of one of them.
    """
    e = nfse_emissao.c
    notes = sa.func.count(sa.distinct(e.sessao_id))
    joined = _eyes.join(nfse_emissao, e.session_id == _eyes.c.id).join(empresa, empresa.c.id == e.prestador_id)
    named = sa.or_(
        sa.and_(e.status == StatusEmissao.REJEITADO, sa.literal("recusa_nossa") == sa.any_(_eyes.c.causas)),
        e.status.in_(PEDEM_OLHOS),
    )
    statement = sa.select(
        CODE.label("codigo"),
        sa.func.max(e.erro_mensagem).label("mensagem"),
        e.status,
        empresa.c.municipio_ibge,
        notes.label("quantas"),
    )
    statement = statement.select_from(joined).where(named, NEWEST, alcance.em(e.prestador_id))
    statement = statement.where(e.criado_em > sa.func.now() - since)
    statement = statement.group_by(CODE, e.status, empresa.c.municipio_ibge).having(notes > 1)
    return list(await connection.execute(statement.order_by(notes.desc()).limit(3)))


def narrowed(alcance: Alcance, filtros: Filtros, *more: Any, atencao: bool) -> sa.Select[Any]:
    """Return the statement behind either list, with further columns and no order, for who joins more to it."""
    if atencao:
        return _narrowed(listing(_eyes.c.causas, *more).join(_eyes, _eyes.c.id == _S.id), alcance, filtros)
    return _narrowed(listing(sa.literal([], sa.ARRAY(sa.Text)).label("causas"), *more), alcance, filtros)


def _narrowed(statement: sa.Select[Any], alcance: Alcance, filtros: Filtros) -> sa.Select[Any]:
    statement = statement.where(alcance.em(_S.empresa_id))
    estado, gone = filtros.estado, sa.exists(CANCELADAS.where(nfse_emissao.c.session_id == _S.id))
    if estado in FORA:
        estado, statement = Estado.APROVADO, statement.where(_S.id.in_(CANCELADAS), FORA[estado])
    elif estado == Estado.APROVADO:
        statement = statement.where(~gone)
    if filtros.motivo is not None:  # as every state has its reason, its index serves
        statement = statement.where(_S.estado.in_(ENTERED_BY.get(filtros.motivo, NOT_ENDED)))
    for column, wanted in (
        (_S.estado, estado),
        (_S.snapshot_reason, filtros.motivo),
        (_S.empresa_id, filtros.empresa_id),
    ):
        if wanted is not None:
            statement = statement.where(column == wanted)
    if filtros.atendente is not None:  # by the login or by the name that is shown
        named = filtros.atendente.lower()
        theirs = sa.select(conversas.c.conversa).join(staff)
        theirs = theirs.where(sa.or_(staff.c.nome == named, sa.func.lower(SHOWN) == named))
        statement = statement.where(_S.conversa == sa.any_(sa.func.array(theirs.scalar_subquery())))
    if filtros.valor_de is not None:
        statement = statement.where(_S.valor >= filtros.valor_de)
    if filtros.valor_ate is not None:
        statement = statement.where(_S.valor <= filtros.valor_ate)
    return statement


async def unknown_contacts(connection: Connection, alcance: Alcance, antes: Any | None, limite: int) -> list[Any]:
    """List conversations of numbers that no company knows, the most recent first; only for who sees everything."""
    if not alcance.todas:
        return []
    c = conversas.c
    statement = sa.select(c.codigo, c.wa_id, c.endereco, c.nome_perfil, c.mensagens, c.criado_em, c.ultima_entrada_em)
    statement = (
        statement.where(c.usuario_id.is_(None), c.endereco != APAGADO)
        .order_by(c.ultima_entrada_em.desc())
        .limit(limite)
    )
    if antes is not None:
        statement = statement.where(c.ultima_entrada_em < antes)
    return list(await connection.execute(statement))


async def quarantined(connection: Connection, alcance: Alcance, antes: int | None, limite: int) -> list[Any]:
    """List rows that failed five times, with whose conversation it was, the newest first."""
    statement = _aside(alcance).order_by(inbox.c.id.desc()).limit(limite)
    if antes is not None:
        statement = statement.where(inbox.c.id < antes)
    return list(await connection.execute(statement))


async def quarantined_row(connection: Connection, alcance: Alcance, row_id: int) -> Any | None:
    """Return one of them."""
    return (await connection.execute(_aside(alcance).where(inbox.c.id == row_id))).one_or_none()


def _aside(alcance: Alcance) -> sa.Select[Any]:
    joined = inbox.outerjoin(conversas, conversas.c.conversa == inbox.c.lane)
    joined = joined.outerjoin(usuario, usuario.c.id == conversas.c.usuario_id)
    joined = joined.outerjoin(empresa, empresa.c.id == usuario.c.empresa_id)
    statement = sa.select(
        inbox.c.id,
        inbox.c.tipo,
        inbox.c.tentativas,
        inbox.c.erro,
        inbox.c.recebido_em,
        inbox.c.correlacao,
        inbox.c.payload,
        conversas.c.codigo,
        conversas.c.wa_id,
        conversas.c.nome_perfil,
        empresa.c.id.label("empresa_id"),
        empresa.c.razao_social,
    ).select_from(joined)
    visible = may_see(alcance, inbox.c.lane, inbox.c.recebido_em)
    return statement.where(inbox.c.estado == 2, visible)  # noqa: PLR2004 - 2 is quarantined


async def counts(connection: Connection, alcance: Alcance) -> dict[str, int]:
    """Count what each tab of the queue holds, up to 1,000: nobody needs to know how many more there are."""
    eyes = sa.select(_S.conversa).distinct().select_from(_eyes.join(session_snapshot, _S.id == _eyes.c.id))
    aside = sa.select(sa.true()).select_from(inbox)
    aside = aside.where(inbox.c.estado == 2, may_see(alcance, inbox.c.lane, inbox.c.recebido_em))  # noqa: PLR2004 - 2 is quarantined
    unknown = sa.select(sa.true()).select_from(conversas)
    unknown = unknown.where(conversas.c.usuario_id.is_(None), conversas.c.endereco != APAGADO)
    if not alcance.todas:
        unknown = unknown.where(sa.false())
    tabs = {
        "atencao": eyes.where(alcance.em(_S.empresa_id)),
        "quarentena": aside,
        "desconhecidas": unknown,
        "pedidos": waiting(alcance).with_only_columns(sa.true()),
    }
    sums = (
        sa.select(sa.func.count()).select_from(rows.limit(COUNTED).subquery()).scalar_subquery().label(name)
        for name, rows in tabs.items()
    )
    return dict((await connection.execute(sa.select(*sums))).one())


async def needing_eyes_by_company(connection: Connection, empresas: list[int]) -> dict[int, int]:
    """Count for each of these companies the sessions that somebody must look at; those without any are left out."""
    statement = sa.select(_S.empresa_id, sa.func.count()).select_from(_eyes.join(session_snapshot, _S.id == _eyes.c.id))
    rows = await connection.execute(statement.where(_S.empresa_id.in_(empresas)).group_by(_S.empresa_id))
    return {int(row[0]): int(row[1]) for row in rows}


async def companies(connection: Connection, alcance: Alcance) -> list[Any]:
    """List the companies that somebody may see, by name."""
    statement = sa.select(empresa.c.id, empresa.c.razao_social).where(alcance.em(empresa.c.id))
    return list(await connection.execute(statement.order_by(empresa.c.razao_social).limit(500)))
