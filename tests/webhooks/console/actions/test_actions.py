from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest

from persistence.access.accounts import Papel
from tests.road.road_people import FULL, unlike, until
from webhooks.console.access.accounts import rename
from webhooks.console.actions.commands import ACOES

if TYPE_CHECKING:
    from tests.road.road_people import Person
    from tests.webhooks.console.conftest import Browser, Desk


async def _acts(who: Browser, sessao_id: str, acao: str, motivo: str = "pedido da pessoa", **fields: str) -> int:
    """Open the action's page, read it, and press."""
    query = f"?mensagem={fields['mensagem']}" if "mensagem" in fields else ""
    path = f"/console/sessoes/{sessao_id}/acoes/{acao}"
    return (await who.post(path, {"motivo": motivo, **fields}, form=path + query))[0]


async def _summary(desk: Desk) -> tuple[Person, str]:
    """Somebody with the summary on the screen, and the session's id."""
    ana = await desk.road.person()
    await ana.say(FULL)
    await desk.road.settled()
    return ana, (await desk.road.session(ana))["sessao_id"]


async def _audited(desk: Desk, sessao_id: str) -> list[tuple[str, str]]:
    rows = await desk.office.database.pool.fetch(
        "SELECT acao, motivo FROM auditoria WHERE alvo = $1 ORDER BY id", sessao_id
    )
    return [(row["acao"], row["motivo"]) for row in rows]


async def test_a_conversation_is_taken_over_and_handed_back(desk: Desk) -> None:
    """The bot falls silent and says so, old buttons issue nothing, staff write by name, and the bot comes back."""
    ana, sessao_id = await _summary(desk)
    async with desk.office.at_work() as sara:
        name = await rename(desk.office.database, sara.who.nome, "Sara  D'Ávila")
        assert name == "Sara D'Ávila"
        assert await _acts(sara, sessao_id, "assumir") == 303
        await ana.expect(f"Aqui é *{name}*, da equipe")
        await ana.tell("na verdade o valor é 9.000")
        await ana.touch("Confirmar")
        await desk.road.settled()
        assert await _acts(sara, sessao_id, "escrever", "", texto="Pode me explicar o que mudou?") == 303
        await ana.expect(f"*{name}, da equipe:*\nPode me explicar o que mudou?")
        assert await desk.road.notes(ana) == []
        page = (await sara.get(f"/console/sessoes/{sessao_id}"))[1]
        assert "na verdade o valor é 9.000" in page
        assert "está em silêncio" in page
        assert await _acts(sara, sessao_id, "devolver", "") == 303
    back = await ana.expect("Voltei a te atender por aqui.")
    assert "R$ 1.500,00" in back.text
    await ana.touch("Confirmar", of=back)
    await ana.files()
    [note] = await desk.road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1500
    asked = [("assumir", "pedido da pessoa"), ("escrever", None), ("devolver", None)]
    assert await _audited(desk, sessao_id) == asked  # one reason covers the take-over
    async with desk.office.at_work() as bela:
        line = (await bela.get(f"/console/sessoes/{sessao_id}"))[1]
    assert 0 < line.index("assumiu a conversa") < line.index("devolveu a conversa para a Prosa")
    assert "pedido da pessoa" in line


async def test_the_page_after_a_take_over_has_the_composer_at_once(desk: Desk) -> None:
    """The answer waits for the command, so that nobody has to load the page again; after handing back it is gone."""
    _, sessao_id = await _summary(desk)
    page, composer = f"/console/sessoes/{sessao_id}", f'action="/console/sessoes/{sessao_id}/acoes/escrever"'
    async with desk.office.at_work() as sara, desk.office.at_work() as bela:
        assert composer not in (await sara.get(page))[1]
        await _acts(sara, sessao_id, "assumir")
        shown = (await sara.get(f"{page}?feito=assumir"))[1]
        assert composer in shown
        assert "A conversa é sua" in shown
        assert composer not in (await bela.get(page))[1]
        assert await _acts(sara, sessao_id, "escrever", "", texto="Bom dia!") == 303
        assert "Bom dia!" in (await sara.get(page))[1]
        await _acts(sara, sessao_id, "devolver", "")
        shown = (await sara.get(f"{page}?feito=devolver"))[1]
        assert composer not in shown
        assert "A Prosa voltou a atender." in shown


