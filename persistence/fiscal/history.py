"""Reads what a company has issued: what it usually invoices to a client, and its sums by month of issue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from persistence.db.connection import Connection
from persistence.fiscal.issued import SUBSTITUTA
from persistence.people.channels import counts
from persistence.people.companies import Empresa, company_columns, company_of
from persistence.tables import cliente_tomador, empresa, nfse_emissao, nfse_processada, soma_mensal
from state_machine.cancellation.machine import StatusNota
from state_machine.catalogue.records import LISTADAS, DeCliente, Emitida, Emitidas
from state_machine.invoice.choices import Costume, mesmo_texto
from state_machine.values.address import EnderecoDito, city_of
from state_machine.values.local_time import SAO_PAULO, MesOuAno

ALIKE = 2  # notes in a row that make a habit
APART = timedelta(days=60)  # a confirmation and the day on its note, at most: an authority waits, or dates back


# Statements are composed once: that costs more than running them.
_STANDING = sa.and_(
    nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"),
    nfse_processada.c.status != StatusNota.CANCELADO,
    sa.text(counts("nfse_emissao", ":b_empresa")),
)
_LAST = (
    sa.select(nfse_emissao.c.descricao_servico, nfse_emissao.c.valor_servico)
    .join(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
    .where(_STANDING, nfse_emissao.c.tomador_documento == sa.bindparam("b_documento"))
    .order_by(nfse_emissao.c.id.desc())
    .limit(ALIKE)
)

# The day on a note, else that on which it was recorded, "2026-11-23"; the function is the migration's.
DAY = sa.func.dia_da_nota(nfse_processada.c.data_emissao, nfse_processada.c.criado_em)
# Emissions are numbered as they come: two looks at the times of all bound what is read of the company's own.
_FIRST, _LAST_BEFORE = (
    sa.select(nfse_emissao.c.id)
    .where(nfse_emissao.c.criado_em <= sa.bindparam(name, type_=sa.DateTime(timezone=True)))
    .order_by(nfse_emissao.c.criado_em.desc())
    .limit(1)
    .scalar_subquery()
    for name in ("b_desde", "b_ate")
)
_IN_PERIOD = (
    sa.select(
        nfse_emissao.c.id,
        nfse_processada.c.numero,
        DAY.label("dia"),
        nfse_emissao.c.valor_servico,
        nfse_emissao.c.tomador_documento,
        nfse_emissao.c.tomador_id,
    )
    .join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    .where(
        _STANDING,
        nfse_emissao.c.id > sa.func.coalesce(_FIRST, 0),
        nfse_emissao.c.id <= sa.func.coalesce(_LAST_BEFORE, 0),
        sa.func.starts_with(DAY, sa.bindparam("b_periodo", type_=sa.Text)),
    )
)
_OF_CLIENT = _IN_PERIOD.where(nfse_emissao.c.tomador_documento == sa.bindparam("b_documento", type_=sa.Text))


def _named(notes: sa.Select[Any]) -> sa.Select[Any]:
    return notes.add_columns(cliente_tomador.c.razao_social).join(
        cliente_tomador, cliente_tomador.c.id == nfse_emissao.c.tomador_id
    )


_ALL_OF = _IN_PERIOD.subquery()
_OF_ONE = _OF_CLIENT.subquery()
_LISTED = {
    whole: _named(notes).order_by(nfse_emissao.c.id.desc()).limit(LISTADAS)
    for whole, notes in ((True, _IN_PERIOD), (False, _OF_CLIENT))
}
_LARGEST = {
    whole: _named(notes).order_by(nfse_emissao.c.valor_servico.desc(), nfse_emissao.c.id.desc()).limit(1)
    for whole, notes in ((True, _IN_PERIOD), (False, _OF_CLIENT))
}
_S = soma_mensal.c
_SUMS = {
    True: sa.select(sa.func.sum(_S.quantas).label("quantas"), sa.func.sum(_S.soma).label("soma")).where(
        _S.prestador_id == sa.bindparam("b_empresa"),
        sa.func.starts_with(_S.mes + "-", sa.bindparam("b_periodo", type_=sa.Text)),
        sa.text(counts("soma_mensal", ":b_empresa")),
    ),
    False: sa.select(sa.func.count().label("quantas"), sa.func.sum(_OF_ONE.c.valor_servico).label("soma")),
}
_OF_CLIENTS = (
    sa.select(
        _ALL_OF.c.tomador_documento.label("documento"),
        sa.func.max(cliente_tomador.c.razao_social).label("nome"),
        sa.func.count().label("quantas"),
        sa.func.sum(_ALL_OF.c.valor_servico).label("soma"),
    )
    .join(cliente_tomador, cliente_tomador.c.id == _ALL_OF.c.tomador_id)
    .group_by(_ALL_OF.c.tomador_documento)
    .order_by(sa.text("soma DESC"), _ALL_OF.c.tomador_documento)
)
# Of a month by the competence that stands on the note, cancelled ones too.
_CLOSING = (
    sa.select(
        nfse_emissao.c.id,
        nfse_processada.c.numero,
        nfse_processada.c.chave,
        nfse_processada.c.status,
        nfse_processada.c.cancelado_em,
        SUBSTITUTA.label("substituida_por"),
        DAY.label("dia"),
        nfse_emissao.c.competencia,
        nfse_emissao.c.canal,
        nfse_emissao.c.ambiente,
        nfse_emissao.c.valor_servico,
        nfse_emissao.c.descricao_servico,
        nfse_emissao.c.tomador_documento,
        cliente_tomador.c.razao_social,
        nfse_emissao.c.bytes,
        (nfse_emissao.c.intencao["iss_retido"].as_boolean() == sa.true()).label("iss_retido"),
    )
    .join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    .join(cliente_tomador, cliente_tomador.c.id == nfse_emissao.c.tomador_id)
    .where(
        nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"),
        nfse_emissao.c.competencia >= sa.bindparam("b_inicio", type_=sa.Date),
        nfse_emissao.c.competencia < sa.bindparam("b_depois", type_=sa.Date),
        sa.text(counts("nfse_emissao", ":b_empresa")),
    )
    .order_by(nfse_emissao.c.id)
    .limit(sa.bindparam("b_limit", type_=sa.Integer))
)
_NUMBERS_THERE = (
    sa.select(nfse_processada.c.numero)
    .join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    .where(
        nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"),
        sa.text(counts("nfse_emissao", ":b_empresa")),
        nfse_processada.c.numero == sa.any_(sa.bindparam("b_numeros", type_=sa.ARRAY(sa.Text))),
    )
)
_ISSUER = (
    sa.select(empresa, *company_columns())
    .join(nfse_emissao, nfse_emissao.c.prestador_id == empresa.c.id)
    .where(nfse_emissao.c.id == sa.bindparam("b_emissao"))
)


async def issuer_of(connection: Connection, emissao_id: int) -> Empresa | None:
    """Return the company that issues an invoice."""
    row = (await connection.execute(_ISSUER, {"b_emissao": emissao_id})).one_or_none()
    return company_of(row) if row else None


async def issued(connection: Connection, empresa_id: int, periodo: MesOuAno, documento: str | None = None) -> Emitidas:
    """Return a company's authorised notes of a period by their day of issue, without cancelled ones.

    Those of one client, where its bare ``documento`` is given.
    """
    values, whole = {**_bounds(empresa_id, periodo), "b_documento": documento}, documento is None
    sums = (await connection.execute(_SUMS[whole], values)).one()
    if not sums.quantas:
        return Emitidas()
    return Emitidas(
        int(sums.quantas), sums.soma, tuple(map(_emitida, await connection.execute(_LISTED[whole], values)))
    )


def _emitida(row: Any) -> Emitida:
    return Emitida(row.numero, row.valor_servico, row.tomador_documento, row.razao_social, row.dia)


async def largest(
    connection: Connection, empresa_id: int, periodo: MesOuAno, documento: str | None = None
) -> Emitida | None:
    """Return the largest of the same notes, of equal ones the newest; ``None`` without any."""
    values = {**_bounds(empresa_id, periodo), "b_documento": documento}
    row = (await connection.execute(_LARGEST[documento is None], values)).one_or_none()
    return _emitida(row) if row else None


async def of_clients(connection: Connection, empresa_id: int, periodo: MesOuAno) -> list[DeCliente]:
    """Return whom the same notes are to, with how many and their sum, the largest sum first."""
    rows = await connection.execute(_OF_CLIENTS, _bounds(empresa_id, periodo))
    return [DeCliente(row.documento, row.nome, row.quantas, row.soma) for row in rows]


async def total_issued(connection: Connection, empresa_id: int, periodo: MesOuAno) -> Decimal:
    """Return the sum (BRL) of a company's notes of a period that stand."""
    row = (await connection.execute(_SUMS[True], {"b_empresa": empresa_id, "b_periodo": periodo.prefixo})).one()
    return row.soma or Decimal("0.00")


