"""Finds a company's issued notes, by number, value or age; changes nothing but the lock on a note's row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence.tables import cliente_tomador, empresa, nfse_emissao, nfse_processada
from state_machine.cancelamento import NotaEmitida, StatusNota
from state_machine.emission import StatusEmissao

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from persistence.connection import Connection

RECENT = 300  # notes among which a client's name is looked for: a busy month of a small company

_SELECT = (
    sa.select(
        nfse_processada.c.emissao_id,
        nfse_processada.c.numero,
        nfse_processada.c.status,
        nfse_processada.c.criado_em,
        nfse_emissao.c.valor_servico,
        nfse_emissao.c.tomador_documento,
        cliente_tomador.c.razao_social,
    )
    .join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    .join(cliente_tomador, cliente_tomador.c.id == nfse_emissao.c.tomador_id)
    .order_by(nfse_processada.c.id.desc())
)
_IN_FLIGHT = (
    StatusEmissao.PENDENTE,
    StatusEmissao.ENVIANDO,
    StatusEmissao.ENVIADO,
    StatusEmissao.DESCONHECIDO,
)


def _nota(row: Any) -> NotaEmitida:
    return NotaEmitida(
        row.emissao_id,
        row.numero,
        row.valor_servico,
        row.razao_social,
        row.tomador_documento,
        row.criado_em,
        StatusNota(row.status),
    )


async def _all(connection: Connection, statement: sa.Select[Any]) -> list[NotaEmitida]:
    return [_nota(row) for row in await connection.execute(statement)]


async def by_number(connection: Connection, empresa_id: int, numero: str) -> list[NotaEmitida]:
    """Return the company's notes of this number, leading zeros aside, the newest first."""
    same = sa.func.ltrim(nfse_processada.c.numero, "0") == numero.lstrip("0")
    return await _all(connection, _SELECT.where(nfse_emissao.c.prestador_id == empresa_id, same))


async def by_value(connection: Connection, empresa_id: int, valor: Decimal) -> list[NotaEmitida]:
    """Return the company's notes of exactly this value (BRL) that stand, the newest first."""
    mine = _SELECT.where(nfse_emissao.c.prestador_id == empresa_id, nfse_emissao.c.valor_servico == valor)
    return await _all(connection, mine.where(nfse_processada.c.status == StatusNota.AUTORIZADO).limit(RECENT))


async def recent(connection: Connection, empresa_id: int) -> list[NotaEmitida]:
    """Return the company's newest notes, cancelled ones too."""
    return await _all(connection, _SELECT.where(nfse_emissao.c.prestador_id == empresa_id).limit(RECENT))


async def of_company(connection: Connection, empresa_id: int, emissao_id: int) -> NotaEmitida | None:
    """Return one note if it is this company's."""
    mine = _SELECT.where(nfse_emissao.c.prestador_id == empresa_id, nfse_emissao.c.id == emissao_id)
    return next(iter(await _all(connection, mine)), None)


async def locked(connection: Connection, emissao_id: int) -> NotaEmitida | None:
    """Return a note and keep everybody else from changing it until our transaction ends."""
    lock = sa.select(nfse_processada.c.id).where(nfse_processada.c.emissao_id == emissao_id).with_for_update()
    if (await connection.execute(lock)).one_or_none() is None:
        return None
    return next(iter(await _all(connection, _SELECT.where(nfse_emissao.c.id == emissao_id))), None)


async def in_flight(connection: Connection, empresa_id: int) -> bool:
    """Tell whether the company's newest emission is still at the authority."""
    newest = (
        sa.select(nfse_emissao.c.status)
        .where(nfse_emissao.c.prestador_id == empresa_id)
        .order_by(nfse_emissao.c.id.desc())
        .limit(1)
    )
    return (await connection.execute(newest)).scalar_one_or_none() in _IN_FLIGHT


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
    """Move a note's status if it is one of ``de``; False when it was not."""
    values: dict[str, Any] = {"status": para}
    if para is StatusNota.CANCELADO:
        values["cancelado_em"] = sa.func.now()
    changed = await connection.execute(
        nfse_processada.update()
        .where(nfse_processada.c.emissao_id == emissao_id, nfse_processada.c.status.in_(list(de)))
        .values(**values)
    )
    return changed.rowcount == 1
