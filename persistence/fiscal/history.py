"""Reads what a company has issued: what it usually invoices to a client, and its sums by month of issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence.tables import nfse_emissao, nfse_processada
from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.equal_invoice import mesmo_texto
from state_machine.invoice.known_clients import Costume

if TYPE_CHECKING:
    from persistence.db.connection import Connection

ALIKE = 2  # notes in a row that make a habit

# Statements are composed once: that costs more than running them.
_STANDING = sa.and_(
    nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"), nfse_processada.c.status != StatusNota.CANCELADO
)
_LAST = (
    sa.select(nfse_emissao.c.descricao_servico, nfse_emissao.c.valor_servico)
    .join(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
    .where(_STANDING, nfse_emissao.c.tomador_documento == sa.bindparam("b_documento"))
    .order_by(nfse_emissao.c.id.desc())
    .limit(ALIKE)
)


async def usual(connection: Connection, empresa_id: int, documento: str) -> Costume | None:
    """Return what the company's last notes to a client have in common: the service, and the amount if that is one too.

    ``None`` where there are fewer than ``ALIKE``, or where their services differ. Cancelled notes do not count.
    """
    values = {"b_empresa": empresa_id, "b_documento": documento}
    notas = list(await connection.execute(_LAST, values))
    if len(notas) < ALIKE or not all(mesmo_texto(nota.descricao_servico, notas[0].descricao_servico) for nota in notas):
        return None
    valores = {nota.valor_servico for nota in notas}
    return Costume(documento, notas[0].descricao_servico, str(notas[0].valor_servico) if len(valores) == 1 else None)
