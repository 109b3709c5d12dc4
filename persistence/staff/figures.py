"""Counts for staff: failures of one kind together, the way from first word to invoice, what waits; inside companies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by

from persistence.access.accounts import Alcance
from persistence.db.connection import Connection
from persistence.people.channels import counts
from persistence.staff.case import CANCELADAS, SUBSTITUIDAS
from persistence.staff.groups import CODE, GROUP_RESOLVED, OPEN, WHEN, last_resolution
from persistence.tables import (
    auditoria,
    empresa,
    gateway_tentativas,
    grupo_resolvido,
    idempotency_records,
    nfse_emissao,
    nfse_processada,
    outbox,
    resolvida,
)
from persistence.tables import session_snapshot as snapshot
from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.session import Estado
from state_machine.protocol.emission import COM_PESSOAS, PEDEM_OLHOS, StatusEmissao

WAITED = "esperou"  # in the audit of a take-over: seconds since its person asked for one of the staff
GROUPS = 100  # of failures; more than that many kinds is one big failure
_E = nfse_emissao.c


@dataclass(frozen=True, slots=True)
class Caminho:
    """How far the sessions of a time came; seconds from the first word to the invoice, and messages for each.

    ``autorizadas`` have a note that stands; of ``canceladas`` every note was cancelled, and of ``substituidas`` another
    one took the place.
    """

    abertas: int
    completas: int
    confirmadas: int
    autorizadas: int
    canceladas: int
    substituidas: int
    mediana: float | None
    p95: float | None
    mensagens: int


@dataclass(frozen=True, slots=True)
class Semana:
    """One week in figures: notes that stand, with their sum in BRL; refusals; medians in seconds, None of nothing.

    ``mediana`` is from the first word to the note, ``resposta`` from a wish for a person until one of the staff came.
    """

    notas: int = 0
    valor: Decimal | None = None
    recusadas: int = 0
    mediana: float | None = None
    resposta: float | None = None


async def by_period(connection: Connection, alcance: Alcance) -> tuple[Semana, Semana]:
    """Count the last seven days, and the seven before, as they stand this moment."""
    week = timedelta(days=7)

    def before(moment: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        return (moment <= sa.func.now() - week).label("antes")

    stands = sa.and_(nfse_processada.c.id.is_not(None), nfse_processada.c.status != StatusNota.CANCELADO)
    took = sa.func.extract("epoch", nfse_processada.c.criado_em - snapshot.c.created_at)
    joined = nfse_emissao.outerjoin(nfse_processada, nfse_processada.c.emissao_id == _E.id)
    joined = joined.outerjoin(snapshot, snapshot.c.id == _E.session_id)
    notes = sa.select(
        before(_E.criado_em),
        sa.func.count().filter(stands).label("notas"),
        sa.func.sum(_E.valor_servico).filter(stands).label("valor"),
        sa.func.count(sa.distinct(_E.sessao_id)).filter(_E.status == StatusEmissao.REJEITADO).label("recusadas"),
        sa.func.percentile_cont(0.5).within_group(took).filter(stands).label("mediana"),
    ).select_from(joined)
    notes = notes.where(_E.criado_em > sa.func.now() - 2 * week, alcance.em(_E.prestador_id))
    notes = notes.where(sa.text(counts("nfse_emissao"))).group_by(sa.text("antes"))
    a = auditoria.c
    waited = sa.cast(a.detalhe[WAITED].astext, sa.Float)
    came = sa.select(before(a.em), sa.func.percentile_cont(0.5).within_group(waited).label("resposta"))
    came = came.where(a.acao == "assumir", a.detalhe.has_key(WAITED), a.em > sa.func.now() - 2 * week)
    came = came.where(alcance.em(a.empresa_id)).group_by(sa.text("antes"))
    counted = {row.antes: row for row in await connection.execute(notes)}
    answered = {row.antes: row.resposta for row in await connection.execute(came)}

    def one(earlier: bool) -> Semana:
        row = counted.get(earlier)
        if row is None:
            return Semana(resposta=answered.get(earlier))
        return Semana(row.notas, row.valor, row.recusadas, row.mediana, answered.get(earlier))

    return one(False), one(True)  # noqa: FBT003 - which of two


async def per_hour(connection: Connection, alcance: Alcance) -> list[tuple[str, int]]:
    """Count the notes of the last 24 hours that stand, by the hour in Brazil (``14h``), the oldest first."""
    n = nfse_processada.c
    hour = sa.func.extract("hour", sa.func.timezone("America/Sao_Paulo", n.criado_em))
    since = sa.func.date_trunc("hour", sa.func.now()) - timedelta(hours=23)
    joined = nfse_processada.join(nfse_emissao, _E.id == n.emissao_id)
    statement = sa.select(hour.label("hora"), sa.func.count().label("quantas")).select_from(joined)
    statement = statement.where(n.criado_em >= since, n.status != StatusNota.CANCELADO, alcance.em(_E.prestador_id))
    statement = statement.where(_E.criado_em > sa.func.now() - timedelta(days=14), sa.text(counts("nfse_emissao")))
    found = {int(row.hora): row.quantas for row in await connection.execute(statement.group_by(hour))}
    local = sa.func.extract("hour", sa.func.timezone("America/Sao_Paulo", sa.func.now()))
    now = int((await connection.execute(sa.select(local))).scalar_one())
    return [(f"{h:02d}h", found.get(h, 0)) for h in ((now + 1 + step) % 24 for step in range(24))]


async def failure_groups(connection: Connection, alcance: Alcance, since: timedelta) -> list[Any]:
    """List failures by the gateway's code, status and city: notes, open ones, first and last seen, one sample.

    Open is what nobody looked after or tried again, and what its person took up in no other session. Those with
    something open come first. ``voltou``: somebody had resolved the group, or one of it, and it failed again later.
    ``empresa_id`` and ``razao_social`` are of the sample, ``empresas`` counts them all. ``resolvido_em``,
    ``resolvido_quem`` and ``resolvido_motivo`` are of the whole group's last resolution.
    """
    joined = nfse_emissao.join(empresa, empresa.c.id == _E.prestador_id)
    seen = resolvida.join(snapshot, snapshot.c.sessao_id == resolvida.c.sessao_id)  # few: no need of every session
    joined = joined.outerjoin(seen, resolvida.c.sessao_id == _E.sessao_id)
    joined = joined.outerjoin(grupo_resolvido, GROUP_RESOLVED)
    solved = sa.func.greatest(sa.func.max(resolvida.c.em), sa.func.max(grupo_resolvido.c.em))
    notes = sa.func.count(sa.distinct(_E.sessao_id))  # one that was tried twice is one
    last, opened = sa.func.max(_E.criado_em), notes.filter(OPEN)
    counted = (
        sa.select(
            CODE.label("codigo"),
            _E.status,
            empresa.c.municipio_ibge,
            notes.label("quantas"),
            opened.label("abertas"),
            sa.func.min(_E.criado_em).label("primeira"),
            last.label("ultima"),
            sa.func.max(_E.sessao_id).label("exemplo"),
            _newest(_E.prestador_id).label("empresa_id"),
            _newest(empresa.c.razao_social).label("razao_social"),
            sa.func.count(sa.distinct(_E.prestador_id)).label("empresas"),
            sa.func.max(_E.erro_mensagem).label("mensagem"),
            sa.func.coalesce(solved < sa.func.max(WHEN), sa.false()).label("voltou"),
        )
        .select_from(joined)
        .where(_E.status.in_(PEDEM_OLHOS | {StatusEmissao.REJEITADO}), alcance.em(_E.prestador_id))
        .where(_E.criado_em > sa.func.now() - since)
        .group_by(CODE, _E.status, empresa.c.municipio_ibge)
        .order_by((opened > 0).desc(), last.desc())
        .limit(GROUPS)
        .subquery()
    )
    resolved = last_resolution(alcance, counted.c.codigo, counted.c.status, counted.c.municipio_ibge).lateral()
    said = (resolved.c[name].label(f"resolvido_{name}") for name in ("em", "quem", "motivo"))
    statement = sa.select(counted, *said).select_from(counted.outerjoin(resolved, sa.true()))
    return list(await connection.execute(statement.order_by((counted.c.abertas > 0).desc(), counted.c.ultima.desc())))


def _newest(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return what the group's sample has in this column."""
    return sa.func.array_agg(aggregate_order_by(column, _E.sessao_id.desc()))[1]


