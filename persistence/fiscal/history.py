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
from persistence.tables import cliente_tomador, empresa, nfse_emissao, nfse_processada
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
    sa.text(counts("nfse_emissao")),
)
_LAST = (
    sa.select(nfse_emissao.c.descricao_servico, nfse_emissao.c.valor_servico)
    .join(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
    .where(_STANDING, nfse_emissao.c.tomador_documento == sa.bindparam("b_documento"))
    .order_by(nfse_emissao.c.id.desc())
    .limit(ALIKE)
)

# The day on a note as authorities write it, day first or ISO, else that on which we recorded it; "2026-11-23".
_SAID = nfse_processada.c.data_emissao
DAY = sa.case(
    (
        _SAID.op("~")(r"^(0[1-9]|[12]\d|3[01])/(0[1-9]|1[0-2])/\d{4}(\D|$)"),
        sa.func.concat(sa.func.substr(_SAID, 7, 4), "-", sa.func.substr(_SAID, 4, 2), "-", sa.func.substr(_SAID, 1, 2)),
    ),
    (_SAID.op("~")(r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"), sa.func.substr(_SAID, 1, 10)),
    else_=sa.func.to_char(sa.func.timezone(str(SAO_PAULO), nfse_processada.c.criado_em), "YYYY-MM-DD"),
)
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
_CLIENT = sa.bindparam("b_documento", type_=sa.Text)
_COUNTED = _IN_PERIOD.where(sa.or_(_CLIENT.is_(None), nfse_emissao.c.tomador_documento == _CLIENT)).subquery()
_ISSUED = (
    sa.select(
        _COUNTED,
        cliente_tomador.c.razao_social,
        sa.func.count().over().label("quantas"),
        sa.func.sum(_COUNTED.c.valor_servico).over().label("soma"),
    )
    .join(cliente_tomador, cliente_tomador.c.id == _COUNTED.c.tomador_id)
    .order_by(_COUNTED.c.id.desc())
    .limit(LISTADAS)
)
_LARGEST = _ISSUED.order_by(None).order_by(_COUNTED.c.valor_servico.desc(), _COUNTED.c.id.desc()).limit(1)
_ALL_OF = _IN_PERIOD.subquery()
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
_SUMMED = _IN_PERIOD.order_by(nfse_emissao.c.id.desc()).limit(sa.bindparam("b_limit", type_=sa.Integer)).subquery()
_SUM = sa.select(sa.func.count().label("quantas"), sa.func.sum(_SUMMED.c.valor_servico).label("soma"))
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
        sa.text(counts("nfse_emissao")),
    )
    .order_by(nfse_emissao.c.id)
    .limit(sa.bindparam("b_limit", type_=sa.Integer))
)
_NUMBERS_THERE = (
    sa.select(nfse_processada.c.numero)
    .join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    .where(
        nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"),
        sa.text(counts("nfse_emissao")),
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
    rows = list(await connection.execute(_ISSUED, {**_bounds(empresa_id, periodo), "b_documento": documento}))
    notas = tuple(map(_emitida, rows))
    return Emitidas(rows[0].quantas, rows[0].soma, notas) if rows else Emitidas()


def _emitida(row: Any) -> Emitida:
    return Emitida(row.numero, row.valor_servico, row.tomador_documento, row.razao_social, row.dia)


async def largest(
    connection: Connection, empresa_id: int, periodo: MesOuAno, documento: str | None = None
) -> Emitida | None:
    """Return the largest of the same notes, of equal ones the newest; ``None`` without any."""
    values = {**_bounds(empresa_id, periodo), "b_documento": documento}
    row = (await connection.execute(_LARGEST, values)).one_or_none()
    return _emitida(row) if row else None


async def of_clients(connection: Connection, empresa_id: int, periodo: MesOuAno) -> list[DeCliente]:
    """Return whom the same notes are to, with how many and their sum, the largest sum first."""
    rows = await connection.execute(_OF_CLIENTS, _bounds(empresa_id, periodo))
    return [DeCliente(row.documento, row.nome, row.quantas, row.soma) for row in rows]


async def total_issued(connection: Connection, empresa_id: int, periodo: MesOuAno, most: int) -> Decimal | None:
    """Return the sum (BRL) of the same notes, ``None`` where there are more than ``most``: reading them takes long."""
    values = {**_bounds(empresa_id, periodo), "b_limit": most + 1}
    row = (await connection.execute(_SUM, values)).one()
    return (row.soma or Decimal("0.00")) if row.quantas <= most else None


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
