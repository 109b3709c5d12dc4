"""One worker at a list: taken by one statement, freed when its worker is silent, gone on with after what is done."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from operations.batches import upload
from operations.company import add_company
from persistence.batches import records, work
from persistence.db.engine import Database
from proofs.demo.world import COMPANY
from state_machine.mailing.delivery import (
    EstadoLinha,
    MailAccepted,
    MailDeferred,
    MailLost,
    MailUnreachable,
    Settled,
    settle,
)
from state_machine.protocol.channel import Canal
from tests.made_batches import QUEM, company, confirmed, listed
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.batches.work import TakenBatch
    from state_machine.mailing.delivery import MailOutcome

UNKNOWN = timedelta(seconds=600)
ANOTHER = "44555666000181"
NOT_BEGUN = Settled(EstadoLinha.PENDING, not_sent=True)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    await opened.pool.execute("DELETE FROM lotes")
    await opened.pool.execute("DELETE FROM email_suprimido")
    yield opened
    await opened.close()


async def acquire(database: Database, lote_id: int) -> TakenBatch | None:
    async with database.transaction() as connection:
        return await work.try_acquire(connection, lote_id, UNKNOWN)


async def taken(database: Database, lote_id: int) -> TakenBatch:
    batch = await acquire(database, lote_id)
    assert batch is not None
    return batch


async def send(database: Database, batch: TakenBatch, outcome: MailOutcome) -> str | None:
    """Take the next row and store this answer to it; returns the address."""
    async with database.transaction() as connection:
        rows = await work.next_rows(connection, batch, "empresa.com.br")
    if not rows:
        return None
    row, became = rows[0], dict.fromkeys((row.id for row in rows), NOT_BEGUN)
    async with database.transaction() as connection:
        became[row.id] = settle(outcome, row.attempts, row.incertas, (60.0, 600.0), 600.0)
        assert await work.settle(connection, batch, became)
    return str(row.email)


async def first_in_hand(database: Database, batch: TakenBatch) -> Any:
    """Take a bunch, and give all but its first mail back."""
    async with database.transaction() as connection:
        row, *others = await work.next_rows(connection, batch, "empresa.com.br")
        await work.settle(connection, batch, {other.id: NOT_BEGUN for other in others})
    return row


async def silent(database: Database) -> None:
    await database.pool.execute("UPDATE lotes SET last_attempt = now() - interval '1 minute'")


class TestProcessingLockIdempotency:
    """The specification's third test."""

    async def test_should_prevent_concurrent_processing(self, database: Database) -> None:
        """Of two workers at the same moment one gets the batch."""
        lote_id = await confirmed(database, "test.csv", "user@test.com.br")
        found = await asyncio.gather(*(acquire(database, lote_id) for _ in range(2)))
        assert len([batch for batch in found if batch is not None]) == 1
        assert await database.pool.fetchval("SELECT status FROM lotes") == "PROCESSING"

    @pytest.mark.parametrize("status", ["PENDING", "QUEUED", "FAILED"])
    async def test_a_free_batch_is_taken(self, database: Database, status: str) -> None:
        """Each state in which nobody works on it lets a worker begin."""
        lote_id = await confirmed(database, "test.csv", "user@test.com.br")
        await database.pool.execute("UPDATE lotes SET status = $1", status)
        assert await acquire(database, lote_id) is not None

    async def test_nothing_is_taken_before_a_yes(self, database: Database) -> None:
        """A list that was read waits, whatever tells a worker of it."""
        batch, _ = await records_of(database)
        await database.pool.execute("INSERT INTO lote_fila (lote_id) VALUES ($1)", batch)
        assert await acquire(database, batch) is None

    async def test_a_silent_worker_loses_it(self, database: Database) -> None:
        """After 30 s without a heartbeat another takes over, and what the first commits later is refused."""
        lote_id = await confirmed(database, "test.csv", "user@test.com.br", "other@test.com.br")
        first = await taken(database, lote_id)
        row = await first_in_hand(database, first)
        assert await acquire(database, lote_id) is None
        await silent(database)
        second = await taken(database, lote_id)
        async with database.transaction() as connection:
            assert not await work.LEASES.renew(connection, first)
            assert not await work.settle(connection, first, {row.id: settle(MailAccepted(), 1, 0, (), 0)})
            assert await work.next_rows(connection, first, "empresa.com.br") == []
            assert await work.goes(connection, first, row.id) is None
            assert await work.leave(connection, first) is None
            assert not await work.mark_failed(connection, first, "late", UNKNOWN)
        assert await send(database, second, MailAccepted()) == "other@test.com.br"

    async def test_a_heartbeat_keeps_it(self, database: Database) -> None:
        """A worker that gives signs of life keeps its batch, however long it takes."""
        batch = await taken(database, await confirmed(database, "test.csv", "user@test.com.br"))
        await silent(database)
        async with database.transaction() as connection:
            assert await work.LEASES.renew(connection, batch)
            assert await work.recover(connection) == 0
        assert await acquire(database, batch.id) is None

    async def test_a_word_that_comes_twice_is_worked_on_once(self, database: Database) -> None:
        """Scenario 3: the second worker drops the word of a batch that another has."""
        lote_id = await confirmed(database, "test.csv", "user@test.com.br")
        async with database.transaction() as connection:
            assert len(await work.take_due(connection, 5, UNKNOWN)) == 1
        await database.pool.execute("INSERT INTO lote_fila (lote_id) VALUES ($1)", lote_id)
        async with database.transaction() as connection:
            assert await work.take_due(connection, 5, UNKNOWN) == []
        assert await database.pool.fetchval("SELECT count(*) FROM lote_fila") == 0


