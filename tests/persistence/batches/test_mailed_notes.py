"""A row without text: its customer's notes of the month, found when the list is read, and what a yes is to."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from operations.batches import Upload, upload
from persistence.batches import mailed_notes
from persistence.db.engine import Database
from persistence.tables import lotes
from state_machine.mailing.reading import MOST_NOTES
from tests.made_batches import QUEM, company, customer, issued
from tests.stored_work import clear

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ANA, CAIO = "12345678909", "11144477735"
NOVEMBER, OCTOBER = date(2026, 11, 3), date(2026, 10, 31)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    await opened.pool.execute("DELETE FROM lotes")
    await clear(opened)
    await customer(opened, "ana", ANA)
    await customer(opened, "caio", CAIO)
    yield opened
    await opened.close()


async def rows(database: Database, content: str, nome: str = "lista.csv", assunto: str | None = None) -> list[Any]:
    """Send a list without text and return what became of its rows."""
    batch, _ = await upload(
        database, await company(database), Upload(nome_arquivo=nome, conteudo=content.encode(), assunto=assunto), QUEM
    )
    return list(await database.pool.fetch("SELECT * FROM lote_linhas WHERE lote_id = $1 ORDER BY id", batch.id))


def reasons(found: list[Any]) -> list[str | None]:
    return [row["problemas"][0]["codigo"] if row["problemas"] else None for row in found]


async def test_notes_are_those_of_the_customer_and_the_month(database: Database) -> None:
    """The address or the document names the customer, a column the month; other people's, other months' and cancelled
    notes stay away, and who has none is told of.
    """
    first, second = [await issued(database, ANA, numero, NOVEMBER) for numero in ("41", "42")]
    past = await issued(database, ANA, "40", OCTOBER)
    other = await issued(database, CAIO, "43", NOVEMBER)
    gone = await issued(database, ANA, "44", NOVEMBER)
    await database.pool.execute("UPDATE nfse_processada SET status = 'cancelado' WHERE emissao_id = $1", gone)
    found = await rows(
        database,
        "email;documento;competencia\nana@test.com.br;;2026-11\noutra@x.com.br;123.456.789-09;10/2026\n"
        "CAIO@test.com.br;;11/2026\nbia@x.com.br;;2026-11\nrui@x.com.br;;novembro",
    )
    carried = [[nota["emissao_id"] for nota in row["notas"] or ()] for row in found]
    assert carried == [[first, second], [past], [other], [], []]
    assert reasons(found) == [None, None, None, "sem_notas", "competencia_invalida"]
    assert found[0]["dados"]["assunto"] == "Suas notas fiscais de novembro de 2026"
    assert "Nota 42: R$ 1.500,00" in found[0]["dados"]["mensagem"]
    assert found[2]["dados"]["assunto"] == "Sua nota fiscal de novembro de 2026"


async def test_the_month_is_that_of_the_arrival(database: Database) -> None:
    """Without a column the month is the one in which the list came, also for who goes on with its reading later."""
    old = await issued(database, ANA, "41", OCTOBER)
    await issued(database, ANA, "42", datetime.now(UTC).date())
    await rows(database, "email\nana@test.com.br", assunto="Oi")
    await database.pool.execute("UPDATE lote_linhas SET notas = '[]', dados = '{}'")
    await database.pool.execute("UPDATE lotes SET criado_em = '2026-11-01T02:59Z'")
    async with database.transaction() as connection:
        lote_id = await connection.scalar(sa.select(lotes.c.id))
        assert await mailed_notes.find(connection, lote_id)
        assert not await mailed_notes.find(connection, lote_id)
    [row] = await database.pool.fetch("SELECT notas, dados FROM lote_linhas")
    assert [nota["emissao_id"] for nota in row["notas"]] == [old]
    assert "assunto" not in row["dados"]  # that of the form stands


async def test_practice_goes_to_nobody(database: Database) -> None:
    """What was issued for practice stays away once the company issues in earnest, and so do its clients of then."""
    await database.pool.execute(
        "INSERT INTO clientes (empresa_id, nome, email, documento, usuario) "
        "SELECT empresa_id, 'x', email, documento, 'prosa_test_x' FROM clientes"
    )
    await issued(database, ANA, "1", NOVEMBER, ambiente="homologacao")
    assert reasons(await rows(database, "email;competencia\nana@test.com.br;2026-11")) == [None]
    real = await issued(database, ANA, "2", NOVEMBER, ambiente="producao")
    [row] = await rows(database, "email;competencia\nANA@test.com.br;2026-11", "outra.csv")
    assert [nota["emissao_id"] for nota in row["notas"]] == [real]


async def test_a_yes_is_to_the_notes(database: Database) -> None:
    """The same list with one note more is another revision; more notes than a mail carries are told of."""
    revisions = []
    for number in range(3):
        await issued(database, ANA, str(number), NOVEMBER)
        content = f"email;competencia\nana@test.com.br;2026-11{' ' * number}"
        await rows(database, content)
        revisions.append(await database.pool.fetchval("SELECT revisao FROM lotes ORDER BY id DESC LIMIT 1"))
    assert len(set(revisions)) == 3
    for number in range(3, MOST_NOTES + 1):
        await issued(database, ANA, str(number), NOVEMBER)
    assert reasons(await rows(database, "email;competencia\nAna@test.com.br;2026-11")) == ["notas_demais"]


async def test_the_first_of_the_next_month_is_another_month(database: Database) -> None:
    """A month ends before it."""
    last = await issued(database, ANA, "41", date(2026, 11, 30))
    await issued(database, ANA, "42", date(2026, 12, 1))
    [row] = await rows(database, "email;competencia\nana@test.com.br;2026-11")
    assert [nota["emissao_id"] for nota in row["notas"]] == [last]


async def test_one_address_gets_the_notes_of_each_customer_and_month(database: Database) -> None:
    """An accountant's rows are told apart by document and month; the same cells again are the same row."""
    await issued(database, ANA, "41", NOVEMBER)
    await issued(database, ANA, "40", OCTOBER)
    await issued(database, CAIO, "43", NOVEMBER)
    found = await rows(
        database,
        "email;documento;competencia\nc@x.com.br;123.456.789-09;2026-11\nc@x.com.br;123.456.789-09;2026-10\n"
        "c@x.com.br;111.444.777-35;2026-11\nc@x.com.br;111.444.777-35;2026-11\nc@x.com.br;11144477735;11/2026\n"
        f"c@x.com.br;{'1' * 300};2026-11",
    )
    assert [[nota["numero"] for nota in row["notas"] or ()] for row in found] == [["41"], ["40"], ["43"], [], []]
    assert reasons(found) == [None, None, None, "endereco_repetido", "documento_longo"]
    assert await database.pool.fetchval("SELECT iguais FROM lotes") == 1


@pytest.mark.parametrize(("status", "stands"), [("cancelamento_pendente", True), ("cancelado", False)])
async def test_a_note_stands_until_it_is_cancelled(database: Database, status: str, stands: bool) -> None:
    """Whoever asks for a cancellation may be refused: the note is valid meanwhile."""
    note = await issued(database, ANA, "41", NOVEMBER)
    await database.pool.execute("UPDATE nfse_processada SET status = $1 WHERE emissao_id = $2", status, note)
    async with database.transaction() as connection:
        assert await mailed_notes.stand(connection, [note]) is stands
