"""Which company gets the next slot of a worker; PostgreSQL decides, a plain list says what is right."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from persistence import claims
from persistence.db.connection import _compiled
from persistence.db.engine import Database
from persistence.fiscal import cancellations, emissions
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

SLOTS = 40
MANY = 5_000  # a file of a month's invoices
LEASE = 15.0
COMPANY = """
WITH nova AS (
    INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)
    VALUES ($1, 'Padaria', '1', '3550308', 'mei', '01.01') RETURNING id
), conversa AS (
    INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em)
    VALUES ($1, '1', '1', now()) RETURNING conversa
), sessao AS (
    INSERT INTO session_snapshot (sessao_id, conversa, empresa_id, estado, snapshot_reason, cnpj_status,
        valor_status, descricao_status, data_complete, missing_fields, rascunho, revisao, versao, resumos)
    SELECT $1, conversa, nova.id, 'sucesso', 'r', 's', 's', 's', true, '[]', '{}', 1, 1, 1 FROM conversa, nova
), tomador AS (
    INSERT INTO cliente_tomador (empresa_id, cnpj) SELECT id, $1 FROM nova
)
SELECT id FROM nova
"""
# Numbers of the company that became due one second after another, the first of them so many seconds ago.
DUE = """
INSERT INTO nfse_emissao (session_id, sessao_id, revisao, prestador_id, tomador_id, prestador_cnpj, tomador_documento,
    id_integracao, status, valor_servico, descricao_servico, codigo_servico, competencia, impressao, bytes,
    proxima_acao_em)
SELECT s.id, s.sessao_id, n, s.empresa_id, t.id, '1', '2', s.sessao_id || '-' || n, 'enviado', 10, 'd', '1',
    '2026-11-21', 'i', '', now() - make_interval(secs => $3 - n)
FROM session_snapshot s JOIN cliente_tomador t ON t.empresa_id = s.empresa_id, generate_series(1, $2::int) n
WHERE s.empresa_id = $1
RETURNING id
"""


# What a list ordered: the first so many of each company.
LISTED = "UPDATE nfse_emissao SET origem = 'lista', session_id = NULL WHERE revisao < $1"
NOTES = """
INSERT INTO nfse_processada (emissao_id, id_externo, numero, status)
SELECT id, id_externo, id, 'cancelamento_pendente' FROM nfse_emissao
"""
CANCELLATIONS = """
INSERT INTO cancelamento (emissao_id, conversa, pedido_por, estado, codigo, motivo, versao, envio, confirmado_em,
    proxima_acao_em)
SELECT e.id, s.conversa, 'comando', 'pendente', '9', 'm', 1, 'a_enviar', now(), now() - make_interval(secs => e.id)
FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    """Nobody has anything to do."""
    await as_owner(opened.pool, "TRUNCATE empresa, conversas CASCADE")
    return opened


async def _company(database: Database, due: int = 0, since: float = 10_000.0) -> int:
    """Return a company of which so many emissions are due, the first since so many seconds."""
    name = f"c{random.getrandbits(48)}"
    empresa_id = int(await database.pool.fetchval(COMPANY, name))
    await database.pool.execute(DUE, empresa_id, due, since)
    return empresa_id


async def _taken(database: Database, free: int, held: Mapping[int, int] | None = None) -> list[tuple[int, int]]:
    """Claim for a worker with so many free slots; return (company, number) of each."""
    async with database.transaction() as connection:
        tarefas = await emissions.claim(connection, free, LEASE, ocupadas=held or {})
    return sorted((tarefa.prestador_id, tarefa.revisao) for tarefa in tarefas)


