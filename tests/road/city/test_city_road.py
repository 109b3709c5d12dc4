"""Invoices by São Paulo's own channel: from the conversation to the city's book, one note each, whatever fails."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from bot.master_key import vault_of
from bot.operator.reconcile import channels_of
from gateway.keys import ChaveRPS
from gateway.registry import REGISTRY
from operations.certificate import keep_certificate
from operations.company import CompanyError, add_company
from operations.restored import ABSENCES, restore
from persistence.fiscal import emissions
from proofs.demo.world import COMPANY
from proofs.sandbox.paulistana import codes
from proofs.sandbox.paulistana.rps import Chave
from proofs.sandbox.paulistana.rules import PaulistanaConfig, Taxpayer
from tests.road.road_people import QUICK, Person, new_phone, open_road, unlike, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.sandbox.paulistana.lotenfe import PaulistanaSimulator
    from proofs.sandbox.world import World
    from tests.road.road_people import Road

SENHA = "senha-do-a1"
CCM = "31000000"
FORM = replace(
    COMPANY,
    inscricao_municipal=CCM,
    regime="normal",
    canal="paulistana",
    codigo_servico="02658",
    aliquota="5",
    serie_rps="PROSA",
    primeiro_rps=1,
    nbs="118054000",
    ind_op="100301",
    class_trib="000001",
)
AGE, SPACING = 1.0, 0.5
PLAIN = PaulistanaConfig()


def led_there(ambiente: str) -> Any:
    async def led(world: World) -> dict[str, Any]:
        """Return the settings that lead to the simulated city."""
        return {
            "paulistana_url": world.urls.paulistana,
            "paulistana_ca_file": Path(world.urls.nacional_ca_file or ""),
            "paulistana_absence_seconds": (AGE, SPACING),
            "master_key": SecretStr(base64.b64encode(b"k" * 32).decode()),
            "fiscal_environment": ambiente,
        }

    return led


async def registered(road: Road) -> Road:
    await add_company(road.database, FORM, None, REGISTRY)
    pfx = road.world.authority.pfx_for(FORM.cnpj, SENHA, days=300 + time.monotonic() % 60)
    await keep_certificate(
        road.database, vault_of(road.house.settings), cnpj=FORM.cnpj, arquivo=pfx, senha=SENHA, unchecked=True
    )
    return road


@pytest.fixture(scope="module")
async def opened(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    config = replace(QUICK, paulistana=PLAIN)
    async with open_road(database_url, redis_url, config=config, between=led_there("producao")) as road:
        yield await registered(road)


@pytest.fixture
def road(opened: Road) -> Road:
    """The module's road with all faults mended and the city as it usually is."""
    opened.world.paulistana.faults.clear()
    opened.world.paulistana.config = PLAIN
    return opened


@pytest.fixture
def city(road: Road) -> PaulistanaSimulator:
    """The city."""
    return road.world.paulistana


async def _confirmed(road: Road) -> tuple[Person, str]:
    """Return somebody new of the company who confirmed an invoice, and its session."""
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    await person.say(unlike())
    await person.touch("Confirmar")

    async def taken() -> Any:
        session = await road.session(person)
        return session["sessao_id"] if session["estado"] in {"processando", "aprovado", "erro"} else None

    return person, await until(taken)


async def told(person: Person, words: str) -> str:
    """Return what the person has read that has these words."""

    async def read() -> str | None:
        return next((answer for answer in person.answers if words in answer), None)

    return str(await until(read))


async def _settled(road: Road, session: str, status: str = "concluido") -> Any:
    async def done() -> Any:
        row = await road.database.pool.fetchrow(
            "SELECT * FROM nfse_emissao WHERE sessao_id = $1 ORDER BY id DESC LIMIT 1", session
        )
        return row if row["status"] == status else None

    return await until(done)


async def _one_note(road: Road, city: PaulistanaSimulator, session: str) -> Any:
    """The judge: the city's book has one note of this invoice's RPS, it stands, and we tell it as issued."""
    row = await _settled(road, session)
    chave = ChaveRPS.parse(row["chave_natural"])
    made = city.of_rps(Chave(CCM, chave.serie, chave.numero))
    assert len(made) == 1
    [note] = made
    assert not note.cancelled
    told = await road.database.pool.fetchrow("SELECT * FROM nfse_processada WHERE emissao_id = $1", row["id"])
    assert told["numero"] == str(note.numero)
    return note


