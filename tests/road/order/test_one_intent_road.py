"""One confirmation, one note: refusals, duplicates and answers that come while an earlier call is undecided."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from operations.protocol import CommandRefusedError, reprocess, send_stored
from persistence.access.accounts import Alcance
from persistence.staff.queue import Filtros, needing_eyes
from proofs.sandbox.phone.switches import VALUE_REFUSED
from proofs.sandbox.plugnotas.model import ISSUED, access_key
from tests.road.road_people import unlike, until
from tests.road.road_stage import ABSENT, waits_passing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.road.road_people import Person, Road

EXPIRED = "O certificado digital está vencido"
E0014 = '[{"Codigo":"E0014","Descricao":"Esta DPS já existe em uma NFS-e gerada anteriormente."}]'
A_DAY_LATER = """
UPDATE nfse_emissao SET criado_em = criado_em - interval '25 h', desejado_em = desejado_em - interval '25 h'
WHERE id_integracao = $1
"""
AN_HOUR_LATER = "UPDATE nfse_emissao SET proxima_acao_em = now() WHERE id_integracao = $1 AND retida = 'pessoa'"


async def _confirm(road: Road) -> tuple[Person, str]:
    """Return somebody who has just confirmed, and the reference of the emission."""
    ana = await road.person()
    await ana.say(unlike())
    await ana.touch("Confirmar")
    return ana, (await road.reached(ana, "processando"))["id_integracao"]


async def _row(road: Road, key: str) -> Any:
    return await road.database.pool.fetchrow("SELECT * FROM nfse_emissao WHERE id_integracao = $1", key)


async def _until_row(road: Road, key: str, condition: Callable[[Any], bool]) -> Any:
    async def reached() -> Any:
        row = await _row(road, key)
        return row if row and condition(row) else None

    return await until(reached)


async def _absent_once(road: Road, key: str) -> None:
    """Wait for the first absence; the bytes leave again half a minute later at the soonest, after a second one."""
    await _until_row(road, key, lambda row: row["ausente_desde"] is not None)


async def _absent_twice(road: Road, key: str) -> None:
    """Let the half minute between two absences pass at once."""
    await _absent_once(road, key)
    await road.database.pool.execute(f"{ABSENT} WHERE id_integracao = $1", key)


async def _tries(road: Road, key: str, *, at_least: int) -> list[tuple[str, str]]:
    async def enough() -> list[tuple[str, str]]:
        rows = await road.database.pool.fetch(
            "SELECT operacao, resultado FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id "
            "WHERE e.id_integracao = $1 ORDER BY t.id",
            key,
        )
        return [(row["operacao"], row["resultado"]) for row in rows] if len(rows) >= at_least else []

    found: list[tuple[str, str]] = await until(enough)
    return found


async def test_a_refusal_after_a_lost_first_call_is_not_the_end(road: Road) -> None:
    """POST 1 is lost and arrives late, absent twice, POST 2 of the key is refused: the note is told all the same."""
    gateway = road.world.plugnotas
    gateway.faults.set("erro_500", times=1, method="POST")
    ana, key = await _confirm(road)
    await _absent_once(road, key)
    gateway.faults.set("recusar_na_porta", message=EXPIRED, times=1)
    await _absent_twice(road, key)
    tries = await _tries(road, key, at_least=4)
    assert ("submit", "Rejected") in tries, tries
    row = await _row(road, key)
    assert row["status"] != "rejeitado"
    assert row["recusa"]["mensagem"] == EXPIRED
    with pytest.raises(CommandRefusedError, match="só se refaz o que foi recusado"):
        await reprocess(road.database, key)
    await _deliver_late(road, row["bytes"])
    await ana.files()
    await road.settled()
    assert [note.id_integracao for note in await road.notes(ana)] == [key]
    assert not [answer for answer in ana.answers if "não foi aceita" in answer]


async def test_a_doubted_refusal_stands_with_its_code_once_the_key_is_absent_twice(road: Road) -> None:
    """POST 1 never arrived: the refusal of POST 2 is told with the gateway's own reason, after two absences more."""
    gateway = road.world.plugnotas
    gateway.faults.set("erro_500", times=1, method="POST")
    ana, key = await _confirm(road)
    await _absent_once(road, key)
    gateway.faults.set("recusar_na_porta", message=f"E1200: {EXPIRED}")
    await _absent_twice(road, key)
    await _until_row(road, key, lambda row: row["recusa"] is not None)
    await _absent_twice(road, key)
    answer = await ana.expect("não foi aceita")
    assert "certificado" in answer.text
    row = await _row(road, key)
    assert (row["status"], row["recusa"]) == ("rejeitado", None)
    assert await road.notes(ana) == []


