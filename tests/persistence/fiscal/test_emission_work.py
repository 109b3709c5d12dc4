"""Who may work on an emission: one worker, under a lease that is renewed and an epoch that refuses late commits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest
import pytest_asyncio
import sqlalchemy as sa

from bot.orders import emission as orders
from persistence.claims import OrderLeaseLostError
from persistence.db.engine import Database
from persistence.fiscal import attempts, emissions, intents, suspension
from persistence.fiscal.emissions import Ouvido
from state_machine.protocol.channel import Ambiente, Canal
from state_machine.protocol.emission import Absent, NotSent, Postponed, Rejected, StatusEmissao, Unknown
from state_machine.protocol.standing import Passo
from tests.stored_work import CONTEUDO, change, clear, emission, lease_ends, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.fiscal.emissions import Tarefa

LEASE = 60.0
LATER = 3600.0  # seconds that the gateway's Retry-After asks for
TABLE = "nfse_emissao"
A_DAY_AGO = datetime.now(UTC) - timedelta(hours=25)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=2)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    return opened


async def claim(database: Database, **options: Any) -> list[Tarefa]:
    async with database.transaction() as connection:
        return await emissions.claim(connection, 10, LEASE, **options)


async def settle(database: Database, tarefa: Tarefa, status: StatusEmissao, daqui: float | None) -> None:
    passo = Passo(replace(tarefa.andamento, status=status), daqui)
    async with database.transaction() as connection:
        await emissions.settle(connection, tarefa, passo)


async def hint(database: Database, emissao_id: int) -> int:
    """A webhook names it by our reference."""
    key = (await row(database, TABLE, emissao_id))["id_integracao"]
    async with database.transaction() as connection:
        return await emissions.hint(connection, key, None, {"de": "gateway"})


async def due_in(database: Database, emissao_id: int) -> float:
    found = await row(database, TABLE, emissao_id)
    return float((found["proxima_acao_em"] - found["agora"]).total_seconds())


async def test_what_is_ready_is_stored_as_being_sent_before_it_leaves(database: Database) -> None:
    """A crash after the claim finds ``enviando``, which means that it may have left."""
    stored = await emission(database)
    [tarefa] = await claim(database)
    assert (tarefa.id, tarefa.era, tarefa.pronta) == (stored, StatusEmissao.PENDENTE, True)
    found = await row(database, TABLE, stored)
    assert (found["status"], found["epoch"]) == ("enviando", 1)


async def test_what_somebody_works_on_is_not_taken_by_another(database: Database) -> None:
    """Two workers never hold one emission: while the lease lasts, a claim leaves it out."""
    await emission(database)
    assert len(await claim(database)) == 1
    assert await claim(database) == []


async def test_what_a_dead_worker_was_sending_is_never_made_ready_again(database: Database) -> None:
    """Its lease over, another takes it under the next epoch, to ask; ``enviando`` is not sent by anybody."""
    stored = await emission(database)
    [first] = await claim(database)
    await lease_ends(database, TABLE, stored)
    await database.pool.execute("UPDATE idempotency_records SET lease_until = now()")  # only the row says no
    [second] = await claim(database)
    assert (second.epoch, second.era, second.pronta) == (first.epoch + 1, StatusEmissao.ENVIANDO, False)
    async with database.transaction() as connection:
        with pytest.raises(OrderLeaseLostError):
            await emissions.start_sending(connection, second, LEASE)


@pytest.mark.parametrize(
    ("columns", "quietas"),
    [
        ({"status": "enviado"}, ()),
        ({"status": "desconhecido"}, ()),
        ({"tentativa": 2}, ()),
        ({}, (CONTEUDO.prestador,)),
        ({"criado_em": A_DAY_AGO}, ()),
    ],
    ids=["with the gateway", "unknown", "another attempt", "the gateway is left alone", "of yesterday"],
)
async def test_nothing_else_is_ready_to_be_sent(
    database: Database, columns: dict[str, Any], quietas: tuple[str, ...]
) -> None:
    """Only a first attempt of today that was never sent leaves at once; the rest is looked at first."""
    stored = await emission(database, **columns)
    [tarefa] = await claim(database, quietas=quietas)
    assert not tarefa.pronta
    assert (await row(database, TABLE, stored))["status"] == columns.get("status", "pendente")


async def test_a_stopped_company_sends_nothing(database: Database) -> None:
    """The gateway refuses our credentials for it: its invoices are taken only to be put off."""
    stored = await emission(database)
    company = (await row(database, TABLE, stored))["prestador_id"]
    await change(database, "empresa", company, envio_suspenso="HTTP 403")
    [tarefa] = await claim(database)
    assert (tarefa.pronta, tarefa.suspenso) == (False, "HTTP 403")


async def test_renewal_keeps_an_emission_while_its_call_lasts(database: Database) -> None:
    """The lease ends so many seconds from the renewal, and the record's with it; a late renewal renews nothing."""
    stored = await emission(database)
    [tarefa] = await claim(database)
    for table in (TABLE, "idempotency_records"):
        await database.pool.execute(f"UPDATE {table} SET lease_until = now() + interval '1 s'")  # noqa: S608 - ours
    async with database.transaction() as connection:
        assert await emissions.LEASES.renew(connection, tarefa)
    record = await database.pool.fetchval("SELECT extract(epoch FROM lease_until - now()) FROM idempotency_records")
    found = await row(database, TABLE, stored)
    assert (found["lease_until"] - found["agora"]).total_seconds() > emissions.LEASES.seconds / 2
    assert record > emissions.LEASES.seconds / 2
    assert await claim(database) == []

    await lease_ends(database, TABLE, stored)
    await claim(database)
    await database.pool.execute("UPDATE nfse_emissao SET lease_until = now() + interval '1 s'")
    async with database.transaction() as connection:
        assert not await emissions.LEASES.renew(connection, tarefa)
    assert (await row(database, TABLE, stored))["lease_until"] < found["lease_until"]