class TestCrashRecoveryIdempotency:
    """The specification's fourth test."""

    async def test_should_recover_stale_locks_without_duplication(self, database: Database) -> None:
        """Scenario 4: a batch whose worker died is free again, and queued once however often it is swept."""
        lote_id = await confirmed(database, "test.csv", "user@test.com.br")
        async with database.transaction() as connection:
            await work.take_due(connection, 5, UNKNOWN)
        await silent(database)
        for _ in range(2):
            async with database.transaction() as connection:
                await work.recover(connection)
        row = await database.pool.fetchrow("SELECT status, last_attempt FROM lotes")
        assert tuple(row) == ("PENDING", None)
        assert await database.pool.fetchval("SELECT count(*) FROM lote_fila WHERE lote_id = $1", lote_id) == 1

    async def test_the_next_worker_resumes_after_the_last_entry_done(self, database: Database) -> None:
        """What was sent is not sent again; what was in the dead worker's hands waits and is counted."""
        emails = [f"user{number}@test.com.br" for number in range(4)]
        lote_id = await confirmed(database, "test.csv", *emails)
        first = await taken(database, lote_id)
        sent = [await send(database, first, MailAccepted()) for _ in range(2)]
        in_hand = await first_in_hand(database, first)
        await silent(database)
        async with database.transaction() as connection:
            assert await work.recover(connection) == 1
            [second] = await work.take_due(connection, 5, UNKNOWN)
        assert [*sent, in_hand.email, await send(database, second, MailAccepted())] == emails
        assert await send(database, second, MailAccepted()) is None
        row = await database.pool.fetchrow("SELECT * FROM lote_linhas WHERE id = $1", in_hand.id)
        assert (row["estado"], row["incertas"], row["external_id"]) == ("PENDING", 1, in_hand.external_id)
        assert row["a_partir_de"] - row["last_attempt"] == UNKNOWN

    async def test_a_stopped_batch_of_a_dead_worker_ends(self, database: Database) -> None:
        """Nothing of it goes out any more, and no row stays in nobody's hands."""
        lote_id = await confirmed(database, "test.csv", "user@test.com.br", "other@test.com.br")
        batch = await taken(database, lote_id)
        async with database.transaction() as connection:
            await work.next_rows(connection, batch, "empresa.com.br")
        async with database.transaction() as connection:
            assert await records.stop(connection, lote_id) == 0
        await silent(database)
        async with database.transaction() as connection:
            await work.recover(connection)
        assert await database.pool.fetchval("SELECT status FROM lotes") == "DONE"
        assert await database.pool.fetchval("SELECT count(*) FROM lote_linhas WHERE estado = 'CANCELADA'") == 2
        assert await database.pool.fetchval("SELECT count(*) FROM lote_fila") == 0


async def records_of(database: Database) -> tuple[int, str]:
    """Return id and revision of a list that waits for its yes."""
    batch, _ = await upload(database, await company(database), listed("test.csv", "user@test.com.br"), QUEM)
    return int(batch.id), str(batch.revisao)


async def test_a_yes_to_another_revision_sends_nothing(database: Database) -> None:
    """Only the revision that was shown can be confirmed, and once."""
    lote_id, revisao = await records_of(database)
    async with database.transaction() as connection:
        assert not await records.confirm(connection, lote_id, "outra", QUEM)
        assert await database.pool.fetchval("SELECT count(*) FROM lote_fila") == 0
        assert await records.confirm(connection, lote_id, revisao, QUEM)
        assert not await records.confirm(connection, lote_id, revisao, QUEM)


