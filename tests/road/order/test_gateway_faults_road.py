from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.road_people import FULL, unlike, until

if TYPE_CHECKING:
    from typing import Any

    from tests.road.road_people import Person, Road

ABSENT_WAIT = "UPDATE nfse_emissao SET ausente_desde = ausente_desde - interval '1 min', proxima_acao_em = now()"


async def _confirm(road: Road) -> Person:
    ana = await road.person()
    await ana.say(FULL)
    await ana.touch("Confirmar")
    return ana


async def _one_note(road: Road, ana: Person) -> None:
    """The judge: the gateway's book has one note, and the session ended as approved, told once."""
    await ana.files()
    await road.settled()
    session = await road.session(ana)
    assert (session["estado"], session["snapshot_reason"]) == ("aprovado", "webhook_success")
    created = [
        record
        for record in road.world.plugnotas.ledger.of("note.created")
        if record.data["payload"]["idIntegracao"].startswith(session["sessao_id"])
    ]
    assert len(created) == len(await road.notes(ana)) == 1
    assert sum("autorizada" in answer for answer in ana.answers) == 1


@pytest.mark.parametrize(
    ("fault", "setting"),
    [
        ("perder_resposta", {}),
        ("pendurar_resposta", {"seconds": 0.3}),
        ("erro_500_aceito", {}),
        ("html_200_aceito", {}),
        ("json_truncado", {}),
        ("referencia_alheia", {}),
        ("erro_400_com_protocolo", {}),
        ("lento", {"seconds": 0.3, "method": "POST"}),
    ],
)
@pytest.mark.parametrize("webhook", [True, False], ids=["webhook", "no-webhook"])
async def test_a_lost_answer_after_acceptance_is_one_invoice(
    road: Road, fault: str, setting: dict[str, Any], webhook: bool
) -> None:
    """Whatever becomes of the answer to an accepted order, with or without a webhook, we ask instead of repeating."""
    road.world.plugnotas.faults.set(fault, times=1, **setting)
    if not webhook:
        road.world.plugnotas.faults.set("sem_webhook")
    ana = await _confirm(road)
    await _one_note(road, ana)


@pytest.mark.parametrize("fault", ["limite_429"])
async def test_a_refusal_before_acceptance_is_tried_again_when_asked(road: Road, fault: str) -> None:
    """429 was certainly not taken: the same bytes go again, not before the time that Retry-After names."""
    road.world.plugnotas.faults.set(fault, times=1, seconds=1, method="POST")
    ana = await _confirm(road)
    refused = await road.world.plugnotas.ledger.wait_for(
        lambda record: record.kind == "fault" and record.data["fault"] == fault and record.seq > 0
    )
    key = (await road.session(ana))["sessao_id"]
    created = await road.world.plugnotas.ledger.wait_for(
        lambda record: record.kind == "note.created" and record.data["payload"]["idIntegracao"].startswith(key)
    )
    assert (created.at - refused.at).total_seconds() > 0.9
    await _one_note(road, ana)


@pytest.mark.parametrize("fault", ["erro_500", "html_200", "cortar_antes"])
async def test_an_unclear_refusal_is_asked_about_twice_before_sending_again(road: Road, fault: str) -> None:
    """A 500 may have been accepted: only when the gateway has twice not known the key are the same bytes sent again."""
    road.world.plugnotas.faults.set(fault, times=1, method="POST")
    ana = await _confirm(road)
    key = (await road.reached(ana, "processando"))["id_integracao"]
    pool = road.database.pool

    await until(lambda: pool.fetchval("SELECT ausente_desde FROM nfse_emissao WHERE id_integracao = $1", key))
    assert await road.notes(ana) == []
    await pool.execute(f"{ABSENT_WAIT} WHERE id_integracao = $1", key)  # half a minute goes by
    await _one_note(road, ana)
    attempts = await pool.fetch(
        "SELECT operacao FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id "
        "WHERE e.id_integracao = $1 ORDER BY t.id",
        key,
    )
    steps = [row["operacao"] for row in attempts]
    assert steps[:4] == ["submit", "find", "find", "submit"]


async def test_a_gateway_that_accepts_late_is_not_given_the_order_twice(road: Road) -> None:
    """Absent at first and there a moment later: one invoice."""
    road.world.plugnotas.faults.set("aceitar_tarde", times=1, seconds=0.5)
    await _one_note(road, await _confirm(road))


async def test_a_webhook_five_times_is_news_once(road: Road) -> None:
    """Repeated and shuffled webhooks lead to one approval and one PDF."""
    road.world.plugnotas.faults.set("webhook_duplicado", copies=5)
    road.world.plugnotas.faults.set("webhook_embaralhado", seconds=0.1)
    await _one_note(road, await _confirm(road))


async def test_a_late_webhook_finds_everything_done(road: Road) -> None:
    """The ladder found the note first; the webhook that comes afterwards changes nothing."""
    road.world.plugnotas.faults.set("webhook_atrasado", times=1, seconds=1.5)
    await _one_note(road, await _confirm(road))


async def test_an_approval_without_a_number_is_not_believed(road: Road) -> None:
    """The gateway says authorised and gives no number: we ask again until it does."""
    road.world.plugnotas.faults.set("aprovado_sem_numero", times=2)
    ana = await _confirm(road)
    await _one_note(road, ana)
    [note] = await road.notes(ana)
    assert any(f"NFS-e {note.numero} autorizada" in answer for answer in ana.answers)


async def test_a_storm_of_all_faults_is_one_invoice_each(road: Road) -> None:
    """Twelve people confirm at once while every second answer goes wrong: twelve notes, nobody waits for ever."""
    faults = road.world.plugnotas.faults
    people = [await road.person() for _ in range(12)]
    for person in people:
        await person.say(unlike())
    for fault in ("perder_resposta", "json_truncado", "erro_500_aceito", "referencia_alheia", "webhook_duplicado"):
        faults.set(fault, chance=0.3, **({"copies": 3} if fault == "webhook_duplicado" else {}))
    for person in people:
        await person.touch("Confirmar")
    for person in people:
        await _one_note(road, person)