async def test_what_was_settled_has_no_lease_to_renew(database: Database) -> None:
    """A renewal that comes after its own settling must not take the emission again."""
    stored = await emission(database)
    [tarefa] = await claim(database)
    await settle(database, tarefa, StatusEmissao.ENVIADO, 2.0)
    async with database.transaction() as connection:
        assert not await emissions.LEASES.renew(connection, tarefa)
    assert (await row(database, TABLE, stored))["lease_until"] is None


async def test_what_was_given_back_has_no_lease_to_renew(database: Database) -> None:
    """A renewal that was under way meanwhile must not keep it from the next worker."""
    stored = await emission(database)
    [tarefa] = await claim(database)
    async with database.transaction() as connection:
        await emissions.LEASES.give_back(connection, tarefa)
    async with database.transaction() as connection:
        assert not await emissions.LEASES.renew(connection, tarefa)
    assert (await row(database, TABLE, stored))["lease_until"] is None


async def test_what_was_taken_and_not_sent_is_given_back_as_it_was(database: Database) -> None:
    """``pendente`` and due again: kept as ``enviando`` it would be asked about for half a minute, for nothing."""
    stored = await emission(database)
    [tarefa] = await claim(database)
    async with database.transaction() as connection:
        await emissions.LEASES.give_back(connection, tarefa)
    found = await row(database, TABLE, stored)
    assert (found["status"], found["lease_until"]) == ("pendente", None)
    [again] = await claim(database)
    assert (again.pronta, again.epoch) == (True, 2)


async def test_who_lost_an_emission_changes_nothing_of_it(database: Database) -> None:
    """Whoever was frozen past the lease may neither settle it nor give it back: it is another's now."""
    stored = await emission(database)
    [late] = await claim(database)
    await lease_ends(database, TABLE, stored)
    [present] = await claim(database)
    with pytest.raises(OrderLeaseLostError):
        await settle(database, late, StatusEmissao.CONCLUIDO, None)
    async with database.transaction() as connection:
        await emissions.LEASES.give_back(connection, late)
    found = await row(database, TABLE, stored)
    assert (found["status"], found["epoch"], found["lease_until"] is not None) == ("enviando", present.epoch, True)
    await change(database, TABLE, stored, status="pendente")
    await database.pool.execute("UPDATE idempotency_records SET lease_until = now()")  # only the row says no
    async with database.transaction() as connection:
        with pytest.raises(OrderLeaseLostError):
            await emissions.start_sending(connection, late, LEASE)
    await settle(database, present, StatusEmissao.ENVIADO, 2.0)
    assert (await row(database, TABLE, stored))["status"] == "enviado"