async def test_a_batch_ends_when_every_row_has(database: Database) -> None:
    """Rows that are to be tried later keep it open: its word comes when the first of them is due."""
    batch = await taken(database, await confirmed(database, "test.csv", "user@test.com.br", "other@test.com.br"))
    await database.pool.execute("DELETE FROM lote_fila")
    await send(database, batch, MailAccepted())
    await send(database, batch, MailDeferred(451))
    async with database.transaction() as connection:
        assert await work.leave(connection, batch) == "processando"
    seconds = await database.pool.fetchval("SELECT extract(epoch FROM a_partir_de - now()) FROM lote_fila")
    assert 0 < seconds <= 60
    await database.pool.execute("UPDATE lote_linhas SET a_partir_de = now()")
    await database.pool.execute("UPDATE lote_fila SET a_partir_de = now()")
    async with database.transaction() as connection:
        [again] = await work.take_due(connection, 5, UNKNOWN)
    assert await send(database, again, MailAccepted()) == "other@test.com.br"
    async with database.transaction() as connection:
        assert await work.leave(connection, again) == "concluido"
    assert await database.pool.fetchval("SELECT status FROM lotes") == "DONE"


async def test_a_failed_batch_is_queued_again(database: Database) -> None:
    """What went wrong is kept, and its word comes after the pause."""
    batch = await taken(database, await confirmed(database, "test.csv", "user@test.com.br"))
    await database.pool.execute("DELETE FROM lote_fila")
    async with database.transaction() as connection:
        assert await work.mark_failed(connection, batch, "no server", timedelta(seconds=60))
    assert tuple(await database.pool.fetchrow("SELECT status, erro FROM lotes")) == ("FAILED", "no server")
    assert await database.pool.fetchval("SELECT count(*) FROM lote_fila WHERE a_partir_de > now()") == 1


async def test_who_says_no_meanwhile_gets_nothing(database: Database) -> None:
    """An address that is suppressed after the yes is left out, and told of at the end."""
    batch = await taken(database, await confirmed(database, "test.csv", "user@test.com.br", "other@test.com.br"))
    empresa_id = await company(database)
    await database.pool.execute("INSERT INTO email_suprimido VALUES ($1, 'user@test.com.br', 'pediu')", empresa_id)
    assert await send(database, batch, MailAccepted()) == "other@test.com.br"
    assert await send(database, batch, MailAccepted()) is None
    async with database.transaction() as connection:
        assert await work.leave(connection, batch) == "concluido"
    assert await database.pool.fetchval("SELECT estado FROM lote_linhas ORDER BY id LIMIT 1") == "INVALID"


FILL = """
INSERT INTO lote_linhas (lote_id, chave, linha, token, email, estado, last_attempt)
SELECT $1, n + $2::int, n + $2::int, n + $2::int, 'a' || n || '@test.com.br',
    CASE WHEN n % 100 = 0 THEN 'PENDING' ELSE 'DONE' END,
    CASE WHEN n % 100 <> 0 THEN now() - interval '1 hour' END
FROM (SELECT generate_series(1, $3::int) AS n) AS linhas
"""


async def test_the_next_mails_of_a_long_list_are_found_as_fast_as_those_of_a_short_one(database: Database) -> None:
    """In so many buffers, whatever the planner was told: of none, of another state of the table, or of this one."""
    lote_id = await confirmed(database, "test.csv", "user@test.com.br")
    batch = await taken(database, lote_id)
    await as_owner(database.pool, "ALTER TABLE lote_linhas SET (autovacuum_enabled = off)")  # or it comes half-way
    lies = "UPDATE lote_linhas SET estado = 'DONE'; ANALYZE lote_linhas; UPDATE lote_linhas SET estado = 'PENDING'"
    found = []
    for rows, said in ((1_000, ""), (40_000, ""), (0, f"{lies} WHERE linha % 100 = 0"), (0, "ANALYZE lote_linhas")):
        before = await database.pool.fetchval("SELECT max(linha) FROM lote_linhas")
        await database.pool.execute(FILL, lote_id, before, rows)
        await as_owner(database.pool, said or "SELECT")
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {work.NEXT}"
        async with database.pool.acquire() as connection, connection.transaction():
            await connection.execute(work.IN_ORDER)
            [plan] = json.loads(await connection.fetchval(explain, batch.id, batch.epoch, "empresa.com.br", 1000))
        found.append(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])
    assert max(found) <= 40 * work.BUNCH, found  # most of them to write the rows


