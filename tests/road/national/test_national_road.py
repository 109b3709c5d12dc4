"""Invoices by the national channel: from the conversation to SEFIN's book, one note each, whatever fails."""

from __future__ import annotations

import base64
import hashlib
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from bot.master_key import vault_of
from bot.operator.reconcile import DIFFERS, lines, status_of
from bot.orders.accept import Confirmed
from gateway.nacional.adapter import _key_of
from gateway.nacional.layouts import parse
from gateway.nacional.signature import pack, unpack, verify
from gateway.registry import REGISTRY
from operations import services
from operations.certificate import destroy_certificate, keep_certificate
from operations.company import CompanyError, add_company
from operations.person import issuer_of
from operations.protocol import reprocess
from persistence.people.companies import get_company
from persistence.people.person import erase, find
from proofs.demo.world import COMPANY
from proofs.sandbox.nacional.register import City
from proofs.sandbox.nacional.sefin import NacionalConfig
from state_machine.documents import ConteudoServico, DocumentoServico, Tomador, dump, load
from state_machine.protocol.channel import Ambiente, Canal, conversation
from state_machine.protocol.emission import Absent
from state_machine.services.codes import Servico
from tests.narrowing import bound_to
from tests.road.road_people import PADARIA, QUICK, Person, new_phone, open_road, unlike, until
from tests.road.road_stage import waits_passing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from operations.company import CompanyForm
    from proofs.sandbox.nacional.sefin import SefinSimulator
    from proofs.sandbox.world import World
    from tests.road.road_people import Road

NAME = "nacional"
SENHA = "senha-do-a1"
FORM = replace(COMPANY, regime="simples", canal=NAME, tributos_sn="6")
NORMAL: dict[str, Any] = {
    "regime": "normal",
    **{f"tributos_{whose}": "2" for whose in ("federal", "estadual", "municipal")},
}
CNPJ = COMPANY.cnpj
CITIES: dict[str, City] = {}
_ADDRESS = """
SELECT (t.bairro, s.rascunho #>> '{endereco,status}') FROM nfse_emissao e JOIN cliente_tomador t ON t.id = e.tomador_id
JOIN session_snapshot s ON s.id = e.session_id WHERE e.sessao_id = $1
"""
_STATUS = "SELECT status FROM nfse_emissao WHERE sessao_id = $1 ORDER BY id DESC LIMIT 1"


async def _led_there(world: World) -> dict[str, Any]:
    """Return the settings that lead to the simulated authority."""
    urls = world.urls
    return {
        "nacional_sefin_url": urls.nacional_sefin,
        "nacional_adn_url": urls.nacional_adn,
        "nacional_ca_file": Path(urls.nacional_ca_file or ""),
        "master_key": SecretStr(base64.b64encode(b"k" * 32).decode()),
        "fiscal_environment": "homologacao",
    }


@pytest.fixture(scope="module")
async def opened(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    config = replace(QUICK, nacional=NacionalConfig(cities=CITIES))
    async with open_road(database_url, redis_url, config=config, between=_led_there) as road:
        await _certificate(road)
        yield road


@pytest.fixture
async def road(opened: Road) -> AsyncIterator[Road]:
    """The module's road with all faults mended, whose company has its main service alone."""
    for simulator in opened.world.simulators:
        simulator.faults.clear()
    yield opened
    await opened.database.pool.execute("DELETE FROM empresa_servico")


@pytest.fixture
def sefin(road: Road) -> SefinSimulator:
    """The authority."""
    return road.world.sefin


async def _certificate(road: Road, form: CompanyForm = FORM) -> None:
    """Give the company a new certificate."""
    await add_company(road.database, form, None, REGISTRY)
    pfx = road.world.authority.pfx_for(form.cnpj, SENHA, days=300 + time.monotonic() % 60)
    cofre, roots = vault_of(road.house.settings), road.world.authority.ca_file.read_bytes()
    await keep_certificate(road.database, cofre, cnpj=form.cnpj, arquivo=pfx, senha=SENHA, raizes=roots)


async def _confirmed(road: Road, form: CompanyForm = FORM) -> tuple[Person, str]:
    """Return somebody new of the company who confirmed an invoice, and its session."""
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(form, usuarios=(person.who,)), None, REGISTRY)
    await person.say(unlike())
    await person.touch("Confirmar")

    async def taken() -> Any:
        session = await road.session(person)
        return session["sessao_id"] if session["estado"] in {"processando", "aprovado", "erro"} else None

    return person, await until(taken)


async def _told(person: Person, words: str) -> None:
    """Wait until the person has read these words."""

    async def read() -> bool:
        return any(words in answer for answer in person.answers)

    await until(read)


async def _status(road: Road, session: str) -> str:
    return str(await road.database.pool.fetchval(_STATUS, session))


