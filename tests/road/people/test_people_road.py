from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from operations.company import add_company
from persistence.access.accounts import Alcance
from persistence.conversations import conversations
from persistence.staff.queue import Filtros, needing_eyes
from proofs.demo.world import COMPANY
from tests.road.road_people import FULL, PADARIA, Person, new_phone
from webhooks.console.render.labels import por_que_pediu

if TYPE_CHECKING:
    from tests.road.road_people import Road


async def test_an_unknown_number_gets_one_kind_answer(road: Road) -> None:
    """A stranger is told how to go on, once, opens no session, and is visible to staff."""
    carla = await road.person(known=False)
    assert "não está ligado a nenhuma empresa" in (await carla.say(FULL)).text
    await carla.tell("alô?")
    await road.settled()
    assert len(carla.answers) == 1
    assert await road.sessions(carla) == []
    async with road.database.transaction() as connection:
        listed = await conversations.unknown_contacts(connection)
    [row] = [row for row in listed if row.wa_id == carla.who]
    assert row.mensagens == 2


async def test_a_number_that_becomes_known_can_issue_at_once(road: Road) -> None:
    """As soon as staff adds the number, the next message is an invoice, and staff's list no longer shows it."""
    carla = await road.person(known=False)
    await carla.say("oi")
    await add_company(road.database, replace(COMPANY, usuarios=(carla.who,)))
    await carla.issue()
    assert len(await road.notes(carla)) == 1
    async with road.database.transaction() as connection:
        assert carla.who not in {row.wa_id for row in await conversations.unknown_contacts(connection)}


async def test_who_hides_the_number_later_is_still_the_same_person(road: Road) -> None:
    """Once known by number, a person is known by the BSUID alone, and answered there; the session goes on."""
    ana = await road.person()
    await ana.say("nota de 1500")
    hidden = road.world.meta.phones.users[ana.who].user_id
    await road.world.meta.user_text(hidden, f"pra {PADARIA}, consultoria")
    summary = await ana.expect("R$ 1.500,00")  # the simulator knows that it is the same phone
    confirm = summary.buttons[0]
    await road.world.meta.user_button(hidden, confirm.id, confirm.title, summary.id)
    pdf, _ = await ana.files()
    assert pdf.startswith(b"%PDF")
    assert len(await road.notes(ana)) == 1
    await road.settled()  # the offer follows the files
    sent = [message["payload"] for message in road.world.meta.outbound(ana.who)]
    assert [(payload.get("to"), payload.get("recipient")) for payload in sent] == [
        (f"+{ana.who}", None),
        *[(None, hidden)] * 4,
    ]


async def test_a_person_whose_id_changes_goes_on_where_they_were(road: Road) -> None:
    """Meta's signed notice moves the right to issue and the open draft; the former id's invoice can be confirmed."""
    ana = await road.person()
    await ana.say(FULL)
    before, after = road.world.meta.phones.users[ana.who].user_id, f"BR.7{ana.who}"
    await _told(road, {"type": "user_changed_user_id", "user_id": after, "previous_user_id": before})
    moved = Person(road.world, after)
    summary = await moved.say("muda o valor para 750")
    assert "R$ 750,00" in summary.text
    assert "PADARIA" in summary.text
    await moved.touch("Confirmar")
    await moved.files()
    assert await road.database.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 2") == 0


@pytest.mark.parametrize("open_draft", [True, False])
async def test_a_number_that_was_given_up_issues_nothing_any_more(road: Road, open_draft: bool) -> None:
    """Meta says it without any id: the open summary confirms nothing, staff see it, the new number may do nothing."""
    ana, new = await road.person(), await road.person(known=False)
    summary = await ana.say(FULL) if open_draft else None
    await road.settled()
    await _told(road, {"type": "user_changed_number", "wa_id": new.who, "body": "trocou"}, **{"from": ana.who})
    if summary is not None:
        await road.reached(ana, "expirado")
        await ana.touch("Confirmar", of=summary)
    for who in (ana, new):
        assert "não está ligado a nenhuma empresa" in (await who.say(FULL)).text
    await road.settled()
    assert await road.notes(ana) == await road.notes(new) == []
    pool = road.database.pool
    row = await pool.fetchrow("SELECT * FROM auditoria WHERE acao = 'removeu usuário' ORDER BY id DESC LIMIT 1")
    assert (row["quem"], row["motivo"]) == ("WhatsApp", "trocou de número")
    assert ana.who not in str(dict(row))
    if summary is not None:
        async with road.database.transaction() as connection:
            listed = await needing_eyes(connection, Alcance(todas=True), Filtros(), 1000)
        [sessao] = await road.sessions(ana)
        [eyes] = [each for each in listed if each.sessao_id == sessao["sessao_id"]]
        assert "pediu_pessoa" in eyes.causas
        assert "confirme quem está no novo" in por_que_pediu(eyes.pessoa_motivo)
    assert await pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 2") == 0