async def test_a_mail_that_may_have_gone_is_taken_alone(database: Database) -> None:
    """What a worker died of takes no others with it a second time."""
    lote_id = await confirmed(database, "test.csv", *(f"user{number}@test.com.br" for number in range(4)))
    batch = await taken(database, lote_id)
    await database.pool.execute("UPDATE lote_linhas SET incertas = 1 WHERE email ~ '[12]@'")
    bunches = []
    for _ in range(4):
        async with database.transaction() as connection:
            rows = await work.next_rows(connection, batch, "empresa.com.br")
        bunches.append([row.email[4] for row in rows])
    assert bunches == [["0"], ["1"], ["2"], ["3"]]


async def test_a_bunch_keeps_to_a_domains_share(database: Database) -> None:
    """So many of a minute, those that went before counted; others' go on."""
    addresses = [f"user{number}@{domain}" for number in range(4) for domain in ("um.com.br", "dois.com.br")]
    batch = await taken(database, await confirmed(database, "test.csv", *addresses))
    taken_of = []
    for _ in range(2):
        async with database.transaction() as connection:
            rows = await work.next_rows(connection, batch, "empresa.com.br", 3)
        taken_of.append([row.email for row in rows])
    assert taken_of == [addresses[:6], []]


async def test_a_second_lost_answer_is_the_last(database: Database) -> None:
    """A mail of which two answers were lost is not sent a third time."""
    batch = await taken(database, await confirmed(database, "test.csv", "user@test.com.br"))
    await send(database, batch, MailLost())
    await database.pool.execute("UPDATE lote_linhas SET a_partir_de = now()")
    await send(database, batch, MailLost())
    row = await database.pool.fetchrow("SELECT estado, incertas, problemas FROM lote_linhas")
    assert (row["estado"], row["incertas"], row["problemas"][0]["codigo"]) == ("FAILED", 2, "sem_resposta")


async def test_anothers_list_is_not_behind_all_of_a_companys(database: Database) -> None:
    """Each company in its turn: a worker takes first of whom it holds fewest, then what waits for longest."""
    many = [await confirmed(database, f"{number}.csv", f"user{number}@test.com.br") for number in range(3)]
    await add_company(database, replace(COMPANY, cnpj=ANOTHER, usuarios=()), Canal("plugnotas"))
    another = int(await database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", ANOTHER))
    for name in ("a.csv", "b.csv"):
        batch, _ = await upload(database, another, listed(name, f"{name}@test.com.br"), QUEM)
        async with database.transaction() as connection:
            assert await records.confirm(connection, batch.id, batch.revisao, QUEM)
    turns: list[bool] = []
    for free in (2, 1, 1, 1):
        async with database.transaction() as connection:
            taken = await work.take_due(connection, free, UNKNOWN)
        turns += sorted(one.id not in many for one in taken)
    assert turns == [False, True, False, True, False]


@pytest.mark.parametrize("settled", [True, False])
async def test_a_stopped_list_has_no_row_in_the_queue(database: Database, settled: bool) -> None:
    """Stopped while a mail is in hand and the server is away: nothing waits and nothing goes, for ever."""
    lote_id = await confirmed(database, "test.csv", "user@test.com.br", "admin@test.com.br")
    batch = await taken(database, lote_id)
    row = await first_in_hand(database, batch)
    async with database.transaction() as connection:
        assert await records.stop(connection, lote_id) == 1
        if settled:
            away = settle(MailUnreachable("refused"), row.attempts, 0, (60.0,), 600.0)
            assert await work.settle(connection, batch, {row.id: away})
        assert await work.mark_failed(connection, batch, "refused", timedelta(seconds=60))
    found = await database.pool.fetch("SELECT estado FROM lote_linhas")
    assert {row["estado"] for row in found} == {"CANCELADA"}
    assert tuple(await database.pool.fetchrow("SELECT estado, status FROM lotes")) == ("cancelado", "DONE")


@pytest.mark.parametrize("estado", ["CANCELADA", "INVALID", "DONE"])
async def test_an_answer_changes_no_row_that_is_not_in_hand(database: Database, estado: str) -> None:
    """What was cancelled or erased meanwhile does not come back to life."""
    batch = await taken(database, await confirmed(database, "test.csv", "user@test.com.br"))
    row = await first_in_hand(database, batch)
    await database.pool.execute("UPDATE lote_linhas SET estado = $1", estado)
    async with database.transaction() as connection:
        assert not await work.settle(connection, batch, {row.id: settle(MailDeferred(451), 1, 0, (60.0,), 600.0)})
    assert await database.pool.fetchval("SELECT estado FROM lote_linhas") == estado


def test_a_lost_answer_takes_no_step_off_the_ladder() -> None:
    """The first 4xx after it waits for the first step."""
    assert settle(MailDeferred(451), 2, 1, (60.0, 600.0), 600.0).depois == 60.0