async def _one_note(road: Road, sefin: SefinSimulator, session: str) -> Any:
    """The judge: SEFIN's book has one note of this session's number, and we tell it as issued."""

    async def done() -> bool:
        return await _status(road, session) == "concluido"

    await until(done)
    row = await road.database.pool.fetchrow(
        "SELECT e.chave_natural, e.id_externo, p.numero FROM nfse_emissao e "
        "JOIN nfse_processada p ON p.emissao_id = e.id WHERE e.sessao_id = $1",
        session,
    )
    [note] = sefin.of_dps(row["chave_natural"])
    assert (note.chave, str(note.numero)) == (row["id_externo"], row["numero"])
    return note


async def _steps(road: Road, session: str) -> list[tuple[str, str]]:
    """Return the calls about a session, and what they were taken for."""
    calls = await road.database.pool.fetch(
        "SELECT operacao, resultado FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id "
        "WHERE e.sessao_id = $1 AND operacao IN ('submit', 'find') ORDER BY t.id",
        session,
    )
    return [tuple(call) for call in calls]


async def test_a_certificate_that_is_refused_stops_the_company(road: Road, sefin: SefinSimulator) -> None:
    """E1203: its person is told; when somebody released the company, the stored bytes go out.

    It stands first: an order that arrives late would meet the refusal in its place.
    """
    sefin.faults.set("certificado_recusado", times=1, method="POST")
    person, session = await _confirmed(road)
    await person.expect("recusou o certificado")
    await _certificate(road)
    await _one_note(road, sefin, session)


async def test_a_city_without_agreement_is_told_before_the_summary(road: Road) -> None:
    """The periodic job asks ADN once a day; its no is said in the summary's place, its silence refuses nothing."""
    pool, adn = road.database.pool, road.world.adn

    async def asked(*, emissor: bool | None, later: bool = True) -> None:  # the schedule itself may come first
        if later:
            await pool.execute(
                "UPDATE cidade_parametro SET tentado_em = tentado_em - interval '1 day', "
                "convenio_em = convenio_em - interval '1 day', aliquota_em = aliquota_em - interval '1 day'"
            )
        await road.house.schedule.run_job("cities")

        async def told() -> bool:
            return bool(await pool.fetchval("SELECT emissor IS NOT DISTINCT FROM $1 FROM cidade_parametro", emissor))

        await until(told)

    await pool.execute("DELETE FROM cidade_parametro")
    adn.faults.set("erro_500")
    await asked(emissor=None)
    adn.faults.clear()
    CITIES[FORM.municipio] = City(issues=False)
    await asked(emissor=None, later=False)  # it is left alone for an hour
    await asked(emissor=False)
    calls = len(adn.ledger.of("call"))
    await asked(emissor=False, later=False)
    assert len(adn.ledger.of("call")) == calls
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    refused = await person.say(unlike())
    assert "não liberou o emissor nacional" in refused.text
    assert refused.buttons == ()
    CITIES.clear()
    await asked(emissor=True)
    await person.say("resumo")
    await person.touch("Confirmar")
    await person.files(late=True)


async def test_a_conversation_becomes_a_note(road: Road, sefin: SefinSimulator) -> None:
    """One call: the number is ours, the note carries our reference, its XML is kept, each use of the key is audited."""
    person, session = await _confirmed(road)
    note = await _one_note(road, sefin, session)
    pdf, sent = await person.files(late=True)
    assert pdf.startswith(b"%PDF")
    assert note.chave.encode() in sent
    assert await _steps(road, session) == [("submit", "Issued")]
    assert note.id_dps[25:30] == "00900"
    pool = road.database.pool
    xml = await pool.fetchval(
        "SELECT conteudo FROM nfse_documento d JOIN nfse_emissao e ON e.id = d.emissao_id WHERE e.sessao_id = $1",
        session,
    )
    assert note.chave.encode() in xml
    row = await pool.fetchrow(
        "SELECT p.*, e.resposta_gateway, e.chave_natural FROM nfse_processada p "
        "JOIN nfse_emissao e ON e.id = p.emissao_id WHERE e.sessao_id = $1",
        session,
    )  # ADR 9
    assert {row[name] for name in ("webhook_payload", "url_xml", "url_pdf", "protocolo")} == {None}
    assert (row["chave"], row["chave_natural"]) == (note.chave, note.id_dps)
    assert note.chave in str(row["resposta_gateway"])
    uses = await pool.fetch(
        "SELECT detalhe FROM auditoria WHERE acao = 'usou o certificado' AND alvo = $1", note.id_dps
    )
    assert "assinar" in str([dict(use) for use in uses])


