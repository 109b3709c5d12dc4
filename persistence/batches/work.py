"""A worker's way through a batch: taken by one conditional UPDATE, bunch after bunch, each under the same fence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from persistence.claims import Leases
from persistence.db.connection import Connection
from persistence.tables import lotes
from persistence.tables.base import literals
from state_machine.mailing.delivery import (
    LIVRES,
    UNCERTAIN,
    UNCERTAIN_MAX,
    EstadoLinha,
    EstadoLote,
    Settled,
    StatusLote,
)

# ruff: noqa: S608 - every statement is made of words of ours alone; values are bound


STALE: Final = timedelta(seconds=30)  # without a heartbeat a worker counts as dead: the specification's
BUNCH: Final = (
    20  # mails that a worker takes, and of which it tells, with one commit; a dead one leaves so many in doubt
)
ERROR_LENGTH: Final = 500  # characters kept of an error

_ACQUIRE = f"""
UPDATE lotes SET status = '{StatusLote.PROCESSING}', last_attempt = now(), attempts = attempts + 1, epoch = epoch + 1,
    atualizado_em = now()
WHERE id = $1 AND estado = '{EstadoLote.PROCESSANDO}' AND (
    status IN ({literals(LIVRES)})
    OR (status = '{StatusLote.PROCESSING}' AND (last_attempt IS NULL OR last_attempt < now() - $2::interval)))
RETURNING *, (SELECT razao_social FROM empresa WHERE empresa.id = empresa_id) AS empresa
"""
# Whoever takes the word of a batch also tries to take the batch: both in one transaction, so that none is lost.
# The company of which fewest are worked on goes first; none is kept free for others, as each is given back soon.
_WORDS = f"""
WITH esperam AS (
    SELECT f.lote_id, row_number() OVER (PARTITION BY l.empresa_id ORDER BY f.a_partir_de, f.lote_id) + (SELECT count(*)
        FROM lotes o WHERE o.empresa_id = l.empresa_id AND o.status = '{StatusLote.PROCESSING}') AS lugar
    FROM lote_fila f JOIN lotes l ON l.id = f.lote_id WHERE f.a_partir_de <= now()
)
DELETE FROM lote_fila WHERE lote_id IN (SELECT f.lote_id FROM lote_fila f JOIN esperam USING (lote_id)
    ORDER BY lugar, a_partir_de LIMIT $1 FOR UPDATE OF f SKIP LOCKED)
RETURNING lote_id
"""
_QUEUE = """
INSERT INTO lote_fila (lote_id, a_partir_de) VALUES ($1, now() + $2::interval)
ON CONFLICT (lote_id) DO UPDATE SET a_partir_de = least(lote_fila.a_partir_de, excluded.a_partir_de)
"""
# What a dead worker had in hand may have arrived: it waits, and is sent once more at most.
_INHERIT = f"""
UPDATE lote_linhas SET incertas = incertas + 1, atualizado_em = now(),
    estado = CASE WHEN incertas + 1 >= {UNCERTAIN_MAX} THEN '{EstadoLinha.FAILED}' ELSE '{EstadoLinha.PENDING}' END,
    problemas = CASE WHEN incertas + 1 >= {UNCERTAIN_MAX} THEN $2::jsonb ELSE problemas END,
    a_partir_de = last_attempt + $3::interval
WHERE lote_id = $1 AND estado = '{EstadoLinha.PROCESSING}'
"""
_SUPPRESS = f"""
UPDATE lote_linhas l SET estado = '{EstadoLinha.INVALID}', atualizado_em = now(),
    problemas = jsonb_build_array(jsonb_build_object('codigo', 'suprimido', 'detalhe', s.motivo))
FROM lotes, email_suprimido s
WHERE l.lote_id = $1 AND lotes.id = $1 AND l.estado = '{EstadoLinha.PENDING}'
    AND s.empresa_id = lotes.empresa_id AND s.email = l.email
