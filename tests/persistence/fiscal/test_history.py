"""What a company has issued: sums and lists by day of issue, and what it usually invoices to a client."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
import sqlalchemy as sa

from persistence.db.connection import _compiled
from persistence.db.engine import Database
from persistence.fiscal import comparison, history
from persistence.fiscal.issued import _BY_NUMBER, _RECENT, by_number, by_value, of_company, recent
from state_machine.catalogue.records import LISTADAS, Emitidas
from state_machine.invoice.choices import Costume
from state_machine.values.local_time import MesOuAno
from tests.owner import as_owner
from tests.stored_work import change, clear, emission, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[3]
PADARIA = "12345678000195"
NOVEMBER = MesOuAno(2026, 11)
_NOTE = """
INSERT INTO nfse_processada (emissao_id, id_externo, numero, status, data_emissao, criado_em)
VALUES ($1, $2, $2, $3, $4, $5)
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    return opened


async def issued(
    database: Database,
    company: int | None = None,
    said: str | None = "23/11/2026",
    *,
    status: str = "autorizado",
    at: datetime = datetime(2026, 11, 23, 12, tzinfo=UTC),
    **columns: Any,
) -> int:
    """Store an authorised note (``said``: the day on it) and return its company, which is new if none is given."""
    emissao_id = await emission(database, status="concluido", proxima_acao_em=None, criado_em=at)
    if company is not None:
        columns = {"prestador_id": company, **columns}
    await change(database, "nfse_emissao", emissao_id, **columns)
    await database.pool.execute(_NOTE, emissao_id, str(emissao_id), status, said, at)
    stored: int = (await row(database, "nfse_emissao", emissao_id))["prestador_id"]
    return stored


async def of(database: Database, company: int, period: MesOuAno = NOVEMBER) -> Emitidas:
    async with database.alone() as connection:
        return await history.issued(connection, company, period)


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ("23/11/2026", True),
        ("01/11/2026 00:00:01", True),
        ("2026-11-30", True),
        ("2026-11-01T08:00:00-03:00", True),
        ("31/10/2026", False),
        ("2026-12-01", False),
        ("11/12/2026", False),  # day first
        (None, True),  # then the day on which we recorded it counts
        ("", True),
        ("ontem", True),
        ("2026-13-01", True),
        ("99/99/2026", True),
    ],
)
async def test_a_note_counts_in_the_month_that_stands_on_it(database: Database, said: str | None, counts: bool) -> None:
    """Written as authorities write it; what is no day counts by ours."""
    mine = await issued(database, said=said)
    found = await of(database, mine)
    assert (found.quantas, found.soma) == ((1, Decimal("1500.00")) if counts else (0, Decimal("0.00")))


async def test_our_own_day_is_brazils(database: Database) -> None:
    """An hour after midnight in London it is still the month before."""
    mine = await issued(database, said=None, at=datetime(2026, 12, 1, 1, tzinfo=UTC))
    assert (await of(database, mine)).notas[0].dia == "2026-11-30"
    assert (await of(database, mine, MesOuAno(2026, 12))).quantas == 0


async def test_cancelled_notes_and_another_companys_do_not_count(database: Database) -> None:
    """One that is being cancelled still stands."""
    mine = await issued(database)
    await issued(database, mine, status="cancelado")
    await issued(database, mine, status="cancelamento_pendente", valor_servico=Decimal(10))
    await issued(database)
    assert (await of(database, mine)).soma == Decimal("1510.00")
    assert (await of(database, mine, MesOuAno(2026))).quantas == 2
    assert (await of(database, mine, MesOuAno(2025))).quantas == 0


async def test_the_sum_counts_what_the_list_leaves_out(database: Database) -> None:
    """The newest are listed, all are counted; a sum of more than was allowed is none."""
    mine = await issued(database)
    for _ in range(LISTADAS):
        await issued(database, mine, valor_servico=Decimal(1))
    found = await of(database, mine)
    assert (found.quantas, found.soma, len(found.notas)) == (LISTADAS + 1, Decimal(1500 + LISTADAS), LISTADAS)
    assert {nota.valor for nota in found.notas} == {Decimal(1)}
    async with database.alone() as connection:
        assert await history.total_issued(connection, mine, NOVEMBER) == Decimal(1500 + LISTADAS)
        assert await history.total_issued(connection, mine, MesOuAno(2025)) == Decimal(0)


