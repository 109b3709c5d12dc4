"""Finds a company's issued notes, by number, value or age, with who made each, and locks a note's row."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from persistence.api import hooks
from persistence.db.connection import Connection
from persistence.people.channels import counts
from persistence.tables import cliente_tomador, conversas, empresa, nfse_emissao, nfse_processada, session_snapshot
from state_machine.cancellation.machine import NotaEmitida, StatusNota
from state_machine.goods import nome_da_nota
from state_machine.protocol.emission import StatusEmissao

SOMEBODY = "outra pessoa da empresa"  # where the conversation that made a note has no name
_WIDEST = 15  # digits of a number with its zeros
RECENT = 300  # notes among which a client's name is looked for: a busy month of a small company

_NEWER, _NEWER_NOTE = nfse_emissao.alias(), nfse_processada.alias()
SUBSTITUTA = (  # the number of the note that took the place of an emission's
    sa.select(_NEWER_NOTE.c.numero)
    .join(_NEWER, _NEWER.c.id == _NEWER_NOTE.c.emissao_id)
    .where(_NEWER.c.substitui_id == nfse_emissao.c.id)
    .limit(1)
    .correlate(nfse_emissao)
    .scalar_subquery()
    .label("substituta")
)
_SELECT = (
    sa.select(
        nfse_processada.c.emissao_id,
        nfse_processada.c.numero,
        nfse_processada.c.status,
        nfse_processada.c.criado_em,
        nfse_emissao.c.valor_servico,
        nfse_emissao.c.tomador_documento,
        nfse_emissao.c.canal,
        cliente_tomador.c.razao_social,
        session_snapshot.c.conversa,
        session_snapshot.c.sessao_id,
        sa.func.coalesce(conversas.c.nome_perfil, conversas.c.wa_id, SOMEBODY).label("quem"),
        SUBSTITUTA,
    )
    .join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    .join(cliente_tomador, cliente_tomador.c.id == nfse_emissao.c.tomador_id)
    .outerjoin(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
    .outerjoin(conversas, conversas.c.conversa == session_snapshot.c.conversa)
    .order_by(nfse_processada.c.id.desc())
)
UNISSUED = (StatusEmissao.REJEITADO, StatusEmissao.DISPENSADO)  # emissions of which no note comes
_IN_FLIGHT = (
    StatusEmissao.PENDENTE,
    StatusEmissao.ENVIANDO,
    StatusEmissao.ENVIADO,
    StatusEmissao.DESCONHECIDO,
)

# Statements are composed once: that costs more than running them.
_THIS = nfse_emissao.c.id == sa.bindparam("b_emissao")
_MINE = _SELECT.where(nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"))
_COUNT = _MINE.where(sa.text(counts("nfse_emissao", ":b_empresa")))
_BY_NUMBER = _COUNT.where(nfse_processada.c.numero == sa.any_(sa.bindparam("b_numeros", type_=sa.ARRAY(sa.Text))))


def _newest(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Find the newest first, so that nothing is joined for those that nobody sees."""
    ids = sa.select(nfse_emissao.c.id).join(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
    ids = ids.where(
        nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"), sa.text(counts("nfse_emissao", ":b_empresa"))
    )
    return _SELECT.where(
        nfse_processada.c.emissao_id.in_(ids.where(*conditions).order_by(nfse_emissao.c.id.desc()).limit(RECENT))
    )


_RECENT = _newest()
_BY_VALUE = _newest(
    nfse_emissao.c.valor_servico == sa.bindparam("b_valor"), nfse_processada.c.status == StatusNota.AUTORIZADO
)
_OF_COMPANY = _MINE.where(_THIS)
# Whoever had to wait for the lock reads the note's row as it is then.
_LOCKED = _SELECT.where(_THIS).with_for_update(of=nfse_processada)
_LATEST = (
    sa.select(nfse_emissao.c.status)
    .join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
    .where(nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"))
    .where(session_snapshot.c.conversa == sa.bindparam("b_conversa"))
    .order_by(nfse_emissao.c.id.desc())
    .limit(1)
)

_OF_SESSION = (
    sa.select(nfse_processada.c.status)
    .join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    .where(nfse_emissao.c.sessao_id == sa.bindparam("b_sessao"))
)


# The note whose place an emission took, and whether one takes, or took, the place of a note.
_REPLACED = (
    nfse_processada.update()
    .where(
        nfse_processada.c.emissao_id == nfse_emissao.c.substitui_id,
        nfse_emissao.c.id == sa.bindparam("b_emissao"),
        nfse_processada.c.status != StatusNota.CANCELADO,
    )
    .values(status=StatusNota.CANCELADO, cancelado_em=sa.func.now())
)
_BEING_REPLACED = sa.select(
    sa.exists().where(nfse_emissao.c.substitui_id == sa.bindparam("b_emissao"), nfse_emissao.c.status.not_in(UNISSUED))
)
_KEY = sa.select(nfse_processada.c.chave).join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
_KEY_OF = _KEY.where(_THIS, nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"))


_OLD = nfse_emissao.alias()
_REFUSED_INSTEAD = (
    sa.select(nfse_emissao.c.sessao_id)
    .join(_OLD, _OLD.c.id == nfse_emissao.c.substitui_id)
    .where(_OLD.c.sessao_id == sa.bindparam("b_sessao"), nfse_emissao.c.status == StatusEmissao.REJEITADO)
    .order_by(nfse_emissao.c.id.desc())
    .limit(1)
)


def _mark(para: StatusNota) -> sa.Update:
    values: dict[str, Any] = {"status": para}
    if para is StatusNota.CANCELADO:
        values["cancelado_em"] = sa.func.now()
    de = sa.any_(sa.bindparam("b_de", type_=sa.ARRAY(sa.Text)))
    this = nfse_processada.c.emissao_id == sa.bindparam("b_emissao")
    return nfse_processada.update().where(this, nfse_processada.c.status == de).values(**values)


_MARK = {para: _mark(para) for para in StatusNota}


def _nota(row: Any, conversa: str | None) -> NotaEmitida:
    return NotaEmitida(
        row.emissao_id,
        row.numero,
        row.valor_servico,
        row.razao_social,
        row.tomador_documento,
        row.criado_em,
        StatusNota(row.status),
        row.quem if conversa is not None and row.conversa != conversa else None,
        row.sessao_id if row.conversa == conversa else None,
        row.substituta,
        nome_da_nota(row.canal),
    )


async def _all(
    connection: Connection, statement: sa.Select[Any], values: dict[str, Any], conversa: str | None
) -> list[NotaEmitida]:
    return [_nota(row, conversa) for row in await connection.execute(statement, values)]


async def by_number(
    connection: Connection, empresa_id: int, numero: str, conversa: str | None = None
) -> list[NotaEmitida]:
    """Return the company's notes of this number, leading zeros aside, the newest first.

    Here and below: with ``conversa``, who asks, a note that another one made says whose it is.
    """
    bare = numero.lstrip("0")
    written = [bare.zfill(width) for width in range(len(bare), max(len(bare), _WIDEST) + 1)]
    return await _all(connection, _BY_NUMBER, {"b_empresa": empresa_id, "b_numeros": written}, conversa)


async def by_value(
    connection: Connection, empresa_id: int, valor: Decimal, conversa: str | None = None
) -> list[NotaEmitida]:
    """Return the company's notes of exactly this value (BRL) that stand, the newest first."""
    return await _all(connection, _BY_VALUE, {"b_empresa": empresa_id, "b_valor": valor}, conversa)


async def recent(connection: Connection, empresa_id: int, conversa: str | None = None) -> list[NotaEmitida]:
    """Return the company's newest notes, cancelled ones too."""
    return await _all(connection, _RECENT, {"b_empresa": empresa_id}, conversa)


async def of_company(connection: Connection, empresa_id: int, emissao_id: int) -> NotaEmitida | None:
    """Return one note if it is this company's."""
    values = {"b_empresa": empresa_id, "b_emissao": emissao_id}
    return next(iter(await _all(connection, _OF_COMPANY, values, None)), None)


async def locked(connection: Connection, emissao_id: int, conversa: str | None = None) -> NotaEmitida | None:
    """Return a note and keep everybody else from changing it until our transaction ends."""
    return next(iter(await _all(connection, _LOCKED, {"b_emissao": emissao_id}, conversa)), None)


async def is_cancelled(connection: Connection, sessao_id: str) -> bool:
    """Tell whether every note that a session issued was cancelled, and there is one."""
    found = list((await connection.execute(_OF_SESSION, {"b_sessao": sessao_id})).scalars())
    return bool(found) and all(status == StatusNota.CANCELADO for status in found)


async def in_flight(connection: Connection, empresa_id: int, conversa: str) -> bool:
    """Tell whether the newest emission that this conversation made for the company is still at the authority."""
    values = {"b_empresa": empresa_id, "b_conversa": conversa}
    return (await connection.execute(_LATEST, values)).scalar_one_or_none() in _IN_FLIGHT


async def referred(connection: Connection, referencia: str, cnpj: str | None) -> list[int]:
    """Return the emissions that a number, our reference or the gateway's id names, of one company if ``cnpj``."""
    named = sa.or_(
        nfse_emissao.c.id_integracao == referencia,
        nfse_emissao.c.id_externo == referencia,
        nfse_processada.c.numero == referencia,
    )
    statement = (
        sa.select(nfse_emissao.c.id)
        .outerjoin(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
        .join(empresa, empresa.c.id == nfse_emissao.c.prestador_id)
        .where(named, *([empresa.c.cnpj == cnpj] if cnpj else []))
        .order_by(nfse_emissao.c.id.desc())
    )
    return list((await connection.execute(statement)).scalars())


async def mark(connection: Connection, emissao_id: int, de: Iterable[StatusNota], para: StatusNota) -> bool:
    """Move a note's status if it is one of ``de``, and tell of a cancellation; False when it was not."""
    changed = await connection.execute(_MARK[para], {"b_emissao": emissao_id, "b_de": list(de)})
    if changed.rowcount and para is StatusNota.CANCELADO:
        hooks.tell_note(connection, "nota.cancelada", emissao_id)
    return changed.rowcount == 1


async def access_key(connection: Connection, empresa_id: int, emissao_id: int) -> str | None:
    """Return the access key of a company's note, ``None`` where it has none."""
    values = {"b_empresa": empresa_id, "b_emissao": emissao_id}
    found: str | None = (await connection.execute(_KEY_OF, values)).scalar_one_or_none()
    return found


def replaced(connection: Connection, emissao_id: int) -> None:
    """Mark the note whose place this emission's took, at the end of the transaction: it counts no more. Tell of it."""
    connection.later(_REPLACED, {"b_emissao": emissao_id})
    hooks.tell_note(connection, "nota.cancelada", emissao_id, substituida=True)


async def is_being_replaced(connection: Connection, emissao_id: int) -> bool:
    """Tell whether an emission of ours takes, or took, the place of this one's note."""
    return bool((await connection.execute(_BEING_REPLACED, {"b_emissao": emissao_id})).scalar_one())


async def refused_instead(connection: Connection, sessao_id: str) -> str | None:
    """Return the newest session of which a refused invoice should have taken the place of this session's note."""
    found: str | None = (await connection.execute(_REFUSED_INSTEAD, {"b_sessao": sessao_id})).scalar_one_or_none()
    return found