"""
# The batch's row is locked first, as by everybody who changes rows: a stop or a new owner comes before or after.
# A range of the index (lote_id, estado, id) and nothing that could be joined: without sorting, only that index gives
# this order, whatever the planner believes of the rows. A mail that may have gone is taken alone, as it may be what a
# worker died of.
NEXT = f"""
WITH nosso AS MATERIALIZED (
    SELECT id, empresa_id FROM lotes
    WHERE id = $1 AND epoch = $2 AND status = '{StatusLote.PROCESSING}' AND estado = '{EstadoLote.PROCESSANDO}'
    FOR NO KEY UPDATE
), foram AS MATERIALIZED (
    SELECT split_part(email, '@', 2) AS dominio, count(*) AS quantas FROM lote_linhas
    WHERE last_attempt > now() - interval '1 minute' AND $4::bigint IS NOT NULL GROUP BY 1
), proximas AS MATERIALIZED (
    SELECT l.id, l.incertas, split_part(l.email, '@', 2) AS dominio FROM lote_linhas l
    WHERE (l.lote_id, l.estado) >= ($1, '{EstadoLinha.PENDING}')
        AND (l.lote_id, l.estado) <= ($1, '{EstadoLinha.PENDING}')
        AND EXISTS (SELECT FROM nosso) AND (l.a_partir_de IS NULL OR l.a_partir_de <= now())
        AND (SELECT s.motivo FROM email_suprimido s
            WHERE s.empresa_id = (SELECT empresa_id FROM nosso) AND s.email = l.email) IS NULL
        AND split_part(l.email, '@', 2) <> ALL (SELECT dominio FROM foram WHERE quantas >= $4)
    ORDER BY l.lote_id, l.estado, l.id LIMIT {BUNCH}
), contadas AS (
    SELECT id, row_number() OVER (ORDER BY id) AS lugar, sum(incertas) OVER (ORDER BY id) AS incertas,
        row_number() OVER (PARTITION BY dominio ORDER BY id)
            + coalesce((SELECT quantas FROM foram f WHERE f.dominio = p.dominio), 0) AS do_dominio
    FROM proximas p
)
UPDATE lote_linhas l SET estado = '{EstadoLinha.PROCESSING}', attempts = attempts + 1, last_attempt = now(),
    external_id = coalesce(external_id, '<' || 'lote-' || l.lote_id || '-' || l.id || '@' || $3 || '>'),
    atualizado_em = now()
WHERE l.id = ANY (ARRAY(
    SELECT id FROM contadas WHERE (lugar = 1 OR incertas = 0) AND ($4 IS NULL OR do_dominio <= $4)))
RETURNING l.id, l.email, l.dados, l.notas, l.token, l.external_id, l.attempts, l.incertas
"""
IN_ORDER: Final = "SELECT set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true)"
_ONE_AT_A_TIME: Final = f"{IN_ORDER}, pg_advisory_xact_lock(7015073)"  # any constant: who counts a domain's share
# No row: the batch is another's, or was stopped. The mail does not go that was erased, or whose reader said no since.
_GOES = f"""
SELECT l.id IS NOT NULL AND NOT EXISTS (
    SELECT FROM email_suprimido s WHERE s.empresa_id = lotes.empresa_id AND s.email = l.email) AS vai
FROM lotes LEFT JOIN lote_linhas l ON l.id = $3 AND l.estado = '{EstadoLinha.PROCESSING}'
WHERE lotes.id = $1 AND lotes.epoch = $2 AND lotes.status = '{StatusLote.PROCESSING}'
    AND lotes.estado = '{EstadoLote.PROCESSANDO}'
"""
_SETTLE = f"""
WITH nosso AS MATERIALIZED (SELECT id FROM lotes WHERE id = $1 AND epoch = $2 FOR NO KEY UPDATE)
UPDATE lote_linhas l SET estado = s.estado, a_partir_de = now() + make_interval(secs => s.depois),
    problemas = s.problemas, incertas = incertas + s.incerta, attempts = attempts - s.nao_foi,
    last_attempt = CASE s.nao_foi WHEN 0 THEN last_attempt END, atualizado_em = now()
FROM nosso, jsonb_to_recordset($3::jsonb)
    AS s(id bigint, estado text, depois float8, problemas jsonb, incerta smallint, nao_foi smallint)
