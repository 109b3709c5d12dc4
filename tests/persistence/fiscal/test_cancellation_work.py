"""Who may work on a confirmed cancellation: one worker, under a lease that is renewed and an epoch that fences it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from persistence.claims import OrderLeaseLostError
from persistence.db.engine import Database
from persistence.fiscal import cancellations, suspension
from persistence.fiscal import cancellations as work
from persistence.fiscal.cancellations import StaleCancellationError
from state_machine.cancellation.machine import Cancelamento, EstadoCancelamento, StatusNota
from state_machine.cancellation.reconciliation import Envio, PassoCancelamento
from state_machine.protocol.channel import CONVERSA, Canal
from tests.stored_work import cancellation, change, clear, lease_ends, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.fiscal.cancellations import TarefaCancelamento

LEASE = 60.0
LATER = 3600.0  # seconds that the gateway's Retry-After asks for
TABLE = "cancelamento"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=2)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    return opened


async def claim(database: Database) -> list[TarefaCancelamento]:
    async with database.transaction() as connection:
        return await work.claim(connection, 10, LEASE, {})


async def settle(database: Database, tarefa: TarefaCancelamento, envio: Envio, daqui: float | None) -> None:
    async with database.transaction() as connection:
        await work.settle(connection, tarefa, PassoCancelamento(replace(tarefa.andamento, envio=envio), daqui), None)


async def hint(database: Database, tarefa: TarefaCancelamento) -> int:
    """A webhook names the note by our reference."""
    async with database.transaction() as connection:
        return await work.hint(connection, tarefa.id_integracao, None)


async def due_in(database: Database, cancelamento_id: int) -> float:
    found = await row(database, TABLE, cancelamento_id)
    return float((found["proxima_acao_em"] - found["agora"]).total_seconds())


async def test_one_to_be_sent_is_stored_as_being_sent_and_held_by_one(database: Database) -> None:
    """A crash after the claim finds ``enviando``; while the lease lasts nobody else takes it."""
    stored = await cancellation(database)
    [tarefa] = await claim(database)
    assert (tarefa.andamento.envio, (await row(database, TABLE, stored))["envio"]) == (Envio.A_ENVIAR, "enviando")
    assert await claim(database) == []
    await lease_ends(database, TABLE, stored)
    [second] = await claim(database)
    assert (second.epoch, second.andamento.envio) == (tarefa.epoch + 1, Envio.ENVIANDO)


async def test_a_cancellation_is_told_where_somebody_asked_for_it(database: Database) -> None:
    """Of another origin's note: in the chat that asked, else to that origin."""
    asked, ordered = await cancellation(database), await cancellation(database)
    await database.pool.execute("UPDATE nfse_emissao SET origem = 'lista', session_id = NULL")
    await change(database, TABLE, ordered, conversa=None)
    taken = await claim(database)
    assert {tarefa.id: (tarefa.origem, tarefa.conversa is None) for tarefa in taken} == {
        asked: (CONVERSA, False),
        ordered: ("lista", True),
    }


async def test_who_lost_a_cancellation_changes_nothing_of_it(database: Database) -> None:
    """Frozen past the lease, a worker neither settles it, gives it back nor renews it."""
    stored = await cancellation(database)
    [late] = await claim(database)
    await lease_ends(database, TABLE, stored)
    [present] = await claim(database)
    before = await row(database, TABLE, stored)
    with pytest.raises(OrderLeaseLostError):
        await settle(database, late, Envio.A_ENVIAR, 0.0)
    async with database.transaction() as connection:
        await work.LEASES.give_back(connection, late)
        assert not await work.LEASES.renew(connection, late)
        assert await work.LEASES.renew(connection, present)
    after = await row(database, TABLE, stored)
    assert (after["envio"], after["epoch"]) == (before["envio"], present.epoch)
    assert after["lease_until"] is not None


async def test_what_was_taken_and_not_sent_is_given_back_as_it_was(database: Database) -> None:
    """To be sent and due: kept as ``enviando`` it would be asked about twice, half a minute apart, for nothing."""
    stored = await cancellation(database)
    [tarefa] = await claim(database)
    async with database.transaction() as connection:
        await work.LEASES.give_back(connection, tarefa)
    found = await row(database, TABLE, stored)
    assert (found["envio"], found["lease_until"]) == ("a_enviar", None)
    assert len(await claim(database)) == 1


async def test_what_ended_meanwhile_is_nobodys_work(database: Database) -> None:
    """A cancellation that people closed while its call lasted keeps its end: the late answer is refused."""
    stored = await cancellation(database)
    [tarefa] = await claim(database)
    await change(database, TABLE, stored, proxima_acao_em=None)
    await change(database, TABLE, stored, estado="negado")
    with pytest.raises(OrderLeaseLostError):
        await settle(database, tarefa, Envio.A_ENVIAR, None)


