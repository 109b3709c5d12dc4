"""A plan that is made while the tables are empty is kept until statistics are; by then they have thousands of rows."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from persistence import claims
from persistence.conversations import conversations
from persistence.db.connection import _compiled
from persistence.db.engine import Database
from persistence.fiscal import history
from persistence.people import clients
from persistence.queue import backlog, inbox, lanes, outbox
from persistence.tables import MENSAGENS, MENSAGENS_ABERTAS, MENSAGENS_LIDAS
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PERIOD = ("b_empresa", "b_desde", "b_ate", "b_periodo")
# Whatever is ready: no more than are leased or will be due soon, as only who could take more asks for it.
INDEX = re.compile(r"Index (?:Only )?Scan (?:using|on) (?!ix_lanes_ready)")
ONE_ROW = re.compile(r"Seq Scan on historia\b")  # by its constraint: a scan reads no more than an index would
HOT = {
    "put": inbox.PUT,
    "put_one": inbox.PUT_ONE,
    "put_with_ticks": inbox.PUT_WITH_TICKS,
    "claim": lanes._CLAIM,
    "rows": lanes._ROWS,
    "release": lanes._RELEASE,
    "who_writes": conversations._FIND,
    "claim_messages": outbox._CLAIM,
    "claim_emissions": _compiled(
        claims.CLAIM_EMISSIONS, dict.fromkeys(("livres", "janela", "empresas", "ocupadas", "quietas", "lease"))
    ).sql,
    "clients_of_company": _compiled(clients._ALL, {"b_empresa": 1}).sql,
    "usual_of_client": _compiled(history._LAST, {"b_empresa": 1, "b_documento": ""}).sql,
    "issued_by_company": _compiled(history._LISTED[True], dict.fromkeys(PERIOD)).sql,
    "sum_of_company": _compiled(history._SUMS[True], dict.fromkeys(("b_empresa", "b_periodo"))).sql,
    "slow_emissions": _compiled(backlog._SLOW_EMISSIONS, dict.fromkeys(("origens", "seconds", "batch"))).sql,
}


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    await as_owner(database.pool, "TRUNCATE inbox, outbox, lanes, conversas, usuario, empresa CASCADE")
    yield database
    await database.close()


@pytest.mark.parametrize("name", HOT)
async def test_no_table_is_read_whole_by_what_runs_all_the_time(database: Database, name: str) -> None:
    """A new database answers its first thousand messages as fast as its first."""
    async with database.pool.acquire() as connection:
        await connection.execute(f"PREPARE hot AS {HOT[name]}")
        taken = await connection.fetchval(
            "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'hot'"
        )
        plan = await connection.fetch(f"EXPLAIN EXECUTE hot({', '.join(['NULL'] * taken)})")
        await connection.execute("DEALLOCATE hot")
    lines = [line for (line,) in plan]
    whole = [line for line, under in pairwise(lines) if is_whole(line, under)]
    assert whole == []


def is_whole(line: str, under: str) -> bool:
    """Whether a scan reads all of a table, or all that an index holds; by its line of the plan and the next one."""
    if ONE_ROW.search(line):
        return False
    return "Seq Scan" in line or (bool(INDEX.search(line)) and "Index Cond" not in under)


async def test_a_persons_words_are_found_by_two_indexes(database: Database) -> None:
    """What waits is in one, what is read in the other; a condition that PostgreSQL cannot prove would find neither."""
    async with database.pool.acquire() as connection:
        plan = await connection.fetch(f"EXPLAIN SELECT FROM inbox WHERE lane = 'a' AND {MENSAGENS}")
    text = "\n".join(line for (line,) in plan)
    assert "ix_inbox_lane_open" in text
    assert "ix_inbox_mensagens" in text


@pytest.mark.parametrize("half", [MENSAGENS_ABERTAS, MENSAGENS_LIDAS])
async def test_the_last_of_a_persons_words_are_not_sorted(database: Database, half: str) -> None:
    """A page about somebody with ten thousand messages reads the ones that it shows."""
    async with database.pool.acquire() as connection:
        plan = await connection.fetch(
            f"EXPLAIN SELECT id FROM inbox WHERE lane = 'a' AND {half} ORDER BY id DESC LIMIT 300"  # noqa: S608 - ours
        )
    lines = [line for (line,) in plan]
    assert not [line for line in lines if "Sort" in line]
    assert [line for line in lines if "Scan Backward using ix_inbox_" in line]
