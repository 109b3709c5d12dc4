"""Reads one case whole: the session, its conversation, what was said, decided, sent and answered.

Reads orders that no conversation gave: one whole, those that need eyes, those that a search names.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on

from persistence.access.accounts import SHOWN, Alcance
from persistence.db.connection import Connection
from persistence.fiscal.issued import SUBSTITUTA
from persistence.staff.groups import GROUP_RESOLVED, NEWEST, WHEN
from persistence.tables import (
    MENSAGENS_ABERTAS,
    MENSAGENS_LIDAS,
    anotacao,
    auditoria,
    cliente_tomador,
    conversas,
    empresa,
    gateway_tentativas,
    grupo_resolvido,
    inbox,
    nfse_emissao,
    nfse_processada,
    outbox,
    resolvida,
    session_snapshot,
    staff,
    transicoes,
    usuario,
)
from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.session import COM_AUTORIDADE
from state_machine.protocol.emission import PEDEM_OLHOS, StatusEmissao

MESSAGES = 300  # of a kind in one timeline; the newest ones
WINDOW = timedelta(hours=24)  # Meta's: after it only templates may be sent


@dataclass(frozen=True, slots=True)
class Caso:
    """One session with its conversation and company; ``emissoes`` have their note's number, the newest first."""

    sessao: Any
    emissoes: list[Any]
    outras: list[Any]
    seguinte_em: datetime | None

    @property
    def troca_recusada(self) -> bool:
        """Whether the authority takes no other note in a note's place, so that its person cancels that one first."""
        return bool((self.sessao.rascunho.get("substitui") or {}).get("recusada"))


@dataclass(frozen=True, slots=True)
class CaseTimeline:
    """Everything that stands in a timeline, each kind in order."""

    entradas: list[Any]
    saidas: list[Any]
    passos: list[Any]
    tentativas: list[Any]
    notas: list[Any]
    handovers: list[Any]  # of the staff, as audited: who took the conversation over or gave it back, and why


