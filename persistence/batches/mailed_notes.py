"""The notes that mails carry: found when a list is read, and looked at again before each goes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from persistence.db.connection import Connection, storable
from persistence.people.channels import counts
from state_machine.cancellation.machine import StatusNota
from state_machine.mailing.delivery import EstadoLinha
from state_machine.mailing.reading import REVISAO, MailedNote, document_of, month_of, problem, words
from state_machine.values.local_time import SAO_PAULO, MesOuAno

# ruff: noqa: S608 - every statement is made of words of ours alone; values are bound


CHUNK: Final = 500  # rows of one statement; each has a search of its own
# Rows that wait for their notes. The month of the batch is that of its arrival, also when its reading is gone on with.
_WAITING = f"""
SELECT l.id, l.email, l.dados, lotes.empresa_id, lotes.assunto, lotes.criado_em
FROM lote_linhas l JOIN lotes ON lotes.id = l.lote_id
WHERE l.lote_id = $1 AND l.notas = '[]' AND l.estado = '{EstadoLinha.PENDING}' ORDER BY l.id LIMIT $2
"""
# A customer is known by the row's document, or by the address under which another system keeps them.
_FOUND = f"""
SELECT r.id AS linha_id, e.id AS emissao_id, p.numero, e.valor_servico AS valor
FROM unnest($2::bigint[], $3::text[], $4::text[], $5::date[], $6::date[]) AS r(id, email, documento, inicio, depois)
LEFT JOIN clientes c ON c.empresa_id = $1 AND lower(c.email::text) = r.email AND r.documento IS NULL
JOIN nfse_emissao e ON e.prestador_id = $1 AND e.tomador_documento = coalesce(r.documento, c.documento)
    AND e.competencia >= r.inicio AND e.competencia < r.depois AND coalesce(c.ambiente = e.ambiente, true)
JOIN nfse_processada p ON p.emissao_id = e.id AND p.status = '{StatusNota.AUTORIZADO}'
WHERE {counts("e", "$1")}
ORDER BY r.id, e.id
"""
_STORE = """
UPDATE lote_linhas l SET notas = r.notas::jsonb, dados = l.dados || r.dados::jsonb, problemas = r.problemas::jsonb,
    estado = r.estado, atualizado_em = now()
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) AS r(id, notas, dados, problemas, estado)
WHERE l.id = r.id
"""
_REVISION = f"""
UPDATE lotes SET revisao = left(encode(sha256(convert_to(lotes.revisao || r.notas, 'UTF8')), 'hex'), {REVISAO})
FROM (SELECT string_agg(linha || ':' || notas, ',' ORDER BY linha) AS notas FROM lote_linhas
    WHERE lote_id = $1 AND notas IS NOT NULL) AS r
WHERE lotes.id = $1 AND r.notas IS NOT NULL
"""
_STAND = f"""
SELECT count(*) FROM nfse_processada
WHERE emissao_id = ANY($1::bigint[]) AND status IN ('{StatusNota.AUTORIZADO}', '{StatusNota.CANCELAMENTO_PENDENTE}')
"""


async def find(connection: Connection, lote_id: int) -> bool:
    """Give some rows without text the notes of their customers; says whether there were such rows."""
    rows = (await connection.exec_driver_sql(_WAITING, (lote_id, CHUNK))).all()
    if not rows:
        return False
    months = {row.id: month_of(row.dados) or _arrived(row.criado_em) for row in rows}
    asked = [(row.id, row.email, document_of(row.dados), months[row.id].inicio, months[row.id].depois) for row in rows]
    found = (await connection.exec_driver_sql(_FOUND, (rows[0].empresa_id, *zip(*asked, strict=True)))).all()
    notas = {
        linha_id: [MailedNote(row.emissao_id, row.numero, row.valor) for row in group]
        for linha_id, group in groupby(found, key=lambda row: row.linha_id)
    }
    stored = [_stored(row, months[row.id], notas.get(row.id, [])) for row in rows]
    await connection.exec_driver_sql(_STORE, tuple(zip(*stored, strict=True)))
    return True


async def revise(connection: Connection, lote_id: int) -> None:
    """Let a yes to the batch be one to the notes that its mails carry."""
    await connection.exec_driver_sql(_REVISION, (lote_id,))


async def stand(connection: Connection, emissoes: Collection[int]) -> bool:
    """Say whether each of these notes is valid still."""
    return bool((await connection.exec_driver_sql(_STAND, (list(emissoes),))).scalar_one() == len(emissoes))


def _arrived(moment: datetime) -> MesOuAno:
    day = moment.astimezone(SAO_PAULO)
    return MesOuAno(day.year, day.month)


def _stored(row: Any, mes: MesOuAno, notas: list[MailedNote]) -> tuple[Any, ...]:
    why = problem(mes, notas)
    if why is not None:
        return row.id, "[]", "{}", storable([why]), EstadoLinha.INVALID.value
    kept = [{"emissao_id": nota.emissao_id, "numero": nota.numero} for nota in notas]
    said = words(mes, notas, row.dados.get("assunto") or row.assunto)
    return row.id, storable(kept), storable(said), "[]", EstadoLinha.PENDING.value
