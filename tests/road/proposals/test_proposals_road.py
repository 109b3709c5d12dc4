"""What another system proposes becomes a conversation with its approver, and what is decided there shows in the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proofs.sandbox.phone.switches import VALUE_REFUSED
from proofs.sandbox.plugnotas.model import ISSUED, access_key
from tests.road.proposals.erp import approver, erp_of
from tests.road.road_people import FULL, until

if TYPE_CHECKING:
    from typing import Any

    from tests.road.proposals.erp import Erp
    from tests.road.road_people import Person, Road

_A_DAY_LATER = """
UPDATE nfse_emissao SET criado_em = criado_em - interval '25 h', desejado_em = desejado_em - interval '25 h',
    proxima_acao_em = now()
WHERE sessao_id = $1
"""


@pytest.fixture
async def ana(road: Road) -> Person:
    return await approver(road)


@pytest.fixture
async def erp(road: Road, ana: Person) -> Erp:
    return await erp_of(road)


async def _swept(road: Road) -> None:
    await road.house.schedule.run_job("proposals")


async def test_a_proposal_is_approved_by_its_button(road: Road, erp: Erp, ana: Person) -> None:
    """Its summary says where it came from; a yes in words shows it again, the button issues the note."""
    proposta = await erp.proposes()
    summary = await ana.expect("Um sistema da sua empresa propôs esta nota")
    assert f"Pedida por: sistema da empresa (proposta {proposta})" in summary.text
    assert "R$ 1.500,00" in summary.text
    assert [button.title for button in summary.buttons] == ["Confirmar", "Corrigir", "Cancelar"]
    assert "Só falta você confirmar" in (await ana.say("sim")).text
    assert (await erp.get(proposta))["estado"] == "enviada"
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await ana.files()
    await road.settled()
    (note,) = await road.notes(ana)
    assert note.valor == 1500
    told = await erp.get(proposta)
    assert told["alterada_por"] == "autoridade"
    nota = told["nota"]
    assert (nota["numero"], nota["chave"], nota["valor"]) == (note.numero, note.chave, "1500.00")
    assert (nota["tomador"]["documento"], nota["estado"]) == ("12345678000195", "autorizada")
    files = [await erp.file(nota[formato]) for formato in ("pdf", "xml")]
    assert [files[0][:5], (note.numero or "?").encode() in files[1]] == [b"%PDF-", True]


async def test_a_correction_shows_as_a_new_version(road: Road, erp: Erp, ana: Person) -> None:
    """The old summary's button does not issue; the note is what the approver saw last."""
    proposta = await erp.proposes()
    old = await ana.expect("propôs esta nota")
    assert "R$ 1.800,00" in (await ana.say("na verdade é 1.800")).text
    shown = await erp.get(proposta)
    assert (shown["valor"], shown["versao"], shown["alterada_por"]) == ("1800.00", 3, "aprovador")
    assert (await ana.press("Confirmar", of=old)).buttons
    assert (await erp.get(proposta))["estado"] == "enviada"
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await ana.files()
    await road.settled()
    assert [note.valor for note in await road.notes(ana)] == [1800]


async def test_a_refusal_shows(road: Road, erp: Erp, ana: Person) -> None:
    """And nothing is issued; who takes it up again after all is asked once more, and the caller sees that too."""
    proposta = await erp.proposes()
    await ana.expect("propôs esta nota")
    cancelled = await ana.press("Cancelar")
    refused = await erp.becomes(proposta, "recusada")
    assert refused["alterada_por"] == "aprovador"
    await ana.press(cancelled.buttons[0].title)
    assert (await erp.get(proposta))["estado"] == "enviada"
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await ana.files()
    await road.settled()


