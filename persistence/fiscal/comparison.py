"""What the comparison with the gateway's listing reads and asks for: emissions of some days, another look at some.

Finds what earlier invoices say of a new one: the same content, and the usual amount.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, insert

from persistence.db.connection import Connection
from persistence.fiscal import emissions
from persistence.people.channels import counts
from persistence.tables import empresa, empresa_canal, job_slots, nfse_emissao, nfse_processada
from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.choices import NotaIgual, mesmo_texto
from state_machine.protocol.audit import Nossa
from state_machine.protocol.channel import PRIMEIRO, TipoDocumento
from state_machine.protocol.emission import StatusEmissao

_JOB = "conferencia"


async def companies(connection: Connection, cnpj: str | None = None) -> list[Any]:
    """Return ``id``, ``cnpj``, ``razao_social``, ``canal`` and ``ambiente`` of all companies, or of one."""
    servico = sa.and_(empresa_canal.c.empresa_id == empresa.c.id, empresa_canal.c.tipo == TipoDocumento.SERVICO)
    statement = (
        sa.select(empresa.c.id, empresa.c.cnpj, empresa.c.razao_social, empresa_canal.c.canal, empresa_canal.c.ambiente)
        .outerjoin(empresa_canal, servico)
        .order_by(empresa.c.id)
    )
    if cnpj is not None:
        statement = statement.where(empresa.c.cnpj == cnpj)
    return list(await connection.execute(statement))


async def held(
    connection: Connection,
    empresa_id: int,
    desde: datetime,
    ate: datetime,
    referencias: Collection[str],
    ids: Collection[str],
    canal: str = PRIMEIRO,
    ambiente: str | None = None,
) -> list[Nossa]:
    """Return the company's emissions first sent from ``desde`` to before ``ate`` by ``canal``, and all that it lists.

    With ``ambiente``, those sent in this environment.
    """
    sent = sa.and_(
        nfse_emissao.c.prestador_id == empresa_id,
        nfse_emissao.c.canal == canal,
        nfse_emissao.c.enviado_em >= desde,
        nfse_emissao.c.enviado_em < ate,
    )
    if ambiente is not None:
        sent = sa.and_(sent, nfse_emissao.c.ambiente == ambiente)
    of_the_note = nfse_processada.c.emissao_id == nfse_emissao.c.id
    # Named notes are looked for in their own way each: an OR over all of it would read the whole table.
    named = sa.union(
        sa.select(nfse_emissao.c.id).where(sent),
        sa.select(nfse_emissao.c.id).where(nfse_emissao.c.id_integracao == _any(referencias)),
        sa.select(nfse_emissao.c.id).where(nfse_emissao.c.chave_natural == _any(referencias)),
        sa.select(nfse_emissao.c.id).where(nfse_emissao.c.id_externo == _any(ids)),
    )
    attempt, sibling = nfse_emissao.alias(), nfse_emissao.alias()
    of_one_revision = sa.and_(sibling.c.sessao_id == attempt.c.sessao_id, sibling.c.revisao == attempt.c.revisao)
    wanted = (  # the other attempts at the same revisions too: two of them may have become notes
        sa.select(sibling.c.id).select_from(attempt.join(sibling, of_one_revision)).where(attempt.c.id.in_(named))
    )
    statement = (
        sa.select(
            nfse_emissao,
            nfse_processada.c.numero,
            nfse_processada.c.conteudo_visto_em,
            nfse_processada.c.status.label("nota"),
            nfse_processada.c.id_externo.label("id_da_nota"),
            sa.func.coalesce(nfse_processada.c.cancelado_em, nfse_processada.c.criado_em).label("conhecida_em"),
        )
        .outerjoin(nfse_processada, of_the_note)
        .where(nfse_emissao.c.id.in_(wanted))
        .order_by(nfse_emissao.c.id)
    )
    return [
        Nossa(
            emissao_id=row.id,
            id_integracao=row.chave_natural or row.id_integracao,
            pedido=(row.sessao_id, row.revisao),
            conteudo=emissions.confirmed(row),
            impressao=row.impressao,
            status=StatusEmissao(row.status),
            enviada_em=row.enviado_em,
            nota=StatusNota(row.nota) if row.nota else None,
            numero=row.numero,
            id_externo=row.id_da_nota or row.id_externo,
            conhecida_em=row.conhecida_em,
            conteudo_visto=row.conteudo_visto_em is not None,
            listada=row.listada_em is not None,
        )
        for row in await connection.execute(statement)
    ]


async def content_seen(connection: Connection, ids: Collection[int]) -> None:
    """Keep that the content of these emissions' notes was seen and compared."""
    this = nfse_processada.c.emissao_id == sa.any_(sa.cast(list(ids), ARRAY(sa.BigInteger)))
    await connection.execute(nfse_processada.update().where(this).values(conteudo_visto_em=sa.func.now()))


async def listed(connection: Connection, ids: Collection[int]) -> None:
    """Keep that the channel's list of documents named the notes of these emissions."""
    new = sa.and_(nfse_emissao.c.id.in_(list(ids)), nfse_emissao.c.listada_em.is_(None))
    await connection.execute(nfse_emissao.update().where(new).values(listada_em=sa.func.now()))


async def look_again(connection: Connection, ids: Collection[int]) -> int:
    """Make emissions due for an ordinary question, as after a webhook; what may be sent keeps its time."""
    due = (
        nfse_emissao.update()
        .where(nfse_emissao.c.id.in_(list(ids)), nfse_emissao.c.status != StatusEmissao.PENDENTE)
        .values(dica_em=sa.func.now(), proxima_acao_em=sa.func.now())
    )
    return (await connection.execute(due)).rowcount


async def audited(connection: Connection, slot: datetime) -> set[int]:
    """Return the ids of the companies whose audit of ``slot`` is done."""
    done = sa.select(job_slots.c.job).where(job_slots.c.job.like(f"{_JOB}:%"), job_slots.c.slot == slot)
    return {int(job.partition(":")[2]) for job in (await connection.execute(done)).scalars()}


async def set_audited(connection: Connection, empresa_id: int, slot: datetime) -> bool:
    """Keep that a company's audit of ``slot`` is done; False when another replica was quicker."""
    values = {"job": f"{_JOB}:{empresa_id}", "slot": slot}
    return (await connection.execute(insert(job_slots).values(**values).on_conflict_do_nothing())).rowcount == 1


def _any(values: Collection[str]) -> Any:
    """One parameter, however many there are."""
    return sa.any_(sa.cast(list(values), ARRAY(sa.Text)))


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
        sa.text(counts("nfse_emissao", ":b_empresa")),
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
        sa.text(counts("nfse_emissao", ":b_emissor")),
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