async def test_what_was_confirmed_long_before_is_found_by_its_day(database: Database) -> None:
    """An authority may take weeks."""
    mine = await issued(database, said="02/11/2026", at=datetime(2026, 9, 20, tzinfo=UTC))
    assert (await of(database, mine)).quantas == 1


_RECOUNT = """
SELECT (SELECT coalesce(jsonb_object_agg(mes, ARRAY[quantas, soma]), '{}') FROM soma_mensal
        WHERE prestador_id = $1 AND quantas <> 0),
    (SELECT coalesce(jsonb_object_agg(mes, ARRAY[quantas, soma]), '{}') FROM (
        SELECT left(dia_da_nota(n.data_emissao, n.criado_em), 7) AS mes, count(*) AS quantas,
            sum(e.valor_servico) AS soma
        FROM nfse_processada n JOIN nfse_emissao e ON e.id = n.emissao_id
        WHERE e.prestador_id = $1 AND n.status <> 'cancelado' GROUP BY 1) AS anew)
"""


async def test_the_sums_are_what_a_recount_says(database: Database) -> None:
    """Whatever becomes of notes, and whatever day their authority says later."""
    chance = random.Random(7)  # noqa: S311 - invents cases
    mine = await issued(database)
    for _ in range(6):
        await issued(database, mine)
    ids = [
        row_["id"] for row_ in await database.pool.fetch("SELECT id FROM nfse_emissao WHERE prestador_id = $1", mine)
    ]
    for _ in range(60):
        status = chance.choice(["autorizado", "cancelamento_pendente", "cancelado"])
        day = chance.choice(["23/11/2026", "2026-12-01", None])
        changed = "UPDATE nfse_processada SET status = $2, data_emissao = $3 WHERE emissao_id = $1"
        await database.pool.execute(changed, chance.choice(ids), status, day)
        kept, anew = await database.pool.fetchrow(_RECOUNT, mine)
        assert kept == anew


async def usual(database: Database, company: int) -> Costume | None:
    async with database.alone() as connection:
        return await history.usual(connection, company, PADARIA)


async def test_two_alike_in_a_row_are_a_habit(database: Database) -> None:
    """One is none; of two amounts the service alone is; another company's note makes none."""
    mine = await issued(database)
    await issued(database)
    assert await usual(database, mine) is None
    await issued(database, mine, descricao_servico="Consultoria.")
    assert await usual(database, mine) == Costume(PADARIA, "Consultoria.", "1500.00")
    await issued(database, mine, valor_servico=Decimal(1600))
    assert await usual(database, mine) == Costume(PADARIA, "consultoria", None)
    await issued(database, mine, descricao_servico="aula")
    assert await usual(database, mine) is None
    await issued(database, mine, descricao_servico="aula", status="cancelado")
    assert await usual(database, mine) is None


async def test_another_habit_has_another_mark() -> None:
    """By it a button takes what its message named, and nothing else."""
    marks = {Costume(PADARIA, servico, valor).marca for servico in ("a", "b") for valor in ("1.00", "2.00", None)}
    assert len(marks) == 6


_CHOSEN = "INSERT INTO empresa_canal (empresa_id, tipo, canal, ambiente) VALUES ($1, $2, 'nacional', $3)"
_NUMBERED = "UPDATE nfse_processada SET numero = '7' WHERE emissao_id = $1"


@pytest.mark.parametrize(
    "chosen",
    [
        {"servico": "producao"},
        {},
        {"produto": "homologacao"},  # goods on trial
        {"servico": "homologacao", "produto": "producao"},
        {"servico": None, "consumidor": "producao"},
        {"servico": "homologacao", "produto": None},
    ],
    ids=str,
)
async def test_practice_counts_nowhere_once_the_company_issues_in_earnest(
    database: Database, chosen: dict[str, str | None]
) -> None:
    """Two notes of practice of R$ 40.000 and a real one: no total, habit, list or look-up by number knows the former.

    In earnest: a channel of any kind says so, or one says nothing and there is a real note.
    """
    mine = await issued(database, ambiente="homologacao", valor_servico=Decimal(40000))
    for _ in range(4):
        await issued(database, mine, ambiente="homologacao", valor_servico=Decimal(40000))
    before = await of(database, mine)
    assert (before.quantas, before.soma) == (5, Decimal(200000))
    await issued(database, mine, ambiente="producao")
    await issued(database, mine, ambiente=None, valor_servico=Decimal(3))  # of an older release
    for tipo, ambiente in chosen.items():
        await database.pool.execute(_CHOSEN, mine, tipo, ambiente)
    assert (await of(database, mine)).soma == Decimal("1503.00")
    everything = await database.pool.fetch("SELECT id, ambiente FROM nfse_emissao WHERE prestador_id = $1", mine)
    for row_ in everything:
        await database.pool.execute(_NUMBERED, row_["id"])
    async with database.alone() as connection:
        assert await history.total_issued(connection, mine, NOVEMBER) == Decimal("1503.00")
        assert await comparison.usual_amount(connection, mine) is None
        equal = await comparison.equal_invoice(
            connection, mine, "s", PADARIA, Decimal(40000), "Consultoria", timedelta(days=900)
        )
        assert equal is None
        for notes in (
            await by_number(connection, mine, "7"),
            await recent(connection, mine),
            await by_value(connection, mine, Decimal(40000)),
        ):
            assert not [note for note in notes if note.valor == Decimal(40000)]
        practice = next(row_["id"] for row_ in everything if row_["ambiente"] == "homologacao")
        assert await of_company(connection, mine, practice) is not None  # by its own id it is found