async def test_a_hint_that_comes_while_we_work_is_not_forgotten(database: Database) -> None:
    """The webhook came before the answer to our own call: the note is looked at at once, not at the next rung."""
    stored = await emission(database)
    [tarefa] = await claim(database)
    assert await hint(database, stored) == 1
    await settle(database, tarefa, StatusEmissao.ENVIADO, LATER)
    assert await due_in(database, stored) <= 0
    [again] = await claim(database)
    await settle(database, again, StatusEmissao.ENVIADO, LATER)  # one hint is one more look
    assert await due_in(database, stored) > LATER / 2


async def test_no_hint_sends_before_the_gateway_lets_us(database: Database) -> None:
    """A pause that Retry-After set is kept, whether the webhook comes while we work or while we wait."""
    stored = await emission(database)
    [tarefa] = await claim(database)
    await hint(database, stored)
    await settle(database, tarefa, StatusEmissao.PENDENTE, LATER)
    assert await due_in(database, stored) > LATER / 2
    await hint(database, stored)
    assert await due_in(database, stored) > LATER / 2


async def test_a_hint_wakes_what_waits_for_news(database: Database) -> None:
    """What is with the gateway is looked at now, whatever its ladder says; other notes are left alone."""
    stored, other = await emission(database, status="enviado"), await emission(database, status="enviado")
    await database.pool.execute("UPDATE nfse_emissao SET proxima_acao_em = now() + interval '1 h'")
    await hint(database, stored)
    assert await due_in(database, stored) <= 0
    assert await due_in(database, other) > LATER / 2


async def test_the_same_attempt_is_stored_once(database: Database) -> None:
    """The database refuses a second row of one attempt, whatever reference it carries and whatever became of it."""
    first, second = await emission(database, status="rejeitado"), await emission(database, status="rejeitado")
    same = (await row(database, TABLE, first))["sessao_id"]
    with pytest.raises(asyncpg.UniqueViolationError):
        await change(database, TABLE, second, sessao_id=same)
    await change(database, TABLE, second, tentativa=2, sessao_id=same)


async def test_when_it_was_processed_is_written_once(database: Database) -> None:
    """A later webhook has it looked at again, and the moment of the authority's word stays."""
    stored = await emission(database, status="enviado")
    [tarefa] = await claim(database)
    await settle(database, tarefa, StatusEmissao.CONCLUIDO, None)
    first = (await row(database, TABLE, stored))["processado_em"]
    assert first is not None
    await hint(database, stored)
    [again] = await claim(database)
    await settle(database, again, StatusEmissao.CONCLUIDO, None)
    assert (await row(database, TABLE, stored))["processado_em"] == first


async def test_the_authoritys_late_word_has_a_moment_of_its_own(database: Database) -> None:
    """What we had given up counts as processed from the word that came after all."""
    given_up = datetime.now(UTC) - timedelta(hours=3)
    stored = await emission(database, status="erro", processado_em=given_up)
    [tarefa] = await claim(database)
    await settle(database, tarefa, StatusEmissao.CONCLUIDO, None)
    assert (await row(database, TABLE, stored))["processado_em"] > given_up


async def test_of_two_writers_the_second_loses(database: Database) -> None:
    """Staff send a frozen worker's emission again, which takes no epoch: what the worker then stores is refused."""
    stored = await emission(database)
    [frozen] = await claim(database)
    sessao_id = (await row(database, TABLE, stored))["sessao_id"]
    await change(database, TABLE, stored, status="pendente")
    await lease_ends(database, TABLE, stored)
    async with database.transaction() as connection:
        assert await attempts.resume(connection, sessao_id, 1)
    with pytest.raises(OrderLeaseLostError):
        await settle(database, frozen, StatusEmissao.ERRO, None)
    found = await row(database, TABLE, stored)
    assert (found["status"], found["epoch"], found["versao"]) == ("pendente", frozen.epoch, frozen.versao + 1)


async def test_an_answer_that_tells_nothing_leaves_what_was_heard(database: Database) -> None:
    """What we read in an earlier answer stays beside it; a JSON null would count as a reading, and hide it."""
    stored = await emission(database)
    [tarefa] = await claim(database)
    passo = Passo(replace(tarefa.andamento, status=StatusEmissao.ENVIADO), 0.0)
    async with database.transaction() as connection:
        await emissions.settle(connection, tarefa, passo, Ouvido('{"id": 1}', {"codigos": ["E1"]}, "7"))
    [again] = await claim(database)
    await settle(database, again, StatusEmissao.ENVIADO, LATER)
    found = await row(database, TABLE, stored)
    assert (found["resposta_gateway"], found["leitura_gateway"], found["protocolo"]) == (
        {"id": 1},
        {"codigos": ["E1"]},
        "7",
    )


