"""Another invoice like an earlier one: by a button, in words, with a new amount, and never without a confirmation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from operations.company import add_company
from tests.road.talk.memory_people import CAFE, MARIA, ZE, company_form, of_new_company

if TYPE_CHECKING:
    from proofs.sandbox.plugnotas.model import Note
    from tests.road.road_people import Person, Road


async def numbers(road: Road, person: Person) -> list[str]:
    """The person's notes, oldest first."""
    await road.settled()
    return sorted((note.numero or "" for note in await road.notes(person)), key=int)


CANCEL = """
UPDATE nfse_processada p SET status = 'cancelado' FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id
WHERE e.id = p.emissao_id AND s.conversa = $1 AND p.numero = $2
"""


async def test_thanks_and_chat_after_a_note_offer_to_repeat_it(road: Road) -> None:
    """No message is sent for it; the answer names the note, and its button opens a summary that nobody confirmed."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 400 pra {ZE}, consultoria de marketing")
    [first] = await numbers(road, ana)
    assert len(ana.answers) == 3
    for words in ("obrigado", "oi"):
        thanks = await ana.say(words)
        assert (
            f"Para repetir a nota {first}, de R$ 400,00 para PADARIA DO ZÉ LTDA, toca em *Igual à última*"
            in thanks.text
        )
        assert thanks.buttons[0].title == "Igual à última"
    summary = await ana.press("Igual à última")
    assert summary.text.startswith(f"*Igual à nota {first}; ainda não emiti.*")
    for shown in ("Cliente: PADARIA DO ZÉ LTDA", ZE, "R$ 400,00", "Serviço: consultoria de marketing\n"):
        assert shown in summary.text
    assert await numbers(road, ana) == [first]
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"


async def test_the_first_question_of_an_empty_draft_offers_it(road: Road) -> None:
    """Days later a greeting opens an empty draft, which the button fills; somebody without a note is offered none."""
    ana, bia = await of_new_company(road, 2)
    await ana.issue(f"nota de 400 pra {ZE}, consultoria de marketing")
    await road.settled()
    await road.database.pool.execute(
        "UPDATE session_snapshot SET updated_at = now() - interval '2 days' WHERE conversa = $1",
        road.conversation(ana),
    )
    greeting = await ana.say("oi")
    assert greeting.text.startswith("Oi! Eu emito sua nota")
    assert "de R$ 400,00 para PADARIA DO ZÉ LTDA" in greeting.text
    opened = await road.session(ana)
    assert opened["estado"] == "coleta"
    assert "R$ 400,00" in (await ana.press("Igual à última")).text
    filled = await road.session(ana)
    assert (filled["sessao_id"], filled["estado"]) == (opened["sessao_id"], "aguardando_confirmacao")
    assert not (await bia.say("oi")).buttons


async def test_a_button_repeats_the_note_that_its_message_named(road: Road) -> None:
    """A later note does not change what an old button means."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 410 pra {ZE}, consultoria de marketing")
    old = await ana.say("obrigado")
    await ana.issue(f"nota de 90 pra {CAFE}, revisão de texto")
    assert "de R$ 90,00 para CAFÉ" in (await ana.say("obrigado")).text
    summary = await ana.press("Igual à última", of=old)
    assert "R$ 410,00" in summary.text
    assert "PADARIA DO ZÉ LTDA" in summary.text


