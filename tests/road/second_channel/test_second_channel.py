"""A deliberately different channel goes through the whole engine: one note for each confirmation, whatever fails."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from bot.orders.accept import Confirmed
from gateway.keys import IdDPS
from gateway.registry import REGISTRY
from operations.channel import choose
from operations.company import add_company
from operations.person import issuer_of
from operations.protocol import CommandRefusedError
from persistence.people.companies import get_company
from proofs.demo.world import COMPANY
from state_machine.documents import DocumentoServico, Tomador
from state_machine.protocol.channel import Ambiente, Canal, Natureza, Origin
from state_machine.protocol.emission import CannotTell
from state_machine.services.codes import Servico
from state_machine.values.documents import CNPJ
from tests.narrowing import bound_to
from tests.road.road_people import Person, Scene, new_phone, open_road, unlike, until
from tests.road.second_channel.adapter import NAME, NATUREZA, row
from tests.road.second_channel.city import CANCELLED, STANDS, City

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Road
    from tests.road.second_channel.city import CityNote

NATURES = {**{name: each.natureza for name, each in REGISTRY.items()}, NAME: NATUREZA}
LOJA = replace(COMPANY, cnpj="99.000.002/0001-48", razao_social="CAFÉ DA ESQUINA LTDA", serie_rps="7", primeiro_rps=501)
WHY = "valor errado, vou emitir outra"


@pytest.fixture(scope="module")
async def opened_city() -> AsyncIterator[City]:
    async with City() as city:
        yield city


@pytest.fixture
def city(opened_city: City) -> City:
    """The module's city with all faults mended."""
    opened_city.faults.clear()
    opened_city.late = None
    return opened_city


@pytest.fixture(scope="module")
async def opened(database_url: str, redis_url: str, opened_city: City) -> AsyncIterator[Road]:
    registry = {**REGISTRY, **row(opened_city.url)}
    async with open_road(database_url, redis_url, registry=registry) as road:
        yield road


@pytest.fixture
def road(opened: Road, city: City) -> Road:
    """A house that knows the city's channel."""
    for simulator in opened.world.simulators:
        simulator.faults.clear()
    return opened


async def _staff(scene: Scene) -> Person:
    """Return somebody new of a company that issues by the city's channel."""
    person = Person(scene.world, new_phone())
    await add_company(scene.database, replace(LOJA, usuarios=(person.who,)))
    await choose(scene.database, NATURES, cnpj=LOJA.cnpj, documento="servico", nome=NAME, ambiente="homologacao")
    return person


async def _confirmed(scene: Scene) -> Person:
    person = await _staff(scene)
    await person.say(unlike())
    await person.touch("Confirmar")
    return person


async def _one_note(scene: Scene, city: City, person: Person) -> CityNote:
    """The judge: the city's book has one note of this person, made once, and nothing was voided for it."""
    pdf, xml = await person.files(late=True)  # whatever the fault made it wait for
    assert pdf.startswith(b"%PDF")
    assert b"<numero>" in xml
    await scene.settled()
    session = await scene.session(person)
    assert (session["estado"], session["snapshot_reason"]) == ("aprovado", "webhook_success")
    [note] = [n for n in city.book if n.pedido["referencia"].startswith(session["sessao_id"])]
    assert (note.situacao, len(city.under(note.chave))) == (STANDS, 1)
    assert sum(f"NFS-e {note.numero} autorizada" in answer for answer in person.answers) == 1
    return note


async def _steps(scene: Scene, person: Person) -> list[tuple[str, str]]:
    """Return the calls to the city about the person's newest session, and what they were taken for."""
    calls = await scene.database.pool.fetch(
        "SELECT operacao, resultado FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id "
        "WHERE e.sessao_id = $1 ORDER BY t.id",
        (await scene.session(person))["sessao_id"],
    )
    return [tuple(call) for call in calls]


def test_the_channel_differs_in_every_flag() -> None:
    """What both had in common, this proof would not show. A channel whose PDF is drawn has no page in its place."""
    usual = NATURES["plugnotas"]
    assert [name for name in Natureza.__slots__ if getattr(usual, name) == getattr(NATUREZA, name)] == [
        "page",
        "documento",
    ]


class _NotOrderedError(Exception):
    """The order's transaction is rolled back, so that nobody sends it."""


async def test_an_order_is_stored_as_its_channel_says(road: Road) -> None:
    """What it is made of waits to be signed, and its key at the authority is not our reference."""
    await _staff(road)
    company = await road.database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", str(CNPJ(LOJA.cnpj)))
    with suppress(_NotOrderedError):
        async with road.database.transaction() as connection:
            empresa, agora = await get_company(connection, company)
            confirmed = Confirmed(
                origin=Origin("agenda", "agenda-1", 1),
                tentativa=1,
                empresa=empresa,
                documento=DocumentoServico(
                    prestador=issuer_of(empresa, Servico(empresa.codigo_servico)),
                    tomador=Tomador("12345678000195", "PADARIA"),
                    valor=Decimal(1800),
                    competencia=agora.date(),
                    descricao="consultoria",
                ),
            )
            ordered = await road.house.door.accept(connection, confirmed, "agenda-1")
            statement = sa.text("SELECT * FROM nfse_emissao WHERE id = :id")
            kept = (await connection.execute(statement, {"id": ordered})).one()
            raise _NotOrderedError
    assert (kept.a_preparar, kept.bytes, kept.chave_natural) == (True, None, kept.intencao["chave"])
    assert kept.intencao["referencia"] == kept.id_integracao == "agenda-1-r1-1"


