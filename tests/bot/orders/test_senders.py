"""What a worker may send, and what it makes of an answer; the house's loops stand still, each step is the test's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from bot.delivery.sender import AMBIGUOUS_WAIT, DEATHS_COUNT_AFTER, MAX_TRIES
from bot.house import open_house
from bot.orders.order import Call
from bot.settings import Settings
from gateway.http.recording import Recorded
from gateway.plugnotas.adapter import PlugNotas
from persistence import witness
from persistence.db.clock import DatabaseClock
from persistence.fiscal import cancellations, emissions, notes
from persistence.queue import outbox
from proofs.demo.world import demo_settings
from proofs.sandbox.world import World
from state_machine.protocol.emission import Absent, CannotTell, Found, Nota, NotSent, Situacao, StatusEmissao, Unknown
from tests.narrowing import bound_to
from tests.owner import as_owner
from tests.road.road_people import QUICK, Scene
from tests.stored_work import cancellation, clear, emission, lease_ends, message, note, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.house import House
    from bot.loops.pump import Pump
    from bot.orders.order import OrderWorker
    from persistence.fiscal.cancellations import TarefaCancelamento
    from persistence.fiscal.emissions import Tarefa

LEASE = 60.0


class Standstill(Scene):
    """A world and a house in it whose loops do not run."""

    house: House

    @property
    def issuing(self) -> OrderWorker[Any, Any, Any]:
        """Who sends invoices."""
        worker: OrderWorker[Any, Any, Any] = bound_to(self.house.pumps["emissions"]._work)
        return worker

    @property
    def cancelling(self) -> OrderWorker[Any, Any, Any]:
        """Who sends cancellations."""
        worker: OrderWorker[Any, Any, Any] = bound_to(self.house.pumps["cancellations"]._work)
        return worker

    def calls(self) -> list[str]:
        """Return the methods of all calls that reached the gateway."""
        return [record.data["method"] for record in self.world.plugnotas.ledger.of("call")]

    def to_meta(self) -> list[Any]:
        """Return all messages that reached Meta, refused ones too."""
        book = self.world.meta.ledger
        return [*book.of("outbound"), *book.of("refused")]

    async def taken(self) -> Tarefa:
        """Take the emission that is due."""
        async with self.database.transaction() as connection:
            [tarefa] = await emissions.claim(connection, 10, LEASE)
            return tarefa

    async def taken_cancellation(self) -> TarefaCancelamento:
        """Take the cancellation that is due."""
        async with self.database.transaction() as connection:
            [tarefa] = await cancellations.claim(connection, 10, LEASE, {})
            return tarefa

    async def heard(self, tarefa: Tarefa, answer: Found | Absent | CannotTell) -> Any:
        """Settle an answer to a question, and return the row."""
        await self.issuing.heard(tarefa, Call("find", answer, 1, Recorded()))
        return await row(self.database, "nfse_emissao", tarefa.id)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str, redis_url: str) -> AsyncIterator[Standstill]:
    async with World(config=QUICK) as world:
        settings = demo_settings(Settings(), world, 0)
        async with open_house(settings, database_url, redis_url) as house:
            still = Standstill(world, house.database)
            still.house = house
            yield still


@pytest_asyncio.fixture(loop_scope="module")
async def still(opened: Standstill) -> Standstill:
    """Nothing is due, and nothing was ever called."""
    await clear(opened.database)
    await as_owner(opened.database.pool, "TRUNCATE inbox, lanes")
    return opened


async def test_a_worker_frozen_before_sending_sends_nothing(still: Standstill) -> None:
    """It woke up later than it may send: the invoice is due again as it was, and the gateway was not called."""
    stored, before = await emission(still.database), still.calls()
    tarefa = await still.taken()
    assert tarefa.pronta
    await still.issuing.work(replace(tarefa, tomada_em=tarefa.tomada_em - still.issuing.send_within - 1))
    assert still.calls() == before
    found = await row(still.database, "nfse_emissao", stored)
    assert (found["status"], found["lease_until"], found["envios"]) == ("pendente", None, 0)
    assert found["proxima_acao_em"] <= found["agora"]


async def test_a_worker_frozen_before_cancelling_sends_nothing(still: Standstill) -> None:
    """The same of a cancellation: another worker may have sent it meanwhile."""
    stored, before = await cancellation(still.database), still.calls()
    tarefa = await still.taken_cancellation()
    await still.cancelling.work(replace(tarefa, tomada_em=tarefa.tomada_em - still.cancelling.send_within - 1))
    assert still.calls() == before
    found = await row(still.database, "cancelamento", stored)
    assert (found["envio"], found["lease_until"], found["envios"]) == ("a_enviar", None, 0)


async def test_who_was_frozen_stops_before_the_lease_is_over(still: Standstill) -> None:
    """Later than that somebody else may have the work in hand."""
    assert 0 < still.issuing.send_within <= emissions.LEASES.seconds / 2
    assert 0 < still.cancelling.send_within <= cancellations.LEASES.seconds / 2


@pytest.fixture
def voiding(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return what leaves for an authority that voids the first note where it is sent the same again."""
    sent: list[bytes] = []

    async def submit(_self: PlugNotas, payload: bytes) -> Unknown:
        sent.append(payload)
        return Unknown("ReadTimeout")

    monkeypatch.setattr(PlugNotas, "submit", submit)
    monkeypatch.setattr(PlugNotas, "natureza", replace(PlugNotas.natureza, resend_is_destructive=True))
    return sent


