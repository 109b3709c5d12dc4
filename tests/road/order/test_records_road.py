"""What is left of an invoice's calls for the API, for support and for a repetition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from persistence.idempotency import gateway_operations
from tests.road.road_people import FULL, unlike, until

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road


async def _emission(road: Road, person: Person) -> Any:
    key = (await road.session(person))["id_integracao"]
    return await road.database.pool.fetchrow("SELECT * FROM nfse_emissao WHERE id_integracao = $1", key)


async def _record(road: Road, person: Person) -> Any:
    row = await _emission(road, person)
    operation = gateway_operations.issuing(row["sessao_id"], row["prestador_cnpj"], row["id_integracao"], row["bytes"])
    return await road.database.pool.fetchrow(
        "SELECT * FROM idempotency_records WHERE idempotency_key = $1", operation.key
    )


async def _calls(road: Road, person: Person) -> list[Any]:
    row = await _emission(road, person)
    return list(
        await road.database.pool.fetch("SELECT * FROM gateway_tentativas WHERE emissao_id = $1 ORDER BY id", row["id"])
    )


async def test_an_issued_invoice_leaves_a_success_with_its_ids(road: Road) -> None:
    """Also when the answer was lost and only asking told."""
    road.world.plugnotas.faults.set("perder_resposta", times=1)
    ana = await road.person()
    await ana.issue()
    await road.settled()
    [note] = await road.notes(ana)
    record, row = await _record(road, ana), await _emission(road, ana)
    assert (record["status"], record["process_instance_id"]) == ("SUCCESS", row["sessao_id"])
    assert record["result_data"]["id_externo"] == note.id
    assert record["result_data"]["emissao_id"] == row["id"]
    assert record["result_data"]["id_integracao"] == row["id_integracao"]


async def test_while_nobody_knows_the_record_stays_open(road: Road) -> None:
    """The answer was lost and the gateway can't tell: PENDING, held by nobody."""
    road.world.plugnotas.faults.set("perder_resposta", times=1)
    road.world.plugnotas.faults.set("erro_500", method="GET")
    road.world.plugnotas.faults.set("sem_webhook")
    ana = await road.person()
    await ana.say(FULL)
    await ana.touch("Confirmar")
    await road.reached(ana, "processando")

    async def asked() -> bool:
        return any(call["resultado"] == "CannotTell" for call in await _calls(road, ana))

    await until(asked)
    record = await _record(road, ana)
    assert (record["status"], record["result_data"], record["retry_count"]) == ("PENDING", None, 0)
    assert record["lease_until"] <= await road.database.pool.fetchval("SELECT now()")
    road.world.plugnotas.faults.clear()
    await ana.files()
    assert (await _record(road, ana))["status"] == "SUCCESS"


async def test_a_refusal_is_a_failure_with_its_reason(road: Road) -> None:
    """FAILED: nothing was issued, for certain."""
    road.world.plugnotas.faults.set("rejeitar", times=1)
    ana = await road.person()
    await ana.say(FULL)
    assert "não foi aceita" in (await ana.press("Confirmar")).text
    record = await _record(road, ana)
    assert record["status"] == "FAILED"
    assert "E9902" in record["error_message"]


async def test_what_certainly_was_not_taken_is_counted(road: Road) -> None:
    """429 twice, then taken: two retries on the record, and one invoice."""
    road.world.plugnotas.faults.set("limite_429", times=2, seconds=0, method="POST")
    ana = await road.person()
    await ana.issue()
    await road.settled()
    record = await _record(road, ana)
    assert (record["status"], record["retry_count"]) == ("SUCCESS", 2)
    assert len(await road.notes(ana)) == 1


async def test_a_key_that_was_used_with_other_bytes_is_for_people(road: Road) -> None:
    """Somebody changed the stored bytes after a first try: nothing is sent, the emission is a conflict."""
    road.world.plugnotas.faults.set("limite_429", times=1, seconds=3, method="POST")  # time to change the bytes
    ana = await road.person()
    await ana.say(FULL)
    await ana.touch("Confirmar")
    await road.reached(ana, "processando")

    async def refused() -> bool:
        record = await _record(road, ana)
        return bool(record and record["status"] == "FAILED")

    await until(refused)
    await road.database.pool.execute(
        "UPDATE nfse_emissao SET bytes = bytes || ' '::bytea WHERE id = $1",
        (await _emission(road, ana))["id"],
    )
    await ana.expect()
    assert (await _emission(road, ana))["status"] == "conflito"
    assert await road.notes(ana) == []


async def test_every_call_leaves_its_bodies_without_people(road: Road) -> None:
    """Status and both bodies, masked: support sees what was said without seeing to whom."""
    ana = await road.person()
    await ana.issue(unlike())
    await road.settled()
    submit, *questions = await _calls(road, ana)
    assert (submit["operacao"], submit["http_status"]) == ("submit", 200)
    row = await _emission(road, ana)
    assert json.loads(submit["pedido"])[0]["idIntegracao"] == row["id_integracao"]
    assert "em processamento" in submit["resposta"]
    assert questions
    assert all(call["pedido"] is None and call["resposta"] for call in questions)
    everything = " ".join(f"{call['pedido']} {call['resposta']}" for call in (submit, *questions))
    for personal in ("PADARIA", "12345678000195", "11222333000181", "marketing"):
        assert personal not in everything


async def test_the_gateways_own_json_is_kept_whole(road: Road) -> None:
    """As it was received, with everything in it that we do not read; what we read stands beside it."""
    ana = await road.person()
    await ana.issue(unlike())
    await road.settled()
    row, [note] = await _emission(road, ana), await road.notes(ana)
    [received] = row["resposta_gateway"]
    assert (received["id"], received["situacao"], received["tomador"]) == (note.id, "CONCLUIDO", note.tomador)
    assert received["tipoAutorizacao"] == "WEBSERVICE"  # nothing that Prosa reads
    assert row["leitura_gateway"]["nota"]["numero"] == note.numero


async def test_protocol_and_status_code_are_stored(road: Road) -> None:
    """The protocol of the acceptance at the emission and at the note, the code of the XML as a number."""
    ana = await road.person()
    await ana.issue(unlike())
    await road.settled()
    row, [note] = await _emission(road, ana), await road.notes(ana)
    stored = await road.database.pool.fetchrow("SELECT * FROM nfse_processada WHERE emissao_id = $1", row["id"])
    assert (row["protocolo"], stored["protocolo"], stored["c_stat"]) == (note.protocol, note.protocol, "100")