WHERE l.id = s.id AND l.lote_id = nosso.id AND l.estado = '{EstadoLinha.PROCESSING}'
RETURNING l.id
"""
_BOUNCED = """
INSERT INTO email_suprimido (empresa_id, email, motivo)
SELECT lotes.empresa_id, l.email, $2 FROM lote_linhas l JOIN lotes ON lotes.id = l.lote_id WHERE l.id = $1
ON CONFLICT DO NOTHING
"""
_REST = f"""
SELECT (SELECT estado FROM lotes WHERE id = $1 AND epoch = $2 AND status = '{StatusLote.PROCESSING}'
        FOR NO KEY UPDATE) AS estado,
    count(*) AS quantas,
    greatest(min(coalesce(a_partir_de, now())) - now(), interval '0') AS daqui
FROM lote_linhas WHERE lote_id = $1 AND estado = '{EstadoLinha.PENDING}'
"""
_CANCEL = f"""
UPDATE lote_linhas SET estado = '{EstadoLinha.CANCELADA}', atualizado_em = now()
WHERE lote_id = $1 AND estado = '{EstadoLinha.PENDING}'
"""
_LEAVE = """
UPDATE lotes SET status = $2, estado = $3, erro = $4, last_attempt = NULL, atualizado_em = now() WHERE id = $1
"""
_FAIL = f"""
UPDATE lotes SET status = '{StatusLote.FAILED}', erro = $3, atualizado_em = now()
WHERE id = $1 AND epoch = $2 AND status = '{StatusLote.PROCESSING}'
RETURNING estado
"""
_RECOVER = f"""
UPDATE lotes SET status = CASE WHEN estado = '{EstadoLote.PROCESSANDO}' THEN '{StatusLote.PENDING}'
        ELSE '{StatusLote.DONE}' END,
    last_attempt = NULL, epoch = epoch + 1, atualizado_em = now()
WHERE status = '{StatusLote.PROCESSING}' AND (last_attempt IS NULL OR last_attempt < now() - $1::interval)
RETURNING id, estado
"""


@dataclass(frozen=True, slots=True)
class TakenBatch:
    """A batch in a worker's hands; ``epoch`` is the fencing token."""

    id: int
    epoch: int
    empresa: str  # its name
    assunto: str | None
    mensagem: str | None


_HEARD = lotes.c.status == StatusLote.PROCESSING  # its lease ends ``STALE`` after its worker was last heard
LEASES: Leases[TakenBatch] = Leases(lotes, _HEARD, until="last_attempt", seconds=STALE.total_seconds(), ahead=0.0)


async def try_acquire(connection: Connection, lote_id: int, unknown: timedelta) -> TakenBatch | None:
    """Take a confirmed batch by one conditional UPDATE; ``None`` when it is another's, or not to be worked on.

    ``unknown``: how long a mail waits that its dead worker had in hand.
    """
    found = (await connection.exec_driver_sql(_ACQUIRE, (lote_id, STALE))).one_or_none()
    if found is None:
        return None
    await connection.exec_driver_sql(_INHERIT, (lote_id, [UNCERTAIN], unknown))
    return TakenBatch(found.id, found.epoch, found.empresa, found.assunto, found.mensagem)


async def take_due(connection: Connection, limit: int, unknown: timedelta) -> list[TakenBatch]:
    """Take up to so many batches of which there is word; a word of one that another works on is dropped."""
    words = (await connection.exec_driver_sql(_WORDS, (limit,))).all()
    taken = [await try_acquire(connection, word.lote_id, unknown) for word in words]
    return [batch for batch in taken if batch is not None]


async def next_rows(connection: Connection, batch: TakenBatch, domain: str, per_minute: int | None = None) -> list[Any]:
    """Take the first ``BUNCH`` rows that are due, with their Message-IDs stored; none: it is not ours to send, too.

    ``domain``: the right side of Message-IDs. ``per_minute``: mails to one domain, whoever's they are, ``None`` for any
    number.
    """
    await connection.exec_driver_sql(IN_ORDER if per_minute is None else _ONE_AT_A_TIME)
    found = (await connection.exec_driver_sql(NEXT, (batch.id, batch.epoch, domain, per_minute))).all()
    return sorted(found, key=lambda row: row.id)


