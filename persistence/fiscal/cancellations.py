"""Keeps cancellations as people speak of them: opened, given a reason, confirmed, ended.

Keeps who is at work on a confirmed cancellation, and what the gateway said of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from persistence import claims
from persistence.claims import Leases, OrderLeaseLostError, Taken, taken
from persistence.db.connection import Connection
from persistence.fiscal import issued
from persistence.tables import cancelamento, inbox, nfse_emissao, nfse_processada, session_snapshot
from state_machine.cancellation.machine import (
    CONVERSANDO,
    VIVOS,
    Cancelamento,
    Codigo,
    EstadoCancelamento,
    MotivoCancelamento,
    NotaEmitida,
    StatusNota,
)
from state_machine.cancellation.reconciliation import AndamentoCancelamento, Envio, PassoCancelamento
from state_machine.values.errors import ProsaError


class StaleCancellationError(ProsaError):
    """Somebody else moved this cancellation meanwhile: load it again and decide again."""

    code = "stale_cancellation"


def _cancelamento(row: Any, nota: NotaEmitida) -> Cancelamento:
    motivo = MotivoCancelamento(Codigo(row.codigo), row.motivo) if row.codigo and row.motivo else None
    return Cancelamento(row.id, nota, EstadoCancelamento(row.estado), row.versao, motivo, row.expira_em)


# Statements are composed once: that costs more than running them.
_TALKING = sa.select(cancelamento.c.id, cancelamento.c.versao).where(
    cancelamento.c.conversa == sa.bindparam("_conversa"), cancelamento.c.estado.in_(CONVERSANDO)
)


async def talking(connection: Connection, conversa: str) -> tuple[int, int] | None:
    """Return (id, versao) of the cancellation that waits for this conversation's next word."""
    row = (await connection.execute(_TALKING, {"_conversa": conversa})).one_or_none()
    return (row.id, row.versao) if row else None


async def locked(connection: Connection, cancelamento_id: int, conversa: str | None = None) -> Cancelamento | None:
    """Return a cancellation (of this conversation, if named), its note's row locked until our transaction ends."""
    this = {"_id": cancelamento_id}
    emissao_id = (await connection.execute(_EMISSAO, this)).scalar_one_or_none()
    nota = await issued.locked(connection, emissao_id, conversa) if emissao_id is not None else None
    if nota is None:
        return None
    row = (await connection.execute(_ONE, this)).one_or_none()
    return _cancelamento(row, nota) if row and conversa in {None, row.conversa} else None


async def live(connection: Connection, nota: NotaEmitida, conversa: str | None) -> list[Cancelamento]:
    """Return what is live of this note, and what else this conversation is asked about; the note must be locked."""
    rows = list(await connection.execute(_LIVE, {"_conversa": conversa, "_emissao": nota.emissao_id}))
    found = [_cancelamento(row, nota) for row in rows if row.emissao_id == nota.emissao_id]
    for row in rows:
        outra = await issued.locked(connection, row.emissao_id) if row.emissao_id != nota.emissao_id else None
        found += [_cancelamento(row, outra)] if outra else []
    return found


async def open_row(
    connection: Connection,
    nota: NotaEmitida,
    conversa: str | None,
    *,
    pedido_por: str,
    correlacao: str,
    expira_em: datetime,
) -> int:
    """Store a new cancellation and return its id; a second live one of the note is refused by the database."""
    values = {
        "emissao_id": nota.emissao_id,
        "conversa": conversa,
        "pedido_por": pedido_por,
        "expira_em": expira_em,
        "correlacao": correlacao,
    }
    return int((await connection.execute(_OPEN, values)).scalar_one())