async def way(connection: Connection, alcance: Alcance, since: timedelta) -> Caminho:
    """Count how far sessions came, and how long an invoice took."""
    s = snapshot.c
    recent = sa.and_(s.created_at > sa.func.now() - since, alcance.em(s.empresa_id))
    cancelled, replaced = s.id.in_(CANCELADAS), s.id.in_(SUBSTITUIDAS)
    counts = sa.select(
        sa.func.count().label("abertas"),
        sa.func.count().filter(s.resumos > 0).label("completas"),
        sa.func.count().filter(s.id_integracao.is_not(None)).label("confirmadas"),
        sa.func.count().filter(s.estado == Estado.APROVADO, ~cancelled).label("autorizadas"),
        sa.func.count().filter(s.estado == Estado.APROVADO, cancelled, ~replaced).label("canceladas"),
        sa.func.count().filter(s.estado == Estado.APROVADO, cancelled, replaced).label("substituidas"),
    ).where(recent)
    took = sa.func.extract("epoch", nfse_processada.c.criado_em - s.created_at)
    times = sa.select(
        sa.func.percentile_cont(0.5).within_group(took).label("mediana"),
        sa.func.percentile_cont(0.95).within_group(took).label("p95"),
    ).select_from(
        nfse_processada.join(nfse_emissao, _E.id == nfse_processada.c.emissao_id).join(snapshot, s.id == _E.session_id)
    )
    sent = sa.select(sa.func.count()).select_from(outbox.join(snapshot, s.sessao_id == outbox.c.sessao_id))
    sent = sent.where(recent, outbox.c.enviado_em.is_not(None))
    a = (await connection.execute(counts)).one()
    b = (await connection.execute(times.where(recent))).one()
    mensagens = (await connection.execute(sent)).scalar_one()
    return Caminho(
        a.abertas,
        a.completas,
        a.confirmadas,
        a.autorizadas,
        a.canceladas,
        a.substituidas,
        float(b.mediana) if b.mediana is not None else None,
        float(b.p95) if b.p95 is not None else None,
        mensagens,
    )