@pytest.mark.parametrize(("late", "sent"), [("4 minutes", 1), ("1 hour", 0)])
async def test_a_resend_that_nobody_made_for_long_is_asked_about_anew(
    still: Standstill, voiding: list[bytes], late: str, sent: int
) -> None:
    """Its absences are old: what became of the key meanwhile nobody knows."""
    stored = await emission(still.database, em_duvida=True, envios=1, rodadas=1)
    await still.database.pool.execute("UPDATE nfse_emissao SET proxima_acao_em = now() - $1::text::interval", late)
    await still.issuing.work(await still.taken())
    found = await row(still.database, "nfse_emissao", stored)
    assert (len(voiding), found["status"], found["envios"]) == (sent, "desconhecido", 1 + sent)


@pytest.mark.parametrize("restored", [True, False])
async def test_after_a_restore_a_refused_number_is_absent_twice(
    still: Standstill, voiding: list[bytes], restored: bool
) -> None:
    """An attempt that the copy forgot may have been accepted under it, and not be shown yet."""
    await emission(still.database, status="rejeitado", proxima_acao_em=None, envios=1)
    await still.database.pool.execute(_ANOTHER_ATTEMPT)
    if restored:
        async with still.database.transaction() as connection:
            await witness.accept(connection)
    await still.issuing.work(await still.taken())
    await still.database.pool.execute("UPDATE historia SET restaurado_em = NULL")
    assert len(voiding) == (0 if restored else 1)


async def test_who_asks_about_an_earlier_attempt_gets_to_an_end(still: Standstill, voiding: list[bytes]) -> None:
    """To ask about itself anew ends no count of the earlier one's absences: else the invoice would wait for ever."""
    await emission(still.database, status="rejeitado", proxima_acao_em=None, envios=1)
    await still.database.pool.execute(_ANOTHER_ATTEMPT)
    await still.database.pool.execute("UPDATE nfse_emissao SET em_duvida = true, envios = 1 WHERE tentativa = 2")
    async with still.database.transaction() as connection:
        await witness.accept(connection)
    for _ in range(12):  # each much later than the one before
        await still.issuing.work(await still.taken())
        if voiding:
            break
        await still.database.pool.execute(
            "UPDATE nfse_emissao SET ausente_desde = ausente_desde - interval '2 minutes', "
            "proxima_acao_em = now() WHERE tentativa = 2"
        )
    await still.database.pool.execute("UPDATE historia SET restaurado_em = NULL")
    assert len(voiding) == 1


_ANOTHER_ATTEMPT = """
INSERT INTO nfse_emissao (session_id, sessao_id, revisao, tentativa, prestador_id, tomador_id, prestador_cnpj,
    tomador_documento, id_integracao, status, valor_servico, descricao_servico, codigo_servico, competencia, impressao,
    bytes, em_duvida, proxima_acao_em)
SELECT session_id, sessao_id, revisao, 2, prestador_id, tomador_id, prestador_cnpj, tomador_documento,
    sessao_id || '-r1-2', 'pendente', valor_servico, descricao_servico, codigo_servico, competencia, impressao,
    bytes, false, now()
FROM nfse_emissao
"""


async def test_what_a_dead_worker_was_sending_is_asked_about(still: Standstill) -> None:
    """It may have been accepted: the next worker asks for it, and its outcome is unknown until the gateway tells."""
    stored, before = await emission(still.database), len(still.calls())
    await still.taken()
    await lease_ends(still.database, "nfse_emissao", stored)
    await still.issuing.work(await still.taken())
    assert still.calls()[before:] == ["GET"]
    found = await row(still.database, "nfse_emissao", stored)
    assert (found["status"], found["envios"], found["ausente_desde"] is not None) == ("desconhecido", 0, True)


async def test_a_cancellation_that_a_dead_worker_was_sending_is_asked_about(still: Standstill) -> None:
    """The same of a cancellation: it is not sent blind a second time, and the lost call is counted."""
    stored, before = await cancellation(still.database), len(still.calls())
    await still.taken_cancellation()
    await lease_ends(still.database, "cancelamento", stored)
    await still.cancelling.work(await still.taken_cancellation())
    assert set(still.calls()[before:]) == {"GET"}
    assert (await row(still.database, "cancelamento", stored))["envios"] == 1


async def test_a_message_that_a_dead_worker_was_sending_waits_for_its_tick(still: Standstill) -> None:
    """WhatsApp has no key: it may be on the phone already, so that nothing is sent before its tick could have come."""
    stored, before = await message(still.database), len(still.to_meta())
    await outbox.claim(still.database, 10)
    await lease_ends(still.database, "outbox", stored)
    [saida] = await outbox.claim(still.database, 10)
    await still.house.pumps["deliveries"]._work(saida)
    assert len(still.to_meta()) == before
    found = await row(still.database, "outbox", stored)
    assert found["status"] == "incerto"
    assert (found["run_at"] - found["agora"]).total_seconds() > AMBIGUOUS_WAIT / 2