async def test_prepared_bytes_are_fenced_and_what_they_are_made_of_is_kept(database: Database) -> None:
    """Whoever was overtaken stores none; what the turn stored stays beside them."""
    await emission(database, a_preparar=True, intencao=[], bytes=None)
    [late] = await claim(database)
    assert not late.pronta
    await lease_ends(database, TABLE, late.id)
    [tarefa] = await claim(database)
    assert tarefa.payload == b"[]"
    async with database.transaction() as connection:
        assert (await intents.prepared(connection, tarefa, b"signed")).payload == b"signed"
    with pytest.raises(OrderLeaseLostError):
        async with database.transaction() as connection:
            await intents.prepared(connection, late, b"signed too late")
    found = await row(database, TABLE, tarefa.id)
    assert (found["intencao"], found["bytes"]) == ([], b"signed")
    await lease_ends(database, TABLE, tarefa.id)
    [again] = await claim(database)
    assert again.payload == b"signed"


async def test_a_company_is_stopped_by_the_channel_that_refuses_it(database: Database) -> None:
    """What goes by another leaves as ever, and what is heard there ends no stop and wakes nothing here."""
    plug, sefin = Canal(), Canal("nacional", Ambiente.PRODUCAO)
    waits = await emission(database, canal=sefin.nome, ambiente=sefin.ambiente, retida="credencial")
    company = (await row(database, TABLE, waits))["prestador_id"]
    goes = await emission(database)
    await database.pool.execute("UPDATE nfse_emissao SET prestador_id = $1 WHERE id = $2", company, goes)
    async with database.transaction() as connection:
        assert await suspension.suspend(connection, company, sefin, "no certificate")
        assert await suspension.take_probe(connection, company, plug)
        assert not await suspension.take_probe(connection, company, sefin)
    taken = {tarefa.id: tarefa for tarefa in await claim(database)}
    assert (taken[waits].suspenso, taken[waits].pronta) == ("no certificate", False)
    assert (taken[goes].suspenso, taken[goes].pronta) == (None, True)
    async with database.transaction() as connection:
        assert await suspension.lift(connection, company, canal=plug) == 0
        assert not await suspension.take_probe(connection, company, sefin)
        await suspension.lift(connection, company, canal=sefin)
        assert await suspension.take_probe(connection, company, sefin)


@pytest.mark.parametrize(("stopped", "pause"), [(0, 15), (40, 40), (3600, 300)])
async def test_the_next_probe_is_as_far_as_the_company_was_stopped(
    database: Database, stopped: int, pause: int
) -> None:
    """A repair that came while the refused call was under way is found out soon; a long stop costs few calls."""
    company = (await row(database, TABLE, await emission(database)))["prestador_id"]
    since = sa.text("UPDATE empresa SET sonda_em = now(), suspenso_em = now() - make_interval(secs => :stopped)")
    left = sa.text("SELECT extract(epoch FROM sonda_em - now())::float8 FROM empresa WHERE id = :company")
    async with database.transaction() as connection:
        for again in (
            suspension.suspend(connection, company, Canal(), "HTTP 403"),
            suspension.take_probe(connection, company, Canal()),
        ):
            await connection.execute(since, {"stopped": stopped})
            assert await again
            assert (await connection.execute(left, {"company": company})).scalar_one() == pause


async def _lifted(database: Database, emissao_id: int, *, stopped: bool = True) -> bool:
    """Lift the company's stop, or store it again where it had none; tells whether its emission is due."""
    company = (await row(database, "nfse_emissao", emissao_id))["prestador_id"]
    async with database.transaction() as connection:
        if stopped:
            await suspension.suspend(connection, company, Canal(), "HTTP 403")
        await suspension.lift(connection, company)
    after = await row(database, "nfse_emissao", emissao_id)
    return after["proxima_acao_em"] is not None and after["proxima_acao_em"] <= after["agora"]