@pytest.mark.parametrize("fault", ["perder_resposta", "erro_500_aceito", "html_200_aceito", "json_truncado"])
async def test_an_answer_that_is_lost_is_asked_for(road: Road, sefin: SefinSimulator, fault: str) -> None:
    """The note is there: it is found under its DPS, and never sent again."""
    sefin.faults.set(fault, times=1, method="POST")
    _, session = await _confirmed(road)
    await _one_note(road, sefin, session)
    assert [step for step in await _steps(road, session) if step[0] == "submit"] == [("submit", "Unknown")]


async def test_what_is_accepted_late_is_one_note(road: Road, sefin: SefinSimulator) -> None:
    """Taken after the connection broke, while three looks find nothing: the second copy is refused or the first is."""
    sefin.faults.set("aceitar_tarde", times=1, seconds=2.0, method="POST")
    async with waits_passing(road):
        _, session = await _confirmed(road)
        await _one_note(road, sefin, session)


async def test_a_duplicate_leads_to_the_note(road: Road, sefin: SefinSimulator) -> None:
    """Not shown yet when it was looked for three times: the stored bytes go again, E0014 says that there is one."""
    sefin.faults.set("perder_resposta", times=1, method="POST")
    sefin.faults.set("leitura_atrasada", seconds=600)
    async with waits_passing(road):
        _, session = await _confirmed(road)

        async def refused() -> bool:
            return ("submit", "Duplicate") in await _steps(road, session)

        await until(refused)
        sefin.faults.clear()
        await _one_note(road, sefin, session)
    assert [step for step in await _steps(road, session) if step[0] == "submit"] == [
        ("submit", "Unknown"),
        ("submit", "Duplicate"),
    ]


async def test_a_company_without_a_certificate_is_told_and_waits(road: Road, sefin: SefinSimulator) -> None:
    """Nothing leaves, the person hears why in plain words, and a new certificate lets it go by itself."""
    await destroy_certificate(road.database, CNPJ)
    person, session = await _confirmed(road)
    told = await person.expect("certificado digital (A1)")
    assert "Ainda não emiti" in told.text
    stopped = "SELECT envio_suspenso FROM empresa WHERE cnpj = $1"
    assert await road.database.pool.fetchval(stopped, CNPJ) == "no usable certificate"
    assert await _status(road, session) == "pendente"
    await _certificate(road)
    await _one_note(road, sefin, session)

    async def goes() -> bool:
        return await road.database.pool.fetchval(stopped, CNPJ) is None

    await until(goes)


async def test_a_certificate_that_comes_while_its_absence_is_told_is_used_soon(
    road: Road, sefin: SefinSimulator
) -> None:
    """The company stops after its repair, of which nobody hears again: its first probe is 15 s away."""
    pool = road.database.pool
    worker: Any = bound_to(road.house.pumps["emissions"]._work)
    gateway = worker._channels.of(Canal(NAME, Ambiente.HOMOLOGACAO))
    prepare = type(gateway).prepare

    async def slow(*words: Any) -> Any:
        gateway.prepare = prepare.__get__(gateway)
        made = await gateway.prepare(*words)
        await _certificate(road)
        return made

    await destroy_certificate(road.database, CNPJ)
    gateway.prepare = slow
    _, session = await _confirmed(road)
    held = "SELECT id FROM nfse_emissao WHERE sessao_id = $1 AND retida = 'credencial' AND lease_until IS NULL"
    emission = await until(lambda: pool.fetchval(held, session))
    await pool.execute("UPDATE empresa SET sonda_em = sonda_em - interval '15 s' WHERE cnpj = $1", CNPJ)
    passed = "UPDATE nfse_emissao SET proxima_acao_em = proxima_acao_em - interval '15 s' WHERE id = $1"
    await pool.execute(passed, emission)
    await _one_note(road, sefin, session)


async def test_a_certificate_of_monday_lets_the_notes_of_friday_go(road: Road, sefin: SefinSimulator) -> None:
    """The person was asked meanwhile and said nothing: the cause was ours, and when it ends the note goes by itself."""
    pool = road.database.pool
    await destroy_certificate(road.database, CNPJ)
    person, session = await _confirmed(road)
    stopped = "SELECT envio_suspenso FROM empresa WHERE cnpj = $1"
    await until(lambda: pool.fetchval(stopped, CNPJ))
    older = """UPDATE nfse_emissao SET criado_em = criado_em - interval '3 days', proxima_acao_em = now()
        WHERE sessao_id = $1 AND lease_until IS NULL RETURNING id"""
    await until(lambda: pool.fetchval(older, session))
    await until(lambda: pool.fetchval("SELECT retida = 'pessoa' FROM nfse_emissao WHERE sessao_id = $1", session))
    await _certificate(road)
    await _one_note(road, sefin, session)
    assert (await road.reached(person, "aprovado"))["sessao_id"] == session