async def _told(road: Road, about: dict[str, str], **who: str) -> None:
    """Have Meta send a system message, twice."""
    wamid = f"wamid.{time.time_ns()}"
    notice = {"id": wamid, "timestamp": str(int(time.time())), "type": "system", "system": about, **who}
    account = road.world.meta.config.account
    metadata = {"display_phone_number": account.display_phone_number, "phone_number_id": account.phone_number_id}
    value = {"messaging_product": "whatsapp", "metadata": metadata, "messages": [notice]}
    change = {"field": "messages", "value": value}
    body = {"object": "whatsapp_business_account", "entry": [{"id": account.waba_id, "changes": [change]}]}
    for _ in range(2):  # Meta repeats
        road.world.meta.courier.send(json.dumps(body).encode(), lane="system")
    await road.world.meta.courier.drained()
    await road.settled()


async def test_a_new_id_beside_the_same_telephone_keeps_what_is_open(road: Road) -> None:
    """Nobody announces it: another portfolio gives the same phone another id, and its draft goes on there."""
    ana = await road.person()
    await ana.say(FULL)
    user = road.world.meta.phones.users[ana.who]
    road.world.meta.phones.users[ana.who] = replace(user, user_id=f"BR.8{ana.who}")
    summary = await ana.say("muda o valor para 760")
    assert "R$ 760,00" in summary.text
    assert "PADARIA" in summary.text
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    assert [note.valor for note in road.world.plugnotas.issued() if note.valor == 760] == [760]


async def test_a_session_keeps_the_phone_in_international_form(road: Road) -> None:
    """With "+" and the ninth digit, also of somebody who hides a number by which they are known."""
    ana = await road.person()
    await ana.issue()
    await road.world.meta.user_text(road.world.meta.phones.users[ana.who].user_id, "nota de 1700")
    await ana.expect()
    assert [session["telefone"] for session in await road.sessions(ana)] == [f"+{ana.who}"] * 2


async def test_who_was_never_known_by_number_is_unknown_by_bsuid(road: Road) -> None:
    """A BSUID alone opens no door."""
    stranger = Person(road.world, "BR.99887766554433")
    assert "não está ligado a nenhuma empresa" in (await stranger.say(FULL)).text


@pytest.mark.parametrize(("registered", "writes"), [(13, 12), (12, 13)])
async def test_the_ninth_digit_is_an_alias(road: Road, registered: int, writes: int) -> None:
    """A mobile is known with and without its ninth digit; answers go to the address that wrote."""
    phone = new_phone()
    forms = {13: phone, 12: phone[:4] + phone[5:]}
    await add_company(road.database, replace(COMPANY, usuarios=(forms[registered],)))
    ana = Person(road.world, forms[writes])
    await ana.issue()
    assert {sent["payload"]["to"] for sent in road.world.meta.outbound(ana.who)} == {f"+{forms[writes]}"}


async def test_another_persons_button_does_nothing(road: Road) -> None:
    """A forged button id of somebody else's session confirms, changes and reveals nothing."""
    ana, eve = await road.person(), await road.person()
    summary = await ana.say(FULL)
    confirm = summary.buttons[0]
    await road.world.meta.user_button(eve.who, confirm.id, confirm.title, summary.id)
    answer = await eve.expect()
    assert "PADARIA" not in answer.text
    await road.settled()
    assert await road.notes(ana) == []
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"


@pytest.mark.parametrize("forged", ["confirmar:x", "confirmar:", "confirmar", "apagar:1:1", "", "confirmar:1:²"])
async def test_a_senseless_button_is_answered_and_harmless(road: Road, forged: str) -> None:
    """Whatever a button id holds, the person gets an answer and no invoice."""
    eve = await road.person()
    await eve.say(FULL)
    await road.world.meta.user_button(eve.who, forged, "Confirmar")
    await eve.expect()
    await road.settled()
    assert await road.notes(eve) == []


async def test_two_people_of_a_company_work_side_by_side(road: Road) -> None:
    """Each has their own conversation and session; both invoices are the company's."""
    ana, bruno = await road.person(), await road.person()
    await ana.say("nota de 100")
    await bruno.say("nota de 200")
    assert "R$ 100,00" in (await ana.say(f"{PADARIA}, consultoria da Ana")).text
    assert "R$ 200,00" in (await bruno.say(f"{PADARIA}, consultoria do Bruno")).text
    await ana.touch("Confirmar")
    await bruno.touch("Confirmar")
    await ana.files()
    await bruno.files()
    [one], [other] = await road.notes(ana), await road.notes(bruno)
    assert one.prestador == other.prestador
    assert one.numero != other.numero
