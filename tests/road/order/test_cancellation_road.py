"""Cancelling an issued note by conversation; the gateway's book says how often it was asked and what it did."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from operations.company import add_company
from proofs.demo.world import COMPANY
from proofs.sandbox.plugnotas.model import CANCELLED, ISSUED
from tests.road.road_people import FULL, PADARIA, new_phone, until

if TYPE_CHECKING:
    from proofs.sandbox.meta.model import Bubble
    from proofs.sandbox.plugnotas.model import Note
    from tests.road.road_people import Person, Road

WHY = "valor errado, vou emitir outra"


async def _issued(road: Road, words: str = FULL, *, person: Person | None = None) -> tuple[Person, Note]:
    ana = person or await road.person()
    await ana.issue(words)
    await road.settled()
    return ana, (await road.notes(ana))[-1]


async def _summary(ana: Person, note: Note) -> Bubble:
    asked = await ana.say(f"cancela a nota {note.numero}")
    assert f"NFS-e {note.numero}" in asked.text, asked.text
    return await ana.say(WHY)


def _asked(road: Road, note: Note) -> int:
    return sum(record.data["id"] == note.id for record in road.world.plugnotas.ledger.of("cancel.asked"))


def _calls(road: Road) -> int:
    calls = road.world.plugnotas.ledger.of("call")
    return sum(c.data["method"] == "POST" and "/cancelar/" in c.data["path"] for c in calls)


def _stands(road: Road, note: Note) -> str:
    return road.world.plugnotas.notes[note.id].situacao


async def _status(road: Road, note: Note) -> Any:
    return await road.database.pool.fetchrow(
        "SELECT p.status, p.cancelado_em, c.estado, c.envio, c.envios FROM nfse_processada p "
        "LEFT JOIN cancelamento c ON c.emissao_id = p.emissao_id WHERE p.id_externo = $1 ORDER BY c.id DESC LIMIT 1",
        note.id,
    )


async def test_a_note_is_cancelled_after_reason_and_confirmation(road: Road) -> None:
    """Found by number, shown with value and client, a reason, a summary, one press: cancelled once, and told."""
    ana, note = await _issued(road)
    asked = await ana.say(f"cancelar nota {note.numero}")
    for shown in (f"NFS-e {note.numero}", "R$ 1.500,00", "PADARIA DO ZÉ LTDA", "Qual é o motivo?"):
        assert shown in asked.text
    summary = await ana.say(WHY)
    assert WHY in summary.text
    assert [button.title for button in summary.buttons] == ["Cancelar a nota", "Não cancelar"]
    assert (_asked(road, note), (await _status(road, note))["status"]) == (0, "autorizado")
    assert "Pedi o cancelamento" in (await ana.press("Cancelar a nota")).text
    await ana.expect(f"Nota {note.numero} cancelada")
    await road.settled()
    assert (_stands(road, note), _asked(road, note)) == (CANCELLED, 1)
    row = await _status(road, note)
    assert (row["status"], row["estado"], row["cancelado_em"] is not None) == ("cancelado", "cancelado", True)
    book = road.world.plugnotas.ledger.of("cancel.asked")[-1].data
    assert (book["motivo"], book["codigo"]) == (WHY, "9")


@pytest.mark.parametrize(
    ("button", "code", "words"),
    [
        ("Erro na emissão", "1", "Erro na emissão da nota"),
        ("Serviço não prestado", "2", "Serviço não prestado ao cliente"),
    ],
)
async def test_a_button_is_a_reason(road: Road, button: str, code: str, words: str) -> None:
    """The two common reasons are one tap each and carry the authority's code."""
    ana, note = await _issued(road)
    await ana.say("cancela a última nota")
    assert words in (await ana.press(button)).text
    await ana.press("Cancelar a nota")
    await ana.expect("cancelada")
    book = road.world.plugnotas.ledger.of("cancel.asked")[-1].data
    assert (book["id"], book["motivo"], book["codigo"]) == (note.id, words, code)


async def test_only_the_button_of_the_present_summary_cancels(road: Road) -> None:
    """A yes in words, the button of an older summary and a reason that is too short cancel nothing."""
    ana, note = await _issued(road)
    await ana.say(f"cancela a nota {note.numero}")
    assert "15 letras" in (await ana.say("errei")).text
    assert "Qual é o motivo?" in (await ana.say("sim")).text
    old = await ana.say(WHY)
    new = await ana.say("o motivo é outro: o cliente desistiu da compra")
    assert "só pelo botão" in (await ana.say("sim")).text
    assert "resumo anterior" in (await ana.press("Cancelar a nota", of=old)).text
    assert "continua valendo" in (await ana.press("Não cancelar", of=new)).text
    assert "encerrado" in (await ana.press("Cancelar a nota", of=new)).text
    await road.settled()
    assert (_asked(road, note), _stands(road, note)) == (0, ISSUED)
    row = await _status(road, note)
    assert (row["status"], row["estado"]) == ("autorizado", "desistido")


