"""Which earlier invoice makes us ask before a second one; two confirmations of one moment see each other."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from persistence.db.engine import Database
from persistence.fiscal.comparison import equal_invoice, usual_amount
from tests.stored_work import change, clear, emission, note, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.db.connection import Connection
    from state_machine.invoice.choices import NotaIgual

DAY = timedelta(days=1)
PATIENCE = 10.0  # seconds; a test that waits longer has failed


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=3)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    return opened


async def ask(connection: Connection, empresa_id: int, **other: Any) -> NotaIgual | None:
    """Ask as somebody who is about to confirm the same in another session."""
    asked: dict[str, Any] = {
        "sessao_id": "another",
        "documento": "12345678000195",
        "valor": Decimal("1500.00"),
        "descricao": "Consultoria.",
        "window": DAY,
        **other,
    }
    return await equal_invoice(connection, empresa_id, **asked)


async def found(database: Database, empresa_id: int, **other: Any) -> str | None:
    async with database.transaction() as connection:
        igual = await ask(connection, empresa_id, **other)
    return igual.id_integracao if igual else None


async def test_the_same_content_of_the_same_company_is_found(database: Database) -> None:
    """Another company, customer, amount or text, its own session, or an invoice of long ago is no repetition."""
    stored = await row(database, "nfse_emissao", await emission(database))
    company, key = stored["prestador_id"], stored["id_integracao"]
    another = (await row(database, "nfse_emissao", await emission(database, descricao_servico="x")))["prestador_id"]
    assert await found(database, company) == key
    assert await found(database, another) is None
    assert await found(database, company, documento="11222333000181") is None
    assert await found(database, company, valor=Decimal("1500.01")) is None
    assert await found(database, company, descricao="consultoria de marketing") is None
    assert await found(database, company, sessao_id=stored["sessao_id"]) is None
    long_ago = stored["agora"] - 2 * DAY
    await change(database, "nfse_emissao", stored["id"], criado_em=long_ago)
    assert await found(database, company) == key  # undecided: it may still be issued
    await change(database, "nfse_emissao", stored["id"], status="concluido", processado_em=long_ago)
    assert await found(database, company) is None


@pytest.mark.parametrize("status", ["rejeitado", "dispensado"])
async def test_what_was_refused_is_no_invoice(database: Database, status: str) -> None:
    """Mending it is what everybody does next."""
    stored = await row(database, "nfse_emissao", await emission(database, status=status))
    assert await found(database, stored["prestador_id"]) is None


async def test_a_cancelled_note_may_be_issued_again(database: Database) -> None:
    """While it stands we ask; cancelled, it is no reason to."""
    stored = await row(database, "nfse_emissao", await emission(database, status="concluido"))
    await note(database, stored["id"], "ext")
    assert await found(database, stored["prestador_id"]) is not None
    await database.pool.execute("UPDATE nfse_processada SET status = 'cancelado'")
    assert await found(database, stored["prestador_id"]) is None


async def test_two_of_one_moment_wait_for_each_other(database: Database) -> None:
    """The second is answered after the first has committed, and so sees its invoice; other amounts do not wait."""
    stored = await row(database, "nfse_emissao", await emission(database))
    company = stored["prestador_id"]
    async with database.transaction() as first:
        await ask(first, company)
        assert await found(database, company, valor=Decimal("1.00")) is None
        second = asyncio.create_task(found(database, company))
        waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"
        async with asyncio.timeout(PATIENCE):
            while not await database.pool.fetchval(waits):
                assert not second.done(), "it did not wait"
                await asyncio.sleep(0.01)
    assert await second == stored["id_integracao"]


async def test_the_usual_amount_is_the_median_of_the_last_issued(database: Database) -> None:
    """Of at least five of the company's own; undecided ones and another company's count for nothing."""
    stored = [await emission(database, status="concluido", proxima_acao_em=None) for _ in range(6)]
    mine = (await row(database, "nfse_emissao", stored[0]))["prestador_id"]
    for emissao_id, valor in zip(stored[:5], (10, 20, 30, 40, 9000), strict=True):
        await change(database, "nfse_emissao", emissao_id, prestador_id=mine, valor_servico=Decimal(valor))
    async with database.transaction() as connection:
        assert await usual_amount(connection, mine) == Decimal("30.00")
    await change(database, "nfse_emissao", stored[4], status="enviado")
    async with database.transaction() as connection:
        assert await usual_amount(connection, mine) is None