async def test_reprocessing_after_doubt_sends_only_after_two_absences(road: Road) -> None:
    """The order minted a second key: it leaves when the first was seen absent twice, never after one glance."""
    gateway = road.world.plugnotas
    gateway.faults.set("erro_500", times=1, method="POST")
    ana, key = await _confirm(road)
    await _absent_once(road, key)
    gateway.faults.set("recusar_na_porta", message=f"E1200: {EXPIRED}", times=1)
    await _absent_twice(road, key)
    await _until_row(road, key, lambda row: row["recusa"] is not None)
    await _absent_twice(road, key)
    await ana.expect("não foi aceita")
    await reprocess(road.database, key)
    await ana.expect("tentando emitir de novo")
    second = f"{key.removesuffix('-1')}-2"
    row = await _until_row(road, second, lambda row: row["ausente_desde"] is not None)
    assert (row["status"], row["envios"], row["retida"]) == ("pendente", 0, "tentativa_anterior")
    await road.database.pool.execute(f"{ABSENT} WHERE id_integracao = $1", second)
    await ana.files()
    await road.settled()
    assert [note.id_integracao for note in await road.notes(ana)] == [second]


async def test_a_note_that_shows_up_after_the_order_is_adopted_and_the_second_key_never_leaves(road: Road) -> None:
    """Between the first and the second glance the lost call is accepted: one note, under the first key."""
    gateway = road.world.plugnotas
    gateway.faults.set("erro_500", times=1, method="POST")
    ana, key = await _confirm(road)
    await _absent_once(road, key)
    payload = (await _row(road, key))["bytes"]
    gateway.faults.set("recusar_na_porta", message=f"E1200: {EXPIRED}", times=1)
    await _absent_twice(road, key)
    await _until_row(road, key, lambda row: row["recusa"] is not None)
    await _absent_twice(road, key)
    await ana.expect("não foi aceita")
    await reprocess(road.database, key)
    await ana.expect("tentando emitir de novo")
    second = f"{key.removesuffix('-1')}-2"
    await _until_row(road, second, lambda row: row["ausente_desde"] is not None)
    await _deliver_late(road, payload)
    await road.database.pool.execute(f"{ABSENT} WHERE id_integracao = $1", second)
    await ana.files()
    await road.settled()
    await _until_row(road, second, lambda row: row["status"] == "dispensado")
    assert [note.id_integracao for note in await road.notes(ana)] == [key]


async def _deliver_late(road: Road, payload: bytes) -> None:
    """The bytes of a call that everybody gave up arrive at the gateway."""
    gateway = road.world.plugnotas
    async with httpx.AsyncClient(base_url=gateway.url, headers={"x-api-key": gateway.config.api_key}) as client:
        (await client.post("/nfse", content=payload)).raise_for_status()


async def test_a_duplicate_in_words_while_reads_lag_is_a_question(road: Road) -> None:
    """The key is taken, reading does not show it yet, and the refusal names no note: we wait and adopt it."""
    gateway = road.world.plugnotas
    gateway.faults.set("leitura_atrasada", seconds=3600.0)
    gateway.faults.set("perder_resposta", times=1)
    gateway.faults.set("sem_webhook")
    ana, key = await _confirm(road)
    await _absent_twice(road, key)
    tries = await _tries(road, key, at_least=4)
    assert ("submit", "Duplicate") in tries, tries
    assert (await _row(road, key))["status"] == "desconhecido"
    gateway.faults.clear("leitura_atrasada")
    async with waits_passing(road):
        await ana.files()
    await road.settled()
    assert [note.id_integracao for note in await road.notes(ana)] == [key]