async def save(connection: Connection, antes: Cancelamento, depois: Cancelamento) -> None:
    """Store a decision, and the note's status with it. Raises ``StaleCancellationError``.

    Entering ``pendente`` makes it due for the gateway in the same commit: stored first, sent after.
    """
    values: dict[str, Any] = {
        "_id": antes.id,
        "_versao": antes.versao,
        "estado": depois.estado,
        "versao": depois.versao,
        "codigo": depois.motivo.codigo if depois.motivo else None,
        "motivo": depois.motivo.texto if depois.motivo else None,
        "expira_em": depois.expira_em,
    }
    entered = depois.estado if depois.estado is not antes.estado else None
    if (await connection.execute(_SAVE[entered], values)).rowcount != 1:
        raise StaleCancellationError(antes.id)
    if depois.estado is antes.estado:
        return
    emissao_id = depois.nota.emissao_id
    if depois.estado is EstadoCancelamento.PENDENTE:
        marked = await issued.mark(connection, emissao_id, {StatusNota.AUTORIZADO}, StatusNota.CANCELAMENTO_PENDENTE)
        if not marked:
            raise StaleCancellationError(antes.id)
    elif depois.estado is EstadoCancelamento.CANCELADO:
        await issued.mark(connection, emissao_id, set(StatusNota) - {StatusNota.CANCELADO}, StatusNota.CANCELADO)
    elif depois.estado is EstadoCancelamento.NEGADO:
        await issued.mark(connection, emissao_id, {StatusNota.CANCELAMENTO_PENDENTE}, StatusNota.AUTORIZADO)


def _on_entry(estado: EstadoCancelamento | None) -> dict[str, Any]:
    if estado is EstadoCancelamento.PENDENTE:
        return {"envio": Envio.A_ENVIAR, "confirmado_em": sa.func.now(), "proxima_acao_em": sa.func.now()}
    if estado is not None and estado not in VIVOS:
        return {"encerrado_em": sa.func.now(), "proxima_acao_em": None}
    return {}


_EMISSAO = sa.select(cancelamento.c.emissao_id).where(cancelamento.c.id == sa.bindparam("_id"))
_ONE = cancelamento.select().where(cancelamento.c.id == sa.bindparam("_id"))
_LIVE = cancelamento.select().where(
    sa.or_(
        sa.and_(cancelamento.c.emissao_id == sa.bindparam("_emissao"), cancelamento.c.estado.in_(VIVOS)),
        sa.and_(cancelamento.c.conversa == sa.bindparam("_conversa"), cancelamento.c.estado.in_(CONVERSANDO)),
    )
)
_OPEN = cancelamento.insert().values(estado=EstadoCancelamento.AGUARDANDO_MOTIVO, versao=1).returning(cancelamento.c.id)
_SAVE = {
    estado: cancelamento.update()
    .where(cancelamento.c.id == sa.bindparam("_id"), cancelamento.c.versao == sa.bindparam("_versao"))
    .values(**_on_entry(estado))
    for estado in (None, *EstadoCancelamento)
}
_CONVERSATION = (
    sa.select(session_snapshot.c.conversa)
    .join(nfse_emissao, nfse_emissao.c.session_id == session_snapshot.c.id)
    .where(nfse_emissao.c.id == sa.bindparam("_emissao"))
)
_ENDED = (
    sa.select(sa.func.count())
    .select_from(cancelamento)
    .where(cancelamento.c.emissao_id == sa.bindparam("_emissao"), cancelamento.c.estado.not_in(VIVOS))
)
_REASON = (
    sa.select(cancelamento.c.motivo)
    .join(nfse_emissao, nfse_emissao.c.id == cancelamento.c.emissao_id)
    .where(nfse_emissao.c.sessao_id == sa.bindparam("_sessao"), cancelamento.c.estado == EstadoCancelamento.CANCELADO)
    .order_by(cancelamento.c.id.desc())
    .limit(1)
)
_KEY = sa.literal("prazo_cancelamento:") + sa.cast(cancelamento.c.id, sa.Text) + ":"
_OVERDUE = (
    sa.select(cancelamento.c.id, cancelamento.c.conversa, cancelamento.c.versao)
    .where(cancelamento.c.estado.in_(CONVERSANDO), cancelamento.c.expira_em < sa.func.now())
    .where(~sa.exists().where(inbox.c.chave == _KEY + sa.cast(cancelamento.c.versao, sa.Text)))
    .order_by(cancelamento.c.expira_em)
    .limit(sa.bindparam("_limit", type_=sa.Integer))
)


async def conversation_of(connection: Connection, emissao_id: int) -> str | None:
    """Return the conversation in which a note was issued, ``None`` where none ordered it."""
    conversa: str | None = (await connection.execute(_CONVERSATION, {"_emissao": emissao_id})).scalar_one_or_none()
    return conversa


async def reason(connection: Connection, sessao_id: str) -> str | None:
    """Return why the note that a session issued was cancelled, as it was told to the authority."""
    motivo: str | None = (await connection.execute(_REASON, {"_sessao": sessao_id})).scalar_one_or_none()
    return motivo


