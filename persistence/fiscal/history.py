"""Reads what a company has issued: what it usually invoices to a client, and its sums by month of issue."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence.people.companies import company_of
from persistence.tables import cliente_tomador, empresa, nfse_emissao, nfse_processada
from state_machine.cancellation.machine import StatusNota
from state_machine.catalogue.records import Emitida
from state_machine.invoice.equal_invoice import mesmo_texto
from state_machine.invoice.known_clients import Costume
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from persistence.db.connection import Connection
    from persistence.people.companies import Empresa
    from state_machine.values.period import MesOuAno

ALIKE = 2  # notes in a row that make a habit
LONGEST_WAIT = timedelta(days=60)  # between a confirmation and the day on its note; people look after the rest

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

_ISSUED = (
    sa.select(
        nfse_processada.c.numero,
        nfse_processada.c.data_emissao,
        nfse_processada.c.criado_em,
        nfse_emissao.c.valor_servico,
        nfse_emissao.c.tomador_documento,
        cliente_tomador.c.razao_social,
    )
    .join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    .join(cliente_tomador, cliente_tomador.c.id == nfse_emissao.c.tomador_id)
    .where(_STANDING, nfse_emissao.c.criado_em > sa.bindparam("b_desde", type_=sa.DateTime(timezone=True)))
    .order_by(nfse_emissao.c.id.desc())
)
_ISSUER = (
    sa.select(empresa)
    .join(nfse_emissao, nfse_emissao.c.prestador_id == empresa.c.id)
    .where(nfse_emissao.c.id == sa.bindparam("b_emissao"))
)


async def issuer_of(connection: Connection, emissao_id: int) -> Empresa | None:
    """Return the company that issues an invoice."""
    row = (await connection.execute(_ISSUER, {"b_emissao": emissao_id})).one_or_none()
    return company_of(row) if row else None


async def issued(connection: Connection, empresa_id: int, periodo: MesOuAno) -> list[Emitida]:
    """Return a company's authorised notes of a period by their day of issue, newest first, without cancelled ones."""
    inicio = datetime.combine(periodo.inicio, time(), SAO_PAULO)
    rows = await connection.execute(_ISSUED, {"b_empresa": empresa_id, "b_desde": inicio - LONGEST_WAIT})
    notas = [
        Emitida(
            row.numero,
            row.valor_servico,
            row.tomador_documento,
            row.razao_social,
            issue_day(row.data_emissao, row.criado_em),
        )
        for row in rows
    ]
    return [nota for nota in notas if nota.dia in periodo]


def issue_day(said: str | None, recorded: datetime) -> date:
    """Return the day on a note as authorities write it (day first, or ISO), else that on which we recorded it."""
    found = _DAY_FIRST.match(said or "")
    text = f"{found[3]}-{found[2]}-{found[1]}" if found else (said or "")[:10]
    try:
        return date.fromisoformat(text)
    except ValueError:
        return recorded.astimezone(SAO_PAULO).date()


_DAY_FIRST = re.compile(r"(\d{2})/(\d{2})/(\d{4})(?!\d)")


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
