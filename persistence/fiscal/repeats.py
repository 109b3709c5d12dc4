"""Finds what earlier invoices say of a new one: the same content, and the usual amount."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence.people.channels import counts
from persistence.tables import nfse_emissao, nfse_processada
from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.equal_invoice import NotaIgual, mesmo_texto
from state_machine.protocol.emission import StatusEmissao

if TYPE_CHECKING:
    from datetime import timedelta
    from decimal import Decimal

    from persistence.db.connection import Connection

LATEST, ENOUGH = 20, 5  # invoices that tell a company's usual amount: so many at most, and at least
CANDIDATES = 50  # invoices of one amount to one customer that are compared: undecided ones, then the newest
NEVER = (StatusEmissao.REJEITADO, StatusEmissao.DISPENSADO)  # certainly no invoice

# Statements are composed once: that costs more than running them.
_LOCK = sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(sa.bindparam("b_content", type_=sa.Text), 0)))
# A status of a later version counts as undecided too.
_UNDECIDED = nfse_emissao.c.status != StatusEmissao.CONCLUIDO
_ENDED = sa.func.coalesce(nfse_emissao.c.processado_em, nfse_emissao.c.criado_em)
_CANDIDATES = (
    sa.select(
        nfse_emissao.c.id_integracao,
        nfse_emissao.c.criado_em,
        nfse_emissao.c.descricao_servico,
        _UNDECIDED.label("indecisa"),
    )
    .outerjoin(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
    .where(
        nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"),
        nfse_emissao.c.tomador_documento == sa.bindparam("b_documento"),
        nfse_emissao.c.valor_servico == sa.bindparam("b_valor"),
        sa.or_(_UNDECIDED, sa.func.now() - _ENDED < sa.bindparam("b_window", type_=sa.Interval)),
        nfse_emissao.c.sessao_id != sa.bindparam("b_sessao"),
        sa.text(counts("nfse_emissao")),
        nfse_emissao.c.status.not_in(NEVER),
        sa.func.coalesce(nfse_processada.c.status, StatusNota.AUTORIZADO) != StatusNota.CANCELADO,
    )
    .order_by(_UNDECIDED.desc(), nfse_emissao.c.id.desc())
    .limit(CANDIDATES)
)


_AMOUNTS = (
    sa.select(nfse_emissao.c.valor_servico)
    .where(
        nfse_emissao.c.prestador_id == sa.bindparam("b_emissor"),
        nfse_emissao.c.status == StatusEmissao.CONCLUIDO,
        sa.text(counts("nfse_emissao")),
    )
    .order_by(nfse_emissao.c.id.desc())
    .limit(LATEST)
    .subquery()
)
_USUAL = sa.select(
    sa.func.percentile_disc(sa.literal_column("0.5")).within_group(_AMOUNTS.c.valor_servico).label("valor"),
    sa.func.count().label("quantas"),
).select_from(_AMOUNTS)


async def usual_amount(connection: Connection, empresa_id: int) -> Decimal | None:
    """Return the median amount (BRL) of the company's last issued invoices, ``None`` where there are too few."""
    row = (await connection.execute(_USUAL, {"b_emissor": empresa_id})).one()
    return row.valor if row.quantas >= ENOUGH else None


async def equal_invoice(
    connection: Connection,
    empresa_id: int,
    sessao_id: str,
    documento: str,
    valor: Decimal,
    descricao: str,
    window: timedelta,
) -> NotaIgual | None:
    """Return the company's newest invoice of this customer, amount (BRL) and text from another session, if any.

    One whose fate is open counts however old it is, and before any other; one that was issued counts for ``window``
    after its end, by the database's clock. Refused and cancelled invoices do not count.
    Two confirmations of the same customer and amount at the same moment wait for each other until the commit, so that
    the second one sees the first.
    """
    await connection.execute(_LOCK, {"b_content": f"{empresa_id}:{documento}:{valor}"})
    values = {
        "b_empresa": empresa_id,
        "b_sessao": sessao_id,
        "b_documento": documento,
        "b_valor": valor,
        "b_window": window,
    }
    for row in await connection.execute(_CANDIDATES, values):
        if mesmo_texto(row.descricao_servico, descricao):
            return NotaIgual(row.id_integracao, row.criado_em, row.indecisa)
    return None