async def test_what_was_signed_is_what_leaves(road: Road, sefin: SefinSimulator) -> None:
    """The worker dies between signing and sending, and the certificate is replaced: the stored bytes go, once."""
    worker: Any = bound_to(road.house.pumps["emissions"]._work)
    gateway = worker._channels.of(Canal(NAME, Ambiente.HOMOLOGACAO))
    submit = type(gateway).submit

    async def dies(*_: Any) -> Any:
        raise RuntimeError("the worker ends before the first byte leaves")

    gateway.submit = dies
    try:
        _, session = await _confirmed(road)
        pool = road.database.pool
        died = "SELECT id FROM nfse_emissao WHERE sessao_id = $1 AND status = 'enviando' AND NOT a_preparar"
        emission = await until(lambda: pool.fetchval(died, session))
    finally:
        gateway.submit = submit.__get__(gateway)
    await _certificate(road)
    signed = await pool.fetchval("SELECT bytes FROM nfse_emissao WHERE id = $1", emission)
    async with waits_passing(road, leases=True):
        note = await _one_note(road, sefin, session)
    assert await pool.fetchval("SELECT bytes FROM nfse_emissao WHERE id = $1", emission) == signed
    assert note.dps_sha256 == hashlib.sha256(signed).hexdigest()
    assert load(await pool.fetchval("SELECT intencao::text FROM nfse_emissao WHERE id = $1", emission))


