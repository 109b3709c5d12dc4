"""Orders of a release that knew no origins: rows from before the migration are a conversation's, and go on as such."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest_asyncio

from bot.orders.cancellation import news_of
from bot.orders.origins import Origins
from operations.cancel_order import Ordem, cancel
from persistence.db.engine import Database
from persistence.fiscal import cancellations, emissions, issued
from persistence.queue.inbox import Inbox
from persistence.rows import CancellationRow
from state_machine.protocol.channel import CONVERSA
from state_machine.protocol.emission import StatusEmissao
from state_machine.protocol.standing import Passo
from tests.old_schema import OldSchema, old_schema
from tests.stored_work import emission, note, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.embedded import Embedded

LEASE = 60.0
OLD = "payload_enviado"  # as that release calls the bytes


@pytest_asyncio.fixture(loop_scope="module")
async def old(embedded: Embedded) -> AsyncIterator[OldSchema]:
    """A database as the release before origins migrated it."""
    async with old_schema(embedded, "before_origins", "0040") as made:
        yield made


async def test_rows_from_before_origins_are_finished_and_their_notes_cancelled(old: OldSchema) -> None:
    """What waits is taken and settled; a note from before is found, and its first cancellation is told in its chat."""
    before = await Database.open(old.owner_url, size=2)
    waits = [await emission(before, payload=OLD), await emission(before, payload=OLD, status="enviado")]
    stored = await emission(before, payload=OLD, status="concluido", proxima_acao_em=None)
    await note(before, stored, "ext-1")
    await before.pool.execute("UPDATE nfse_processada SET status = 'autorizado'")
    assert "origem" not in await row(before, "nfse_emissao", stored)
    await before.close()
    await old.upgrade()

    database = await Database.open(old.url, size=2)
    async with database.transaction() as connection:
        taken = sorted(await emissions.claim(connection, 10, LEASE), key=lambda tarefa: tarefa.id)
    assert [(t.id, t.origem, t.conversa, t.era, t.pronta) for t in taken] == [
        (waits[0], CONVERSA, taken[0].sessao_id, "pendente", True),
        (waits[1], CONVERSA, taken[1].sessao_id, "enviado", False),
    ]
    assert [tarefa.payload for tarefa in taken] == [b"[]", b"[]"]  # as that release stored them
    for tarefa in taken:
        async with database.transaction() as connection:
            done = Passo(replace(tarefa.andamento, status=StatusEmissao.CONCLUIDO), None)
            await emissions.settle(connection, tarefa, done)
        assert (await row(database, "nfse_emissao", tarefa.id))["status"] == "concluido"

    past = await row(database, "nfse_emissao", stored)
    async with database.transaction() as connection:
        assert [found.emissao_id for found in await issued.by_number(connection, past["prestador_id"], "42")] == [
            stored
        ]
    await cancel(database, Ordem(nota=past["id_integracao"], motivo="pedido em duplicidade pelo cliente"))
    inbox = Inbox(database, 0.0)
    async with database.transaction() as connection:
        [cancelling] = await cancellations.claim(connection, 10, LEASE, {})
        news = news_of(cancelling, "cancelamento:1", CancellationRow(stored, "cancelada", None))
        await Origins(inbox).tell(connection, news)
    await inbox.close()
    assert (cancelling.emissao_id, cancelling.id_externo, cancelling.origem) == (stored, "ext-1", CONVERSA)
    told = await database.pool.fetch("SELECT lane, chave FROM inbox")
    assert [tuple(each) for each in told] == [(past["sessao_id"], "cancelamento:1")]  # its conversation has this name
    await database.close()