async def test_a_cancelled_note_is_neither_offered_nor_repeated(road: Road) -> None:
    """Its old button says so; words take the newest note that stands."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 411 pra {ZE}, consultoria de marketing")
    await ana.issue(f"nota de 91 pra {CAFE}, revisão de texto")
    old = await ana.say("obrigado")
    newest = (await numbers(road, ana))[-1]
    await road.database.pool.execute(CANCEL, road.conversation(ana), newest)
    refused = await ana.press("Igual à última", of=old)
    assert f"A nota {newest}, de R$ 91,00 para CAFÉ DA ESQUINA INVENTADA LTDA, foi cancelada" in refused.text
    assert len(await road.sessions(ana)) == 2
    assert "de R$ 411,00" in (await ana.say("obrigado")).text
    assert "R$ 411,00" in (await ana.say("igual à última")).text


async def test_another_persons_note_is_not_repeated(road: Road) -> None:
    """A button of another conversation of the company finds nothing here; nor do the words."""
    ana, bia = await of_new_company(road, 2)
    await ana.issue(f"nota de 412 pra {ZE}, consultoria de marketing")
    old = await ana.say("obrigado")
    [button] = old.buttons
    await road.world.meta.user_button(bia.who, button.id, button.title, old.id)
    assert "então não repeti" in (await bia.expect()).text
    assert "não tenho qual repetir" in (await bia.say("igual à última")).text


async def test_two_clients_that_fit_are_a_list_of_their_notes(road: Road) -> None:
    """Each row is the last note of one of them, and repeats it."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 80 pra Maria Souza Lima, cpf {MARIA}, aula de inglês")
    await ana.issue("nota de 81 pra Maria Souza Prado, cpf 111.444.777-35, aula de inglês")
    question = await ana.say("a mesma da maria souza")
    assert {row.title for row in question.rows} == {"Maria Souza Lima", "Maria Souza Prado"}
    assert len(await road.sessions(ana)) == 2
    [lima] = [row for row in question.rows if row.title == "Maria Souza Lima"]
    await road.world.meta.user_list_reply(ana.who, lima.id, lima.title, context_wamid=question.id)
    assert "R$ 80,00" in (await ana.expect()).text


@pytest.mark.parametrize("words", ["igual à última", "repete a última", "faz a mesma nota de novo"])
async def test_words_open_another_like_the_last(road: Road, words: str) -> None:
    """They do what the button does; a yes issues it, once."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 401 pra {ZE}, consultoria de marketing")
    assert "R$ 401,00" in (await ana.say(words)).text
    await ana.say("na verdade o valor é 402")
    await ana.touch("Confirmar")
    await ana.files()
    assert len(await numbers(road, ana)) == 2


async def test_the_last_of_a_named_client_with_another_amount(road: Road) -> None:
    """Said as "a mesma da padaria, só que 430": that client and service, the new amount; no other name will do."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 400 pra {ZE}, consultoria de marketing")
    await ana.issue(f"nota de 90 pra {CAFE}, revisão de texto")
    refused = await ana.say("a mesma da oficina, só que 430")
    assert "Não achei nota para “oficina”" in refused.text
    assert len(await road.sessions(ana)) == 2
    summary = await ana.say("a mesma da padaria, só que 430")
    assert summary.text.startswith("*Mudei o valor de R$ 400,00 para R$ 430,00.*")
    for shown in ("Cliente: PADARIA DO ZÉ LTDA", "Serviço: consultoria de marketing\n"):
        assert shown in summary.text
    await ana.touch("Confirmar")
    await ana.files()
    assert [note.valor for note in await notes_by_number(road, ana)] == [400, 90, 430]


async def notes_by_number(road: Road, person: Person) -> list[Note]:
    """The person's notes, oldest first."""
    await road.settled()
    return sorted(await road.notes(person), key=lambda note: int(note.numero or 0))


async def test_words_leave_an_open_invoice_before_a_copy_and_a_button_does_its_work(road: Road) -> None:
    """In words the draft stays as it is; the button lays it aside, where it can be taken up, and opens the copy."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 403 pra {ZE}, consultoria de marketing")
    offer = await ana.say("obrigado")
    await ana.say(f"nota de 90 pra {CAFE}, revisão de texto")
    answer = await ana.say("igual à última")
    assert "Antes de repetir outra nota" in answer.text
    assert "continua guardada" in answer.text
    assert (await road.session(ana))["cnpj"] == "99000002000148"
    left = await ana.press("Igual à última", of=offer)
    assert [button.title for button in left.buttons] == ["Retomar esta nota"]
    assert "R$ 403,00" in (await ana.expect("Igual à nota")).text
    await ana.press("Retomar esta nota", of=left)  # the copy is laid aside in its turn
    await ana.expect("R$ 90,00")


async def test_a_note_of_a_company_that_the_person_left_is_not_repeated(road: Road) -> None:
    """The old button finds nothing when the phone issues for another company now."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 404 pra {ZE}, consultoria de marketing")
    await ana.say("obrigado")
    await road.settled()
    pool = road.database.pool
    await pool.execute("UPDATE conversas SET usuario_id = NULL WHERE conversa = $1", road.conversation(ana))
    await pool.execute("DELETE FROM usuario WHERE telefone = $1", ana.who)
    await add_company(road.database, company_form(ana.who))
    assert "não é da empresa pela qual você emite agora, então não repeti" in (await ana.press("Igual à última")).text