async def test_e0014_is_never_told_as_a_refusal(road: Road) -> None:
    """The city says that the DPS has a NFS-e: nobody hears that none exists, nothing is sent, the note is adopted."""
    book = road.world.plugnotas
    book.faults.set("rejeitar", times=1, message=E0014)
    ana, key = await _confirm(road)
    row = await _until_row(road, key, lambda row: row["status"] == "desconhecido" and row["consultas"] > 0)
    assert row["em_duvida"] is True
    with pytest.raises(CommandRefusedError):
        await reprocess(road.database, key)
    old = next(note for note in book.notes.values() if note.id_integracao == key)
    chave = access_key(old, 778, book.ledger.now())
    book.ledger.append(
        "note.settled", id=old.id, situacao=ISSUED, numero="778", chave=chave, autorizacao="1", mensagem=None
    )
    await ana.files()
    await road.settled()
    assert [note.numero for note in await road.notes(ana)] == ["778"]
    assert not [answer for answer in ana.answers if "não foi aceita" in answer]


@pytest.mark.parametrize(
    "changed",
    [
        {"servico": {"discriminacao": "Outro serviço"}},
        {"rps": {"competencia": "1999-01-31"}},
        {"servico": {"codigo": "14.10"}},
    ],
    ids=["text", "month", "code"],
)
async def test_a_note_with_other_content_under_our_key_is_not_adopted(road: Road, changed: dict[str, Any]) -> None:
    """Value and customer are right, text, month or service code are not: people decide, and no file is sent."""
    gateway = road.world.plugnotas
    accept = gateway.accept

    def another(payloads: list[dict[str, Any]]) -> Any:
        [payload] = payloads
        servico = [{**payload["servico"][0], **changed.get("servico", {})}]
        return accept([{**payload, "rps": {**payload["rps"], **changed.get("rps", {})}, "servico": servico}])

    gateway.accept = another  # type: ignore[method-assign]  # the gateway's own fault
    try:
        ana, key = await _confirm(road)
        await ana.expect("Não consegui concluir")
    finally:
        gateway.accept = accept  # type: ignore[method-assign]  # as it was
    row = await _row(road, key)
    assert row["status"] == "conflito"
    assert "differs in" in row["erro_mensagem"]
    await road.settled()
    assert not [bubble for bubble in road.world.meta.bubbles(ana.who) if bubble.attachment]


async def test_two_notes_of_one_confirmation_alarm_and_both_are_delivered(road: Road) -> None:
    """The refused first attempt is authorised after the second was: the queue, both numbers, both sets of files."""
    book = road.world.plugnotas
    book.faults.set("rejeitar", times=1)
    ana = await road.person()
    await ana.say(unlike())
    await ana.press("Confirmar")
    key = (await road.reached(ana, "rejeitado"))["id_integracao"]
    await road.settled()
    await reprocess(road.database, key)
    await ana.expect("tentando emitir de novo")
    await ana.files()
    await road.settled()
    first = next(note for note in book.notes.values() if note.id_integracao == key)
    book.ledger.append(
        "note.settled",
        id=first.id,
        situacao=ISSUED,
        numero="991",
        chave=access_key(first, 991, book.ledger.now()),
        autorizacao="1",
        mensagem=None,
    )
    pool = road.database.pool
    await pool.execute("UPDATE nfse_emissao SET dica_em = now(), proxima_acao_em = now() WHERE id_integracao = $1", key)
    told = await ana.expect("mais de uma nota")
    assert "991" in told.text
    await ana.files()
    await road.settled()
    attached = [bubble for bubble in road.world.meta.bubbles(ana.who) if bubble.attachment]
    assert len(attached) == 4
    causes = await _causes(road, (await road.session(ana))["sessao_id"])
    assert "duas_notas" in causes


async def _causes(road: Road, sessao_id: str) -> list[str]:
    async with road.database.transaction() as connection:
        rows = await needing_eyes(connection, Alcance(todas=True), Filtros(), 100)
    return [causa for row in rows if row.sessao_id == sessao_id for causa in row.causas]