async def test_what_the_authority_refused_is_repaired(road: Road, erp: Erp, ana: Person) -> None:
    """The caller reads the reason while it stands; the session that repairs it has the proposal from then on."""
    road.world.plugnotas.faults.set("rejeitar", times=1, message=VALUE_REFUSED)
    proposta = await erp.proposes()
    await ana.expect("propôs esta nota")
    told = await ana.press("Confirmar")
    refused = await erp.becomes(proposta, "rejeitada")
    assert refused["motivo"] == "o valor do serviço é menor que a soma dos descontos e das deduções"
    assert refused["alterada_por"] == "autoridade"
    first = await _session_of(road, proposta)
    await ana.press("Corrigir nota", of=told)
    again = await erp.get(proposta)
    assert (again["estado"], again["motivo"], again["alterada_por"]) == ("enviada", None, "aprovador")
    assert again["versao"] > refused["versao"]
    second = await _session_of(road, proposta)
    assert second != first
    assert (await road.session(ana))["origem"] == first
    assert "R$ 1.400,00" in (await ana.say("1.400")).text
    await ana.touch("Confirmar")
    issued = await erp.becomes(proposta, "emitida")
    assert (issued["valor"], issued["motivo"]) == ("1400.00", None)
    assert await _session_of(road, proposta) == second
    await ana.files()
    await road.settled()
    assert [note.valor for note in await road.notes(ana)] == [1400]


async def test_a_refused_note_that_came_after_all_is_the_proposals(road: Road, erp: Erp, ana: Person) -> None:
    """Another session repairs it by then, and is given up: the caller reads the note that exists, and keeps it."""
    book = road.world.plugnotas
    book.faults.set("rejeitar", times=1, message=VALUE_REFUSED)
    proposta = await erp.proposes(valor="1640.00")
    await ana.expect("propôs esta nota")
    told = await ana.press("Confirmar")
    await erp.becomes(proposta, "rejeitada")
    assert (await erp.get(proposta))["nota"] is None
    first = await _session_of(road, proposta)
    await ana.press("Corrigir nota", of=told)
    await ana.say("1.650")
    assert await _session_of(road, proposta) != first
    refused = next(note for note in book.notes.values() if note.id_integracao.startswith(first))
    chave = access_key(refused, 556, book.ledger.now())
    book.ledger.append(
        "note.settled", id=refused.id, situacao=ISSUED, numero="556", chave=chave, autorizacao="1", mensagem=None
    )
    await ana.touch("Confirmar")
    heard: list[Any] = []

    async def asked() -> Any:
        heard.extend([await ana.expect()])
        return next((bubble for bubble in heard if "ainda quer esta nota?" in bubble.text), None)

    question = await until(asked)
    assert (await erp.becomes(proposta, "emitida"))["nota"]["numero"] == "556"
    await ana.press("Não quero mais", of=question)
    await road.settled()
    shown = await erp.get(proposta)
    assert (shown["estado"], shown["nota"]["numero"]) == ("emitida", "556")


async def _session_of(road: Road, proposta: int) -> Any:
    return await road.database.pool.fetchval("SELECT sessao_id FROM propostas WHERE id = $1", proposta)


async def test_what_nobody_can_tell_is_with_the_staff(road: Road, erp: Erp, ana: Person) -> None:
    """A day without a result is ``erro``; the note that is found after that is told all the same."""
    road.world.plugnotas.faults.set("aprovado_sem_numero")
    proposta = await erp.proposes()
    await ana.expect("propôs esta nota")
    await ana.touch("Confirmar")
    assert (await erp.becomes(proposta, "aceita"))["alterada_por"] == "aprovador"
    pool, session = road.database.pool, await _session_of(road, proposta)
    sent = "SELECT envios FROM nfse_emissao WHERE sessao_id = $1 AND status = 'enviado' AND lease_until IS NULL"
    await until(lambda: pool.fetchval(sent, session))
    await pool.execute(_A_DAY_LATER, session)
    lost = await erp.becomes(proposta, "erro")
    assert (lost["alterada_por"], lost["motivo"]) == ("autoridade", None)
    while "Não consegui concluir" not in (await ana.expect()).text:
        continue  # that it takes long may be said before
    road.world.plugnotas.faults.clear()
    await pool.execute(_A_DAY_LATER, session)
    found = await erp.becomes(proposta, "emitida")
    assert found["versao"] > lost["versao"]
    await ana.files()
    await road.settled()
    assert len(await road.notes(ana)) == 1


