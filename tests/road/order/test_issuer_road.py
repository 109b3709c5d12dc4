"""A session issues for the company that its summary names, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bot.conversation.session_events import SessionEvents
from bot.subjects.invoice.subject import Invoice
from operations.company import add_company
from persistence.conversations import snapshots
from persistence.people import companies as people
from persistence.queue.inbox import Arrival
from proofs.demo.world import COMPANY
from proofs.sandbox.phone.switches import VALUE_REFUSED
from state_machine.machine.events import Confirmou
from tests.road.road_people import FULL, until

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road

OTHER = replace(COMPANY, cnpj="53.113.791/0001-22", razao_social="OUTRA EMPRESA LTDA", usuarios=())


async def _moves(road: Road, person: Person) -> int:
    """Let the person's number issue for another company from now on; returns that one's id."""
    other = await add_company(road.database, OTHER)
    await road.database.pool.execute("UPDATE usuario SET empresa_id = $2 WHERE telefone = $1", person.who, other)
    return other


async def _leaves(road: Road, person: Person) -> None:
    pool = road.database.pool
    await pool.execute("UPDATE conversas SET usuario_id = NULL WHERE conversa = $1", road.conversation(person))
    await pool.execute("DELETE FROM usuario WHERE telefone = $1", person.who)


async def _issuers(road: Road, person: Person) -> list[str]:
    return [note.payload["prestador"]["cpfCnpj"] for note in await road.notes(person)]


@pytest.mark.parametrize("yes", ["Confirmar", "sim"])
async def test_a_number_that_moved_to_another_company_confirms_nothing_of_the_first(road: Road, yes: str) -> None:
    """The yes brings the summary again, for the present company; the old button brings it only, and the new issues."""
    ana = await road.person()
    summary = await ana.say(FULL)
    await road.settled()
    other = await _moves(road, ana)
    again = await (ana.say(yes) if yes == "sim" else ana.press(yes, of=summary))
    assert "emite por outra empresa" in again.text
    assert "Emitente: OUTRA EMPRESA LTDA" in again.text
    once_more = await ana.press("Confirmar", of=summary)
    assert "Emitente: OUTRA EMPRESA LTDA" in once_more.text
    assert await road.notes(ana) == []
    await ana.touch("Confirmar", of=again)
    await ana.files()
    assert await _issuers(road, ana) == ["53113791000122"]
    session = await road.session(ana)
    emission = await road.database.pool.fetchrow(
        "SELECT prestador_id, prestador_cnpj FROM nfse_emissao WHERE sessao_id = $1", session["sessao_id"]
    )
    assert tuple(emission) == (session["empresa_id"], "53113791000122") == (other, "53113791000122")


async def test_a_correction_after_the_move_is_shown_for_the_present_company(road: Road) -> None:
    """Data that are said after the move belong to a session of the new company, and its summary names that one."""
    ana = await road.person()
    await ana.say(FULL)
    await _moves(road, ana)
    summary = await ana.say("na verdade é 1.800")
    assert "R$ 1.800,00" in summary.text
    assert "Emitente: OUTRA EMPRESA LTDA" in summary.text
    await ana.touch("Confirmar", of=summary)
    await ana.files()
    assert await _issuers(road, ana) == ["53113791000122"]


async def test_a_number_that_left_its_company_issues_nothing(road: Road) -> None:
    """Each tap is told why, nothing is issued, and let in again, the number sees the summary before it can confirm."""
    ana = await road.person()
    summary = await ana.say(FULL)
    await road.settled()
    await _leaves(road, ana)
    for _ in range(2):
        assert "não está mais ligado a nenhuma empresa" in (await ana.press("Confirmar", of=summary)).text
    await add_company(road.database, replace(COMPANY, usuarios=(ana.who,)))
    again = await ana.press("Confirmar", of=summary)
    assert "R$ 1.500,00" in again.text
    assert await road.notes(ana) == []
    await ana.touch("Confirmar", of=again)
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_move_while_the_yes_is_being_read_counts(road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the question who writes and the commit the number changes hands: the commit looks again."""
    ana = await road.person()
    summary = await ana.say(FULL)
    await road.settled()
    planned = Invoice._planned

    async def moved_meanwhile(*arguments: Any) -> Any:
        plan = await planned(*arguments)
        await _moves(road, ana)
        return plan

    monkeypatch.setattr(Invoice, "_planned", moved_meanwhile)
    again = await ana.press("Confirmar", of=summary)
    assert "Emitente: OUTRA EMPRESA LTDA" in again.text
    assert await road.notes(ana) == []