async def goes(connection: Connection, batch: TakenBatch, row_id: int) -> bool | None:
    """Say whether a mail in hand may still go; ``None``: none of the batch may."""
    row = (await connection.exec_driver_sql(_GOES, (batch.id, batch.epoch, row_id))).one_or_none()
    return None if row is None else row.vai


async def settle(connection: Connection, batch: TakenBatch, rows: Mapping[int, Settled]) -> bool:
    """Store what became of rows, by their ids; says whether the batch is still ours."""
    became = [
        {
            "id": row_id,
            "estado": settled.estado.value,
            "depois": settled.depois,
            "problemas": [] if settled.problema is None else [settled.problema],
            "incerta": int(settled.incerta),
            "nao_foi": int(settled.not_sent),
        }
        for row_id, settled in rows.items()
    ]
    done = (await connection.exec_driver_sql(_SETTLE, (batch.id, batch.epoch, became))).all()
    for row in done:
        if (motivo := rows[row.id].suppressed) is not None:
            await connection.exec_driver_sql(_BOUNCED, (row.id, motivo))
    return bool(done)


async def leave(connection: Connection, batch: TakenBatch, pause: timedelta = timedelta(0)) -> EstadoLote | None:
    """Give the batch back: done, or to be gone on with when its first row is due. ``None``: it was not ours.

    ``pause``: how long rows wait that are due and may not go.
    """
    await leave_out_suppressed(connection, batch.id)
    rest = (await connection.exec_driver_sql(_REST, (batch.id, batch.epoch))).one()
    if rest.estado is None:
        return None
    estado = EstadoLote(rest.estado)
    if estado is not EstadoLote.PROCESSANDO:
        await connection.exec_driver_sql(_CANCEL, (batch.id,))
    elif rest.quantas:
        await connection.exec_driver_sql(_LEAVE, (batch.id, StatusLote.QUEUED.value, estado.value, None))
        await connection.exec_driver_sql(_QUEUE, (batch.id, rest.daqui or pause))
        return estado
    else:
        estado = EstadoLote.CONCLUIDO
    await connection.exec_driver_sql(_LEAVE, (batch.id, StatusLote.DONE.value, estado.value, None))
    return estado


async def leave_out_suppressed(connection: Connection, lote_id: int) -> None:
    """Tell of the rows whose address gets no more mail of the company."""
    await connection.exec_driver_sql(_SUPPRESS, (lote_id,))


async def mark_failed(connection: Connection, batch: TakenBatch, error: str, after: timedelta) -> bool:
    """Give the batch back with what went wrong, to be tried again later; says whether it was ours."""
    found = (await connection.exec_driver_sql(_FAIL, (batch.id, batch.epoch, error[:ERROR_LENGTH]))).one_or_none()
    if found is not None and found.estado == EstadoLote.PROCESSANDO:
        await connection.exec_driver_sql(_QUEUE, (batch.id, after))
    elif found is not None:
        await _close(connection, batch.id)
        await connection.exec_driver_sql(_LEAVE, (batch.id, StatusLote.DONE.value, found.estado, None))
    return found is not None


async def _close(connection: Connection, lote_id: int) -> None:
    """End the rows of a stopped batch: the mail in hand may have arrived, nothing more goes."""
    await connection.exec_driver_sql(_INHERIT, (lote_id, [UNCERTAIN], timedelta(0)))
    await connection.exec_driver_sql(_CANCEL, (lote_id,))


async def recover(connection: Connection) -> int:
    """Set free the batches whose worker is silent, with one word of each; of stopped ones only the mail in hand."""
    found = (await connection.exec_driver_sql(_RECOVER, (STALE,))).all()
    for row in found:
        if row.estado == EstadoLote.PROCESSANDO:
            await connection.exec_driver_sql(_QUEUE, (row.id, timedelta(0)))
        else:
            await _close(connection, row.id)
    return len(found)