@pytest.mark.parametrize(
    ("status", "retida", "tried_again"),
    [
        ("pendente", "credencial", True),
        ("pendente", "pessoa", True),
        ("desconhecido", None, False),
        ("erro", None, False),
        ("erro", "credencial", False),
    ],
)
async def test_the_end_of_a_cause_wakes_what_waited_for_it(
    database: Database, status: str, retida: str | None, tried_again: bool
) -> None:
    """What its person was asked about meanwhile, too, and what is unknown although its questions had ended."""
    later = datetime.now(UTC) + timedelta(hours=1) if tried_again else None
    waiting = await emission(database, status=status, retida=retida, proxima_acao_em=later)
    assert await _lifted(database, waiting)


@pytest.mark.parametrize(
    ("status", "retida"),
    [("pendente", "pessoa"), ("rejeitado", None), ("concluido", None), ("conflito", None), ("dispensado", None)],
)
async def test_the_end_of_a_cause_wakes_nothing_that_waits_for_none(
    database: Database, status: str, retida: str | None
) -> None:
    """What only its person's word sends stays with them, and what is settled is not asked about."""
    other = await emission(database, status=status, retida=retida, proxima_acao_em=None)
    assert not await _lifted(database, other)


async def test_a_company_that_was_not_stopped_leaves_its_people_their_hour(database: Database) -> None:
    """A new user, say, ends no cause: what its person was asked about is not tried before its time."""
    later = datetime.now(UTC) + timedelta(hours=1)
    asked = await emission(database, status="pendente", retida="pessoa", proxima_acao_em=later)
    assert not await _lifted(database, asked, stopped=False)
    assert await _lifted(database, asked)


async def test_doubt_and_absences_are_kept_between_two_looks(database: Database) -> None:
    """Whoever takes it next knows that a call may have been accepted, and how often nothing was seen."""
    emissao = await emission(database, status="desconhecido")
    [tarefa] = await claim(database)
    seen = replace(tarefa.andamento, status=StatusEmissao.PENDENTE, duvida=True, ausencias=2)
    async with database.transaction() as connection:
        await emissions.settle(connection, tarefa, Passo(seen, 0.0))
    [again] = await claim(database)
    assert (again.id, again.andamento.duvida, again.andamento.ausencias) == (emissao, True, 2)


async def test_what_only_sounded_like_a_duplicate_is_in_no_doubt(database: Database) -> None:
    """Its refusal and how often it was refused are kept, and nothing else ever left us."""
    await emission(database, status="desconhecido", em_duvida=False)
    [tarefa] = await claim(database)
    seen = replace(tarefa.andamento, duvida=False, recusa=Rejected("já existe"), recusas=3)
    async with database.transaction() as connection:
        await emissions.settle(connection, tarefa, Passo(seen, 0.0))
    [again] = await claim(database)
    kept = again.andamento
    assert (kept.duvida, kept.recusa, kept.recusas) == (False, Rejected("já existe"), 3)


@pytest.mark.parametrize("status", ["enviando", "enviado", "desconhecido"])
async def test_what_the_gateway_may_have_is_in_doubt_whatever_its_row_says(database: Database, status: str) -> None:
    """An older release moved the row on and kept no word of it."""
    await emission(database, status=status, em_duvida=False)
    [tarefa] = await claim(database)
    assert tarefa.andamento.duvida


async def test_a_no_withdraws_only_what_certainly_nobody_accepted(database: Database) -> None:
    """What is in doubt may stand as a note: it is asked about, whatever its person says."""
    doubtful = await emission(database, retida="pessoa", em_duvida=True)
    certain = await emission(database, retida="pessoa", em_duvida=False)
    for emissao, ends in ((doubtful, False), (certain, True)):
        stored = await row(database, TABLE, emissao)
        async with database.transaction() as connection:
            assert await attempts.withdraw(connection, stored["sessao_id"], stored["revisao"]) is ends


@pytest.mark.parametrize(
    ("answer", "stopped"),
    [(NotSent("ConnectError"), True), (Unknown("ReadTimeout"), True), (Postponed(5.0, "429"), True), (Absent(), False)],
)
async def test_only_an_answer_of_the_authority_lets_a_stopped_company_go(
    database: Database, answer: Any, stopped: bool
) -> None:
    """A refused connection says nothing of our credentials."""
    emissao = await emission(database)
    company = (await row(database, TABLE, emissao))["prestador_id"]
    async with database.transaction() as connection:
        await suspension.suspend(connection, company, Canal(), "HTTP 403")
    [tarefa] = await claim(database)
    async with database.transaction() as connection:
        await orders.stop_or_go(connection, tarefa, answer)
        assert (await suspension.take_probe(connection, company, Canal())) is not stopped
