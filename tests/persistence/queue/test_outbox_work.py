"""Who may send a message: one sender, under a lease that is renewed and an epoch that refuses late words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from persistence.db.engine import Database
from persistence.queue import outbox
from state_machine.invoice.session import Mensagem
from tests.stored_work import clear, lease_ends, message, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from persistence.db.connection import Connection
    from persistence.queue.outbox import Saida

TABLE = "outbox"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=2)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    return opened


async def _again(connection: Connection, saida: Saida) -> None:
    await outbox.again(connection, saida, 3600.0, erro="retry")


async def _give_up(connection: Connection, saida: Saida) -> None:
    await outbox.give_up(connection, saida, erro="too many tries", codigo=None)


async def _renew(connection: Connection, saida: Saida) -> None:
    assert not await outbox.LEASES.renew(connection, saida)


@pytest.mark.parametrize("late", [_again, _give_up, _renew])
async def test_who_lost_a_message_changes_nothing_of_it(
    database: Database, late: Callable[[Connection, Saida], Awaitable[None]]
) -> None:
    """A sender frozen past its lease neither postpones, gives up nor keeps what another has in hand."""
    stored = await message(database)
    [first] = await outbox.claim(database, 10)
    await lease_ends(database, TABLE, stored)
    [second] = await outbox.claim(database, 10)
    assert (second.epoch, second.era) == (first.epoch + 1, "enviando")
    before = await row(database, TABLE, stored)
    async with database.transaction() as connection:
        await late(connection, first)
    after = await row(database, TABLE, stored)
    assert _but_now(after) == _but_now(before)
    async with database.transaction() as connection:
        assert await outbox.LEASES.renew(connection, second)


async def test_what_somebody_sends_is_not_taken_by_another(database: Database) -> None:
    """While the lease lasts a message has one sender."""
    await message(database)
    assert len(await outbox.claim(database, 10)) == 1
    assert await outbox.claim(database, 10) == []


async def test_a_key_puts_one_message_on_its_way(database: Database) -> None:
    """What must be said once is dropped the second time; without a key both are said."""
    stored = await message(database)
    conversa = (await row(database, TABLE, stored))["conversa"]
    for chave in ("legenda:1", "legenda:1", None, None):
        async with database.transaction() as connection:
            outbox.enqueue(connection, conversa=conversa, mensagem=Mensagem("oi"), chave=chave)
    assert await database.pool.fetchval("SELECT count(*) FROM outbox") == 4


async def test_messages_of_one_conversation_leave_in_their_order(database: Database) -> None:
    """The second waits until the first has left."""
    stored = await message(database)
    conversa = (await row(database, TABLE, stored))["conversa"]
    async with database.transaction() as connection:
        outbox.enqueue(connection, conversa=conversa, mensagem=Mensagem("oi"))
    [first] = await outbox.claim(database, 10)
    assert first.id == stored
    async with database.transaction() as connection:
        assert await outbox.sent(connection, first, "wamid.1")
    [second] = await outbox.claim(database, 10)
    assert second.id > stored


async def test_ticks_only_go_forward(database: Database) -> None:
    """Told late or out of order, beside the answer to our own call: the furthest stays."""
    stored = await message(database)
    [saida] = await outbox.claim(database, 10)
    for status in ("lido", "entregue", "falhou"):
        async with database.transaction() as connection:
            assert await outbox.tick(
                connection, outbox_id=stored, wamid="wamid.1", status=status, codigo=None, erro=None
            )
    async with database.transaction() as connection:
        await outbox.sent(connection, saida, "wamid.1")
    assert (await row(database, TABLE, stored))["status"] == "lido"


async def test_a_number_of_ours_alone_moves_no_message_that_is_known(database: Database) -> None:
    """Numbers start again in a restored database: another wamid under our number is another message's."""
    stored = await message(database)
    [saida] = await outbox.claim(database, 10)
    async with database.transaction() as connection:
        await outbox.sent(connection, saida, "wamid.1")
        assert not await outbox.tick(
            connection, outbox_id=stored, wamid="wamid.2", status="lido", codigo=None, erro=None
        )
    found = await row(database, TABLE, stored)
    assert (found["wamid"], found["status"]) == ("wamid.1", "enviado")


def _but_now(found: Any) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "agora"}
