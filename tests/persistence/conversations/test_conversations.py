from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest_asyncio

from operations.company import add_company
from persistence.conversations import conversations, snapshots
from persistence.conversations.conversations import Contato
from persistence.db.engine import Database
from proofs.demo.world import COMPANY
from state_machine.invoice.session import Sessao
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ANA = Contato("1:ana", "1", "551140028900", "551140028900", "Ana")
BIA = Contato("1:bia", "1", "551140028911", "551140028911", "Bia")
# Meta hides the number of somebody with a user name; the conversation is known by what it was before.
HIDDEN = replace(ANA, wa_id=None)


@pytest_asyncio.fixture(loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    await as_owner(database.pool, "TRUNCATE empresa, usuario, conversas, session_snapshot CASCADE")
    yield database
    await database.close()


async def test_who_writes_is_found_with_company_and_session(database: Database) -> None:
    """By phone, or by what the conversation was before; a number that we don't know has neither."""
    await add_company(database, replace(COMPANY, usuarios=(ANA.endereco,)))
    unknown, first = [await conversations.find(database, who) for who in (BIA, ANA)]
    assert (unknown.empresa, unknown.ativa, unknown.orientada_em) == (None, None, None)
    assert first.empresa is not None
    assert first.ativa is None
    async with database.transaction() as connection:
        await conversations.greet(connection, ANA, 1)
        sessao = Sessao("221126-aaaaaaaa", ANA.conversa, first.empresa.id, first.empresa.razao_social)
        sessao, _ = await snapshots.save(connection, sessao, telefone=ANA.wa_id)
    again, unknown, hidden = [await conversations.find(database, who) for who in (ANA, BIA, HIDDEN)]
    assert (again.empresa, again.ativa) == (first.empresa, (sessao.sessao_id, 1))
    assert unknown.empresa is None
    assert hidden == replace(again, agora=hidden.agora)
    assert not again.atendida
    assert not again.cancelando