async def test_the_answer_is_the_note(road: Road, city: City) -> None:
    """One call, no question, no webhook: the note is told, with our number in a key of 45 characters."""
    ana = await _confirmed(road)
    note = await _one_note(road, city, ana)
    assert await _steps(road, ana) == [("submit", "Issued")]
    row = await road.database.pool.fetchrow(
        "SELECT canal, ambiente, chave_natural, serie_rps, numero_rps, status FROM nfse_emissao WHERE sessao_id = $1",
        (await road.session(ana))["sessao_id"],
    )
    assert (row["canal"], row["ambiente"], row["serie_rps"], row["status"]) == (NAME, "homologacao", "7", "concluido")
    assert row["chave_natural"] == note.chave
    assert (len(note.chave), note.chave[-3:]) == (45, str(row["numero_rps"]))
    assert road.world.plugnotas.ledger.of("call") == []


@pytest.mark.parametrize(
    ("fault", "setting"),
    [
        ("perder_resposta", {}),
        ("pendurar_resposta", {"seconds": 0.3}),
        ("erro_500_aceito", {}),
        ("html_200_aceito", {}),
        ("json_truncado", {}),
        ("lento", {"seconds": 2.5, "method": "POST"}),  # longer than the adapter waits
    ],
)
async def test_a_lost_answer_is_asked_about(road: Road, city: City, fault: str, setting: dict[str, Any]) -> None:
    """Accepted, and the answer is lost: the note is found under its key, and nothing is sent twice."""
    city.faults.set(fault, times=1, **setting)
    ana = await _confirmed(road)
    await _one_note(road, city, ana)
    assert [step for step in await _steps(road, ana) if step[0] == "submit"] == [("submit", "Unknown")]


@pytest.mark.parametrize("fault", ["erro_500", "html_200", "cortar_antes", "limite_429"])
async def test_what_may_not_have_arrived_goes_again_after_three_absences(road: Road, city: City, fault: str) -> None:
    """A 429 too: on a channel where a resend voids the note before, no refusal is certain enough."""
    city.faults.set(fault, times=1, seconds=1, method="POST")
    ana = await _confirmed(road)
    await _one_note(road, city, ana)
    steps = await _steps(road, ana)
    assert [step[0] for step in steps] == ["submit", "find", "find", "find", "submit"]
    assert steps[1:] == [("find", "Absent")] * 3 + [("submit", "Issued")]


@pytest.mark.parametrize("looks", [1, 2])
async def test_an_order_that_arrives_late_is_not_sent_again(road: Road, city: City, looks: int) -> None:
    """It arrives after one or two looks that found nothing: the third finds it, and nothing is voided."""
    city.late = looks
    ana = await _confirmed(road)
    await _one_note(road, city, ana)
    assert [step for step in await _steps(road, ana) if step[0] == "submit"] == [("submit", "Unknown")]


async def test_a_note_that_voided_another_is_told_with_the_other(road: Road, city: City) -> None:
    """Should it happen all the same, the note stands: its person hears which one was cancelled for it."""
    ana = await _staff(road)
    await ana.say(unlike())
    last = await road.database.pool.fetchval("SELECT ultimo FROM numeracao WHERE serie = '7'")
    assert LOJA.primeiro_rps is not None
    key = IdDPS(LOJA.municipio, CNPJ(LOJA.cnpj), 7, last + 1 if last else LOJA.primeiro_rps)
    other = city._issue({"chave": str(key), "referencia": "de outro programa"})["nota"]["numero"]
    await ana.touch("Confirmar")
    session = (await road.reached(ana, "aprovado"))["sessao_id"]
    status = "SELECT status FROM nfse_emissao WHERE sessao_id = $1"
    assert await road.database.pool.fetchval(status, session) == "concluido"

    async def told() -> bool:
        return any(f"cancelada a nota {other}, do mesmo RPS" in answer for answer in ana.answers)

    await until(told)


async def test_what_was_prepared_is_what_leaves(road: Road, city: City) -> None:
    """The worker dies between signing and sending: the bytes that it stored go out, and no second signature is made."""
    worker: Any = bound_to(road.house.pumps["emissions"]._work)
    worker._channels.of(Canal(NAME, Ambiente.HOMOLOGACAO)).dies = True
    ana = await _confirmed(road)
    session = (await road.reached(ana, "processando"))["sessao_id"]
    pool = road.database.pool
    died = "SELECT id FROM nfse_emissao WHERE sessao_id = $1 AND status = 'enviando' AND NOT a_preparar"
    emission = await until(lambda: pool.fetchval(died, session))
    await until(lambda: _is_free(worker))
    await pool.execute("UPDATE nfse_emissao SET lease_until = now() WHERE id = $1", emission)
    await pool.execute("UPDATE idempotency_records SET lease_until = now() WHERE process_instance_id = $1", session)
    note = await _one_note(road, city, ana)

    intencao, signed = await pool.fetchrow("SELECT intencao, bytes FROM nfse_emissao WHERE id = $1", emission)
    assert "assinatura" not in intencao
    [sent] = [r.data["corpo"] for r in city.ledger.of("submission") if r.data["chave"] == note.chave]
    assert sent.encode() == signed
    assert sum(r.data["referencia"].startswith(session) for r in city.ledger.of("signed")) == 1