async def test_impatient_taps_are_one_cancellation(road: Road) -> None:
    """Five taps, and a sixth when all is done: the gateway is asked once."""
    ana, note = await _issued(road)
    summary = await _summary(ana, note)
    before = _calls(road)
    for _ in range(5):
        await ana.touch("Cancelar a nota", of=summary)
    await road.settled()
    await ana.touch("Cancelar a nota", of=summary)
    await road.settled()
    assert (_calls(road) - before, _asked(road, note), _stands(road, note)) == (1, 1, CANCELLED)
    assert sum(f"Nota {note.numero} cancelada" in answer for answer in ana.answers) == 1
    assert "já está cancelada" in ana.answers[-1]


async def test_a_cancelled_note_is_not_asked_about_again(road: Road) -> None:
    """Whoever asks again hears that it is done; no call is made."""
    ana, note = await _issued(road)
    await _summary(ana, note)
    await ana.press("Cancelar a nota")
    await ana.expect("cancelada")
    before = _calls(road)
    assert "já está cancelada" in (await ana.say(f"cancelar nota {note.numero}")).text
    await road.settled()
    assert _calls(road) == before


async def test_a_refusal_leaves_the_note_as_it_was_and_says_why(road: Road) -> None:
    """The city refuses: the note stands, the user hears it with the reason, and may ask again another day."""
    road.world.plugnotas.faults.set("rejeitar_cancelamento", times=1)
    ana, note = await _issued(road)
    await _summary(ana, note)
    await ana.press("Cancelar a nota")
    told = await ana.expect("não foi aceito: ela continua")
    assert "continua valendo" in told.text
    assert "município não autorizou" in told.text
    await road.settled()
    row = await _status(road, note)
    assert (row["status"], row["estado"], _stands(road, note)) == ("autorizado", "negado", ISSUED)
    assert "Qual é o motivo?" in (await ana.say(f"cancela a nota {note.numero}")).text


@pytest.mark.parametrize(
    ("fault", "setting"),
    [
        ("perder_resposta", {}),
        ("pendurar_resposta", {"seconds": 0.3}),
        ("erro_500_aceito", {}),
        ("html_200_aceito", {}),
        ("json_truncado", {}),
        ("aceitar_tarde", {"seconds": 0.5}),
        ("limite_429", {"seconds": 1, "method": "POST"}),
    ],
)
@pytest.mark.parametrize("webhook", [True, False], ids=["webhook", "no-webhook"])
async def test_a_lost_answer_is_asked_about_and_never_repeated_blind(
    road: Road, fault: str, setting: dict[str, Any], webhook: bool
) -> None:
    """Whatever becomes of the answer, the authority cancels once and the user is told once."""
    ana, note = await _issued(road)
    summary = await _summary(ana, note)
    if not webhook:
        road.world.plugnotas.faults.set("sem_webhook")
    road.world.plugnotas.faults.set(fault, times=1, **setting)
    await ana.touch("Cancelar a nota", of=summary)
    await until(lambda: _cancelled(road, note))
    await road.settled()
    assert (_stands(road, note), _asked(road, note)) == (CANCELLED, 1)
    assert sum(f"Nota {note.numero} cancelada" in answer for answer in ana.answers) == 1


async def _cancelled(road: Road, note: Note) -> bool:
    return bool((await _status(road, note))["status"] == "cancelado")


async def _refused(ana: Person) -> bool:
    return any("não foi aceito: ela continua" in answer for answer in ana.answers)


async def test_a_refused_request_whose_answer_was_lost_ends_as_refused(road: Road) -> None:
    """Each time the note must stand twice, half a minute apart: to send again, and to believe the refusal of that."""
    ana, note = await _issued(road)
    summary = await _summary(ana, note)
    for fault in ("perder_resposta", "rejeitar_cancelamento"):
        road.world.plugnotas.faults.set(fault, times=2 if fault == "rejeitar_cancelamento" else 1)
    await ana.touch("Cancelar a nota", of=summary)
    pool = road.database.pool
    last = "SELECT vigente_desde FROM cancelamento WHERE envio = $1 ORDER BY id DESC LIMIT 1"
    for sent, envio in enumerate(("desconhecido", "recusado"), 1):
        await until(partial(pool.fetchval, last, envio))
        assert _asked(road, note) == sent
        assert not await _refused(ana)
        await pool.execute(
            "UPDATE cancelamento SET vigente_desde = vigente_desde - interval '1 min', proxima_acao_em = now() "
            "WHERE estado = 'pendente'"
        )
    await until(lambda: _refused(ana))
    assert _asked(road, note) == 2
    assert (_stands(road, note), (await _status(road, note))["status"]) == (ISSUED, "autorizado")