async def test_what_was_signed_by_a_certificate_that_lapsed_is_made_anew(
    road: Road, sefin: SefinSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E0715 of the signature itself: the same bytes would be refused for ever, and stop the company for ever."""
    now = sefin.ledger.now
    monkeypatch.setattr(sefin.ledger, "now", lambda: now() + timedelta(days=400))
    person, session = await _confirmed(road)
    await person.expect("recusou o certificado")
    [refused] = await road.database.pool.fetch("SELECT id, bytes FROM nfse_emissao WHERE sessao_id = $1", session)
    await _certificate(road)
    monkeypatch.undo()  # not before: the company is tried again every second, and would be taken with the lapsed one
    note = await _one_note(road, sefin, session)
    sent = await road.database.pool.fetchval("SELECT bytes FROM nfse_emissao WHERE id = $1", refused["id"])
    reference = str(_key_of(sent))
    assert note.dps_sha256 == hashlib.sha256(sent).hexdigest()
    assert verify(sent, reference) != verify(refused["bytes"], reference)
    assert [what for _, what in await _steps(road, session)][:1] == ["Misconfigured"]


async def test_an_equal_note_of_another_confirmation_gets_the_next_number(road: Road, sefin: SefinSimulator) -> None:
    """Our number is taken by a note of equal content: its reference is not ours, so ours goes out under the next."""
    worker: Any = bound_to(road.house.pumps["emissions"]._work)
    gateway = worker._channels.of(Canal(NAME, Ambiente.HOMOLOGACAO))
    submit = type(gateway).submit

    async def after_the_other(payload: bytes) -> Any:
        """Take the number for the same content under another reference."""
        intent = load(before[0])
        other = replace(intent, id_integracao="de-antes-do-backup-r1-1")
        made = await type(gateway).prepare(gateway, dump(other), datetime.now(UTC))
        sefin.submit(pack(made))
        gateway.submit = submit.__get__(gateway)
        return await submit(gateway, payload)

    before: list[bytes] = []
    prepare = type(gateway).prepare

    async def seen(payload: bytes, agora: datetime, antes: Sequence[bytes] = ()) -> Any:
        before.append(payload)
        return await prepare(gateway, payload, agora, antes)

    gateway.submit, gateway.prepare = after_the_other, seen
    try:
        person, session = await _confirmed(road)
        assert (await road.reached(person, "aprovado"))["sessao_id"] == session
    finally:
        gateway.submit, gateway.prepare = submit.__get__(gateway), prepare.__get__(gateway)
    pool = road.database.pool
    rows = await pool.fetch("SELECT * FROM nfse_emissao WHERE sessao_id = $1 ORDER BY tentativa", session)
    assert [row["status"] for row in rows] == ["rejeitado", "concluido"]
    assert rows[1]["numero_rps"] == rows[0]["numero_rps"] + 1
    why = "SELECT motivo FROM numeracao_uso WHERE emissao_id = $1 AND inutilizado_em IS NOT NULL"
    assert "outra confirmação" in await pool.fetchval(why, rows[0]["id"])
    assert not any("recus" in answer for answer in person.answers)


async def test_a_second_attempts_own_late_note_is_its_own(road: Road, sefin: SefinSimulator) -> None:
    """It keeps the refused one's number: seen absent three times, its note shows where the first one is asked about."""
    sefin.faults.set("recusar_na_porta", times=1, message="E0714", method="POST")
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    await person.say(unlike())
    await person.touch("Confirmar")
    session = (await road.reached(person, "rejeitado"))["sessao_id"]
    worker: Any = bound_to(road.house.pumps["emissions"]._work)
    gateway = worker._channels.of(Canal(NAME, Ambiente.HOMOLOGACAO))
    find = type(gateway).find
    absences = 0

    async def counted(key: Any) -> Any:
        nonlocal absences
        answer = await find(gateway, key)
        if isinstance(answer, Absent) and ("submit", "Unknown") in await _steps(road, session):
            absences += 1
            if absences == gateway.natureza.absences:  # the one that lets the bytes go again: now reads show the note
                sefin.faults.clear()
        return answer

    gateway.find = counted
    try:
        sefin.faults.set("perder_resposta", times=1, method="POST")
        sefin.faults.set("leitura_atrasada", seconds=600)
        await reprocess(road.database, f"{session}-r1-1")
        async with waits_passing(road):
            await _one_note(road, sefin, session)
    finally:
        del gateway.find
    rows = await road.database.pool.fetch(
        "SELECT status FROM nfse_emissao WHERE sessao_id = $1 ORDER BY tentativa", session
    )
    assert [row["status"] for row in rows] == ["rejeitado", "concluido"]
    assert [step for step, _ in await _steps(road, session)].count("submit") == 2


async def test_what_makes_no_dps_is_asked_for_before_the_summary(road: Road, sefin: SefinSimulator) -> None:
    """A month that has not begun, a person's CPF without a name: the field is asked for, and there is no summary."""
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    made = len(sefin.ledger.of("nfse.issued")) + len(sefin.ledger.of("nfse.refused"))
    asked = await person.say(f"{unlike()}, competência 01/{datetime.now(UTC).year + 1}")
    assert "mês da prestação" in asked.text
    assert not asked.buttons
    asked = await person.say("sim")
    assert not any(button.title == "Confirmar" for button in asked.buttons)
    shown = await person.say(f"competência {datetime.now(UTC):%m/%Y}")
    assert any(button.title == "Confirmar" for button in shown.buttons), shown.text
    assert len(sefin.ledger.of("nfse.issued")) + len(sefin.ledger.of("nfse.refused")) == made
    nameless = await person.say("o cliente é o CPF 529.982.247-25")
    assert "nome" in nameless.text
    assert not any(button.title == "Confirmar" for button in nameless.buttons)
    assert (await road.session(person))["estado"] == "dados_incompletos"
    shown = await person.say("Maria da Silva")
    assert any(button.title == "Confirmar" for button in shown.buttons), shown.text
    assert "Maria da Silva" in shown.text


async def test_a_registration_that_makes_no_dps_is_told_before_the_summary(road: Road) -> None:
    """Nothing that the person says repairs it: nothing can be confirmed, and the data are there after the repair."""
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    pool, change = road.database.pool, "UPDATE empresa SET codigo_servico = $2 WHERE cnpj = $1"
    before = await pool.fetchval("SELECT codigo_servico FROM empresa WHERE cnpj = $1", CNPJ)
    try:
        await pool.execute(change, CNPJ, "0107")
        told = await person.say(unlike())
        assert "ainda não pode sair" in told.text
        assert not told.buttons
    finally:
        await pool.execute(change, CNPJ, before)
    shown = await person.say("resumo")
    assert any(button.title == "Confirmar" for button in shown.buttons), shown.text


async def test_a_check_that_fails_blocks_nobody(road: Road, sefin: SefinSimulator) -> None:
    """Its processes do not answer: the summary is shown, and what is wrong is refused after the yes, as ever."""
    worker: Any = bound_to(road.house.pumps["emissions"]._work)
    gateway = worker._channels.of(Canal(NAME, Ambiente.HOMOLOGACAO))
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    made = len(sefin.ledger.of("nfse.issued")) + len(sefin.ledger.of("nfse.refused"))

    async def fails(*_: Any) -> Any:
        raise RuntimeError("no check today")

    gateway.check = fails
    try:
        await person.say(f"{unlike()}, competência 01/{datetime.now(UTC).year + 1}")
        await person.touch("Confirmar")
    finally:
        del gateway.check
    session = await road.reached(person, "rejeitado")
    await _told(person, "mês da prestação")
    assert await _status(road, session["sessao_id"]) == "rejeitado"
    assert len(sefin.ledger.of("nfse.issued")) + len(sefin.ledger.of("nfse.refused")) == made


async def test_a_fault_of_ours_stops_nobody(road: Road, sefin: SefinSimulator) -> None:
    """E0714: that invoice is refused with a word to staff; the next one goes out, and this one when they reprocess it.

    It is signed anew, under the number that it had.
    """
    sefin.faults.set("recusar_na_porta", times=1, message="E0714", method="POST")
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    await person.say(unlike())
    await person.touch("Confirmar")
    refused = (await road.reached(person, "rejeitado"))["sessao_id"]
    await _told(person, "suporte")
    _, session = await _confirmed(road)
    await _one_note(road, sefin, session)
    await reprocess(road.database, f"{refused}-r1-1")
    again = await _one_note(road, sefin, refused)
    first = "SELECT chave_natural FROM nfse_emissao WHERE id_integracao = $1"
    assert again.id_dps == await road.database.pool.fetchval(first, f"{refused}-r1-1")


async def test_a_wrong_note_is_cancelled_by_a_signed_event_and_made_anew(road: Road, sefin: SefinSimulator) -> None:
    """What may not be substituted is said; one yes each; the answer may be lost, the event is there once."""
    person, session = await _confirmed(road)
    note = await _one_note(road, sefin, session)
    await person.files(late=True)
    sefin.faults.set("perder_resposta", times=1, method="POST")
    told = await person.say(f"corrige a nota {note.numero}, o valor era 1.800")
    assert "MEI ou Simples também não se substitui" in told.text
    await person.press("Cancelar e refazer", told)
    await person.press("Cancelar a nota")
    async with waits_passing(road):
        cancelled = await person.expect(f"Nota {note.numero} cancelada")
    assert [event.tipo for event in sefin.notes[note.chave].events] == ["101101"]
    redone = await person.press("Refazer", cancelled)
    assert "para R$ 1.800,00.*" in redone.text
    await person.touch("Confirmar", redone)
    anew = await _one_note(road, sefin, (await road.session(person))["sessao_id"])
    assert (anew.valor, anew.tomador) == (Decimal(1800), note.tomador)


async def test_a_refused_substitution_goes_on_as_cancel_and_redo(road: Road, sefin: SefinSimulator) -> None:
    """The correction is kept; nothing is issued beside the old note while it stands, by no word or button."""
    form = replace(FORM, tributos_sn=None, **NORMAL)
    group = services.ServiceForm(codigo="17.01.01", nbs="115061000", ind_op="030101")
    await services.add(road.database, CNPJ, replace(group, principal=True))
    person, session = await _confirmed(road, replace(form, codigo_servico="170101"))
    note = await _one_note(road, sefin, session)
    await person.files(late=True)  # the PDF is drawn of a note that has the group of the new taxes
    sent = await road.database.pool.fetchval("SELECT bytes FROM nfse_emissao WHERE sessao_id = $1", session)
    assert b"<cIndOp>030101</cIndOp><indDest>0</indDest>" in sent
    assert b"<CST>000</CST><cClassTrib>000001</cClassTrib>" in sent
    offered = await person.say(f"corrige a nota {note.numero}, o valor era 1.800")
    shown = await person.press("Substituir a nota", offered)
    assert f"Substitui a nota {note.numero}" in shown.text
    sefin.faults.set("rejeitar", times=1, message="E0061")
    await person.touch("Confirmar", shown)
    async with waits_passing(road):
        refused = await person.expect("não pode ser substituída")
    assert "a nota de MEI ou Simples não se substitui" in refused.text
    for again in ("o valor era 1.900", "retoma a nota"):
        answer = await person.say(again)
        assert "não pode ser substituída" in answer.text
        assert [button.title for button in answer.buttons] == ["Cancelar e refazer"]
    assert not sefin.notes[note.chave].events
    await person.press("Cancelar e refazer", refused)
    await person.press("Cancelar a nota")
    async with waits_passing(road):
        cancelled = await person.expect(f"Nota {note.numero} cancelada")
    redone = await person.press("Refazer", cancelled)
    assert "1.800,00" in redone.text
    assert "Substitui" not in redone.text
    await person.touch("Confirmar", redone)
    anew = await _one_note(road, sefin, (await road.session(person))["sessao_id"])
    assert (anew.valor, anew.tomador) == (Decimal(1800), note.tomador)
    assert [event.tipo for event in sefin.notes[note.chave].events] == ["101101"]
    gone = await person.press("Substituir a nota", offered)
    assert f"A nota {note.numero} já não vale" in gone.text


async def test_nothing_is_issued_beside_the_note_that_it_replaces(road: Road) -> None:
    """A note of which the authority has no key here is replaced by none: said before the summary, refused after."""
    _, session = await _confirmed(road)
    house = road.house
    company = "SELECT prestador_id FROM nfse_emissao WHERE sessao_id = $1"
    async with house.database.transaction() as connection:
        empresa, agora = await get_company(connection, await road.database.pool.fetchval(company, session))
    confirmed = Confirmed(
        origin=conversation("sem-par", 1, None),
        tentativa=1,
        empresa=empresa,
        documento=DocumentoServico(
            prestador=issuer_of(empresa, Servico(empresa.codigo_servico)),
            tomador=Tomador("12345678000195", "PADARIA"),
            valor=Decimal(1800),
            competencia=agora.date(),
            descricao="consultoria",
        ),
        substitui=987654321,
    )
    told = await house.door.complaint(house.database, confirmed)
    assert told is not None
    assert "outro emissor" in told.texto
    with pytest.raises(ValueError, match="beside the one"):
        async with house.database.transaction() as connection:
            await house.door.accept(connection, confirmed, "sem-par")


async def test_a_note_cancelled_on_the_portal_is_told_once(road: Road, sefin: SefinSimulator) -> None:
    """The event in ADN's list is believed while SEFIN tells of no events; our own cancellation there is no news."""
    person, session = await _confirmed(road)
    note = await _one_note(road, sefin, session)
    await person.files(late=True)
    sefin.faults.set("erro_500", about="eventos")
    sefin.cancel_elsewhere(note.chave)
    pool = road.database.pool

    async def read() -> None:
        """Read the list from its beginning, as far as it goes."""
        await pool.execute("UPDATE distribuicao SET nsu = 0, proxima_em = now(), calado_ate = NULL")
        await road.house.schedule.run_job("documents")
        last = max(max(each.nsu, *(event.nsu for event in each.events), 0) for each in sefin.notes.values())
        await until(lambda: pool.fetchval("SELECT true FROM distribuicao WHERE nsu >= $1", last))

    await read()
    await _told(person, "fora da Prosa")
    await read()
    await road.settled()
    assert sum("fora da Prosa" in answer for answer in person.answers) == 1
    status = "SELECT status FROM nfse_processada WHERE id_externo = $1"
    assert await pool.fetchval(status, note.chave) == "cancelado"
    ours = "SELECT count(*) FROM nota_de_fora n JOIN nfse_emissao e ON e.id_externo = n.chave"
    assert await pool.fetchval(ours) == 0
    portal = sefin.issue_elsewhere(CNPJ, tomador="12345678000195", valor=Decimal("71.50"), municipio=FORM.municipio)
    audited = await road.house.audit.run(cnpj=CNPJ, canal=NAME)
    [line] = [line for line in lines(audited) if portal.chave in line]
    assert "SÓ NO GATEWAY" in line
    assert "71,50" in line
    assert not any(note.chave in line for line in lines(audited))
    assert status_of(audited) == DIFFERS
    assert await road.house.audit.run(cnpj=CNPJ, canal="plugnotas") == []


async def test_a_note_of_ours_that_the_authoritys_list_lacks_is_told_by_the_daily_audit(
    road: Road, sefin: SefinSimulator
) -> None:
    """A day after it was issued, and until the list has it; what the list has named once is not looked for again."""
    person, session = await _confirmed(road)
    note = await _one_note(road, sefin, session)
    await person.files(late=True)
    pool = road.database.pool
    lost = sefin.notes.pop(note.chave)
    dps = await pool.fetchval("SELECT chave_natural FROM nfse_emissao WHERE sessao_id = $1", session)

    async def told() -> list[Any]:
        await pool.execute("DELETE FROM job_slots WHERE job LIKE 'conferencia:%'")
        with capture_logs() as logs:
            assert await road.house.audit.daily() >= 1
        ours = [each for each in logs if each.get("kind") == "so_nossas" and each["event"] == "audit_differs"]
        return [each["ids"] for each in ours]

    await pool.execute("UPDATE distribuicao SET nsu = 0, calado_ate = NULL")
    await pool.execute("UPDATE nfse_emissao SET listada_em = NULL WHERE sessao_id = $1", session)
    assert await told() == []
    earlier = "criado_em = criado_em - interval '30 h'"
    await pool.execute(
        f"UPDATE nfse_emissao SET {earlier}, enviado_em = enviado_em - interval '30 h' WHERE sessao_id = $1",  # noqa: S608
        session,
    )
    await pool.execute(
        f"UPDATE nfse_processada SET {earlier} WHERE emissao_id = "  # noqa: S608
        "(SELECT id FROM nfse_emissao WHERE sessao_id = $1)",
        session,
    )
    assert await told() == [[dps]]
    sefin.notes[note.chave] = lost
    await pool.execute("UPDATE distribuicao SET nsu = 0")
    assert await told() == []
    del sefin.notes[note.chave]
    await pool.execute("UPDATE distribuicao SET nsu = 0")
    assert await told() == []
    sefin.notes[note.chave] = lost


async def test_a_company_of_the_simples_says_its_burden(road: Road) -> None:
    """Without it nothing is stored, and the refusal says what to do; the series is 900 unless another is said."""
    bare = replace(FORM, cnpj="99.000.002/0001-48", tributos_sn=None, usuarios=())
    with pytest.raises(CompanyError, match="--tributos-sn"):
        await add_company(road.database, bare, None, REGISTRY)
    pool = road.database.pool
    assert await pool.fetchval("SELECT count(*) FROM empresa WHERE cnpj = '99000002000148'") == 0
    await add_company(road.database, replace(bare, tributos_sn="6,5"), None, REGISTRY)
    row = await pool.fetchrow(
        "SELECT e.serie_rps, e.tributos_sn, c.canal FROM empresa e JOIN empresa_canal c ON c.empresa_id = e.id "
        "WHERE e.cnpj = '99000002000148'"
    )
    assert (row["serie_rps"], str(row["tributos_sn"]), row["canal"]) == ("900", "6.50", NAME)
    with pytest.raises(CompanyError, match="série"):
        await add_company(road.database, replace(bare, tributos_sn="6", serie_rps="A1"), None, REGISTRY)


async def test_the_code_is_chosen_among_the_companys_by_the_description(road: Road, sefin: SefinSimulator) -> None:
    """The list is asked, a number answers it, words correct it; what the summary shows is issued, and its cNBS."""
    await add_company(road.database, replace(FORM, codigo_servico="010101"), None, REGISTRY)
    await services.add(road.database, CNPJ, services.ServiceForm(codigo="01.07.01"))
    await services.add(road.database, CNPJ, services.ServiceForm(codigo="17.01.01", nbs="1.1506.10.00"))
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    assert (
        "Em qual serviço da sua empresa"
        in (await person.say("nota de 310 reais pro CNPJ 12.345.678/0001-95, serviço: trabalho de outubro")).text
    )
    assert "Código do serviço: 01.07.01 – Suporte técnico" in (await person.say("2")).text
    assert "Código do serviço: 17.01.01 – Assessoria ou consultoria" in (await person.say("o serviço é o 3")).text
    await person.touch("Confirmar")

    async def taken() -> Any:
        session = await road.session(person)
        return session["sessao_id"] if session["estado"] in {"processando", "aprovado", "erro"} else None

    session = await until(taken)
    await _one_note(road, sefin, session)
    row = await road.database.pool.fetchrow("SELECT * FROM nfse_emissao WHERE sessao_id = $1", session)
    assert b"<cTribNac>170101</cTribNac>" in row["bytes"]
    assert b"<cNBS>115061000</cNBS>" in row["bytes"]
    confirmed = ConteudoServico(
        row["prestador_cnpj"], row["tomador_documento"], "170101", row["valor_servico"], row["competencia"],
        row["descricao_servico"],
    )  # fmt: skip
    assert (row["codigo_servico"], row["impressao"]) == ("170101", confirmed.impressao)
    assert replace(confirmed, codigo_servico="010101").impressao != row["impressao"]


async def test_the_customers_address_is_asked_for_in_one_question(
    road: Road, sefin: SefinSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E0237 leads to one question; its answer is in summary and note, and an erasure leaves it in the note alone."""
    monkeypatch.setitem(CITIES, FORM.municipio, City(retains=True))
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    await person.say(unlike().replace(PADARIA, "Maria Souza Lima, CPF 529.982.247-25"))  # the register knows no person
    await person.touch("Confirmar")
    await person.expect("a nota pede o endereço do cliente")
    assert "o CEP e o número" in (await person.press("Corrigir nota")).text
    assert "Não achei o número" in (await person.say("01310-100")).text
    summary = await person.say("CEP 01310-100, número 1000")
    assert "Endereço do cliente: Avenida Paulista, 1000, Bela Vista, São Paulo/SP, 01310-100\n" in summary.text
    assert len(road.world.cnpj.ledger.of("cep")) == 2
    await person.touch("Confirmar")
    session = (await road.session(person))["sessao_id"]
    note = await _one_note(road, sefin, session)
    address = next(parse(unpack(note.packed)).iter("{*}toma")).find("{*}end")
    assert [(part.tag.rpartition("}")[2], part.text) for part in address.iter() if not len(part)] == [
        ("cMun", "3550308"),
        ("CEP", "01310100"),
        ("xLgr", "Avenida Paulista"),
        ("nro", "1000"),
        ("xBairro", "Bela Vista"),
    ]
    assert await road.database.pool.fetchval(_ADDRESS, session) == ("Bela Vista", "validated")
    await road.settled()
    async with road.database.transaction() as connection:  # who is forgotten leaves it in the note alone
        await erase(connection, await find(connection, "52998224725"))
    assert await road.database.pool.fetchval(_ADDRESS, session) == (None, "null")