HANDOVERS = ("assumir", "devolver", "encerrar")  # what the audit calls them
_S = session_snapshot.c
# How a session's note stands; of two notes, the one that is still worth something.
NOTA: sa.Label[str | None] = (
    sa.select(nfse_processada.c.status)
    .join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    .where(nfse_emissao.c.session_id == _S.id)
    .order_by(nfse_processada.c.status == StatusNota.CANCELADO, nfse_processada.c.status, nfse_processada.c.id.desc())
    .limit(1)
    .correlate(session_snapshot)
    .scalar_subquery()
    .label("nota")
)
# The number of the note that took the place of a session's.
SUBSTITUTA_DA_SESSAO: sa.Label[str | None] = (
    sa.select(sa.func.max(SUBSTITUTA))
    .select_from(nfse_emissao)
    .where(nfse_emissao.c.session_id == _S.id)
    .correlate(session_snapshot)
    .scalar_subquery()
    .label("substituta")
)
_other, _of_it = nfse_processada.alias(), nfse_emissao.alias()
# Ids of the sessions of which every note is cancelled; few, so a list begins with them.
CANCELADAS: sa.Select[int] = (
    sa.select(nfse_emissao.c.session_id)
    .join(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
    .where(
        nfse_processada.c.status == sa.literal_column("'cancelado'"),  # as its index has it
        ~sa.exists(
            sa.select(_other.c.id)
            .join(_of_it, _of_it.c.id == _other.c.emissao_id)
            .where(_of_it.c.session_id == nfse_emissao.c.session_id, _other.c.status != StatusNota.CANCELADO)
        ),
    )
)
# Ids of the sessions of which a note was replaced by another.
SUBSTITUIDAS: sa.Select[int] = (
    sa.select(nfse_emissao.c.session_id)
    .join(_of_it, _of_it.c.substitui_id == nfse_emissao.c.id)
    .join(_other, _other.c.emissao_id == _of_it.c.id)
    .where(nfse_emissao.c.session_id.is_not(None))
)
# A wish for one of the staff is its person's: it stands at the session that was the newest when it was said.
_asked_at = session_snapshot.alias("pedida")
PEDIU: sa.ColumnElement[str | None] = sa.case(
    (
        _S.id
        == sa.select(sa.func.max(_asked_at.c.id))
        .where(
            _asked_at.c.conversa == conversas.c.conversa,
            _asked_at.c.created_at <= conversas.c.pessoa_pedida_em,
        )
        .correlate(conversas)
        .scalar_subquery(),
        conversas.c.pessoa_motivo,
    )
).label("pessoa_motivo")
_window = sa.func.now() - conversas.c.ultima_entrada_em < WINDOW
_SESSION = (
    sa.select(
        session_snapshot,
        NOTA,
        SUBSTITUTA_DA_SESSAO,
        conversas.c.codigo,
        conversas.c.wa_id,
        conversas.c.nome_perfil,
        conversas.c.ultima_entrada_em,
        conversas.c.atendente_id,
        conversas.c.assumida_em,
        conversas.c.pessoa_pedida_em,
        PEDIU,
        _window.label("janela_aberta"),
        SHOWN.label("atendente"),
        empresa.c.razao_social,
        empresa.c.cnpj.label("empresa_cnpj"),
        empresa.c.municipio_ibge,
        empresa.c.envio_suspenso,
        resolvida.c.em.label("resolvida_em"),
        resolvida.c.quem.label("resolvida_por"),
        resolvida.c.motivo.label("resolvida_motivo"),
        sa.func.now().label("agora"),
    )
    .join(conversas, conversas.c.conversa == _S.conversa)
    .join(empresa, empresa.c.id == _S.empresa_id)
    .outerjoin(staff, staff.c.id == conversas.c.atendente_id)
    .outerjoin(resolvida, sa.and_(resolvida.c.sessao_id == _S.sessao_id, resolvida.c.em >= _S.updated_at))
)


_LISTED = sa.select(_S.sessao_id, _S.estado, _S.created_at, _S.valor, NOTA, SUBSTITUTA_DA_SESSAO)


async def session(connection: Connection, alcance: Alcance, sessao_id: str) -> Caso | None:
    """Return one session, if it is of a company that somebody may see."""
    statement = _SESSION.where(_S.sessao_id == sessao_id, alcance.em(_S.empresa_id))
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        return None
    emitted = (
        sa.select(
            nfse_emissao,
            nfse_processada.c.numero,
            nfse_processada.c.chave,
            nfse_processada.c.status.label("nota_status"),
            SUBSTITUTA,
        )
        .outerjoin(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
        .where(nfse_emissao.c.session_id == row.id)
        .order_by(nfse_emissao.c.id.desc())
    )
    others = _LISTED.where(_S.conversa == row.conversa)
    others = others.where(alcance.em(_S.empresa_id), _S.id != row.id).order_by(_S.id.desc()).limit(8)
    after = sa.select(sa.func.min(_S.created_at)).where(_S.conversa == row.conversa, _S.id > row.id)
    return Caso(
        row,
        list(await connection.execute(emitted)),
        list(await connection.execute(others)),
        (await connection.execute(after)).scalar_one(),
    )


async def contact(connection: Connection, alcance: Alcance, codigo: UUID) -> Any | None:
    """Return one conversation; one without a company, now or ever, is only for who sees everything."""
    c = conversas.c
    joined = conversas.outerjoin(usuario, usuario.c.id == c.usuario_id)
    joined = joined.outerjoin(empresa, empresa.c.id == usuario.c.empresa_id)
    joined = joined.outerjoin(staff, staff.c.id == c.atendente_id)
    statement = sa.select(
        conversas,
        usuario.c.telefone,
        empresa.c.id.label("empresa_id"),
        empresa.c.razao_social,
        SHOWN.label("atendente"),
        _window.label("janela_aberta"),
    ).select_from(joined)
    theirs = sa.exists().where(_S.conversa == c.conversa, alcance.em(_S.empresa_id))
    statement = statement.where(c.codigo == codigo, sa.or_(alcance.em(empresa.c.id), theirs))
    return (await connection.execute(statement)).one_or_none()


async def sessions_of(connection: Connection, alcance: Alcance, conversa: str) -> list[Any]:
    """List a conversation's sessions, the newest first."""
    statement = _LISTED.where(_S.conversa == conversa, alcance.em(_S.empresa_id)).order_by(_S.id.desc()).limit(50)
    return list(await connection.execute(statement))


async def record(connection: Connection, alcance: Alcance, conversa: str, caso: Caso | None = None) -> CaseTimeline:
    """Return what happened in a conversation, or in one session of it, as far as it is of companies that one may see.

    A turn's messages are marked as done by the very commit that opens a session: that moment is where it begins. While
    one of the staff speaks there, every session has all that was said since they took over.
    """
    handled = sa.func.coalesce(inbox.c.feito_em, inbox.c.recebido_em)
    visible = sa.select(_S.sessao_id).where(_S.conversa == conversa, alcance.em(_S.empresa_id))
    said = inbox.select().where(inbox.c.lane == conversa, may_see(alcance, conversa, handled))
    sent = outbox.select().where(outbox.c.conversa == conversa)
    sent = sent.where(may_see(alcance, conversa, outbox.c.criado_em, outbox.c.sessao_id))
    noted = anotacao.select().where(anotacao.c.conversa == conversa)
    noted = noted.where(may_see(alcance, conversa, anotacao.c.em, anotacao.c.sessao_id))
    steps = transicoes.select().where(transicoes.c.sessao_id.in_(visible))
    tried = sa.select(gateway_tentativas, nfse_emissao.c.id_integracao).join(nfse_emissao)
    tried = tried.where(nfse_emissao.c.sessao_id.in_(visible), alcance.em(nfse_emissao.c.prestador_id))
    done = auditoria.select().where(auditoria.c.acao.in_(HANDOVERS), auditoria.c.alvo.in_(visible))
    if caso is not None:
        sessao_id = caso.sessao.sessao_id
        taken = sa.select(sa.func.max(auditoria.c.em)).where(auditoria.c.acao == HANDOVERS[0])
        taken = taken.where(auditoria.c.alvo.in_(visible))
        if caso.sessao.atendente_id is None:
            taken = sa.select(sa.cast(sa.null(), sa.DateTime(timezone=True)))
        since = taken.scalar_subquery()
        said = said.where(sa.or_(_within(caso, handled), inbox.c.recebido_em >= since))
        ours = outbox.c.sessao_id == sessao_id
        ours = sa.or_(ours, sa.and_(outbox.c.sessao_id.is_(None), _within(caso, outbox.c.criado_em)))
        sent = sent.where(sa.or_(ours, outbox.c.criado_em >= since))
        about = anotacao.c.sessao_id == sessao_id
        about = sa.or_(about, sa.and_(anotacao.c.sessao_id.is_(None), _within(caso, anotacao.c.em)))
        noted = noted.where(sa.or_(about, anotacao.c.em >= since))
        steps = steps.where(transicoes.c.sessao_id == sessao_id)
        tried = tried.where(nfse_emissao.c.session_id == caso.sessao.id)
        done = done.where(auditoria.c.alvo == sessao_id)
    return CaseTimeline(
        await _newest(connection, said),
        list(await connection.execute(sent.order_by(outbox.c.id.desc()).limit(MESSAGES))),
        list(await connection.execute(steps.order_by(transicoes.c.id.desc()).limit(MESSAGES))),
        list(await connection.execute(tried.order_by(gateway_tentativas.c.id.desc()).limit(MESSAGES))),
        list(await connection.execute(noted.order_by(anotacao.c.id.desc()).limit(MESSAGES))),
        list(await connection.execute(done.order_by(auditoria.c.id.desc()).limit(MESSAGES))),
    )


def may_see(
    alcance: Alcance, conversa: Any, moment: sa.ColumnElement[Any], sessao_id: sa.ColumnElement[Any] | None = None
) -> sa.ColumnElement[bool]:
    """Return the condition that something of this conversation, at ``moment``, is of a company that one may see.

    It is of the company of the session that it names; else of the one for which the number may issue, from when it was
    let in on; before that of the session that was the newest one then, or of the first.
    """
    if alcance.todas:
        return sa.true()
    held, person, session = conversas.alias(), usuario.alias(), session_snapshot.alias()
    present = sa.select(person.c.empresa_id).join(held, held.c.usuario_id == person.c.id)
    present = present.where(held.c.conversa == conversa)
    sessions = sa.select(session.c.empresa_id).where(session.c.conversa == conversa)
    owners = [
        present.where(moment >= person.c.criado_em),
        sessions.where(session.c.created_at <= moment).order_by(session.c.id.desc()).limit(1),
        sessions.order_by(session.c.id).limit(1),
        present,
    ]
    if sessao_id is not None:
        owners.insert(0, sessions.where(session.c.sessao_id == sessao_id))
    return alcance.em(sa.func.coalesce(*(owner.scalar_subquery() for owner in owners)))


async def _newest(connection: Connection, said: sa.Select[Any]) -> list[Any]:
    """Return the last of a person's words: each half by its index, what waits first, as it may be read meanwhile."""
    found = {}
    for half in (MENSAGENS_ABERTAS, MENSAGENS_LIDAS):
        statement = said.where(sa.text(half)).order_by(inbox.c.id.desc()).limit(MESSAGES)
        found.update({row.id: row for row in await connection.execute(statement)})
    return sorted(found.values(), key=lambda row: row.id, reverse=True)[:MESSAGES]


def _within(caso: Caso, moment: Any) -> sa.ColumnElement[bool]:
    since = moment >= caso.sessao.created_at
    return since if caso.seguinte_em is None else sa.and_(since, moment < caso.seguinte_em)


async def message(connection: Connection, alcance: Alcance, conversa: str, outbox_id: int) -> Any | None:
    """Return one message of ours in this conversation, if it is of a company that somebody may see."""
    visible = may_see(alcance, conversa, outbox.c.criado_em, outbox.c.sessao_id)
    statement = outbox.select().where(outbox.c.id == outbox_id, outbox.c.conversa == conversa, visible)
    return (await connection.execute(statement)).one_or_none()


async def revisions(connection: Connection, sessao_id: str) -> list[Any]:
    """List the journal's drafts: (revisao, em, evento, rascunho), the oldest first, the last of each revision."""
    t = transicoes.c
    draft = t.detalhe["rascunho"]
    statement = sa.select(t.revisao, t.em, t.evento, draft.label("rascunho")).ext(distinct_on(t.revisao))
    statement = statement.where(t.sessao_id == sessao_id, draft.is_not(None)).order_by(t.revisao, t.id.desc())
    return list(await connection.execute(statement))


async def summaries(connection: Connection, sessao_id: str) -> list[Any]:
    """List the summaries that were sent: (resumo_de, texto, status, enviado_em), the oldest first."""
    o = outbox.c
    statement = sa.select(o.resumo_de, o.mensagem["texto"].astext.label("texto"), o.status, o.enviado_em)
    statement = statement.where(o.sessao_id == sessao_id, o.resumo_de.is_not(None)).order_by(o.id)
    return list(await connection.execute(statement))


async def confirmation(connection: Connection, sessao_id: str) -> Any | None:
    """Return the journal's row of the yes that started an emission."""
    t = transicoes.c
    statement = transicoes.select().where(t.sessao_id == sessao_id, t.evento == "Confirmou", t.para.in_(COM_AUTORIDADE))
    return (await connection.execute(statement.order_by(t.id.desc()).limit(1))).one_or_none()


_E = nfse_emissao.c
DOUBTED = sa.text("interval '2 minutes'")  # a younger doubt mends itself


def _orders(alcance: Alcance, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    joined = nfse_emissao.join(empresa, empresa.c.id == _E.prestador_id)
    joined = joined.join(cliente_tomador, cliente_tomador.c.id == _E.tomador_id)
    joined = joined.outerjoin(nfse_processada, nfse_processada.c.emissao_id == _E.id)
    joined = joined.outerjoin(grupo_resolvido, GROUP_RESOLVED)
    statement = sa.select(
        nfse_emissao,
        nfse_processada.c.numero,
        nfse_processada.c.status.label("nota_status"),
        SUBSTITUTA,
        cliente_tomador.c.razao_social.label("cliente"),
        empresa.c.razao_social,
        empresa.c.envio_suspenso,
        sa.func.now().label("agora"),
    )
    ours = (_E.session_id.is_(None), alcance.em(_E.prestador_id))
    return statement.select_from(joined).where(*ours, *conditions)


async def attempts(connection: Connection, alcance: Alcance, pedido: str) -> list[Any]:
    """Return the attempts at one order, the newest first, each with its note; none where somebody may not see it."""
    statement = _orders(alcance, _E.sessao_id == pedido).order_by(_E.id.desc())
    return list(await connection.execute(statement))


async def record_of_orders(connection: Connection, emissoes: list[Any]) -> CaseTimeline:
    """Return what a timeline has of these attempts: their calls."""
    t = gateway_tentativas.c
    tried = gateway_tentativas.select().where(t.emissao_id.in_([emissao.id for emissao in emissoes]))
    calls = list(await connection.execute(tried.order_by(t.id.desc()).limit(MESSAGES)))
    return CaseTimeline(entradas=[], saidas=[], passos=[], tentativas=calls, notas=[], handovers=[])


def waiting(alcance: Alcance) -> sa.Select[Any]:
    """Select the orders that somebody must look at, and whose group nobody has resolved since."""
    doubt = sa.and_(_E.status == StatusEmissao.DESCONHECIDO, _E.criado_em > sa.func.now() - DOUBTED)
    seen = sa.func.coalesce(grupo_resolvido.c.em >= WHEN, sa.false())
    return _orders(alcance, _E.status.in_(PEDEM_OLHOS), ~doubt, ~seen, NEWEST)


async def needing_eyes(connection: Connection, alcance: Alcance, antes: int | None, limite: int) -> list[Any]:
    """List them, who waits longest first; ``antes`` is the id that the next page continues from."""
    statement = waiting(alcance).order_by(_E.id).limit(limite)
    if antes is not None:
        statement = statement.where(_E.id > antes)
    return list(await connection.execute(statement))


async def named(connection: Connection, alcance: Alcance, texto: str, limite: int) -> list[Any]:
    """List the orders that have this id, this reference at the gateway, or a note of this number."""
    numbered = sa.select(nfse_processada.c.emissao_id).where(nfse_processada.c.numero == texto)
    either = sa.or_(_E.sessao_id == texto, _E.id_integracao == texto, _E.id.in_(numbered))
    return list(await connection.execute(_orders(alcance, either, NEWEST).order_by(_E.id.desc()).limit(limite)))
