from __future__ import annotations

from typing import TYPE_CHECKING, Any

from persistence.access.accounts import Alcance
from persistence.queue.inbox import Arrival
from persistence.staff.queue import Filtros, needing_eyes
from tests.road.road_people import FULL, until
from webhooks.console.render.labels import por_que_pediu

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road


async def _asking(road: Road, person: Person) -> Any | None:
    """Return the queue's row of somebody who asked for the staff."""
    await road.settled()
    sessao_id = (await road.session(person))["sessao_id"]
    async with road.database.transaction() as connection:
        rows = await needing_eyes(connection, Alcance(todas=True), Filtros(), 1000)
    return next((row for row in rows if row.sessao_id == sessao_id and "pediu_pessoa" in row.causas), None)


async def _command(road: Road, person: Person, comando: str, **more: Any) -> None:
    staff = await road.database.pool.fetchval(
        "INSERT INTO staff (nome, papel, senha_hash, totp_segredo, todas_empresas) VALUES ($1, 'suporte', 'x', 'x', "
        "true) ON CONFLICT (nome) DO UPDATE SET papel = 'suporte' RETURNING id",
        f"rita{person.who}",
    )
    key = f"equipe:{comando}:{person.who}"
    payload = {"comando": comando, "quem": "Rita", "staff_id": staff, **more}
    await road.house.inbox.put([Arrival(key, road.conversation(person), "equipe", payload, "c", imediato=True)])
    await until(lambda: road.database.pool.fetchval("SELECT estado = 1 FROM inbox WHERE chave = $1", key))


async def test_who_asks_for_a_person_is_queued_answered_and_told_what_waits(road: Road) -> None:
    """Asked twice it is one request; the take-over ends it, and the hand-back names the note that staff must repair."""
    road.world.plugnotas.faults.set("rejeitar", times=1)
    ana = await road.person()
    await ana.say(FULL)
    assert "não foi aceita" in (await ana.press("Confirmar")).text
    await road.reached(ana, "rejeitado")
    assert await _asking(road, ana) is None
    assert (await ana.say("quero falar com um atendente")).text.startswith("Chamei a equipe")
    assert "já foi chamada" in (await ana.say("falar com uma pessoa")).text
    row = await _asking(road, ana)
    assert row is not None
    assert por_que_pediu(row.pessoa_motivo) == "escreveu que quer falar com uma pessoa"
    await _command(road, ana, "assumir")
    await ana.expect("Rita")
    assert await _asking(road, ana) is None
    await _command(road, ana, "devolver")
    back = await ana.expect("Voltei a te atender")
    assert "A nota de R$ 1.500,00 para PADARIA DO ZÉ LTDA está com a equipe: não precisa pedir de novo." in back.text
    assert "CNPJ ou CPF" not in back.text


async def test_a_request_for_a_person_without_any_invoice_is_seen_too(road: Road) -> None:
    """The first words of a conversation: staff see it; closed without a word of theirs, it is said."""
    ana = await road.person()
    assert (await ana.say("quero falar com um atendente")).text.startswith("Chamei a equipe")
    row = await _asking(road, ana)
    assert row is not None
    await _command(road, ana, "encerrar", sessao_id=row.sessao_id, motivo="ligamos para a cliente")
    await ana.expect()
    assert await _asking(road, ana) is None
    assert (await ana.say("quero falar com um atendente")).text.startswith("Chamei a equipe")