async def test_it_waits_behind_the_open_invoice(road: Road, erp: Erp, ana: Person) -> None:
    """What the approver is at comes first; then one proposal after the other, in the order in which they were sent."""
    await ana.say(FULL)
    first, second = await erp.proposes(valor="10.00"), await erp.proposes(valor="20.00")
    await road.settled()
    await _swept(road)
    await road.settled()
    assert len([text for text in ana.answers if "propôs" in text]) == 0
    await ana.press("Cancelar")
    await _swept(road)
    assert "R$ 10,00" in (await ana.expect("propôs esta nota")).text
    await _swept(road)
    await ana.press("Cancelar")
    await erp.becomes(first, "recusada")
    assert (await erp.get(second))["estado"] == "enviada"
    await _swept(road)
    assert "R$ 20,00" in (await ana.expect("propôs esta nota")).text
    await ana.press("Cancelar")
    await erp.becomes(second, "recusada")


async def test_a_greeting_keeps_no_proposal_waiting(road: Road, erp: Erp, ana: Person) -> None:
    """Who only said hello has begun nothing: the summary comes at once, and its button issues that note alone."""
    await ana.say("oi")
    proposta = await erp.proposes(valor="1230.00")
    await ana.expect("propôs esta nota")
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await ana.files()
    await road.settled()
    assert [note.valor for note in await road.notes(ana)] == [1230]


async def test_it_waits_behind_the_question_why_a_note_is_cancelled(road: Road, erp: Erp, ana: Person) -> None:
    """A summary in the middle of it would take the reason for a word on another invoice."""
    await ana.say(FULL)
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    await ana.say("cancela a última nota")
    open_ = "SELECT estado FROM cancelamento ORDER BY id DESC LIMIT 1"
    await until(lambda: road.database.pool.fetchval(open_))
    proposta = await erp.proposes(valor="10.00")
    await road.settled()
    await _swept(road)
    await road.settled()
    assert not [text for text in ana.answers if "propôs" in text]
    assert (await erp.get(proposta))["estado"] == "enviada"


async def test_what_is_missing_is_asked(road: Road, erp: Erp, ana: Person) -> None:
    """With what it is about; the answer leads to the summary, and shows in the API."""
    proposta = await erp.proposes(documento=None, descricao=None)
    asked = await ana.expect("Um sistema da sua empresa propôs uma nota de R$ 1.500,00, e falta um dado.")
    assert "CNPJ ou CPF" in asked.text
    await ana.say("12.345.678/0001-95")
    summary = await ana.say("serviço: consultoria de marketing")
    assert f"(proposta {proposta})" in summary.text
    assert (await erp.get(proposta))["descricao"] == "consultoria de marketing"
    await ana.press("Cancelar")
    await erp.becomes(proposta, "recusada")


async def test_who_lost_the_right_approves_nothing(road: Road, erp: Erp, ana: Person) -> None:
    """Neither what is shown already nor what comes after: no note of any company comes of it."""
    shown = await erp.proposes()
    await ana.expect("propôs esta nota")
    later = await erp.proposes()
    await road.settled()
    other = await road.database.pool.fetchval(
        "INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)"
        " VALUES ('99000003000192', 'Outra', '1', '3550308', 'mei', '01.01') RETURNING id"
    )
    await road.database.pool.execute("UPDATE usuario SET empresa_id = $1 WHERE telefone = $2", other, ana.who)
    await ana.touch("Confirmar")
    await erp.becomes(shown, "recusada")
    await _swept(road)
    gone = await erp.becomes(later, "cancelada")
    assert "não emite mais" in gone["motivo"]
    await road.settled()
    assert await road.notes(ana) == []
