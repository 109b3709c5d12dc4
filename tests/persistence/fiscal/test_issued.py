"""A company's notes are found among its own only, however they are named."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest_asyncio
import sqlalchemy as sa

from persistence.db.engine import Database
from persistence.fiscal import issued
from persistence.tables import nfse_emissao, session_snapshot
from state_machine.cancellation.machine import StatusNota
from tests.stored_work import clear, emission, note, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.db.connection import Connection

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


async def speaks(connection: Connection, empresa_id: int) -> str:
    """The conversation in which a company issued."""
    of_session = nfse_emissao.c.session_id == session_snapshot.c.id
    statement = sa.select(session_snapshot.c.conversa).join(nfse_emissao, of_session)
    conversa = await connection.scalar(statement.where(nfse_emissao.c.prestador_id == empresa_id))
    return str(conversa)


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
        ours, conversa = await speaks(connection, mine), await speaks(connection, theirs)
        assert not await issued.in_flight(connection, mine, ours)
        assert await issued.in_flight(connection, theirs, conversa)
        assert not await issued.in_flight(connection, theirs, "somebody:else")


async def test_a_note_of_another_conversation_says_who_made_it(database: Database) -> None:
    """To its own conversation it says nothing of that, nor where nobody asks."""
    mine, ours = await issue(database, "ext-1")
    async with database.transaction() as connection:
        conversa = await speaks(connection, mine)
        [own], [other] = [await issued.recent(connection, mine, asks) for asks in (conversa, "somebody:else")]
        assert (own.feita_por, (await issued.by_number(connection, mine, "42"))[0].feita_por) == (None, None)
        assert other.feita_por
        locked = await issued.locked(connection, ours, "somebody:else")
        assert locked
        assert locked.feita_por == other.feita_por


async def test_a_notes_status_moves_only_from_where_it_may(database: Database) -> None:
    """What is cancelled stays so, whoever comes late."""
    _, stored = await issue(database, "ext-1")
    async with database.transaction() as connection:
        assert await issued.mark(connection, stored, {StatusNota.AUTORIZADO}, StatusNota.CANCELADO)
        assert not await issued.mark(connection, stored, {StatusNota.AUTORIZADO}, StatusNota.CANCELAMENTO_PENDENTE)
        nota = await issued.locked(connection, stored)
    assert nota is not None
    assert nota.status is StatusNota.CANCELADO


async def test_a_note_whose_place_was_taken_counts_no_more(database: Database) -> None:
    """It ends with the commit that knows the new one; a refused attempt takes no place, and no key is another's."""
    (mine, old), (theirs, new) = await issue(database, "ext-1"), await issue(database, "ext-2")
    pool, standing = database.pool, "SELECT status, cancelado_em FROM nfse_processada WHERE emissao_id = $1"
    await pool.execute("UPDATE nfse_processada SET chave = 'ours' WHERE emissao_id = $1", old)
    async with database.transaction() as connection:
        assert await issued.access_key(connection, mine, old) == "ours"
        assert await issued.access_key(connection, theirs, old) is None
        assert not await issued.is_being_replaced(connection, old)
        issued.replaced(connection, new)  # it names no other
    assert (await pool.fetchrow(standing, old))["status"] == "autorizado"
    await pool.execute("UPDATE nfse_emissao SET substitui_id = $1, status = 'enviando' WHERE id = $2", old, new)
    async with database.transaction() as connection:
        assert await issued.is_being_replaced(connection, old)
        issued.replaced(connection, new)
    gone = await pool.fetchrow(standing, old)
    assert (gone["status"], gone["cancelado_em"] is not None) == ("cancelado", True)
    assert (await pool.fetchrow(standing, new))["status"] == "autorizado"
    async with database.transaction() as connection:
        known = await issued.locked(connection, old), await issued.locked(connection, new)
    numero = await pool.fetchval("SELECT numero FROM nfse_processada WHERE emissao_id = $1", new)
    assert [nota.substituta for nota in known if nota] == [numero, None]
    session = await pool.fetchval("SELECT sessao_id FROM nfse_emissao WHERE id = $1", old)
    async with database.transaction() as connection:
        assert await issued.refused_instead(connection, session) is None
    await pool.execute("UPDATE nfse_emissao SET status = 'rejeitado' WHERE id = $1", new)
    async with database.transaction() as connection:
        assert not await issued.is_being_replaced(connection, old)
        assert await issued.refused_instead(connection, session) == await pool.fetchval(
            "SELECT sessao_id FROM nfse_emissao WHERE id = $1", new
        )
