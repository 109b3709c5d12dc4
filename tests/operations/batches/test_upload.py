"""A list that arrives: one batch for each file, one row for each address, nothing of what is refused."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import operations.batches
from operations.batches import AnotherTextError, RepeatedContentError, Upload, upload
from persistence.batches import records
from persistence.db.engine import Database
from state_machine.mailing.reading import LARGEST, ListRefusedError, read
from tests.made_batches import QUEM, company, listed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from state_machine.mailing.reading import ListaLida


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    await opened.pool.execute("DELETE FROM lotes")
    await opened.pool.execute("DELETE FROM email_suprimido")
    yield opened
    await opened.close()


class TestMailingUploadIdempotency:
    """The specification's first test."""

    async def test_should_return_same_mailing_for_duplicate_filename(self, database: Database) -> None:
        """Scenario 1 of the specification: the same file again is answered with the first batch, and there is one."""
        empresa_id = await company(database)
        first, created = await upload(database, empresa_id, listed("test.csv", "user@test.com.br"), QUEM)
        second, again = await upload(database, empresa_id, listed("test.csv", "user@test.com.br"), QUEM)
        assert (created, again) == (True, False)
        assert second.id == first.id
        assert await database.pool.fetchval("SELECT count(*) FROM lotes WHERE nome_arquivo = 'test.csv'") == 1

    async def test_ten_at_once_make_one(self, database: Database) -> None:
        """However many send the same file at the same moment, one of them makes the batch."""
        empresa_id = await company(database)
        file = listed("test.csv", "user@test.com.br")
        found = await asyncio.gather(*(upload(database, empresa_id, file, QUEM) for _ in range(10)))
        assert sorted(created for _, created in found) == [False] * 9 + [True]
        assert len({batch.id for batch, _ in found}) == 1

    async def test_other_content_of_the_same_name_is_another_batch(self, database: Database) -> None:
        """The list of next month may have the name of this month's."""
        empresa_id = await company(database)
        first, _ = await upload(database, empresa_id, listed("test.csv", "user@test.com.br"), QUEM)
        second, created = await upload(database, empresa_id, listed("test.csv", "other@test.com.br"), QUEM)
        assert created
        assert second.id != first.id

    async def test_a_renamed_file_is_asked_about(self, database: Database) -> None:
        """The same content under another name makes a batch only for who says so."""
        empresa_id = await company(database)
        first, _ = await upload(database, empresa_id, listed("test.csv", "user@test.com.br"), QUEM)
        renamed = listed("outro.csv", "user@test.com.br")
        with pytest.raises(RepeatedContentError) as refused:
            await upload(database, empresa_id, renamed, QUEM)
        assert refused.value.lote_id == first.id
        assert await database.pool.fetchval("SELECT count(*) FROM lotes") == 1
        second, created = await upload(database, empresa_id, replace(renamed, repetir=True), QUEM)
        assert created
        assert second.id != first.id

    async def test_a_bad_file_stores_nothing(self, database: Database) -> None:
        """What is refused leaves no batch and no row."""
        empresa_id = await company(database)
        with pytest.raises(ListRefusedError):
            await upload(database, empresa_id, Upload(nome_arquivo="test.csv", conteudo=b"nome\nMaria"), QUEM)
        assert await database.pool.fetchval("SELECT count(*) FROM lotes") == 0


class TestEmailEntryIdempotency:
    """The specification's second test."""

    async def test_should_insert_each_email_only_once(self, database: Database) -> None:
        """Scenario 2: four lines of two addresses are two rows, in the order of the file."""
        emails = ("user@test.com.br", "admin@test.com.br", "USER@Test.com.br", "admin@test.com.br")
        batch, _ = await upload(database, await company(database), listed("test.csv", *emails), QUEM)
        rows = await database.pool.fetch("SELECT email, linha, token FROM lote_linhas ORDER BY id")
        assert [(row["email"], row["linha"]) for row in rows] == [("user@test.com.br", 2), ("admin@test.com.br", 3)]
        assert len({row["token"] for row in rows}) == 2
        assert (batch.linhas, batch.iguais, batch.estado) == (4, 2, "aguardando_confirmacao")

    async def test_ingestion_goes_on_where_it_died(self, database: Database) -> None:
        """A batch whose reader died after some rows gets the others from the same file, and keeps those it has."""
        empresa_id = await company(database)
        file = listed("test.csv", *(f"user{number}@test.com.br" for number in range(2_500)))
        batch, _ = await upload(database, empresa_id, file, QUEM)
        await database.pool.execute("UPDATE lotes SET estado = 'lendo'")
        await database.pool.execute("DELETE FROM lote_linhas WHERE linha > 1200")
        kept = await database.pool.fetch("SELECT id, token FROM lote_linhas")
        again, created = await upload(database, empresa_id, file, QUEM)
        assert (again.id, again.estado, created) == (batch.id, "aguardando_confirmacao", False)
        assert await database.pool.fetchval("SELECT count(*) FROM lote_linhas") == 2_500
        still = await database.pool.fetch("SELECT id, token FROM lote_linhas WHERE linha <= 1200")
        assert set(map(tuple, still)) == set(map(tuple, kept))

    async def test_rows_are_never_changed_by_reading_again(self, database: Database) -> None:
        """A row that was sent stays sent, whatever ingests the file again."""
        empresa_id = await company(database)
        file = listed("test.csv", "user@test.com.br")
        batch, _ = await upload(database, empresa_id, file, QUEM)
        await database.pool.execute("UPDATE lotes SET estado = 'lendo'")
        await database.pool.execute("UPDATE lote_linhas SET estado = 'DONE'")
        await records.ingest(database, batch.id, read(file.nome_arquivo, file.conteudo, file.assunto, file.mensagem))
        assert await database.pool.fetchval("SELECT estado FROM lote_linhas") == "DONE"

    async def test_who_wants_no_mail_is_invalid(self, database: Database) -> None:
        """An address of the suppression list is told of in the batch, and gets nothing."""
        empresa_id = await company(database)
        await database.pool.execute("INSERT INTO email_suprimido VALUES ($1, 'user@test.com.br', 'pediu')", empresa_id)
        await upload(database, empresa_id, listed("test.csv", "User@test.com.br", "admin@test.com.br"), QUEM)
        rows = await database.pool.fetch("SELECT estado, problemas FROM lote_linhas ORDER BY id")
        assert [row["estado"] for row in rows] == ["INVALID", "PENDING"]
        assert rows[0]["problemas"][0]["codigo"] == "suprimido"