async def test_a_number_of_somebody_elses_is_not_found(road: Road) -> None:
    """Only the company's own notes: an unknown number is said to be unknown, and the last ones are offered."""
    ana, note = await _issued(road)
    said = await ana.say("cancela a nota 987654")
    assert "Não achei a nota 987654" in said.text
    assert f"NFS-e {note.numero}" in said.text
    asked = await ana.press(said.buttons[0].title)
    assert "Qual é o motivo?" in asked.text


async def test_a_forged_button_cancels_nothing(road: Road) -> None:
    """A button of another conversation, or one that nobody showed, does nothing."""
    ana, note = await _issued(road)
    await _summary(ana, note)
    row = await road.database.pool.fetchrow("SELECT id, versao, emissao_id FROM cancelamento ORDER BY id DESC LIMIT 1")
    eva = await road.person()
    for key in (
        f"cancelar_sim:{row['id']}:{row['versao']}",
        "cancelar_sim:x:y",
        "cancelar_nota:abc",
        "cancelar_sim:9:9",
    ):
        await road.world.meta.user_button(eva.who, key, "Cancelar a nota", "wamid.x")
        await eva.expect()
    await road.settled()
    assert (_asked(road, note), _stands(road, note)) == (0, ISSUED)


async def test_the_client_is_found_by_name_and_the_open_draft_is_kept(road: Road) -> None:
    """The old note is cancelled beside an open draft; a yes in between confirms neither, and it is shown again."""
    ana, note = await _issued(road)
    await ana.say("nota de 777 pro cpf 529.982.247-25, o nome é João da Silva, aula de canto")
    which = await ana.say("cancela a nota da padaria do ze")  # this company has several
    assert "R$ 777,00" in (await ana.say("sim")).text  # shown again: a yes to "which one?" issues nothing
    asked = await ana.press(f"Nota {note.numero}", of=which)
    assert f"NFS-e {note.numero}" in asked.text
    assert "Qual é o motivo?" in (await ana.say("sim")).text
    assert WHY in (await ana.say(WHY)).text
    await ana.touch("Cancelar a nota")
    await ana.tell("sim")
    await ana.expect("Pedi o cancelamento")
    await road.settled()
    assert _stands(road, note) == CANCELLED
    assert [n.id for n in await road.notes(ana)] == []  # the draft was not issued by a yes to something else
    session = await road.session(ana)
    assert session["estado"] == "aguardando_confirmacao"
    shown = [answer for answer in ana.answers if "R$ 777,00" in answer]
    assert len(shown) >= 2
    await ana.touch("Confirmar")
    await until(lambda: _count(road, ana, 1))
    assert _asked(road, note) == 1


async def _count(road: Road, ana: Person, count: int) -> bool:
    return len(await road.notes(ana)) == count


@pytest.mark.parametrize("words", ["cancela", "cancela a nota", "cancela essa nota", "cancela a nota da padaria"])
async def test_giving_up_the_draft_is_no_cancellation(road: Road, words: str) -> None:
    """Over an open summary these words mean that summary, also when a note was issued to the same client before."""
    ana, note = await _issued(road)
    await ana.say(FULL.replace("1500", "901"))
    assert "nenhuma nota foi emitida" in (await ana.say(words)).text
    await road.settled()
    assert (await _status(road, note))["estado"] is None


async def test_a_note_under_way_cannot_be_cancelled_yet(road: Road) -> None:
    """The last note is still at the authority: said honestly, nothing is opened."""
    road.world.plugnotas.faults.set("aprovado_sem_numero")  # stays at the authority until the fault is cleared
    ana = await road.person()
    await ana.say(FULL)
    await ana.touch("Confirmar")
    await road.reached(ana, "processando")
    said = await ana.say("cancela a última nota")
    assert "ainda está em emissão" in said.text
    road.world.plugnotas.faults.clear()
    await road.settled()


async def test_a_note_cancelled_outside_is_learnt_and_told_once(road: Road) -> None:
    """Somebody cancels it at the city: our record follows, and the user hears it once."""
    ana, note = await _issued(road)
    gateway = road.world.plugnotas
    gateway.faults.set("webhook_duplicado", copies=3)
    gateway.ask_cancel(gateway.notes[note.id], "feito no site da prefeitura", "1")
    await ana.expect("fora da Prosa")
    await road.settled()
    await asyncio.sleep(0)
    assert (await _status(road, note))["status"] == "cancelado"
    assert sum("fora da Prosa" in answer for answer in ana.answers) == 1
    assert "já está cancelada" in (await ana.say(f"cancela a nota {note.numero}")).text