@pytest.mark.parametrize(("age", "fate"), [(timedelta(), "incerto"), (DEATHS_COUNT_AFTER, "falhou")])
async def test_our_deaths_are_no_tries_of_a_message(still: Standstill, age: timedelta, fate: str) -> None:
    """A page that takes long to draw on a busy machine outlives workers; hours later it is taken for their cause."""
    stored = await message(still.database)
    sent_before = "UPDATE outbox SET tentativas = $2, criado_em = criado_em - $3::interval WHERE id = $1"
    await still.database.pool.execute(sent_before, stored, MAX_TRIES, age)
    await outbox.claim(still.database, 10)
    await lease_ends(still.database, "outbox", stored)
    [saida] = await outbox.claim(still.database, 10)
    await still.house.pumps["deliveries"]._work(saida)
    found = await row(still.database, "outbox", stored)
    assert (found["status"], found["tentativas"]) == (fate, MAX_TRIES)


async def test_no_answer_leaves_a_dead_workers_invoice_unknown(still: Standstill) -> None:
    """``enviando`` says that somebody is sending it now, which would be wrong."""
    await emission(still.database, status="enviando")
    found = await still.heard(await still.taken(), CannotTell("HTTP 502"))
    assert found["status"] == "desconhecido"


@pytest.mark.parametrize("wrong_by", [timedelta(hours=1), timedelta(hours=-1)], ids=["fast", "slow"])
async def test_absences_are_timed_by_the_databases_clock(still: Standstill, wrong_by: timedelta) -> None:
    """Half a minute between two absences is the database's: a worker whose clock is wrong neither adds nor loses it."""
    await emission(still.database, status="desconhecido")
    tarefa = await still.taken()
    moment = (await row(still.database, "nfse_emissao", tarefa.id))["agora"]
    found = await still.heard(replace(tarefa, clock=DatabaseClock(moment + wrong_by)), Absent())
    assert abs(found["ausente_desde"] - moment) < timedelta(minutes=1)
    assert found["status"] == "desconhecido"


async def test_a_document_is_dated_by_the_databases_clock(still: Standstill, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is signed says the moment that came with the row, whatever the worker's own clock says."""
    await emission(still.database)
    moment, told = datetime(2026, 1, 2, 3, 4, tzinfo=UTC), []

    async def prepare(_self: PlugNotas, _payload: bytes, agora: datetime, antes: Any) -> NotSent:
        told.append(agora)
        return NotSent("not signed")

    monkeypatch.setattr(PlugNotas, "prepare", prepare)
    tarefa = replace(await still.taken(), a_preparar=True, pronta=False, clock=DatabaseClock(moment))
    await still.issuing.work(tarefa)
    assert [agora.date() for agora in told] == [moment.date()]


async def test_a_note_id_that_is_another_invoices_is_for_people(still: Standstill) -> None:
    """A gateway that gives one id to two invoices is lying about one of them: nothing is adopted or sent to anybody."""
    other = await emission(still.database, status="concluido", proxima_acao_em=None)
    await note(still.database, other, "ext-1")
    await emission(still.database, status="enviado")
    tarefa = await still.taken()
    async with still.database.transaction() as connection:
        assert await notes.belongs_to_another(connection, tarefa.id, "ext-1")
        assert not await notes.belongs_to_another(connection, other, "ext-1")  # its own, read again
        assert not await notes.belongs_to_another(connection, tarefa.id, "ext-2")
    key = tarefa.andamento.id_integracao
    found = await still.heard(tarefa, Found(Nota("ext-1", key, Situacao.AUTORIZADA, numero="43")))
    assert found["status"] == StatusEmissao.CONFLITO
    assert "another invoice" in found["erro_mensagem"]
    assert await still.database.pool.fetchval("SELECT count(*) FROM nfse_processada") == 1
    assert await still.database.pool.fetchval("SELECT payload ->> 'aviso' FROM inbox") == "falhou"


async def test_the_pumps_keep_what_they_work_on(still: Standstill) -> None:
    """Each pump renews by the very statement that extends its lease, in time."""
    stored = await emission(still.database)
    tarefa = await still.taken()
    asked = await cancellation(still.database)
    cancelamento = await still.taken_cancellation()
    pumps: list[tuple[str, Pump[Any], Any]] = [
        ("nfse_emissao", still.house.pumps["emissions"], tarefa),
        ("cancelamento", still.house.pumps["cancellations"], cancelamento),
    ]
    for table, pump, piece in pumps:
        row_id = stored if table == "nfse_emissao" else asked
        await still.database.pool.execute(f"UPDATE {table} SET lease_until = now() + interval '1 s'")  # noqa: S608 - ours
        assert await pump._renew(piece)
        found = await row(still.database, table, row_id)
        assert (found["lease_until"] - found["agora"]).total_seconds() > pump._lease_seconds / 2
