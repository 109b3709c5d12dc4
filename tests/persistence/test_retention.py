# ruff: noqa: S608 - every statement is made of words of ours alone

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

import pytest

from persistence import outside
from persistence.db.engine import Database
from persistence.people import retention
from persistence.people.retention import SWEEPS, Prazos, sweep
from proofs.history import invent
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FOR_EVER = Prazos(0, 0, 0, 0, 0)
MONTH = Prazos(30, 30, 30, 30, 30)
OLD = "now() - interval '30 days'"
FISCAL = """SELECT (SELECT md5(string_agg(e.bytes, '' ORDER BY id)) FROM nfse_emissao e),
    (SELECT md5(string_agg(p.numero, ',' ORDER BY id)) FROM nfse_processada p)"""
WORDS = f"""
SELECT (SELECT count(*) FROM inbox WHERE recebido_em < {OLD}) AS inbox,
    (SELECT count(*) FROM outbox WHERE criado_em < {OLD}) AS outbox,
    (SELECT count(*) FROM transicoes WHERE em < {OLD} AND detalhe <> '{{}}') AS journal,
    (SELECT count(*) FROM session_snapshot s WHERE updated_at < {OLD} AND (telefone IS NOT NULL
        OR cnpj_extracted IS NOT NULL OR rascunho::text LIKE '%"escrito": "%')
        AND NOT EXISTS (SELECT FROM nfse_emissao e WHERE e.session_id = s.id AND e.status IN ('erro', 'conflito'))
    ) AS sessions
"""


@pytest.fixture(scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    await invent(database, 400)  # over 60 days
    await database.pool.execute(
        "INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em) VALUES "
        f"('1:old', '1', '1', {OLD} - interval '1 day'), ('1:new', '1', '2', now()), "
        f"('1:waits', '1', '3', {OLD} - interval '1 day')"
    )
    await database.pool.execute(
        "INSERT INTO outbox (conversa, mensagem, run_at) VALUES ('1:old', '{}', NULL), ('1:waits', '{}', now())"
    )
    yield database
    await database.close()


async def test_nothing_is_forgotten_without_a_term(database: Database) -> None:
    """A term of 0 keeps that kind for ever."""
    assert await sweep(database, FOR_EVER) == 0


async def test_what_is_over_goes_and_invoices_stay(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the sweep no word older than its term is left, in however many batches; no fiscal row has changed."""
    monkeypatch.setattr(retention, "BATCH", 7)
    before, fiscal = await database.pool.fetchrow(WORDS), await database.pool.fetchrow(FISCAL)
    assert min(before.values()) > 0
    newer = await database.pool.fetchval(f"SELECT count(*) FROM inbox WHERE recebido_em >= {OLD}")
    assert await sweep(database, MONTH) > sum(before.values()) - 1
    after = await database.pool.fetchrow(WORDS)
    assert set(after.values()) == {0}
    assert await database.pool.fetchrow(FISCAL) == fiscal
    assert await database.pool.fetchval(f"SELECT count(*) FROM inbox WHERE recebido_em >= {OLD}") == newer
    assert newer > 0
    assert await sweep(database, MONTH) == 0


FILL = f"""
INSERT INTO transicoes (sessao_id, de, para, evento, snapshot_reason, revisao, detalhe, em)
SELECT 's', 'a', 'b', 'E', 'r', 1, '{{}}', {OLD} - interval '1 day' FROM generate_series(1, $1)
"""


async def touched(database: Database) -> int:
    """Buffers of the next stretch of the journal's sweep."""
    [passage] = [passage for _, passage in SWEEPS if passage.nome == "jornal"]
    desde = await database.pool.fetchval("SELECT desde FROM varredura WHERE nome = 'jornal'")
    bounds = {"dias": 30, "desde": desde, "ate": desde + retention.BATCH, "lote": retention.BATCH}
    total = 0
    for statement in (retention.stretch(passage), passage.statement()):
        bound = functools.reduce(lambda text, name: text.replace(f":{name}", str(bounds[name])), bounds, statement)
        [plan] = json.loads(await database.pool.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {bound}"))
        total += plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    return total


async def test_a_sweep_does_not_walk_through_what_it_has_seen(database: Database) -> None:
    """Twenty times as many stripped rows, and the next stretch touches no more of them."""
    await as_owner(database.pool, f"DELETE FROM transicoes WHERE em >= {OLD}")  # what follows is old, behind them
    read = []
    for rows in (2_000, 38_000):
        await database.pool.execute(FILL, rows)
        await sweep(database, Prazos(30, 0, 0, 0, 0))
        await database.pool.execute(FILL, 100)
        await as_owner(database.pool, "ANALYZE transicoes")
        read.append(await touched(database))
    assert read[1] <= 1.2 * read[0]


async def test_what_is_new_is_reached_however_much_is_behind(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second walk through far more than one sweep looks at keeps the first from nothing."""
    journal = Prazos(30, 0, 0, 0, 0)
    await sweep(database, journal)
    monkeypatch.setattr(retention, "BATCH", 10)
    monkeypatch.setattr(retention, "BATCHES", 3)
    behind = "SELECT desde FROM varredura WHERE nome = 'jornal de novo'"
    seen = []
    for _ in range(4):
        await database.pool.execute(FILL.replace("'{}'", """'{"a": 1}'"""), 5)
        assert await sweep(database, journal) >= 5
        seen.append(await database.pool.fetchval(behind))
    assert seen == sorted(seen)
    assert seen[0] > 0


async def test_what_was_set_aside_goes_in_its_time(database: Database) -> None:
    """A quarantined row is kept as long as a message, and no longer; one that still waits is nobody's to forget."""
    await database.pool.execute(
        "INSERT INTO inbox (id, chave, lane, tipo, payload, estado, correlacao, recebido_em) OVERRIDING SYSTEM VALUE "
        "SELECT (SELECT min(id) FROM inbox) - 1 - estado, 'x' || estado, 'c', 'mensagem', '{}', estado, 'c', "
        f"{OLD} - interval '1 day' FROM unnest(ARRAY[0, 2]) AS estado"
    )
    assert await sweep(database, MONTH) == 1
    assert await database.pool.fetchval("DELETE FROM inbox WHERE lane = 'c' RETURNING chave") == "x0"


async def test_the_registers_answers_are_forgotten_when_they_are_over(database: Database) -> None:
    """What is still good stays."""
    await database.pool.execute(
        "INSERT INTO cnpj_cache VALUES ('1', '{}', now() - interval '1 s'), ('2', '{}', now() + interval '1 h')"
    )
    async with database.transaction() as connection:
        assert await outside.prune_register(connection) == 1
    assert await database.pool.fetchval("SELECT string_agg(cnpj, '') FROM cnpj_cache") == "2"


async def test_a_stranger_goes_with_their_messages(database: Database) -> None:
    """A number that nobody registered in time is forgotten; one with a message on its way, or a recent word, stays."""
    left = await database.pool.fetch("SELECT conversa FROM conversas WHERE phone_number_id = '1' ORDER BY 1")
    assert [row["conversa"] for row in left] == ["1:new", "1:waits"]


async def test_an_invoice_in_doubt_keeps_its_words(database: Database) -> None:
    """What people still have to understand is not emptied, however old."""
    kept = await database.pool.fetchval(
        "SELECT bool_and(s.telefone IS NOT NULL) FROM session_snapshot s JOIN nfse_emissao e ON e.session_id = s.id "
        "WHERE e.status IN ('erro', 'conflito')"
    )
    assert kept is True