async def test_a_form_says_what_is_missing(desk: Desk) -> None:
    """It comes back, and nothing is stored."""
    _, sessao_id = await _summary(desk)
    async with desk.office.at_work() as sara:
        path = f"/console/sessoes/{sessao_id}/acoes/anotar"
        status, page, _ = await sara.post(path, {"texto": " "}, form=path)
        assert status == 422
        assert "Falta escrever o texto." in page
    assert await _audited(desk, sessao_id) == []


async def test_a_button_from_before_the_hand_over_is_dead(desk: Desk) -> None:
    """The summary that was shown before people stepped in cannot be confirmed after they left."""
    ana, sessao_id = await _summary(desk)
    old = ana.world.meta.bubbles(ana.who)[-1]
    async with desk.office.at_work() as sara:
        await _acts(sara, sessao_id, "assumir")
        await ana.expect("da equipe")
        await _acts(sara, sessao_id, "devolver")
        await ana.expect("Voltei")
    again = await ana.press("Confirmar", of=old)
    assert "ainda não emiti" in again.text
    await desk.road.settled()
    assert await desk.road.notes(ana) == []


async def test_every_page_of_a_held_conversation_has_what_is_said_there(desk: Desk) -> None:
    """Staff opened the older invoice; its person answers while the newer one is the newest."""
    ana, first = await _summary(desk)
    await ana.press("Cancelar")
    await desk.road.settled()
    await ana.say(unlike())
    newest = (await desk.road.session(ana))["sessao_id"]
    assert newest != first
    async with desk.office.at_work() as sara:
        await _acts(sara, first, "assumir")
        await ana.expect("da equipe")
        await ana.tell("mas já posso mandar pro cliente?")
        await desk.road.settled()
        form = f"/console/sessoes/{first}/acoes/escrever"
        await sara.post(form, {"texto": "pode sim, já saiu"}, form=form)
        await ana.expect("pode sim")
        await desk.road.settled()
        for session in (first, newest):
            page = (await sara.get(f"/console/sessoes/{session}"))[1]
            assert "mas já posso mandar pro cliente?" in page
            assert "pode sim, já saiu" in page


async def test_only_who_took_it_writes(desk: Desk) -> None:
    """Two people cannot speak at once: the second takes the conversation over first, or writes nothing."""
    ana, sessao_id = await _summary(desk)
    async with desk.office.at_work() as sara, desk.office.at_work() as bela:
        await _acts(sara, sessao_id, "assumir")
        await ana.expect("da equipe")
        await desk.road.settled()
        page = f"/console/sessoes/{sessao_id}/acoes/escrever"
        assert (await bela.get(page))[0] == 409
        assert (await bela.post(page, {"motivo": "x", "texto": "oi", "chave": "k"}, form="/console/senha"))[0] == 409
        await _acts(bela, sessao_id, "assumir")
        await ana.expect(f"Aqui é *{bela.who.nome.capitalize()}*")
        await desk.road.settled()
        assert (await sara.get(page))[0] == 409


async def test_nobody_writes_after_the_window(desk: Desk) -> None:
    """24 hours after the person's last message the form is not offered, and a late command sends nothing."""
    ana, sessao_id = await _summary(desk)
    async with desk.office.at_work() as sara:
        await _acts(sara, sessao_id, "assumir")
        await ana.expect("da equipe")
        await desk.road.settled()
        pool = desk.office.database.pool
        await pool.execute(
            "UPDATE conversas SET ultima_entrada_em = now() - interval '24 hours' WHERE wa_id = $1", ana.who
        )
        assert (await sara.get(f"/console/sessoes/{sessao_id}/acoes/escrever"))[0] == 409
        assert "fechada" in (await sara.get(f"/console/sessoes/{sessao_id}"))[1]