# Why a statement that reads notes need not ask whether they count.
WHOEVER_READS = {
    "persistence/api/entities.py": "one proposal's own",
    "persistence/claims.py": "work that is due, by the emission",
    "persistence/conversations/handoff.py": "one session's own",
    "persistence/fiscal/attempts.py": "one session's own",
    "persistence/fiscal/cancellations.py": "one emission's",
    "persistence/fiscal/emissions.py": "one emission's",
    "persistence/api/hooks.py": "one note's own news, in the environment of its endpoint",
    "persistence/people/parts.py": "what is held about a person, whatever it counts for",
    "persistence/people/goods.py": "one key's own documents",
    "persistence/queue/outbox.py": "one file's own note",
    "persistence/staff/case.py": "one session's own",
    "persistence/staff/queue.py": "two notes of one order are looked at, whatever they count for",
}


def test_whoever_reads_notes_asks_whether_they_count() -> None:
    """Each module of ``persistence`` that names the table of notes has the one condition, or a reason here."""
    reads = {
        str(path.relative_to(ROOT)): path.read_text()
        for path in (ROOT / "persistence").rglob("*.py")
        if not {"migrations", "tables"} & set(path.parts)
    }
    asks = re.compile(r"people\.channels import .*\bcounts\b")
    without = {name for name, text in reads.items() if "nfse_processada" in text and not asks.search(text)}
    assert without == WHOEVER_READS.keys()


_COPIES = """
WITH novas AS (
    INSERT INTO nfse_emissao (session_id, sessao_id, revisao, prestador_id, tomador_id, prestador_cnpj,
        tomador_documento, id_integracao, status, valor_servico, descricao_servico, codigo_servico, competencia,
        impressao, criado_em, ambiente)
    SELECT session_id, sessao_id || n, revisao, prestador_id, tomador_id, prestador_cnpj, tomador_documento,
        id_integracao || n, status, n, descricao_servico, codigo_servico, competencia, impressao, criado_em, ambiente
    FROM nfse_emissao, generate_series($2::int, $3::int) AS n WHERE id = $1 RETURNING id, criado_em
)
INSERT INTO nfse_processada (emissao_id, id_externo, numero, status, criado_em)
SELECT id, id::text, id::text, 'autorizado', criado_em FROM novas
"""


async def touched(database: Database, statement: sa.Select[Any], values: dict[str, Any]) -> int:
    """Pages that a statement reads."""
    made = _compiled(statement, values)
    explained = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {made.sql}"
    [plan] = json.loads(await database.pool.fetchval(explained, *made.arguments(values)))
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


async def test_what_a_company_issued_before_costs_nothing(database: Database) -> None:
    """A list, a look-up by number, the year's sum: ten times the notes, and no more pages are read."""
    mine = await issued(database)
    [first] = [row_["id"] for row_ in await database.pool.fetch("SELECT id FROM nfse_emissao")]
    read: list[list[int]] = []
    for start, end in ((1, 3_000), (3_001, 30_000)):
        await database.pool.execute(_COPIES, first, start, end)
        await as_owner(database.pool, "VACUUM ANALYZE nfse_emissao, nfse_processada, soma_mensal")
        read.append([])
        values = {**history._bounds(mine, MesOuAno(2026)), "b_numeros": [str(first)]}
        for statement in (_RECENT, _BY_NUMBER, history._LISTED[True], history._SUMS[True]):
            read[-1].append(await touched(database, statement, values))
    assert all(many <= 1.5 * few for few, many in zip(*read, strict=True)), read