async def test_a_company_that_changed_before_its_summary_was_committed_is_noticed(road: Road) -> None:
    """The change began before the summary and was committed after it: by the clock it is older, and still unseen."""
    ana = await road.person()
    async with road.database.pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT now()")  # the transaction's own time
        summary = await ana.say(FULL)
        await road.settled()
        await connection.execute(
            "UPDATE empresa SET aliquota = 3, versao = versao + 1, atualizado_em = now() "
            "WHERE id = (SELECT empresa_id FROM usuario WHERE telefone = $1)",
            ana.who,
        )
    again = await ana.press("Confirmar", of=summary)
    assert "cadastro da sua empresa mudou" in again.text
    assert await road.notes(ana) == []


async def test_a_refused_invoice_is_taken_up_for_the_present_company_only_by_saying_so(road: Road) -> None:
    """*Corrigir nota* after a move shows the other company, and so does the note that follows."""
    road.world.plugnotas.faults.set("rejeitar", times=1, message=VALUE_REFUSED)
    ana = await road.person()
    await ana.say(FULL)
    await ana.press("Confirmar")
    await road.reached(ana, "rejeitado")
    await _moves(road, ana)
    # the release before offers the button for a refusal that blames no field too, and its messages stay
    blameless = "UPDATE session_snapshot SET pendente = NULL, versao = versao + 1 WHERE estado = 'rejeitado'"
    await road.database.pool.execute(blameless)
    summary = await ana.press("Corrigir nota")
    assert "emite por outra empresa" in summary.text
    assert "Emitente: OUTRA EMPRESA LTDA" in summary.text
    await ana.touch("Confirmar", of=summary)
    await ana.files()
    assert await _issuers(road, ana) == ["53113791000122"]


async def test_invoices_of_a_company_left_behind_are_not_shown(road: Road) -> None:
    """The list, the PDF and the cancellation are of the company for which the number issues now."""
    ana = await road.person()
    await ana.issue(FULL.replace("1500", "4321"))
    await road.settled()
    [note] = await road.notes(ana)
    await _moves(road, ana)
    for words in ("minhas notas", "segunda via", f"cancelar nota {note.numero}"):
        answer = await ana.say(words)
        assert "R$ 4.321,00" not in answer.text
        assert answer.attachment is None


async def test_the_staff_give_a_conversation_back_after_a_move(road: Road) -> None:
    """What the staff show again names the old company; its button issues nothing but shows the new one's."""
    ana = await road.person()
    await ana.say(FULL)
    await road.settled()
    staff = await road.database.pool.fetchval(
        "INSERT INTO staff (nome, papel, senha_hash, totp_segredo, todas_empresas) "
        "VALUES ($1, 'suporte', 'x', 'x', true) RETURNING id",
        f"rita{ana.who}",
    )
    await _command(road, ana, "assumir", staff)
    await ana.expect("Rita")
    await _moves(road, ana)
    await _command(road, ana, "devolver", staff)
    shown = await ana.expect("R$ 1.500,00")
    again = await ana.press("Confirmar", of=shown)
    assert "Emitente: OUTRA EMPRESA LTDA" in again.text
    assert await road.notes(ana) == []


async def _command(road: Road, person: Person, comando: str, staff: int) -> None:
    payload = {"comando": comando, "quem": "Rita", "staff_id": staff}
    key = f"equipe:{comando}:{person.who}"
    await road.house.inbox.put([Arrival(key, road.conversation(person), "equipe", payload, "c", imediato=True)])
    pool = road.database.pool
    await until(lambda: pool.fetchval("SELECT estado = 1 FROM inbox WHERE chave = $1", key))


async def test_another_company_s_data_never_issue_a_session_s_invoice(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever hands the wrong company to the last step is refused, and nothing is stored."""
    ana = await road.person()
    used: list[SessionEvents] = []
    apply = SessionEvents.apply

    async def noted(self: SessionEvents, *arguments: Any, **more: Any) -> Any:
        used.append(self)
        return await apply(self, *arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(SessionEvents, "apply", noted)
        await ana.say(FULL)
        await road.settled()
    other = await add_company(road.database, OTHER)

    async def issue() -> None:
        async with road.database.transaction() as connection:
            sessao = await snapshots.active(connection, road.conversation(ana))
            empresa, agora = await people.get_company(connection, other)
            assert sessao is not None
            yes = Confirmou(sessao.revisao)
            await used[0].apply(connection, sessao, (yes,), empresa, agora, "c", telefone=None)

    with pytest.raises(ValueError, match="for another"):
        await issue()
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
