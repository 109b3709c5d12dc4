"""The statement by which arrivals enter: what is new is stored, its lanes are due, and ticks are applied at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from persistence.db.jsontext import clean, storable
from persistence.queue.tick import RANK
from persistence.tables import TALVEZ_SAIU
from persistence.versions import literals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.queue.arrival import Arrival

CHANNEL = "prosa_inbox"
MAX_DEBOUNCE_FACTOR = 4  # somebody who never stops typing is answered after this many quiet times

# A message that a tick speaks of is found by its wamid; by our number only if it may have left and its wamid is not
# known (see ``persistence.queue.ticks``). A tick that is known says nothing: its message may have left anew since.
# Nobody waits for a message here: where it is in somebody's hands, or is none of ours, the tick stays open in its lane
# like any other arrival, and a worker looks again. Messages are locked before lanes, there as here.
_TICKS = f"""
ineditos AS MATERIALIZED (
    SELECT * FROM entrada e
    WHERE e.wamid IS NOT NULL AND (SELECT true FROM inbox i WHERE i.chave = e.chave) IS NULL
), pelo_wamid AS MATERIALIZED (
    SELECT o.id, e.chave, e.wamid, e.tick, e.posto FROM ineditos e JOIN outbox o ON o.wamid = e.wamid
    FOR NO KEY UPDATE OF o SKIP LOCKED
), pelo_numero AS MATERIALIZED (
    SELECT o.id, e.chave, e.wamid, e.tick, e.posto FROM ineditos e JOIN outbox o ON o.id = e.numero
    WHERE o.wamid IS NULL AND o.status IN ({literals(TALVEZ_SAIU)})
    FOR NO KEY UPDATE OF o SKIP LOCKED
), aplicadas AS MATERIALIZED (
    SELECT * FROM pelo_wamid UNION ALL SELECT * FROM pelo_numero
), contadas AS (
    UPDATE outbox o SET wamid = t.wamid, run_at = NULL, enviado_em = coalesce(o.enviado_em, now()),
        status = CASE WHEN {RANK} < t.posto THEN t.tick ELSE o.status END
    FROM (SELECT DISTINCT ON (id) * FROM aplicadas ORDER BY id, posto DESC) t
    WHERE o.id = t.id AND (o.wamid IS NULL OR o.wamid = t.wamid)
), """  # noqa: S608 - our own constants

# A lane that is due stays due, with its place in the queue: its row is locked, so that whoever is claiming it right now
# comes first, and is then written only if that made it wait. ``pending_since`` is null from a claim until the next
# arrival.
_DUE = f"""
    ON CONFLICT (lane) DO UPDATE SET
        pending_since = coalesce(l.pending_since, now()),
        ready_at = greatest(l.backoff_until, CASE
            WHEN l.pending_since IS NOT NULL AND l.ready_at <= now() THEN l.ready_at
            WHEN excluded.ready_at <= now() THEN now()
            ELSE least(excluded.ready_at, coalesce(l.pending_since, now()) + {MAX_DEBOUNCE_FACTOR} * $1::interval)
        END)
    WHERE l.pending_since IS NULL OR l.ready_at IS NULL OR l.ready_at > now() OR l.backoff_until > now()
"""

# What waits is announced, and wakes its lane: at once, or when its sender has been quiet for a while. Which keys are
# new is only told if some are not. ``$1`` is the debounce time, ``$3`` the lanes whose turn is at once, ``$4`` how many
# arrivals there are. (If what is for at once was known, and other words for its lane were not, these go at once too.)
_AWAKE = f"""acordadas AS (
    INSERT INTO lanes AS l (lane, ready_at, pending_since)
    SELECT lane, CASE WHEN lane = ANY ($3::text[]) THEN now() ELSE now() + $1::interval END, now()
    FROM novas WHERE estado = 0 GROUP BY lane ORDER BY lane
    {_DUE}
)
SELECT count(*) AS novas, CASE WHEN count(*) < $4::int THEN array_agg(chave) END AS chaves,
    CASE WHEN bool_or(estado = 0) THEN pg_notify('{CHANNEL}', '') END
