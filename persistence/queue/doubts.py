"""Tells what stored ticks say of a message that may have left."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from persistence.db.connection import Connection

TICK_LAG = 20.0  # seconds; a road on which Meta's newest tick is older than this is blocked, or nobody uses it
NEWEST_ROWS = 300  # arrivals looked through for that tick: some seconds of a busy house, days of a quiet one


class LostAnswer(StrEnum):
    """What the inbox knows of a message whose answer was lost."""

    TICK_WAITS = "its tick is stored and not yet worked on"
    NO_TICKS = "no tick of anybody arrives"
    SILENCE = "ticks arrive, and none of this message"


# The callback is looked for among the open rows only (a partial index): those done have settled the message already.
_ASK = sa.text("""
SELECT
    EXISTS (
        SELECT FROM inbox
        WHERE estado = 0 AND lane >= 'entrega:' AND lane < 'entrega;'
          AND payload -> 'status' ->> 'biz_opaque_callback_data' = :outbox_id
    ) AS tick_waits,
    EXISTS (
        SELECT FROM (
            SELECT tipo, payload -> 'status' ->> 'timestamp' AS quando FROM inbox ORDER BY id DESC LIMIT :rows
        ) r
        WHERE tipo = 'status' AND quando ~ '^[0-9]{1,11}$'
          AND to_timestamp(quando::float8) > now() - make_interval(secs => :lag)
    ) AS ticks_arrive
""")


async def ask(connection: Connection, outbox_id: int) -> LostAnswer:
    """Return what is known of a message that was handed over at least ``TICK_LAG`` ago, without an answer.

    Meta stamps a tick when it happens. One stamped within the last ``TICK_LAG`` seconds proves that the ticks of that
    time are through: webs listen, and Meta's queue is short.
    """
    row = (await connection.execute(_ASK, {"outbox_id": str(outbox_id), "rows": NEWEST_ROWS, "lag": TICK_LAG})).one()
    if row.tick_waits:
        return LostAnswer.TICK_WAITS
    return LostAnswer.SILENCE if row.ticks_arrive else LostAnswer.NO_TICKS