async def test_other_words_take_the_place_of_those_that_nobody_confirmed(database: Database) -> None:
    """The rows are read anew with them, also where the reader of the first words has not ended, or goes on late."""
    empresa_id = await company(database)
    file = Upload(
        nome_arquivo="a.csv", conteudo=b"email;nome\na@x.com.br;\nb@x.com.br;Bia", assunto="Oi", mensagem="{nome}"
    )
    first, _ = await upload(database, empresa_id, file, QUEM)
    late = read(file.nome_arquivo, file.conteudo, file.assunto, file.mensagem)
    for estado, words in (("aguardando_confirmacao", "Bom dia"), ("lendo", "Boa tarde")):
        await database.pool.execute("UPDATE lotes SET estado = $1", estado)
        changed, created = await upload(database, empresa_id, replace(file, mensagem=words), QUEM)
        assert (changed.id, created, changed.estado) == (first.id, False, "aguardando_confirmacao")
        assert (changed.mensagem, changed.revisao == first.revisao) == (words, False)
        rows = await database.pool.fetch("SELECT estado FROM lote_linhas ORDER BY id")
        assert [row["estado"] for row in rows] == ["PENDING", "PENDING"]
    await database.pool.execute("UPDATE lotes SET estado = 'lendo'")
    await database.pool.execute("DELETE FROM lote_linhas")
    await records.ingest(database, first.id, late)
    assert await database.pool.fetchval("SELECT count(*) FROM lote_linhas") == 0


@pytest.mark.parametrize("estado", ["processando", "pausado", "concluido", "cancelado"])
async def test_other_words_change_nothing_that_was_decided(database: Database, estado: str) -> None:
    """What was confirmed or stopped stays as it was, and whoever asks is told."""
    empresa_id, file = await company(database), listed("a.csv", "a@x.com.br")
    await upload(database, empresa_id, file, QUEM)
    await database.pool.execute("UPDATE lotes SET estado = $1", estado)
    before = await database.pool.fetchrow("SELECT * FROM lotes")
    with pytest.raises(AnotherTextError, match=estado):
        await upload(database, empresa_id, replace(file, mensagem="outra"), QUEM)
    assert await database.pool.fetchrow("SELECT * FROM lotes") == before


async def test_others_get_their_turn_while_a_large_file_is_read(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 MB of 10,000 rows are read, and made ready to be stored, beside the event loop, which goes on."""
    lines = (f"user{number}@test.com.br;{'palavra ' * 110}{'ção' * 10}" for number in range(9_999))
    content = "\n".join(("email;mensagem", *lines)).encode()
    assert LARGEST * 0.8 < len(content) <= LARGEST
    turns, taken = 0, []

    def watched(*arguments: Any) -> ListaLida:
        before = turns
        found = read(*arguments)
        taken.append(turns - before)
        return found

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.005)

    def ready(chunk: Any) -> Any:
        threads.append(threading.current_thread())
        return columns(chunk)

    columns = records._columns
    threads: list[threading.Thread] = []
    monkeypatch.setattr(records, "_columns", ready)
    monkeypatch.setattr(operations.batches, "read", watched)
    ticking = asyncio.create_task(tick())
    batch, _ = await upload(
        database, await company(database), Upload(nome_arquivo="grande.csv", conteudo=content, assunto="Oi"), QUEM
    )
    ticking.cancel()
    assert batch.linhas == 9_999
    assert taken[0] > 0
    assert len(threads) == 10
    assert threading.main_thread() not in threads