async def per_day(connection: Connection, alcance: Alcance, since: timedelta) -> list[tuple[str, int]]:
    """Count the invoices that stand by the day in Brazil on which they were authorised, the oldest first."""
    local = sa.func.timezone("America/Sao_Paulo", nfse_processada.c.criado_em)
    day = sa.func.to_char(local, "YYYY-MM-DD")
    joined = nfse_processada.join(nfse_emissao, _E.id == nfse_processada.c.emissao_id)
    statement = sa.select(day, sa.func.count()).select_from(joined)
    statement = statement.where(nfse_processada.c.criado_em > sa.func.now() - since, alcance.em(_E.prestador_id))
    statement = statement.where(nfse_processada.c.status != StatusNota.CANCELADO, sa.text(counts("nfse_emissao")))
    rows = await connection.execute(statement.group_by(day).order_by(day))
    return [(str(row[0]), int(row[1])) for row in rows]


async def refusals(connection: Connection, alcance: Alcance, since: timedelta) -> list[tuple[str, int]]:
    """Count what the authority refused, the commonest first: its code, with the words of one refusal behind it."""
    words = sa.func.max(sa.func.left(_E.erro_mensagem, 300))
    statement = sa.select(CODE, words, sa.func.count()).where(
        _E.status == StatusEmissao.REJEITADO, alcance.em(_E.prestador_id)
    )
    statement = statement.where(_E.criado_em > sa.func.now() - since)
    rows = await connection.execute(statement.group_by(CODE).order_by(sa.func.count().desc()).limit(8))
    return [(_coded(str(row[0]), row[1]), int(row[2])) for row in rows]


def _coded(code: str, words: str | None) -> str:
    plain = words is None or words[:1] in {"[", "{"} or code in words or " " in code
    return words or code if plain else f"{code}: {words}"


