"""A session is stored over the version that was read, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from persistence.conversations import snapshots
from persistence.conversations.snapshots import StaleSessionError, UnreadableDraftError
from persistence.db.engine import Database
from state_machine.invoice.session import Estado, Sessao
from tests.stored_work import clear, emission, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=2)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def sessao(opened: Database) -> Sessao:
    """A session that is not stored yet, of somebody who is known."""
    await clear(opened)
    stored = await row(opened, "nfse_emissao", await emission(opened))
    conversa = await opened.pool.fetchval("SELECT conversa FROM conversas")
    return Sessao("231126-0a1b2c3d", conversa, stored["prestador_id"], "Padaria")


async def save(database: Database, sessao: Sessao, *, later: bool) -> Sessao:
    async with database.transaction() as connection:
        if later:
            return snapshots.save_later(connection, sessao)
        return (await snapshots.save(connection, sessao))[0]


@pytest.mark.parametrize("later", [False, True], ids=["at once", "at the end"])
async def test_of_two_who_read_the_same_version_one_stores(opened: Database, sessao: Sessao, *, later: bool) -> None:
    """The second is told to read again; what the first stored stands."""
    first = await save(opened, sessao, later=later)
    assert first.versao == 1
    await save(opened, replace(first, revisao=7), later=later)
    with pytest.raises(StaleSessionError):
        await save(opened, replace(first, revisao=8), later=later)
    async with opened.transaction() as connection:
        stored = await snapshots.load(connection, sessao.conversa, sessao.sessao_id)
    assert stored is not None
    assert (stored.revisao, stored.versao) == (7, 2)


@pytest.mark.parametrize("later", [False, True], ids=["at once", "at the end"])
async def test_a_conversation_has_one_open_session(opened: Database, sessao: Sessao, *, later: bool) -> None:
    """A second one that was opened at the same moment is refused, and its turn decides again."""
    await save(opened, sessao, later=later)
    with pytest.raises(StaleSessionError):
        await save(opened, replace(sessao, sessao_id="231126-0a1b2c3e"), later=later)


async def test_a_session_is_found_in_its_own_conversation_only(opened: Database, sessao: Sessao) -> None:
    """Another conversation's button names it in vain."""
    await save(opened, replace(sessao, estado=Estado.COLETA), later=False)
    async with opened.transaction() as connection:
        assert await snapshots.load(connection, sessao.conversa, sessao.sessao_id) is not None
        assert await snapshots.load(connection, "1:somebody-else", sessao.sessao_id) is None
        assert await snapshots.active(connection, "1:somebody-else") is None


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (["altura"], {"status": "validated", "valor": "Campinas"}),
        (["valor", "altura"], "Campinas"),
        (["valor", "status"], "novo"),
        (["valor", "origem"], "novo"),
    ],
)
async def test_a_draft_that_says_more_than_we_know_is_not_read(
    opened: Database, sessao: Sessao, path: list[str], said: Any
) -> None:
    """A note without it would not be what was confirmed; the words themselves are in no error."""
    await save(opened, replace(sessao, estado=Estado.COLETA), later=False)
    put = "UPDATE session_snapshot SET rascunho = jsonb_set(rascunho, $1, $2) WHERE sessao_id = $3"
    await opened.pool.execute(put, path, said, sessao.sessao_id)
    async with opened.transaction() as connection:
        with pytest.raises(UnreadableDraftError) as refused:
            await snapshots.active(connection, sessao.conversa)
    assert "Campinas" not in str(refused.value)


async def test_a_draft_of_before_a_field_was_there_is_read(opened: Database, sessao: Sessao) -> None:
    """What it lacks is empty."""
    await save(opened, replace(sessao, estado=Estado.COLETA), later=False)
    await opened.pool.execute(
        "UPDATE session_snapshot SET rascunho = rascunho - 'substitui' #- '{valor,leituras}' WHERE sessao_id = $1",
        sessao.sessao_id,
    )
    async with opened.transaction() as connection:
        found = await snapshots.active(connection, sessao.conversa)
    assert found is not None
    assert found.rascunho == sessao.rascunho