async def _is_free(worker: Any) -> bool:
    return not worker._held


async def test_copies_of_a_yes_are_one_note(road: Road, city: City) -> None:
    """The button five times: one number, one submission."""
    ana = await _staff(road)
    summary = await ana.say(unlike())
    await asyncio.gather(*(ana.touch("Confirmar", summary) for _ in range(5)))
    note = await _one_note(road, city, ana)
    assert len([r for r in city.ledger.of("submission") if r.data["chave"] == note.chave]) == 1


async def test_a_storm_of_faults_is_one_note_each(road: Road, city: City) -> None:
    """Eight people confirm at once while every second answer goes wrong: eight notes, and no number twice."""
    people = [await _staff(road) for _ in range(8)]
    for person in people:
        await person.say(unlike())
    for fault in ("perder_resposta", "json_truncado", "erro_500_aceito", "erro_500"):
        city.faults.set(fault, chance=0.3)
    for person in people:
        await person.touch("Confirmar")
    notes = [await _one_note(road, city, person) for person in people]
    assert len({note.chave for note in notes}) == len(people)


@pytest.mark.parametrize("fault", [None, "perder_resposta", "erro_500"])
async def test_a_note_is_cancelled_once(road: Road, city: City, fault: str | None) -> None:
    """By conversation, whether the answer arrives or not; the city was asked under the note's own number."""
    ana = await _confirmed(road)
    note = await _one_note(road, city, ana)
    await ana.say(f"cancela a nota {note.numero}")
    await ana.say(WHY)
    if fault:
        city.faults.set(fault, times=1, method="POST")
    assert "Pedi o cancelamento" in (await ana.press("Cancelar a nota")).text
    if fault == "erro_500":  # the note stands: half a minute goes by
        pool = road.database.pool
        await until(lambda: pool.fetchval("SELECT max(vigente_desde) FROM cancelamento"))
        await pool.execute(
            "UPDATE cancelamento SET vigente_desde = vigente_desde - interval '1 min', proxima_acao_em = now() "
            "WHERE vigente_desde IS NOT NULL"
        )
    await ana.expect(f"Nota {note.numero} cancelada")
    await road.settled()
    assert note.situacao == CANCELLED
    assert [r.data["motivo"] for r in city.ledger.of("cancel.asked") if r.data["numero"] == note.numero] == [WHY]


async def test_the_audit_waits_for_no_list_that_is_not_made(road: Road, city: City) -> None:
    """The daily audit passes the company over; who asks for it by name is told that nothing was compared."""
    await _staff(road)
    await road.house.audit.daily()
    [done] = await road.house.audit.run(3, LOJA.cnpj.replace(".", "").replace("/", "").replace("-", ""))
    assert isinstance(done.resultado, CannotTell)
    assert "lists no notes" in done.resultado.motivo


async def test_without_a_series_nothing_goes_by_a_channel_that_we_number(road: Road) -> None:
    """The command refuses the channel, and a company that lost its series hears it before anything is issued."""
    ana = await road.person()
    with pytest.raises(CommandRefusedError, match="--serie-rps"):
        await choose(road.database, NATURES, cnpj=COMPANY.cnpj, documento="servico", nome=NAME, ambiente=None)
    pool = road.database.pool
    await pool.execute(
        "INSERT INTO empresa_canal (empresa_id, tipo, canal) SELECT id, 'servico', $1 FROM empresa WHERE cnpj = $2",
        NAME,
        COMPANY.cnpj,
    )
    await ana.say(unlike())
    assert "numeração" in (await ana.press("Confirmar")).text
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"


async def test_work_of_a_channel_that_is_not_known_stops_nobody(road: Road, city: City) -> None:
    """An emission of it is never sent; the next one of the company is."""
    city.faults.set("erro_500", times=1, method="POST")
    ana = await _confirmed(road)
    session = (await road.reached(ana, "processando"))["sessao_id"]
    pool = road.database.pool
    await until(
        lambda: pool.fetchval("SELECT id FROM nfse_emissao WHERE sessao_id = $1 AND ausente_desde IS NOT NULL", session)
    )
    await pool.execute("UPDATE nfse_emissao SET canal = 'estadual' WHERE sessao_id = $1", session)
    rui = await _confirmed(road)
    await rui.files()
    status = "SELECT status FROM nfse_emissao WHERE sessao_id = $1"
    assert await pool.fetchval(status, session) not in {"concluido", "rejeitado"}
