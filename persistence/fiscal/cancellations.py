"""Keeps cancellations as people speak of them: opened, given a reason, confirmed, ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence.fiscal import issued
from persistence.tables import cancelamento, inbox, nfse_emissao, session_snapshot
from persistence.versions import known
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
from state_machine.cancellation.reconciliation import Envio
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from datetime import datetime

    from persistence.db.connection import Connection


class StaleCancellationError(ProsaError):
    """Somebody else moved this cancellation meanwhile: load it again and decide again."""

    code = "stale_cancellation"


def _cancelamento(row: Any, nota: NotaEmitida) -> Cancelamento:
    motivo = MotivoCancelamento(known(Codigo, row.codigo), row.motivo) if row.codigo and row.motivo else None
    return Cancelamento(row.id, nota, known(EstadoCancelamento, row.estado), row.versao, motivo, row.expira_em)


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
