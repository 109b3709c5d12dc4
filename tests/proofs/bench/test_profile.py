from __future__ import annotations

from proofs.bench.machine.profile import shares


def test_a_sample_belongs_to_the_innermost_part_that_we_know() -> None:
    """What asyncpg does for SQLAlchemy is asyncpg's; what the standard library does is its caller's."""
    lines = [
        "main (bot/cli/__main__.py:1);execute (sqlalchemy/engine/base.py:2);fetch (asyncpg/pool.py:3) 6",
        "main (bot/cli/__main__.py:1);execute (sqlalchemy/engine/base.py:2);wrapper (contextlib.py:9) 3",
        "loop (asyncio/runners.py:1) 1",
    ]
    assert shares(lines) == {"asyncpg": 0.6, "SQLAlchemy": 0.3, "event loop and rest": 0.1}
    assert shares([]) == {}