async def _nobody_accepts(road: Road) -> tuple[Person, str]:
    """Return somebody whose invoice has been refused at the door for over a day (429), and its reference."""
    road.world.plugnotas.faults.set("limite_429", seconds=1, method="POST")
    ana, key = await _confirm(road)
    await _until_row(road, key, lambda row: row["envios"] > 0)
    await road.database.pool.execute(A_DAY_LATER, key)
    return ana, key


async def test_what_nobody_accepted_for_a_day_is_asked_about_and_goes_on_a_yes(road: Road) -> None:
    """Nothing is sent within the hour, words alone decide nothing, and the button sends the stored bytes: one note."""
    ana, key = await _nobody_accepts(road)
    question = await ana.expect("ainda quer esta nota?")
    row = await _until_row(road, key, lambda row: row["retida"] == "pessoa")
    assert (row["status"], row["em_duvida"]) == ("pendente", False)
    road.world.plugnotas.faults.clear("limite_429")
    assert "espera_pessoa" in await _causes(road, (await road.session(ana))["sessao_id"])
    again = await ana.say("sim")
    assert "ainda quer esta nota?" in again.text
    assert await road.notes(ana) == []
    await ana.tell(unlike())
    asked = await ana.expect("ainda quer esta nota?")
    assert any(button.title == "Quero, emitir" for button in asked.buttons)
    assert "descartei" in (await ana.press("Cancelar", of=await ana.expect("Confere"))).text
    await ana.press("Quero, emitir", of=question)
    await ana.files()
    await road.settled()
    [note] = await road.notes(ana)
    assert note.id_integracao == key
    assert (await ana.press("Não quero mais", of=question)).text.startswith("Esta nota já foi")
    assert len(await road.notes(ana)) == 1


async def test_a_question_that_is_not_delivered_is_shown_to_staff(road: Road) -> None:
    """Meta's window has closed meanwhile: the case stays in the queue with both causes."""
    meta, clock = road.world.meta, road.world.meta.clock
    road.world.plugnotas.faults.set("limite_429", seconds=1, method="POST")
    ana, key = await _confirm(road)
    await _until_row(road, key, lambda row: row["envios"] > 0)
    meta.clock = lambda: clock() + timedelta(hours=25)
    try:
        await road.database.pool.execute(A_DAY_LATER, key)
        await _until_row(road, key, lambda row: row["retida"] == "pessoa")

        session = (await road.session(ana))["sessao_id"]
        lost = "SELECT id FROM outbox WHERE sessao_id = $1 AND erro_codigo = 131047 AND mensagem->>'texto' LIKE $2"
        await until(lambda: road.database.pool.fetchval(lost, session, "%ainda quer esta nota?%"))
        assert {"espera_pessoa", "nao_entregue"} <= set(await _causes(road, session))
    finally:
        meta.clock = clock


async def test_what_nobody_accepted_and_nobody_wants_is_never_sent(road: Road) -> None:
    """A no ends it without a note; the yes of the old message comes too late."""
    ana, key = await _nobody_accepts(road)
    question = await ana.expect("ainda quer esta nota?")
    road.world.plugnotas.faults.clear("limite_429")
    answer = await ana.press("Não quero mais", of=question)
    assert "nenhuma nota foi emitida" in answer.text
    assert (await road.session(ana))["estado"] == "cancelado_usuario"
    assert (await _row(road, key))["status"] == "dispensado"
    await ana.press("Quero, emitir", of=question)
    await road.settled()
    assert await road.notes(ana) == []


async def test_staff_send_the_stored_bytes_of_what_nobody_accepted(road: Road) -> None:
    """The command line's order goes through the conversation's lane; the same bytes, the same reference, one note."""
    ana, key = await _nobody_accepts(road)
    await ana.expect("ainda quer esta nota?")
    await _until_row(road, key, lambda row: row["retida"] == "pessoa")
    road.world.plugnotas.faults.clear("limite_429")
    assert "pedido registrado" in (await send_stored(road.database, key))[0]
    await ana.expect("Voltei a tentar")
    await ana.files()
    await road.settled()
    assert [note.id_integracao for note in await road.notes(ana)] == [key]
    with pytest.raises(CommandRefusedError, match="concluido"):
        await send_stored(road.database, key)


