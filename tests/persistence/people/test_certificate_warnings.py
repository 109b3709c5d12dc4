"""Who is warned of a certificate that ends, when, and how often; and what the operator is told of the same."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from bot.loops.jobs import JobContext, warn_of_certificates
from gateway.certificate.a1 import read
from persistence.access.accounts import Alcance
from persistence.crypto import KEY_BYTES, Vault
from persistence.db.engine import Database
from persistence.people import certificate_vault, certificates, retention
from persistence.people.retention import Prazos
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from state_machine.values.local_time import SAO_PAULO
from tests.made_certificates import COMPANY, NOW, SENHA, company, pfx
from tests.stored_work import clear

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COFRE = Vault((bytes([3]) * KEY_BYTES,))
_COMPANY = """
INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)
VALUES ($1, 'Ana Design', '1', '3550308', 'mei', '01.01') RETURNING id
"""
_CHAT = """
WITH u AS (INSERT INTO usuario (empresa_id, telefone) VALUES ($1, $2) RETURNING id)
INSERT INTO conversas (conversa, phone_number_id, endereco, usuario_id, ultima_entrada_em)
SELECT '1:' || $2, '1', $2, id, now() FROM u
"""
_TOLD = "SELECT lane, payload->>'vence' AS vence FROM inbox WHERE tipo = 'certificado' ORDER BY id"
EVERYBODY = Alcance(todas=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    """A company with a certificate, and two people of whom one wrote lately."""
    await clear(opened)
    await opened.pool.execute("DELETE FROM inbox")
    empresa_id = await opened.pool.fetchval(_COMPANY, COMPANY)
    await opened.pool.execute(_CHAT, empresa_id, "5511987654321")
    await opened.pool.execute(_CHAT, empresa_id, "5511976543210")
    await opened.pool.execute(
        "UPDATE conversas SET ultima_entrada_em = now() - interval '25 h' WHERE conversa = '1:5511976543210'"
    )
    async with opened.transaction() as connection:
        a1 = read(pfx(company()), SENHA, COMPANY, NOW)
        await certificate_vault.keep(connection, COFRE, empresa_id, a1, quem="quem testa")
    return opened


async def left(database: Database, days: int) -> None:
    """Let the kept certificate end so many days from today, at eight in the evening of Brazil."""
    today = datetime.now(SAO_PAULO).replace(hour=20, minute=0, second=0, microsecond=0)
    ends = today + timedelta(days=days)
    await database.pool.execute("UPDATE empresa_certificado SET valido_ate = $1", ends)


async def warn(database: Database) -> int:
    """Run the job; returns how many warnings are new."""
    inbox = Inbox(database, 0)

    async def nothing() -> int:
        return 0

    context = JobContext(database, inbox, Backlog(database), nothing, Prazos(8, 0, 0, 0, 0), nothing, nothing)
    try:
        return await warn_of_certificates(context)
    finally:
        await inbox.close()


async def test_thirty_seven_and_one_day_before_once_each(database: Database) -> None:
    """Day by day from far to past the end, each day asked twice: three warnings to who wrote lately."""
    given = {}
    for days in (60, 31, 30, 29, 8, 7, 6, 2, 1, 0, -1, -30):
        await left(database, days)
        given[days] = await warn(database)
        assert await warn(database) == 0
    assert {days for days, count in given.items() if count} == {30, 7, 1}
    told = await database.pool.fetch(_TOLD)
    assert [row["lane"] for row in told] == ["1:5511987654321"] * 3


async def test_a_stage_that_passed_is_left_out(database: Database) -> None:
    """Five days before the end only the warning of seven days is due; the day that is told is the certificate's own."""
    await left(database, 5)
    await database.pool.execute("UPDATE empresa SET certificado_vence = '2031-01-01'")
    assert await warn(database) == 1
    [told] = await database.pool.fetch(_TOLD)
    assert told["vence"] == str((datetime.now(SAO_PAULO) + timedelta(days=5)).date())


async def test_who_could_not_be_told_is_told_when_they_write(database: Database) -> None:
    """Meta takes nothing from us a day after their last word; with staff, nobody else speaks."""
    await left(database, 20)
    await database.pool.execute("UPDATE conversas SET ultima_entrada_em = now() - interval '24 h'")
    assert await warn(database) == 0
    await database.pool.execute("UPDATE conversas SET ultima_entrada_em = now()")
    assert await warn(database) == 2
    assert await warn(database) == 0


async def test_nobody_is_passed_over_where_many_are_due(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit into one run comes with the next: those who were told make room."""
    monkeypatch.setattr(certificates, "_DUE", certificates._DUE.limit(1))
    await left(database, 20)
    await database.pool.execute("UPDATE conversas SET ultima_entrada_em = now()")
    assert [await warn(database) for _ in range(3)] == [1, 1, 0]


async def test_it_ends_with_the_certificate(database: Database) -> None:
    """One that was destroyed or replaced warns no more; the right that was taken away neither."""
    await left(database, 5)
    await database.pool.execute("UPDATE conversas SET usuario_id = NULL")
    assert await warn(database) == 0


async def test_retention_does_not_make_a_warning_new(database: Database) -> None:
    """Where messages are kept for a week only, a warning is known for as long as its stage lasts."""
    await left(database, 30)
    assert await warn(database) == 1
    aged = (
        "UPDATE inbox SET estado = 1, recebido_em = recebido_em - make_interval(days => $1) WHERE tipo = 'certificado'"
    )
    await database.pool.execute(aged, 20)
    await retention.sweep(database, Prazos(8, 0, 0, 0, 0))
    await left(database, 10)
    assert await warn(database) == 0
    await database.pool.execute(aged, 12)
    assert await retention.sweep(database, Prazos(8, 0, 0, 0, 0)) == 1


@pytest.mark.parametrize(
    ("days", "counted"), [(31, None), (30, "30"), (8, "30"), (7, "7"), (1, "1"), (0, "1"), (-1, "0")]
)
async def test_the_operator_is_told_the_same(database: Database, days: int, counted: str | None) -> None:
    """The metric by what is left; console and doctor by the certificate's own date, the earlier of two."""
    await left(database, days)
    await database.pool.execute("UPDATE empresa SET certificado_vence = '2031-01-01'")
    async with database.transaction() as connection:
        found = await certificates.count_ending(connection)
        listed = await certificates.expiring(connection, EVERYBODY)
        assert await certificates.undated(connection, EVERYBODY) == 0
    assert found == {each: int(each == counted) for each in ("0", "1", "7", "30")}
    assert [(row.dias, row.guardado) for row in listed] == ([(days, True)] if counted else [])
    await database.pool.execute(
        "UPDATE empresa SET certificado_vence = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 9"
    )
    async with database.transaction() as connection:
        [row] = await certificates.expiring(connection, EVERYBODY)
    assert (row.dias, row.guardado) == (-9, False)


async def test_without_any_date_it_is_counted_as_such(database: Database) -> None:
    """A certificate that is kept has its own date; the company without either is asked about."""
    await database.pool.execute("UPDATE empresa SET certificado_vence = NULL")
    async with database.transaction() as connection:
        assert await certificates.undated(connection, EVERYBODY) == 0
    await database.pool.execute("DELETE FROM empresa_certificado")
    async with database.transaction() as connection:
        assert await certificates.undated(connection, EVERYBODY) == 1