async def test_a_lost_answer_is_asked_about_and_not_sent_again(desk: Desk) -> None:
    """*Consultar* finds the note that exists: one call more to ask, none to send."""
    ana, sessao_id = await _summary(desk)
    faults = desk.road.world.plugnotas.faults
    faults.set("perder_resposta", times=1, method="POST")
    faults.set("erro_500", method="GET")
    faults.set("sem_webhook")
    await ana.touch("Confirmar")
    pool = desk.office.database.pool

    async def unknown() -> Any:
        return await pool.fetchval(
            "UPDATE nfse_emissao SET proxima_acao_em = now() + interval '1 hour' "
            "WHERE sessao_id = $1 AND status = 'desconhecido' AND lease_until IS NULL RETURNING id",
            sessao_id,
        )

    await until(unknown)
    faults.clear("erro_500")
    async with desk.office.at_work() as sara:
        assert "Não emite outra nota" in (await sara.get(f"/console/sessoes/{sessao_id}/acoes/consultar"))[1]
        assert await _acts(sara, sessao_id, "consultar") == 303
    await ana.files()
    assert len(await desk.road.notes(ana)) == 1
    assert await pool.fetchval("SELECT envios FROM nfse_emissao WHERE sessao_id = $1", sessao_id) == 1
    faults.clear()


async def test_a_message_that_did_not_arrive_is_sent_again(desk: Desk) -> None:
    """*Reenviar* sends the same words once, however often the form is pressed."""
    ana, sessao_id = await _summary(desk)
    pool = desk.office.database.pool
    outbox_id = await pool.fetchval("SELECT id FROM outbox WHERE sessao_id = $1", sessao_id)
    await pool.execute("UPDATE outbox SET status = 'falhou', erro = 'x', wamid = NULL WHERE id = $1", outbox_id)
    path = f"/console/sessoes/{sessao_id}/acoes/reenviar"
    async with desk.office.at_work() as sara:
        assert f'href="{path}?mensagem={outbox_id}"' in (await sara.get(f"/console/sessoes/{sessao_id}"))[1]
        page = (await sara.get(f"{path}?mensagem={outbox_id}"))[1]
        hidden = dict(re.findall(r'name="(csrf|chave|mensagem)" value="([^"]+)"', page))
        fields = {**hidden, "motivo": "não chegou"}
        answers = await asyncio.gather(*(sara.post(path, fields) for _ in range(5)))
        assert {status for status, _, _ in answers} == {303}
        assert (await sara.post(path, {**fields, "motivo": "outro"}))[0] == 409  # same form, another request
    again = await ana.expect("Confere?")
    assert [button.title for button in again.buttons] == ["Confirmar", "Corrigir", "Cancelar"]
    await desk.road.settled()
    assert await pool.fetchval("SELECT count(*) FROM outbox WHERE sessao_id = $1", sessao_id) == 2
    assert await _audited(desk, sessao_id) == [("reenviar", "não chegou")]


async def test_another_conversations_message_cannot_be_sent(desk: Desk) -> None:
    """A message's number from elsewhere does not exist in this case."""
    _, mine = await _summary(desk)
    _, other = await _summary(desk)
    foreign = await desk.office.database.pool.fetchval("SELECT id FROM outbox WHERE sessao_id = $1", other)
    async with desk.office.at_work() as sara:
        path = f"/console/sessoes/{mine}/acoes/reenviar"
        assert (await sara.get(f"{path}?mensagem={foreign}"))[0] == 404
        fields = {"motivo": "x", "chave": "k2", "mensagem": str(foreign)}
        assert (await sara.post(path, fields, form="/console/senha"))[0] == 404


async def test_an_invoice_is_closed_by_a_supervisor(desk: Desk) -> None:
    """*Encerrar* gives up what waits for its user, tells them, and needs the role."""
    ana, sessao_id = await _summary(desk)
    async with desk.office.at_work() as sara:
        path = f"/console/sessoes/{sessao_id}/acoes/encerrar"
        assert (await sara.get(path))[0] == 403
        assert (await sara.post(path, {"motivo": "x", "chave": "k"}, form="/console/senha"))[0] == 403
        assert "acao-encerrar" not in (await sara.get(f"/console/sessoes/{sessao_id}"))[1]
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        assert await _acts(rita, sessao_id, "encerrar", "duplicada") == 303
        await ana.expect("A equipe encerrou esta nota: nada foi emitido.")
        await desk.road.settled()
        row = await desk.road.session(ana)
        assert (row["estado"], row["snapshot_reason"]) == ("cancelado_usuario", "cancelled")
        assert (await rita.get(f"/console/sessoes/{sessao_id}/acoes/encerrar"))[0] == 409
        assert "duplicada" in (await rita.get(f"/console/sessoes/{sessao_id}"))[1]


