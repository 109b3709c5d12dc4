"""A company's notes are found among its own only, however they are named."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest_asyncio

from persistence.db.engine import Database
from persistence.fiscal import issued
from state_machine.cancellation.machine import StatusNota
from tests.stored_work import clear, emission, note, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

VALOR = Decimal("1500.00")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=2)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    return opened


async def issue(database: Database, id_externo: str) -> tuple[int, int]:
    """Store an authorised note number 42 of a new company; returns the company and the emission."""
    stored = await emission(database, status="concluido", proxima_acao_em=None)
    await note(database, stored, id_externo)
    await database.pool.execute("UPDATE nfse_processada SET status = 'autorizado'")
    return (await row(database, "nfse_emissao", stored))["prestador_id"], stored


async def test_a_note_is_found_by_its_own_company_only(database: Database) -> None:
    """By number, amount, age or its own id; two companies have notes of the same number and amount."""
    (mine, ours), (_, theirs) = await issue(database, "ext-1"), await issue(database, "ext-2")
    async with database.transaction() as connection:
        for found in (
            await issued.by_number(connection, mine, "0042"),
            await issued.by_value(connection, mine, VALOR),
            await issued.recent(connection, mine),
        ):
            assert [nota.emissao_id for nota in found] == [ours]
        assert await issued.of_company(connection, mine, ours) is not None
        assert await issued.of_company(connection, mine, theirs) is None


async def test_another_companys_work_says_nothing_of_ours(database: Database) -> None:
    """Whether the last note is still under way is asked of our own newest one."""
    mine, _ = await issue(database, "ext-1")
    theirs = (await row(database, "nfse_emissao", await emission(database, status="enviado")))["prestador_id"]
    async with database.transaction() as connection:
        assert not await issued.in_flight(connection, mine)
        assert await issued.in_flight(connection, theirs)


async def test_a_notes_status_moves_only_from_where_it_may(database: Database) -> None:
    """What is cancelled stays so, whoever comes late."""
    _, stored = await issue(database, "ext-1")
    async with database.transaction() as connection:
        assert await issued.mark(connection, stored, {StatusNota.AUTORIZADO}, StatusNota.CANCELADO)
        assert not await issued.mark(connection, stored, {StatusNota.AUTORIZADO}, StatusNota.CANCELAMENTO_PENDENTE)
        nota = await issued.locked(connection, stored)
    assert nota is not None
    assert nota.status is StatusNota.CANCELADO