def _sendings(city: PaulistanaSimulator) -> int:
    return sum(record.data["operation"] == "EnvioRPS" for record in city.ledger.of("call"))


async def steps(road: Road, session: str) -> list[tuple[str, str]]:
    calls = await road.database.pool.fetch(
        "SELECT operacao, resultado FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id "
        "WHERE e.sessao_id = $1 AND operacao IN ('submit', 'find') ORDER BY t.id",
        session,
    )
    return [tuple(call) for call in calls]


async def test_a_yes_becomes_one_note_of_the_city(road: Road, city: PaulistanaSimulator) -> None:
    """The person reads its number, its verification code and the city's own page of it."""
    person, session = await _confirmed(road)
    note = await _one_note(road, city, session)
    assert f"verificacao={note.verificacao}" in await told(person, f"NFS-e {note.numero} autorizada")
    await _offered(person, "Mandar ao cliente")
    await person.touch("Mandar ao cliente")
    forwarded = await told(person, f"Olá! Segue a NFS-e {note.numero}, de R$")
    assert re.search(rf"\nPara conferir: https://\S+verificacao={note.verificacao}$", forwarded)


async def test_a_lost_answer_is_asked_for_and_never_sent_again(road: Road, city: PaulistanaSimulator) -> None:
    """The note stands at the city: it is found by its RPS."""
    before = _sendings(city)
    city.faults.set("perder_resposta", times=1, about="EnvioRPS")
    _, session = await _confirmed(road)
    await _one_note(road, city, session)
    assert (_sendings(city) - before, [step for step, _ in await steps(road, session)][:1]) == (1, ["submit"])


async def test_what_never_arrived_goes_again_after_two_absences_with_the_same_bytes(
    road: Road, city: PaulistanaSimulator
) -> None:
    """Once, and not before it was old enough and seen absent twice."""
    before = _sendings(city)
    city.faults.set("cortar_antes", times=1, about="EnvioRPS")
    _, session = await _confirmed(road)
    note = await _one_note(road, city, session)
    calls = await steps(road, session)
    assert [result for step, result in calls if step == "find"].count("Absent") >= 2
    assert [step for step, _ in calls].count("submit") == 2
    assert (_sendings(city) - before, note.by) == (1, "ws")


async def test_a_note_that_the_city_shows_late_is_not_sent_again(road: Road, city: PaulistanaSimulator) -> None:
    """1106 is no proof of absence while the city lists the note."""
    before = _sendings(city)
    city.faults.set("perder_resposta", times=1, about="EnvioRPS")
    city.faults.set("leitura_atrasada", seconds=60, times=2)
    _, session = await _confirmed(road)
    await _one_note(road, city, session)
    assert (_sendings(city) - before, [step for step, _ in await steps(road, session)].count("submit")) == (1, 1)
    assert any(record.data["fault"] == "leitura_atrasada" for record in city.ledger.of("fault"))


async def test_a_note_that_cost_another_is_told_counted_and_kept(road: Road, city: PaulistanaSimulator) -> None:
    """217: the city hid the first note from both questions for longer than is waited; the same bytes made a second."""
    city.config = replace(PLAIN, lag_hides_listing=True)
    city.faults.set("perder_resposta", times=1, about="EnvioRPS")
    city.faults.set("leitura_atrasada", seconds=600)
    counted = road.house.metrics.notes_superseded._value.get()
    person, session = await _confirmed(road)
    row = await _settled(road, session)
    chave = ChaveRPS.parse(row["chave_natural"])
    first, second = city.of_rps(Chave(CCM, chave.serie, chave.numero))
    assert (first.cancelled_by, second.cancelled) == ("substituicao", None)
    stored = hashlib.sha256(row["bytes"]).hexdigest()
    assert [each.data["sha256"] for each in city.ledger.of("nfe.issued")][-2:] == [stored] * 2
    await told(person, f"foi cancelada a nota {first.numero}, do mesmo RPS")
    assert road.house.metrics.notes_superseded._value.get() == counted + 1
    assert row["erro_mensagem"] == f"the authority voided note {first.numero} for this one"
    city.faults.clear()
    async with road.database.transaction() as connection:  # a later look that finds it as it was keeps the reason
        await emissions.look_at(connection, row["id"])
    await until(lambda: _looked(road, row["id"], row["versao"]))
    assert (await _settled(road, session))["erro_mensagem"] == row["erro_mensagem"]


