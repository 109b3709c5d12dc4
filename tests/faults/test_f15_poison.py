from __future__ import annotations

from typing import TYPE_CHECKING

from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Arrival, Inbox
from persistence.queue.lanes import MAX_ATTEMPTS
from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import until

if TYPE_CHECKING:
    from tests.road.road_people import Road

LANES, ROWS = size((20, 10), (200, 100))  # one row in a hundred is poison, one lane at least
LIMIT = size(PATIENCE, 900.0)  # seconds


async def test_one_percent_poison_harms_nobody_else(road: Road) -> None:
    """Rows that cannot be digested are set aside after five tries, seen, and replayable; all others are done."""
    pool = road.database.pool
    inbox = Inbox(road.database, 0.0)
    total = LANES * ROWS
    poison = {f"{lane}-{ROWS // 2}" for lane in range(max(1, total // 100))}
    rows = [
        Arrival(
            f"p{lane}-{row}",
            f"entrega:poison-{lane}",
            "status",
            {"oops": 1} if f"{lane}-{row}" in poison else {"status": {"id": "x", "status": "read"}},
            "c",
            imediato=True,
        )
        for lane in range(LANES)
        for row in range(ROWS)
    ]
    await inbox.put(rows)

    async def settled() -> bool:
        await pool.execute("UPDATE lanes SET ready_at = now(), backoff_until = NULL WHERE backoff_until > now()")
        road.house.lanes.ring()
        return bool(await pool.fetchval("SELECT count(*) = 0 FROM inbox WHERE estado = 0"))

    await until(settled, LIMIT)
    aside = await pool.fetch("SELECT id, chave, tentativas, erro FROM inbox WHERE estado = 2")
    assert {row["chave"].removeprefix("p") for row in aside} == poison
    assert all(row["tentativas"] == MAX_ATTEMPTS and row["erro"] for row in aside)
    backlog = Backlog(road.database)
    assert (await backlog.pending()).quarantined == len(poison)
    await pool.execute("""UPDATE inbox SET payload = '{"status": {"id": "x", "status": "read"}}' WHERE estado = 2""")
    for row in aside:
        assert await backlog.replay(row["id"])
    await until(settled, LIMIT)
    assert (await backlog.pending()).quarantined == 0
