"""The statement by which arrivals enter: what is new is stored, its lanes are due, and ticks are applied at once."""

from __future__ import annotations

from persistence.tick import RANK

CHANNEL = "prosa_inbox"
MAX_DEBOUNCE_FACTOR = 4  # somebody who never stops typing is answered after this many quiet times

# A message that a tick speaks of is found by its wamid; by our number only if it may have left and its wamid is not
# known (see ``persistence.ticks``). A tick that is known already says nothing: its message may have left anew since.
# Nobody waits for a message here: where it is in somebody's hands, or is none of ours, the tick stays open in its lane
# like any other arrival, and a worker looks again. Messages are locked before lanes, there as here.
_TICKS = f"""
ineditos AS MATERIALIZED (
    SELECT * FROM entrada e WHERE e.wamid IS NOT NULL AND NOT EXISTS (SELECT FROM inbox i WHERE i.chave = e.chave)
), pelo_wamid AS MATERIALIZED (
    SELECT o.id, e.chave, e.wamid, e.tick, e.posto FROM ineditos e JOIN outbox o ON o.wamid = e.wamid
    FOR NO KEY UPDATE OF o SKIP LOCKED
), pelo_numero AS MATERIALIZED (
    SELECT o.id, e.chave, e.wamid, e.tick, e.posto FROM ineditos e JOIN outbox o ON o.id = e.numero
    WHERE o.wamid IS NULL AND o.status IN ('enviando', 'incerto')
    FOR NO KEY UPDATE OF o SKIP LOCKED
), aplicadas AS MATERIALIZED (
    SELECT * FROM pelo_wamid UNION ALL SELECT * FROM pelo_numero
), contadas AS (
    UPDATE outbox o SET wamid = t.wamid, run_at = NULL, enviado_em = coalesce(o.enviado_em, now()),
        status = CASE WHEN {RANK} < t.posto THEN t.tick ELSE o.status END
    FROM (SELECT DISTINCT ON (id) * FROM aplicadas ORDER BY id, posto DESC) t
    WHERE o.id = t.id AND (o.wamid IS NULL OR o.wamid = t.wamid)
), """  # noqa: S608 - our own constants

# A lane that is already due stays due, with its place in the queue. ``pending_since`` is null from a claim until the
# next arrival.
_DUE = f"""
    ON CONFLICT (lane) DO UPDATE SET
        pending_since = coalesce(l.pending_since, now()),
        ready_at = greatest(l.backoff_until, CASE
            WHEN l.pending_since IS NOT NULL AND l.ready_at <= now() THEN l.ready_at
            WHEN excluded.ready_at <= now() THEN now()
            ELSE least(excluded.ready_at, coalesce(l.pending_since, now()) + {MAX_DEBOUNCE_FACTOR} * $1::interval)
        END)
"""

# The rows of one lane keep the order of the list: the identity is drawn after the sort.
_PUT = """
WITH entrada AS MATERIALIZED (
    SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[]{arrays})
        WITH ORDINALITY AS e(chave, lane, tipo, payload, correlacao, imediato{names}, posicao)
), {ticks}novas AS (
    INSERT INTO inbox (chave, lane, tipo, payload, correlacao, estado, feito_em)
    SELECT chave, lane, tipo, payload::jsonb, correlacao, {done} FROM entrada ORDER BY posicao
    ON CONFLICT (chave) DO NOTHING
    RETURNING chave, estado
), acordadas AS (
    INSERT INTO lanes AS l (lane, ready_at, pending_since)
    SELECT lane, CASE WHEN bool_or(imediato) THEN now() ELSE now() + $1::interval END, now()
    FROM entrada JOIN novas USING (chave) WHERE estado = 0 GROUP BY lane ORDER BY lane
    {due}
)
SELECT coalesce(array_agg(chave), '{{}}') AS novas,
    CASE WHEN bool_or(estado = 0) THEN pg_notify('{channel}', '') END
FROM novas
"""


def _put(*, ticks: bool) -> str:
    settled = "chave IN (SELECT chave FROM aplicadas)"
    return _PUT.format(
        arrays=", $8::text[], $9::bigint[], $10::text[], $11::int[]" if ticks else "",
        names=", wamid, numero, tick, posto" if ticks else "",
        ticks=_TICKS if ticks else "",
        done=f"({settled})::int::smallint, CASE WHEN {settled} THEN now() END" if ticks else "0, NULL",
        due=_DUE,
        channel=CHANNEL,
    )


# ``$1`` is the debounce time; then the columns of ``Arrival``, each an array, and with ticks those of ``Tick``.
PUT = _put(ticks=False)
# The same for one row, as most come when little goes on: a smaller plan, a tenth less until it is on the disk. It
# gives no row when the arrival was known.
PUT_ONE = f"""
WITH nova AS (
    INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ($2, $3, $4, $5::text::jsonb, $6)
    ON CONFLICT (chave) DO NOTHING RETURNING chave
), acordada AS (
    INSERT INTO lanes AS l (lane, ready_at, pending_since)
    SELECT $3, CASE WHEN $7::boolean THEN now() ELSE now() + $1::interval END, now() FROM nova
    {_DUE}
)
SELECT ARRAY[chave] AS novas, pg_notify('{CHANNEL}', '') FROM nova
"""  # noqa: S608 - our own constants
PUT_WITH_TICKS = _put(ticks=True)