FROM novas
"""  # noqa: S608 - our own constants

# ``$2`` is one JSON list of arrivals, each with its fields in order (``_row``): that costs us a fraction of an array
# for each column, and PostgreSQL no more. It is read in order, so the rows of one lane keep theirs.
PUT = f"""
WITH novas AS (
    INSERT INTO inbox (chave, lane, tipo, payload, correlacao)
    SELECT e->>0, e->>1, e->>2, e->3, e->>4 FROM jsonb_array_elements($2::text::jsonb) AS a(e)
    ON CONFLICT (chave) DO NOTHING
    RETURNING chave, lane, estado
), {_AWAKE}"""  # noqa: S608 - our own constants

# With ticks among them, whose fields come last: what they settle is done when it enters.
PUT_WITH_TICKS = f"""
WITH entrada AS MATERIALIZED (
    SELECT e->>0 AS chave, e->>1 AS lane, e->>2 AS tipo, e->3 AS payload, e->>4 AS correlacao,
        e->>5 AS wamid, (e->>6)::bigint AS numero, e->>7 AS tick, (e->>8)::int AS posto, posicao
    FROM jsonb_array_elements($2::text::jsonb) WITH ORDINALITY AS a(e, posicao)
), {_TICKS}novas AS (
    INSERT INTO inbox (chave, lane, tipo, payload, correlacao, estado, feito_em)
    SELECT chave, lane, tipo, payload, correlacao, feita::int::smallint, CASE WHEN feita THEN now() END
    FROM (SELECT *, chave IN (SELECT chave FROM aplicadas) AS feita FROM entrada) AS e ORDER BY posicao
    ON CONFLICT (chave) DO NOTHING
    RETURNING chave, lane, estado
), {_AWAKE}"""  # noqa: S608 - our own constants

# The same for one arrival, as most come when little goes on: a smaller plan. ``$2`` to ``$7`` are its fields.
PUT_ONE = f"""
WITH nova AS (
    INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ($2, $3, $4, $5::text::jsonb, $6)
    ON CONFLICT (chave) DO NOTHING RETURNING chave
), acordada AS (
    INSERT INTO lanes AS l (lane, ready_at, pending_since)
    SELECT $3, CASE WHEN $7::boolean THEN now() ELSE now() + $1::interval END, now() FROM nova
    {_DUE}
)
SELECT count(*) AS novas, NULL AS chaves, CASE WHEN count(*) > 0 THEN pg_notify('{CHANNEL}', '') END FROM nova
"""  # noqa: S608 - our own constants

_NO_TICK = (None, None, None, None)


def entering(arrivals: Sequence[Arrival]) -> tuple[str, tuple[Any, ...]]:
    """Return the statement for ``arrivals`` and what it takes after ``$1``; of two equal keys the first counts.

    It gives ``novas``, and in ``chaves`` which, if not all are. Raises ``UnstorableError`` for what has no bottom.
    """
    if any(arrival.tick for arrival in arrivals):
        told = [arrival.tick.columns() if arrival.tick else _NO_TICK for arrival in arrivals]
        return PUT_WITH_TICKS, _many(arrivals, [(*_row(a), *tick) for a, tick in zip(arrivals, told, strict=True)])
    if len(arrivals) == 1:
        [arrival] = arrivals
        chave, lane, tipo, payload, correlacao = _row(arrival)
        return PUT_ONE, (clean(chave), clean(lane), tipo, storable(payload), correlacao, arrival.imediato)
    return PUT, _many(arrivals, [_row(arrival) for arrival in arrivals])


def _row(a: Arrival) -> tuple[Any, ...]:
    return a.chave, a.lane, a.tipo, a.payload, a.correlacao


def _many(arrivals: Sequence[Arrival], rows: list[tuple[Any, ...]]) -> tuple[str, list[str], int]:
    return _json(rows), list({clean(arrival.lane) for arrival in arrivals if arrival.imediato}), len(rows)


def _json(rows: list[tuple[Any, ...]]) -> str:
    try:
        text = orjson.dumps(rows)
        spoilt = b"\\u0000" in text
    except TypeError:  # surrogates, integers beyond 64 bits, depth
        spoilt = True
    if spoilt:
        text = orjson.dumps(
            [
                (clean(chave), clean(lane), tipo, orjson.Fragment(storable(payload)), *rest)
                for chave, lane, tipo, payload, *rest in rows
            ]
        )
    return text.decode()
