"""Applies Meta's ticks to messages, many at once, and marks their arrivals as done."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from persistence.db.engine import Database
from persistence.queue.lanes import GIVEN_BACK, RING, Lease, LeaseLost
from persistence.queue.outbox import ORDEM, RANK, Tick
from persistence.tables import TALVEZ_SAIU
from persistence.tables.base import literals

# One statement, committed by itself: a tick is applied again without harm, so only the lane's lock must hold. A message
# is found by its wamid; by our number only if it may have left and its wamid is not known: numbers start again in a
# restored or second database, and Meta repeats its webhooks for seven days. Messages are locked before the lane, as by
# the statement that stores ticks (``persistence.queue.inbox``): in another order the two could wait for each other.
_APPLY = f"""
WITH entrada AS MATERIALIZED (
    SELECT * FROM unnest($4::text[], $5::bigint[], $6::text[], $7::int[]) AS e(wamid, outbox_id, status, posto)
), alvo AS MATERIALIZED (
    SELECT DISTINCT ON (id) * FROM (
        SELECT o.id, e.* FROM entrada e JOIN outbox o ON o.wamid = e.wamid
        UNION ALL
        SELECT o.id, e.* FROM entrada e JOIN outbox o ON o.id = e.outbox_id
        WHERE o.wamid IS NULL AND o.status IN ({literals(TALVEZ_SAIU)})
    ) t ORDER BY id, posto DESC
), presas AS MATERIALIZED (
    SELECT o.id FROM outbox o WHERE o.id IN (SELECT id FROM alvo) ORDER BY o.id FOR NO KEY UPDATE
), nossa AS MATERIALIZED (
    SELECT FROM lanes WHERE lane = $1 AND epoch = $2 AND owner IS NOT NULL AND (SELECT count(*) FROM presas) >= 0
    FOR NO KEY UPDATE
), devolvida AS (
    UPDATE lanes SET {GIVEN_BACK} WHERE lane = $1 AND epoch = $2 AND $8 AND EXISTS (SELECT FROM nossa)
    RETURNING {RING} AS tocou
), contadas AS (
    UPDATE outbox o SET wamid = alvo.wamid, run_at = NULL, enviado_em = coalesce(o.enviado_em, now()),
        status = CASE WHEN {RANK} < alvo.posto THEN alvo.status ELSE o.status END
    FROM alvo WHERE o.id = alvo.id AND (o.wamid IS NULL OR o.wamid = alvo.wamid) AND EXISTS (SELECT FROM nossa)
    RETURNING alvo.wamid
), feitas AS (
    UPDATE inbox SET estado = 1, feito_em = now()
    WHERE lane = $1 AND id = ANY($3::bigint[]) AND estado = 0 AND EXISTS (SELECT FROM nossa)
    RETURNING id
)
SELECT (SELECT count(*) FROM feitas) AS feitas, (SELECT count(DISTINCT wamid) FROM contadas) AS contadas,
    (SELECT count(tocou) FROM devolvida)
"""  # noqa: S608 - our own constants


async def apply(database: Database, lease: Lease, ids: Collection[int], ticks: Sequence[Tick]) -> int:
    """Apply ``ticks`` (of one message only the furthest counts) and finish the rows ``ids`` of the lane, fenced.

    The last rows of the lane end the lease too. Returns how many of the messages are ours. Raises ``LeaseLost``.
    """
    furthest: dict[str, Tick] = {}
    for tick in ticks:
        known = furthest.get(tick.wamid)
        if known is None or ORDEM[known.status] < ORDEM[tick.status]:
            furthest[tick.wamid] = tick
    columns = [tick.columns() for tick in furthest.values()]
    wamids, numbers, statuses, ranks = zip(*columns, strict=True) if columns else ((), (), (), ())
    ends = bool(lease.rest) and lease.rest.issubset(ids)
    arguments = (lease.lane, lease.epoch, list(ids), list(wamids), list(numbers), list(statuses), list(ranks), ends)
    async with database.alone() as connection:  # of the turns' pool: a message's row may be locked by a turn
        row = (await connection.exec_driver_sql(_APPLY, arguments)).one()
    if row.feitas != len(ids):
        raise LeaseLost  # or somebody finished one of them already
    return int(row.contadas)