async def test_a_hint_that_comes_while_we_work_is_not_forgotten(database: Database) -> None:
    """The webhook came before the answer to our own call: the note is looked at at once."""
    stored = await cancellation(database)
    [tarefa] = await claim(database)
    assert await hint(database, tarefa) == 1
    await settle(database, tarefa, Envio.ACEITO, LATER)
    assert await due_in(database, stored) <= 0


async def test_no_hint_sends_before_the_gateway_lets_us(database: Database) -> None:
    """A pause that Retry-After set is kept, whether the webhook comes while we work or while we wait."""
    stored = await cancellation(database)
    [tarefa] = await claim(database)
    await hint(database, tarefa)
    await settle(database, tarefa, Envio.A_ENVIAR, LATER)
    assert await due_in(database, stored) > LATER / 2
    assert await hint(database, tarefa) == 0
    assert await due_in(database, stored) > LATER / 2


@pytest.mark.parametrize(
    ("envio", "stopped", "woken"),
    [
        (Envio.DESCONHECIDO, False, True),
        (Envio.COM_GENTE, True, True),
        (Envio.A_ENVIAR, True, True),
        (Envio.A_ENVIAR, False, False),  # its pause is the gateway's
        (Envio.ACEITO, True, False),
    ],
)
async def test_a_repair_wakes_what_waited_for_it(database: Database, envio: Envio, stopped: bool, woken: bool) -> None:
    """A new certificate: what nobody knows the outcome of is asked about, also when we had given up asking."""
    stored = await cancellation(database)
    [tarefa] = await claim(database)
    await settle(database, tarefa, envio, None if envio is Envio.COM_GENTE else LATER)
    company = await database.pool.fetchval("SELECT prestador_id FROM nfse_emissao WHERE id = $1", tarefa.emissao_id)
    async with database.transaction() as connection:
        if stopped:
            await suspension.suspend(connection, company, Canal(), "no certificate")
        await suspension.lift(connection, company)
    after = await row(database, TABLE, stored)
    assert (after["proxima_acao_em"] is not None and after["proxima_acao_em"] <= after["agora"]) is woken


async def talked_about(database: Database) -> Cancelamento:
    """Store a cancellation whose summary was shown, of a note that stands; returns it as somebody reads it."""
    stored = await cancellation(database, proxima_acao_em=None, estado="aguardando_confirmacao", envio=None)
    await database.pool.execute("UPDATE nfse_processada SET status = 'autorizado'")
    async with database.transaction() as connection:
        found = await cancellations.locked(connection, stored)
    assert found is not None
    return found


async def save(database: Database, antes: Cancelamento, estado: EstadoCancelamento) -> None:
    async with database.transaction() as connection:
        await cancellations.save(connection, antes, replace(antes, estado=estado, versao=antes.versao + 1))


async def test_of_two_who_read_the_same_version_one_decides(database: Database) -> None:
    """A confirmation and a "no" at the same moment: the second is told to read again."""
    atual = await talked_about(database)
    await save(database, atual, EstadoCancelamento.DESISTIDO)
    with pytest.raises(StaleCancellationError):
        await save(database, atual, EstadoCancelamento.PENDENTE)
    assert (await row(database, TABLE, atual.id))["estado"] == "desistido"


async def test_only_a_note_that_stands_is_sent_for_cancelling(database: Database) -> None:
    """Cancelled elsewhere between the summary and the press: nothing becomes due for the gateway."""
    atual = await talked_about(database)
    await database.pool.execute("UPDATE nfse_processada SET status = $1", StatusNota.CANCELADO)
    with pytest.raises(StaleCancellationError):
        await save(database, atual, EstadoCancelamento.PENDENTE)
    assert (await row(database, TABLE, atual.id))["proxima_acao_em"] is None


async def test_a_refusal_gives_the_note_back_its_status(database: Database) -> None:
    """Confirmed it waits, refused it stands again, and no other status is touched."""
    atual = await talked_about(database)
    await save(database, atual, EstadoCancelamento.PENDENTE)
    assert await database.pool.fetchval("SELECT status FROM nfse_processada") == "cancelamento_pendente"
    async with database.transaction() as connection:
        pendente = await cancellations.locked(connection, atual.id)
    assert pendente is not None
    await save(database, pendente, EstadoCancelamento.NEGADO)
    assert await database.pool.fetchval("SELECT status FROM nfse_processada") == "autorizado"