async def test_what_the_authority_has_is_not_closed(desk: Desk) -> None:
    """While the outcome is open nobody takes it out of sight."""
    _, sessao_id = await _summary(desk)
    await desk.office.database.pool.execute(
        "UPDATE session_snapshot SET estado = 'processando', versao = versao + 1 WHERE sessao_id = $1", sessao_id
    )
    async with desk.office.at_work(Papel.ADMIN) as rita:
        assert (await rita.get(f"/console/sessoes/{sessao_id}/acoes/encerrar"))[0] == 409


async def test_a_note_is_for_the_staff_only(desk: Desk) -> None:
    """A note stands in the line for colleagues; the person hears nothing of it."""
    ana, sessao_id = await _summary(desk)
    before = len(ana.answers)
    async with desk.office.at_work() as sara:
        assert await _acts(sara, sessao_id, "anotar", texto="Liga amanhã, 10 h") == 303
        assert "Liga amanhã, 10 h" in (await sara.get(f"/console/sessoes/{sessao_id}"))[1]
    await desk.road.settled()
    assert len(ana.answers) == before


async def test_a_quarantined_message_gets_another_chance(desk: Desk) -> None:
    """*Reprocessar* puts the row back into its lane, once, with its reason in the audit."""
    await _summary(desk)
    pool = desk.office.database.pool
    row_id = await pool.fetchval(
        "UPDATE inbox SET estado = 2, erro = 'ValueError: x', tentativas = 5 "
        "WHERE id = (SELECT max(id) FROM inbox WHERE tipo = 'mensagem') RETURNING id"
    )
    async with desk.office.at_work() as sara, desk.office.at_work(Papel.SUPERVISOR) as rita:
        path = f"/console/quarentena/{row_id}"
        assert f"linha {row_id}" in (await sara.get("/console?ver=quarentena"))[1]
        assert "ValueError: x" in (await sara.get(path))[1]
        assert (await sara.post(path, {"motivo": "x", "chave": "k"}, form="/console/senha"))[0] == 403
        assert (await rita.post(path, {"motivo": "consertado"}, form=path))[0] == 303
        await desk.road.settled()
        assert await pool.fetchval("SELECT estado FROM inbox WHERE id = $1", row_id) == 1
        assert (await rita.get(path))[0] == 404
        assert await _audited(desk, str(row_id)) == [("reprocessar mensagem parada", "consertado")]
    async with desk.office.at_work(Papel.ADMIN, ("12.345.678/0001-95",)) as other:
        assert (await other.get(path))[0] == 404


@pytest.mark.parametrize("acao", [acao.nome for acao in ACOES if acao.motivo])
async def test_every_action_asks_why(desk: Desk, acao: str) -> None:
    """Without a reason nothing is stored: no command, no audit row; what goes on under a take-over has its reason.

    A note is its own reason.
    """
    assert {acao.nome for acao in ACOES if not acao.motivo} == {"escrever", "devolver", "anotar"}
    _, sessao_id = await _summary(desk)
    outbox_id = await desk.office.database.pool.fetchval("SELECT id FROM outbox WHERE sessao_id = $1", sessao_id)
    fields = {"motivo": "  ", "chave": "k", "texto": "t", "mensagem": str(outbox_id)}
    async with desk.office.at_work(Papel.ADMIN) as rita:
        path = f"/console/sessoes/{sessao_id}/acoes/{acao}"
        assert (await rita.post(path, fields, form="/console/senha"))[0] == 422
    assert await _audited(desk, sessao_id) == []


@pytest.mark.parametrize("acao", ACOES, ids=lambda acao: acao.nome)
def test_every_action_says_what_follows(acao: Any) -> None:
    """Nobody presses a button without having read what it does."""
    assert len(acao.consequencia) > 40
    assert acao.consequencia.endswith(".")