async def _looked(road: Road, emissao_id: int, versao: int) -> bool:
    statement = "SELECT versao > $2 AND lease_until IS NULL FROM nfse_emissao WHERE id = $1"
    return bool(await road.database.pool.fetchval(statement, emissao_id, versao))


async def test_a_refusal_is_told_in_the_words_of_the_city(road: Road, city: PaulistanaSimulator) -> None:
    """306: the code of the service is not of its list."""
    city.config = replace(PLAIN, services=frozenset({"1"}))
    before = list(city.ledger.of("nfe.cancelled"))
    person, session = await _confirmed(road)
    await _settled(road, session, "rejeitado")
    said = codes.Evento.told("306", "2658").descricao
    assert said in await told(person, "não foi aceita")
    assert list(city.ledger.of("nfe.cancelled")) == before


async def test_the_other_layout_is_taken_once_under_the_same_number(road: Road, city: PaulistanaSimulator) -> None:
    """641 to layout 2: one note of layout 1, of the number that was drawn."""
    city.config = replace(PLAIN, taxpayers={CCM: Taxpayer(FORM.cnpj, "simples")}, simples_queries=False)
    before = _sendings(city)
    _, session = await _confirmed(road)
    note = await _one_note(road, city, session)
    assert (note.versao, _sendings(city) - before) == (1, 2)


async def test_a_note_is_cancelled_by_chat_though_the_answer_is_lost(road: Road, city: PaulistanaSimulator) -> None:
    """One reason and one yes; what became of it is asked for, and the city's book has it cancelled by us."""
    person, session = await _confirmed(road)
    note = await _one_note(road, city, session)
    await told(person, f"NFS-e {note.numero} autorizada")
    city.faults.set("perder_resposta", times=1, about="CancelamentoNFe")
    await person.tell(f"cancela a nota {note.numero}")
    await _offered(person, "Erro na emissão")
    await person.touch("Erro na emissão")
    await _offered(person, "Cancelar a nota")
    await person.touch("Cancelar a nota")
    await told(person, f"Nota {note.numero} cancelada")
    assert city.notes[CCM, note.numero].cancelled_by == "ws"


async def _offered(person: Person, title: str) -> None:
    async def shown() -> bool:
        bubbles = person.world.meta.bubbles(person.who)
        return any(button.title == title for bubble in bubbles for button in bubble.buttons)

    await until(shown)


async def test_after_a_restore_numbers_go_on_after_the_citys_last(road: Road, city: PaulistanaSimulator) -> None:
    """Behind more numbers without a note than are walked: the city's list of the days since the copy has it."""
    _, session = await _confirmed(road)
    known = ChaveRPS.parse((await _settled(road, session))["chave_natural"]).numero
    last = known + 2 * ABSENCES
    city.issue_elsewhere(CCM, FORM.cnpj, serie="PROSA", rps=last)
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    async with channels_of(road.house.settings, road.database) as channels:
        said = " ".join(await restore(road.database, [], channels, wait=wait))
    assert f"até o número {last}" in said
    assert [seconds > AGE + SPACING for seconds in waited] == [True]
    _, session = await _confirmed(road)
    await _one_note(road, city, session)
    assert ChaveRPS.parse((await _settled(road, session))["chave_natural"]).numero == last + 1


@pytest.mark.parametrize("regime", ["mei", "simples"])
async def test_who_may_not_use_the_city_is_led_to_the_national_channel(road: Road, regime: str) -> None:
    """Nothing of the company is stored."""
    form = replace(FORM, cnpj="99000001000101", regime=regime, usuarios=())
    with pytest.raises(CompanyError, match="--canal nacional"):
        await add_company(road.database, form, None, REGISTRY)
