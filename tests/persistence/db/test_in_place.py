"""What changes often is changed in place: PostgreSQL needs no new index entries for it (HOT updates)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from persistence.db.engine import Database

# Columns that every step of a message, or every message of a person, changes.
BUSY = {
    "outbox": {"status", "lease_until", "epoch", "enviado_em", "tentativas"},
    "conversas": {"ultima_entrada_em", "mensagens"},
}
INDEXED = """
SELECT DISTINCT a.attname FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid
WHERE i.indrelid = $1::regclass AND a.attnum > 0 AND (
    a.attnum = ANY(i.indkey) OR pg_get_expr(i.indpred, i.indrelid) ~ ('\\m' || a.attname || '\\M'))
"""


@pytest.mark.parametrize("table", BUSY)
async def test_no_index_is_over_a_column_that_changes_often(ticked_database: Database, table: str) -> None:
    indexed = {row["attname"] for row in await ticked_database.pool.fetch(INDEXED, table)}
    assert not indexed & BUSY[table]


async def test_ticks_touch_no_index(ticked: Database) -> None:
    """Two steps of each of fifty messages, all of them in place."""
    pool = ticked.pool
    await pool.execute("INSERT INTO outbox (conversa, mensagem) SELECT 'c', '{}' FROM generate_series(1, 50)")
    for status in ("entregue", "lido"):
        await pool.execute("UPDATE outbox SET status = $1, enviado_em = now()", status)
    async with pool.acquire() as connection:
        await connection.execute("SELECT pg_stat_force_next_flush()")
    counts = await pool.fetchrow(
        "SELECT n_tup_upd AS all, n_tup_hot_upd AS in_place FROM pg_stat_user_tables WHERE relname = 'outbox'"
    )
    assert counts["all"] >= 100
    assert counts["in_place"] >= counts["all"] * 0.5