async def test_a_company_alone_has_half_of_the_slots_and_the_next_one_finds_room(database: Database) -> None:
    """Its oldest go first; with half of the slots it gets no more, and another's order gets one at once."""
    crowd = await _company(database, 45)
    assert await _taken(database, SLOTS) == [(crowd, number) for number in range(1, 21)]
    assert await _taken(database, SLOTS // 2, {crowd: 20}) == []
    one = await _company(database, 1, since=2.0)
    assert await _taken(database, SLOTS // 2, {crowd: 20}) == [(one, 1)]
    assert await _taken(database, SLOTS // 2, {crowd: 19, one: 1}) == [(crowd, 21)]


async def test_a_long_queue_hides_nobody(database: Database) -> None:
    """Thousands that are due for hours stand before it, and still the only one of another company is taken."""
    crowd, one = await _company(database, MANY, since=90_000.0), await _company(database, 1, since=1.0)
    taken = await _taken(database, SLOTS)
    assert (one, 1) in taken
    assert len([company for company, _ in taken if company == crowd]) == SLOTS // 2


async def test_the_last_slot_goes_to_who_holds_none_and_waits_for_longest(database: Database) -> None:
    """So among more companies than slots each has its turn."""
    late, early, busy = [await _company(database, 1, since) for since in (10.0, 20.0, 30.0)]
    assert await _taken(database, 1, {busy: 1}) == [(early, 1)]
    assert await _taken(database, 1, {busy: 1, early: 1}) == [(late, 1)]
    assert await _taken(database, 1, {busy: 1}) == []


async def test_what_is_not_due_or_is_anothers_takes_no_place(database: Database) -> None:
    """Future and leased ones are left alone, and do not count as the company's share of this worker."""
    company = await _company(database, 30)
    await database.pool.execute("UPDATE nfse_emissao SET proxima_acao_em = now() + interval '1 hour' WHERE revisao = 1")
    await database.pool.execute("UPDATE nfse_emissao SET lease_until = now() + interval '1 hour' WHERE revisao = 2")
    assert await _taken(database, 10) == [(company, number) for number in range(3, 8)]


@pytest.mark.parametrize("window", [2, 20, claims.WINDOW])
@pytest.mark.parametrize("seed", range(20))
async def test_slots_are_shared_as_a_plain_list_would_share_them(
    database: Database, monkeypatch: pytest.MonkeyPatch, seed: int, window: int
) -> None:
    """Whatever is due and held: one slot after the other, to who holds least and then waits for longest."""
    monkeypatch.setattr(claims, "WINDOW", window)
    draw = random.Random(seed)  # noqa: S311 - a seeded example
    due: dict[int, list[float]] = {}
    for _ in range(draw.randint(1, 12)):
        count, since = draw.choice((0, 1, 3, 30)), draw.uniform(100.0, 9_000.0)
        company = await _company(database, count, since)
        due[company] = [since - number for number in range(1, count + 1)]
    held = {company: draw.randint(0, 6) for company in due if draw.random() < 0.5}
    free = draw.randint(1, SLOTS)

    expected: list[tuple[int, int]] = []
    holds, left = dict(held), free
    while left:
        waiting = [
            (holds.get(company, 0), -ages[sum(taken == company for taken, _ in expected)], company)
            for company, ages in due.items()
            if sum(taken == company for taken, _ in expected) < len(ages) and holds.get(company, 0) < left
        ]
        if not waiting:
            break
        _, _, company = min(waiting)
        expected.append((company, 1 + sum(taken == company for taken, _ in expected)))
        holds[company] = holds.get(company, 0) + 1
        left -= 1
    assert await _taken(database, free, held) == sorted(expected)


async def test_cancellations_are_shared_likewise(database: Database) -> None:
    """A company with many has half of the slots for them; another's is taken in the same claim."""
    crowd, one = await _company(database, 20), await _company(database, 1, since=5.0)
    await database.pool.execute("UPDATE nfse_emissao SET proxima_acao_em = NULL, id_externo = id_integracao")
    await database.pool.execute(NOTES)
    await database.pool.execute(CANCELLATIONS)

    async def taken(free: int, held: Mapping[int, int]) -> Counter[int]:
        async with database.transaction() as connection:
            tarefas = await cancellations.claim(connection, free, LEASE, held)
        return Counter(tarefa.prestador_id for tarefa in tarefas)

    assert await taken(10, {}) == {crowd: 5, one: 1}
    assert await taken(4, {crowd: 5, one: 1}) == {}
    assert await taken(6, {crowd: 3, one: 1}) == {crowd: 2}


@pytest.mark.parametrize("listed", [0, MANY])
async def test_a_backlog_is_read_no_further_than_it_may_be_taken(database: Database, listed: int) -> None:
    """The statement costs the same behind five thousand orders as behind two hundred, whoever ordered them."""
    await _company(database, MANY, since=90_000.0)
    await _company(database, 1)
    await database.pool.execute(LISTED + " OR revisao = $1", listed)
    await as_owner(database.pool, "VACUUM ANALYZE nfse_emissao")
    shares = claims.shares(SLOTS, {})
    given = {**shares, "lease": LEASE, "quietas": [], "recente": 86_400.0}
    compiled = _compiled(claims.CLAIM_EMISSIONS, given)
    async with database.pool.acquire() as connection:
        await connection.execute("BEGIN")
        said = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {compiled.sql}", *compiled.arguments(given))
        await connection.execute("ROLLBACK")
    [plan] = json.loads(said)
    assert max(_rows(plan["Plan"])) <= claims.WINDOW


def _rows(plan: dict[str, Any]) -> Iterator[float]:
    """How many rows each step over the emissions read each time, those that it threw away too."""
    if plan.get("Relation Name") == "nfse_emissao":
        yield plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    for step in plan.get("Plans", ()):
        yield from _rows(step)


async def test_a_persons_note_goes_before_two_thousand_of_a_list(database: Database) -> None:
    """By rank, however long the others have been due; behind it they go on in their order, and companies share."""
    crowd = await _company(database, 2_001)
    await database.pool.execute(LISTED, 2_001)

    async def taken(free: int) -> list[tuple[int, int]]:
        async with database.transaction() as connection:
            tarefas = await emissions.claim(connection, free, LEASE)
        return sorted((tarefa.prestador_id, tarefa.revisao) for tarefa in tarefas)

    assert await taken(1) == [(crowd, 2001)]
    other = await _company(database, 3)
    await database.pool.execute(LISTED, 2_001)
    assert await taken(4) == [(crowd, 1), (crowd, 2), (other, 1)]