async def test_a_cancellation_that_nobody_confirms_expires(road: Road) -> None:
    """After an hour the question is dropped; its button says so and cancels nothing."""
    ana, note = await _issued(road)
    summary = await _summary(ana, note)
    await road.database.pool.execute(
        "UPDATE cancelamento SET expira_em = now() WHERE estado = 'aguardando_confirmacao'"
    )
    await road.house.schedule.run_job("cancellation_expiry")
    await road.settled()
    assert (await _status(road, note))["estado"] == "expirado"
    assert "encerrado" in (await ana.press("Cancelar a nota", of=summary)).text
    assert _asked(road, note) == 0


async def test_two_people_of_one_company_cancel_a_note_once(road: Road) -> None:
    """The later question takes the place of the earlier one, whose button is dead."""
    ana, note = await _issued(road)
    bia = await road.person(new_phone())
    mine = await _summary(ana, note)
    theirs = await _summary(bia, note)
    assert "encerrado" in (await ana.press("Cancelar a nota", of=mine)).text
    await bia.press("Cancelar a nota", of=theirs)
    await bia.expect("cancelada")
    await road.settled()
    assert (_asked(road, note), _stands(road, note)) == (1, CANCELLED)


async def test_who_left_the_company_cancels_none_of_its_notes(road: Road) -> None:
    """The phone issues for another company since: neither the old summary's button nor the note's own does anything."""
    ana, note = await _issued(road)
    summary = await _summary(ana, note)
    other = replace(COMPANY, cnpj="99.000.002/0001-48", razao_social="CAFÉ DA ESQUINA LTDA", usuarios=(new_phone(),))
    await add_company(road.database, other)
    await road.database.pool.execute(
        "UPDATE usuario SET empresa_id = (SELECT id FROM empresa WHERE cnpj = '99000002000148') WHERE telefone = $1",
        ana.who,
    )
    await ana.press("Cancelar a nota", of=summary)
    emissao_id = await road.database.pool.fetchval(
        "SELECT emissao_id FROM nfse_processada WHERE id_externo = $1", note.id
    )
    await road.world.meta.user_button(ana.who, f"cancelar_nota:{emissao_id}", "Cancelar nota", summary.id)
    assert f"NFS-e {note.numero}" not in (await ana.expect()).text
    await road.settled()
    assert (_asked(road, note), _stands(road, note)) == (0, ISSUED)
    assert (await _status(road, note))["estado"] == "aguardando_confirmacao"


async def test_a_new_invoice_ends_the_question(road: Road) -> None:
    """Who orders a new invoice instead of giving a reason gets its summary; the old note stands."""
    ana, note = await _issued(road)
    await ana.say(f"cancela a nota {note.numero}")
    assert "R$ 321,00" in (await ana.say(f"nota de 321 pra {PADARIA}, aula de canto")).text
    assert (await _status(road, note))["estado"] == "desistido"


async def test_what_is_asked_meanwhile_is_answered_and_is_no_reason(road: Road) -> None:
    """Each aside gets its answer and one line of what is waited for; the reason and the button work as ever."""
    ana, note = await _issued(road)
    await ana.say(f"cancela a nota {note.numero}")
    missing = f"Para cancelar a nota {note.numero}, falta o *motivo*."
    for words, said in (
        ("você é gente?", "Sou a Prosa"),
        ("bom dia", "Oi! "),
        ("minhas notas", f"{note.numero}"),
        ("falar com uma pessoa", "Chamei a equipe"),
    ):
        answer = await ana.say(words)
        assert answer.text.startswith(said) or said in answer.text.removesuffix(missing), answer.text
        assert answer.text.endswith(missing)
        assert [button.title for button in answer.buttons][-1] == "Não cancelar"
    assert "Qual é o motivo?" in (await ana.say("mil e quinhentos reais")).text
    conversa = road.conversation(ana)
    asked = "SELECT pessoa_motivo FROM conversas WHERE conversa = $1"
    assert await road.database.pool.fetchval(asked, conversa) == "palavras"
    assert WHY in (await ana.say(WHY)).text
    assert (await ana.say("você é gente?")).text.endswith("falta o seu toque no botão.")
    assert "Pedi o cancelamento" in (await ana.press("Cancelar a nota")).text
    await road.settled()
    assert _stands(road, note) == CANCELLED