async def ended(connection: Connection, emissao_id: int) -> int:
    """Count the cancellations of a note that have come to an end."""
    return int((await connection.execute(_ENDED, {"_emissao": emissao_id})).scalar_one())


async def overdue(connection: Connection, limit: int) -> list[tuple[int, str, int]]:
    """Return (id, conversa, versao) of those whose deadline has passed, each once, by the database's clock."""
    return [(row.id, row.conversa, row.versao) for row in await connection.execute(_OVERDUE, {"_limit": limit})]


@dataclass(frozen=True, slots=True)
class TarefaCancelamento(Taken):
    """A cancellation under our lease; ``andamento`` as it was before we took it."""

    id_externo: str
    motivo: MotivoCancelamento
    andamento: AndamentoCancelamento


async def claim(
    connection: Connection,
    livres: int,
    lease_seconds: float,
    ocupadas: Mapping[int, int],
) -> list[TarefaCancelamento]:
    """Take what is due, each company its share of the ``livres`` slots: ``ocupadas`` says how many it holds (by id).

    One to be sent is stored as ``enviando`` before anybody may send it.
    """
    tomada_em = time.monotonic()
    values = {**claims.shares(livres, ocupadas), "lease": lease_seconds}
    rows = await connection.execute(claims.CLAIM_CANCELLATIONS, values)
    return [
        TarefaCancelamento(
            **taken(row, row.emissao_id, tomada_em),
            id_externo=row.id_externo,
            motivo=MotivoCancelamento(Codigo(row.codigo), row.motivo),
            andamento=AndamentoCancelamento(
                Envio(row.era),
                row.confirmado_em,
                row.consultas,
                row.envios,
                row.vigente_desde,
                row.avisado_em is not None,
                row.protocolo,
                row.recusa,
                row.recusas,
            ),
        )
        for row in rows
    ]


_C = cancelamento.c
LEASES: Leases[TarefaCancelamento] = Leases(
    cancelamento, _C.estado == EstadoCancelamento.PENDENTE, was={"envio": attrgetter("andamento.envio")}
)
_SETTLE = LEASES.settlement()
_PROTOCOL = nfse_processada.update().where(nfse_processada.c.emissao_id == sa.bindparam("b_emissao"))


def _hint(key: sa.Column[Any]) -> sa.Update:
    concerned = sa.select(nfse_emissao.c.id).where(key == sa.bindparam("b_nota"))
    waits = _C.estado == EstadoCancelamento.PENDENTE, _C.envio != Envio.A_ENVIAR
    seen = cancelamento.update().where(_C.emissao_id.in_(concerned), *waits)
    return seen.values(dica_em=sa.func.now(), proxima_acao_em=sa.func.now())


_HINT = {True: _hint(nfse_emissao.c.id_integracao), False: _hint(nfse_emissao.c.id_externo)}


async def settle(
    connection: Connection, tarefa: TarefaCancelamento, passo: PassoCancelamento, resposta: str | None
) -> None:
    """Store what followed and give the lease back; ``resposta`` is the JSON received, as storable text.

    Raises ``OrderLeaseLostError`` for a late commit.
    """
    novo = passo.andamento
    values: dict[str, Any] = {
        **LEASES.fence(tarefa),
        "envio": novo.envio,
        "consultas": novo.consultas,
        "envios": novo.envios,
        "vigente_desde": novo.vigente_desde,
        "protocolo": novo.protocolo,
        "recusa": novo.recusa,
        "recusas": novo.recusas,
        "b_atenta": passo.daqui is not None and novo.envio is not Envio.A_ENVIAR,
        "b_seconds": passo.daqui,
        "b_motivo": passo.motivo,
        "b_resposta": resposta,
        "b_avisado": novo.avisado and not tarefa.andamento.avisado,
    }
    if (await connection.execute(_SETTLE, values)).rowcount != 1:
        raise OrderLeaseLostError(tarefa.id)
    if novo.protocolo and novo.protocolo != tarefa.andamento.protocolo:
        protocol = {"b_emissao": tarefa.emissao_id, "protocolo_cancelamento": novo.protocolo}
        await connection.execute(_PROTOCOL, protocol)


async def hint(connection: Connection, id_integracao: str | None, id_externo: str | None) -> int:
    """A webhook spoke of a note: whoever waits for its cancellation looks at once; returns how many that were."""
    nota = {"b_nota": id_integracao or id_externo or ""}
    return (await connection.execute(_HINT[bool(id_integracao)], nota)).rowcount