async def closing(connection: Connection, empresa_id: int, mes: MesOuAno, most: int) -> list[Any]:
    """Return the rows of a company's notes of a month by their competence, cancelled ones too, oldest first.

    At most ``most``. Notes of practice are left out once the company issues in earnest.
    """
    values = {"b_empresa": empresa_id, "b_inicio": mes.inicio, "b_depois": mes.depois, "b_limit": most}
    return list(await connection.execute(_CLOSING, values))


async def without_note(connection: Connection, empresa_id: int, numeros: Sequence[str]) -> list[str]:
    """Return which of these numbers no note of the company has, in their order."""
    there = set((await connection.execute(_NUMBERS_THERE, {"b_empresa": empresa_id, "b_numeros": numeros})).scalars())
    return [numero for numero in numeros if numero not in there]


def _bounds(empresa_id: int, periodo: MesOuAno) -> dict[str, object]:
    inicio, depois = (datetime.combine(dia, time(), SAO_PAULO) for dia in (periodo.inicio, periodo.depois))
    return {
        "b_empresa": empresa_id,
        "b_desde": inicio - APART,
        "b_ate": depois + APART,
        "b_periodo": periodo.prefixo,
    }


_PLACE = sa.text(f"""
WITH notas AS (
    SELECT e.id, e.intencao FROM nfse_emissao e JOIN nfse_processada p ON p.emissao_id = e.id
    WHERE e.prestador_id = :b_empresa AND e.tomador_documento = :b_documento AND p.status = '{StatusNota.AUTORIZADO}'
        AND e.intencao IS NOT NULL
)
SELECT feita.local, feita.obra, coalesce((ultima.intencao ->> 'iss_retido')::boolean, false) AS retido
FROM (SELECT intencao FROM notas ORDER BY id DESC LIMIT 1) ultima
LEFT JOIN (
    SELECT intencao ->> 'local' AS local, intencao #> '{{obra,endereco}}' AS obra FROM notas
    WHERE intencao ->> 'local' IS NOT NULL ORDER BY id DESC LIMIT 1
) feita ON true
""")  # noqa: S608 - our own constants


async def with_place(connection: Connection, empresa_id: int, documento: str, usual: Costume | None) -> Costume | None:
    """Return what is usual with a client, and what the newest standing note says of place and ISS."""
    row = (await connection.execute(_PLACE, {"b_empresa": empresa_id, "b_documento": documento})).one_or_none()
    city = city_of(row.local) if row is not None and row.local else None
    if row is None or not (city or row.retido):
        return usual
    usual = replace(usual or Costume(documento, None, None), retido=row.retido)
    if city is None:
        return usual
    site = EnderecoDito(**{part: value or "" for part, value in row.obra.items()}) if row.obra else None
    return replace(usual, cidade=str(city), obra=str(site) if site else None)


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