async def emissions_waiting(connection: Connection, alcance: Alcance) -> list[Any]:
    """Count emissions without an end, by status, with the oldest one's age in seconds."""
    oldest = sa.func.extract("epoch", sa.func.now() - sa.func.min(_E.criado_em))
    statement = sa.select(_E.status, sa.func.count().label("quantas"), oldest.label("idade"))
    waits = sa.or_(_E.proxima_acao_em.is_not(None), _E.status.in_(COM_PESSOAS))
    return list(await connection.execute(statement.where(waits, alcance.em(_E.prestador_id)).group_by(_E.status)))


async def held(connection: Connection, alcance: Alcance) -> list[Any]:
    """Count emissions that wait without a call, by why, with the longest wait in seconds: (retida, quantas, idade)."""
    age = sa.func.extract("epoch", sa.func.now() - sa.func.min(_E.criado_em))
    statement = sa.select(_E.retida, sa.func.count().label("quantas"), age.label("idade"))
    statement = statement.where(_E.proxima_acao_em.is_not(None), _E.retida.is_not(None), alcance.em(_E.prestador_id))
    return list(await connection.execute(statement.group_by(_E.retida).order_by(_E.retida)))


async def open_operations(connection: Connection, alcance: Alcance, limit: int) -> list[Any]:
    """List operations of which nobody knows how they ended, the oldest first, with their age in seconds.

    One of no session (an operator's command, say) is for those who see every company.
    """
    r = idempotency_records.c
    age = sa.func.extract("epoch", sa.func.now() - r.created_at)
    joined = idempotency_records.outerjoin(snapshot, snapshot.c.sessao_id == r.process_instance_id)
    statement = sa.select(r.operation_name, r.process_instance_id, snapshot.c.sessao_id, age.label("idade"))
    statement = statement.select_from(joined).where(sa.text("status = 'PENDING'"), r.lease_until <= sa.func.now())
    statement = statement.where(alcance.em(snapshot.c.empresa_id)).order_by(r.created_at).limit(limit)
    return list(await connection.execute(statement))


async def last_answer(connection: Connection) -> Any:
    """Return when the gateway last answered, and how many of its newest 20 calls had no whole answer or a 5xx."""
    t = gateway_tentativas.c
    newest = sa.select(t.em, t.http_status).order_by(t.id.desc()).limit(20).subquery()
    bad = sa.or_(newest.c.http_status.is_(None), newest.c.http_status >= 500)  # noqa: PLR2004 - server errors
    statement = sa.select(
        sa.func.max(newest.c.em).filter(~bad).label("em"),
        sa.func.count().filter(bad).label("ruins"),
        sa.func.count().label("chamadas"),
    )
    return (await connection.execute(statement)).one()


async def gateway_lately(connection: Connection, alcance: Alcance) -> list[Any]:
    """Count the last hour's gateway calls by outcome, with their median time in milliseconds."""
    t = gateway_tentativas.c
    took = sa.func.percentile_cont(0.5).within_group(t.latencia_ms)
    statement = sa.select(t.operacao, t.resultado, sa.func.count().label("quantas"), took.label("mediana"))
    statement = statement.select_from(gateway_tentativas.join(nfse_emissao, _E.id == t.emissao_id))
    statement = statement.where(t.em > sa.func.now() - sa.text("interval '1 hour'"), alcance.em(_E.prestador_id))
    return list(await connection.execute(statement.group_by(t.operacao, t.resultado).order_by(t.operacao)))


async def suspended(connection: Connection, alcance: Alcance) -> list[Any]:
    """List companies for which the gateway refuses our credentials."""
    waiting = sa.select(sa.func.count()).where(_E.prestador_id == empresa.c.id, _E.proxima_acao_em.is_not(None))
    columns = (
        empresa.c.id,
        empresa.c.razao_social,
        empresa.c.envio_suspenso,
        empresa.c.suspenso_em,
        empresa.c.sonda_em,
    )
    statement = sa.select(*columns, waiting.scalar_subquery().label("esperando"))
    statement = statement.where(empresa.c.envio_suspenso.is_not(None), alcance.em(empresa.c.id))
    return list(await connection.execute(statement.order_by(empresa.c.razao_social).limit(100)))
