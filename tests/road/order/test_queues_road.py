"""What fails, is slow or is put off for one company, or for one kind of call, holds up nothing else."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import asyncpg

from bot.operator.reconcile import ask_now
from bot.orders.emission import CONCURRENCY
from gateway.lines import CallKind
from operations.company import add_company
from proofs.demo.world import COMPANY
from tests.owner import as_owner
from tests.road.road_people import Person, new_phone, open_road, unlike, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Road

OTHER = replace(COMPANY, cnpj="99.000.002/0001-48", razao_social="CAFÉ DA ESQUINA LTDA")
OURS = "".join(c for c in COMPANY.cnpj if c.isalnum())
THEIRS = "".join(c for c in OTHER.cnpj if c.isalnum())
BRIEF = 0.5  # seconds until people hear that it takes long
SLOW = 8.0  # seconds for each order of the slow company
AT_ONCE = SLOW / 2  # without waiting for any of them; the rest is the machine's
DAY = 86_400.0
TOLD = "ainda não teve resposta"


@asynccontextmanager
async def _road(database_url: str, redis_url: str, **changes: Any) -> AsyncIterator[Road]:
    """A road of its own, so that no breaker is open; nothing of an earlier test is left to do."""
    left = await asyncpg.connect(database_url)
    await as_owner(left, "TRUNCATE nfse_emissao, inbox, lanes, outbox CASCADE")
    await left.close()
    settings = {"gateway_breaker_failures": 3, "gateway_breaker_seconds": 60.0, "slow_notice_seconds": 60.0, **changes}
    async with open_road(database_url, redis_url, **settings) as road:
        yield road


async def _stranger(road: Road) -> Person:
    """Somebody of the other company."""
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(OTHER, usuarios=(person.who,)))
    return person


async def _confirmed(road: Road, person: Person) -> str:
    await person.say(unlike())
    await person.touch("Confirmar")
    return str((await road.reached(person, "processando"))["id_integracao"])


async def _row(road: Road, key: str) -> Any:
    return await road.database.pool.fetchrow("SELECT * FROM nfse_emissao WHERE id_integracao = $1", key)


def _taken(road: Road, cnpj: str) -> int:
    """How many orders of a company the gateway has taken."""
    book = road.world.plugnotas.ledger.of("note.created")
    return sum(record.data["payload"]["prestador"]["cpfCnpj"] == cnpj for record in book)


def _submissions(road: Road) -> int:
    calls = road.world.plugnotas.ledger.of("fault", "call")
    return sum("POST /nfse" in str(record.data.get("key")) or record.data.get("path") == "/nfse" for record in calls)


async def _hears(person: Person) -> None:
    async def told() -> bool:
        return any(TOLD in answer for answer in person.answers)

    await until(told)


async def test_failing_downloads_stop_no_emission(database_url: str, redis_url: str) -> None:
    """PDFs answer 500 until their breaker opens: other invoices are issued, of this company and of another."""
    async with _road(database_url, redis_url) as road:
        road.world.plugnotas.faults.set("erro_500", about="/nfse/pdf")
        await _confirmed(road, await road.person())
        gauge = road.house.metrics.gateway_circuits_open

        async def is_open() -> bool:
            return bool(gauge.labels(CallKind.DOWNLOAD)._value.get())

        await until(is_open)
        for person in (await road.person(), await _stranger(road)):
            await _confirmed(road, person)
            await road.reached(person, "aprovado")
            assert len(await road.notes(person)) == 1
        assert [gauge.labels(kind)._value.get() for kind in (CallKind.SUBMISSION, CallKind.QUESTION)] == [0, 0]


async def test_a_gateway_that_is_down_for_one_company_is_not_for_another(database_url: str, redis_url: str) -> None:
    """The breaker that opens is that company's: the other's order goes out at once."""
    async with _road(database_url, redis_url) as road:
        road.world.plugnotas.faults.set("erro_500", about=OURS)
        ana, bia = await road.person(), await _stranger(road)
        key = await _confirmed(road, ana)

        async def held() -> bool:
            return bool((await _row(road, key))["retida"] == "circuito")

        await until(held)
        await bia.issue()
        assert (await _row(road, key))["retida"] == "circuito"


async def test_forty_five_slow_orders_of_one_company_delay_no_other(database_url: str, redis_url: str) -> None:
    """The other's order reaches the gateway at once, and not when one of the slow ones ends."""
    async with _road(database_url, redis_url) as road:
        road.world.plugnotas.faults.set("lento", seconds=SLOW, method="POST", about=OURS)
        bia = await _stranger(road)
        await bia.say(unlike())
        crowd = [await road.person() for _ in range(45)]
        await asyncio.gather(*(_confirmed(road, person) for person in crowd))

        async def half_taken() -> bool:
            leased = "SELECT count(*) FROM nfse_emissao WHERE lease_until > now()"
            return bool(await road.database.pool.fetchval(leased) == CONCURRENCY // 2)

        await until(half_taken)
        assert _taken(road, OURS) == 0
        await bia.touch("Confirmar")

        async def taken() -> bool:
            return _taken(road, THEIRS) == 1

        await until(taken, AT_ONCE)
        road.world.plugnotas.faults.clear()
        await road.settled(60.0)
        assert (_taken(road, OURS), _taken(road, THEIRS)) == (45, 1)


async def test_slow_downloads_hold_up_no_message(database_url: str, redis_url: str) -> None:
    """Files that come slowly leave slots for texts, also to people of the same company."""
    async with _road(database_url, redis_url) as road:
        road.world.plugnotas.faults.set("lento", seconds=SLOW, about="/nfse/pdf")
        crowd = [await road.person() for _ in range(25)]
        await asyncio.gather(*(_confirmed(road, person) for person in crowd))
        await asyncio.gather(*(road.reached(person, "aprovado") for person in crowd))
        for person in (await road.person(), await _stranger(road)):
            await person.tell(unlike())
            await person.expect(timeout=AT_ONCE)
        road.world.plugnotas.faults.clear()


async def test_a_pdf_that_is_not_ready_keeps_nothing_else_back(database_url: str, redis_url: str) -> None:
    """Texts go at once, also the next summary; after a minute its own XML goes and the next invoice's files."""
    async with _road(database_url, redis_url) as road:
        ana = await road.person()
        road.world.plugnotas.faults.set("html_200", about="/nfse/pdf")
        await _confirmed(road, ana)
        await road.reached(ana, "aprovado")
        road.world.plugnotas.faults.set("html_200", about="/nfse/pdf/" + (await road.notes(ana))[0].id)
        await ana.say("faz uma nota de 90 pra 12.345.678/0001-95, consultoria")
        await road.database.pool.execute("UPDATE outbox SET criado_em = criado_em - interval '61 s'")
        await ana.press("Confirmar")

        async def files() -> bool:
            kinds = [bubble.attachment.mime for bubble in road.world.meta.bubbles(ana.who) if bubble.attachment]
            return (len(kinds), kinds.count("application/pdf")) == (3, 1)

        await until(files)


async def test_a_retry_after_of_a_day_leaves_nobody_in_silence(database_url: str, redis_url: str) -> None:
    """The person hears in time, no call is made meanwhile, another company is not concerned, and staff see it."""
    async with _road(database_url, redis_url, slow_notice_seconds=BRIEF) as road:
        road.world.plugnotas.faults.set("limite_429", seconds=DAY, about=OURS, method="POST")
        ana, bia = await road.person(), await _stranger(road)
        key = await _confirmed(road, ana)
        await _hears(ana)
        waiting = await _row(road, key)
        assert (waiting["status"], waiting["envios"], _submissions(road)) == ("pendente", 1, 1)
        await bia.issue()
        report = "\n".join(await ask_now(road.house))
        assert COMPANY.razao_social in report
        assert f"{key}: pendente há" in report
        assert "o gateway pediu uma pausa até" in report
        assert "Nenhuma emissão sem resposta final" not in report
        assert _taken(road, OURS) == 0  # asking now sends nothing before its time

        road.world.plugnotas.faults.clear()
        await road.database.pool.execute("UPDATE nfse_emissao SET proxima_acao_em = now() WHERE id = $1", waiting["id"])
        road.house.pumps["emissions"].ring()
        await road.reached(ana, "aprovado")
        assert sum(TOLD in answer for answer in ana.answers) == 1
        assert len(await road.notes(ana)) == 1


async def test_who_waits_for_an_answer_or_a_slot_hears_of_it_too(database_url: str, redis_url: str) -> None:
    """One order is with a gateway that does not answer, its followers wait for a slot: all their people are told."""
    async with _road(database_url, redis_url, slow_notice_seconds=BRIEF) as road:
        road.world.plugnotas.faults.set("lento", seconds=SLOW, method="POST", about=OURS)
        crowd = [await road.person() for _ in range(CONCURRENCY // 2 + 2)]
        await asyncio.gather(*(_confirmed(road, person) for person in crowd))
        await asyncio.gather(*(_hears(person) for person in crowd))
        assert _taken(road, OURS) == 0
        road.world.plugnotas.faults.clear()


async def test_a_cancellation_that_is_put_off_is_not_silent_either(database_url: str, redis_url: str) -> None:
    """A Retry-After of a day for a cancellation: its person hears in time, and the note still stands."""
    async with _road(database_url, redis_url, slow_notice_seconds=BRIEF) as road:
        ana = await road.person()
        await ana.issue()
        road.world.plugnotas.faults.set("limite_429", seconds=DAY, about="/nfse/cancelar")
        [note] = await road.notes(ana)
        await ana.say(f"cancela a nota {note.numero}")
        await ana.say("valor errado, vou emitir outra")
        await ana.press("Cancelar a nota")
        await _hears(ana)
        assert road.world.plugnotas.ledger.of("cancel.asked") == []
        road.world.plugnotas.faults.clear()