async def test_the_audit_shows_who_did_what(desk: Desk) -> None:
    """Who may read the audit finds a case's whole history of hands, and only of their companies."""
    _, sessao_id = await _summary(desk)
    async with desk.office.at_work() as sara:
        await _acts(sara, sessao_id, "anotar", "registro", texto="x")
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        page = (await rita.get(f"/console/auditoria?alvo={sessao_id}"))[1]
        assert sara.who.nome in page
        assert "registro" in page
    async with desk.office.at_work(Papel.SUPERVISOR, ("12.345.678/0001-95",)) as other:
        assert sessao_id + "</a>" not in (await other.get(f"/console/auditoria?alvo={sessao_id}"))[1]


async def test_an_issued_invoice_is_cancelled_once(desk: Desk) -> None:
    """*Cancelar a nota* asks the authority by the chat's own rules, with a reason long enough for it."""
    ana, sessao_id = await _summary(desk)
    await ana.touch("Confirmar")
    await ana.files()
    await desk.road.settled()
    pool = desk.office.database.pool
    status = "SELECT p.status FROM nfse_processada p JOIN nfse_emissao e ON e.id = p.emissao_id WHERE e.sessao_id = $1"
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        path = f"/console/sessoes/{sessao_id}/acoes/cancelar"
        refused, page, _ = await rita.post(path, {"motivo": "curto demais"}, form=path)
        assert refused == 422
        assert 'value="curto demais"' in page
        assert "pelo menos 15 letras, e este tem 12" in page
        assert await _acts(rita, sessao_id, "cancelar", "serviço não foi prestado ao cliente") == 303

        async def cancelled() -> bool:
            return bool(await pool.fetchval(status, sessao_id) == "cancelado")

        await until(cancelled)
        assert (await rita.get(f"/console/sessoes/{sessao_id}/acoes/cancelar"))[0] == 409
    assert await _audited(desk, sessao_id) == [("cancelar", "serviço não foi prestado ao cliente")]


async def test_a_refusal_that_was_our_fault_is_tried_again(desk: Desk) -> None:
    """*Reprocessar* makes one new attempt of the same confirmation after asking about the first; one note exists."""
    ana, sessao_id = await _summary(desk)
    desk.road.world.plugnotas.faults.set("rejeitar", times=1)
    await ana.touch("Confirmar")
    await ana.expect("não foi aceita")
    await desk.road.settled()
    desk.road.world.plugnotas.faults.clear()
    await desk.office.database.pool.execute(
        "UPDATE session_snapshot SET pendente = NULL, versao = versao + 1 WHERE sessao_id = $1", sessao_id
    )
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        assert await _acts(rita, sessao_id, "reprocessar", "código do serviço acertado") == 303

        async def issued() -> bool:
            return len(await desk.road.notes(ana)) == 1

        await until(issued)
        assert (await rita.get(f"/console/sessoes/{sessao_id}"))[0] == 200


async def test_a_conversation_is_taken_over_from_the_queue_and_from_its_own_page(desk: Desk) -> None:
    """Both lead to the same question; who already holds it, and who only reads, is offered nothing."""
    ana, sessao_id = await _summary(desk)
    pool, path = desk.office.database.pool, f"/console/sessoes/{sessao_id}/acoes/assumir"
    await pool.execute(
        "UPDATE session_snapshot SET estado = 'erro', versao = versao + 1 WHERE sessao_id = $1", sessao_id
    )
    codigo = await pool.fetchval("SELECT c.codigo FROM conversas c WHERE c.wa_id = $1", ana.who)
    pages = ("/console", f"/console/contatos/{codigo}")
    async with desk.office.at_work() as sara, desk.office.at_work(Papel.LEITURA) as leo:
        for page in pages:
            assert f'href="{path}"' in (await sara.get(page))[1]
            assert f'href="{path}"' not in (await leo.get(page))[1]
        assert f'href="{path}"' not in (await sara.get("/console?ver=todas"))[1]
        assert await _acts(sara, sessao_id, "assumir") == 303
        await ana.expect("da equipe")
        for page in pages:
            assert f'href="{path}"' not in (await sara.get(page))[1]