async def test_staff_can_not_send_what_may_have_been_accepted(road: Road) -> None:
    """An unknown outcome is asked about, never sent by an order."""
    road.world.plugnotas.faults.set("erro_500", method="POST", times=1)
    _, key = await _confirm(road)
    await _until_row(road, key, lambda row: row["status"] == "desconhecido")
    with pytest.raises(CommandRefusedError, match="pode ter recebido"):
        await send_stored(road.database, key)
    road.world.plugnotas.faults.clear()
    await _absent_twice(road, key)
    await asyncio.wait_for(road.settled(), 10)


async def test_an_invoice_that_was_confirmed_before_a_long_outage_is_asked_about_before_it_is_sent(road: Road) -> None:
    """It does not go out as a surprise, and without an answer it is tried each hour: the gateway is back, it goes."""
    road.world.plugnotas.faults.set("limite_429", seconds=86_400, method="POST", times=1)
    ana, key = await _confirm(road)
    await _until_row(road, key, lambda row: row["envios"] == 1 and row["lease_until"] is None)
    await road.database.pool.execute(A_DAY_LATER, key)
    await ana.expect("ainda quer esta nota?")
    assert [tried for tried, _ in await _tries(road, key, at_least=1)] == ["submit"]
    assert await road.notes(ana) == []
    await road.database.pool.execute(AN_HOUR_LATER, key)
    assert (await road.reached(ana, "aprovado"))["id_integracao"] == key
    assert [note.id_integracao for note in await road.notes(ana)] == [key]


async def _refused_and_mended(road: Road) -> tuple[Person, Any]:
    """Return somebody whose refused invoice waits to be mended, its data at hand again, and the refused note."""
    book = road.world.plugnotas
    book.faults.set("rejeitar", times=1, message=VALUE_REFUSED)
    ana = await road.person()
    await ana.say(unlike())
    await ana.press("Confirmar")
    key = (await road.reached(ana, "rejeitado"))["id_integracao"]
    await road.settled()
    await ana.press("Corrigir nota")
    await ana.say("na verdade é 1.800")
    return ana, next(note for note in book.notes.values() if note.id_integracao == key)


async def test_before_a_mended_invoice_leaves_the_refused_one_is_asked_about(road: Road) -> None:
    """The first key still stands refused: one question under it, then the mended invoice goes."""
    ana, refused = await _refused_and_mended(road)
    asked = f"/nfse/consultar/{refused.id_integracao}/"
    before = len([r for r in road.world.plugnotas.ledger.of("call") if asked in r.data["path"]])
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    assert len([r for r in road.world.plugnotas.ledger.of("call") if asked in r.data["path"]]) == before + 1
    assert [str(note.valor) for note in await road.notes(ana)] == ["1800.00"]


async def test_a_mended_invoice_is_held_back_when_the_refused_one_was_authorised_after_all(road: Road) -> None:
    """Late truth, unnoticed until then: its person gets the first note, and only their yes would issue the second."""
    ana, refused = await _refused_and_mended(road)
    book = road.world.plugnotas
    chave = access_key(refused, 555, book.ledger.now())
    book.ledger.append(
        "note.settled", id=refused.id, situacao=ISSUED, numero="555", chave=chave, autorizacao="1", mensagem=None
    )
    await ana.touch("Confirmar")
    heard: list[Any] = []

    async def asked() -> Any:
        heard.extend([await ana.expect()])
        return next((bubble for bubble in heard if "ainda quer esta nota?" in bubble.text), None)

    question = await until(asked)
    assert "555" in question.text
    await road.settled()
    assert [note.numero for note in await road.notes(ana)] == ["555"]
    await ana.press("Não quero mais", of=question)
    await road.settled()
    assert [note.numero for note in await road.notes(ana)] == ["555"]
