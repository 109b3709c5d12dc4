"""Another invoice like an earlier one: by a button, in words, with a new amount, and never without a confirmation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from operations.company import add_company
from tests.road.talk.memory_people import CAFE, ZE, company_form, of_new_company

if TYPE_CHECKING:
    from proofs.sandbox.plugnotas.model import Note
    from tests.road.road_people import Person, Road


async def numbers(road: Road, person: Person) -> list[str]:
    """The person's notes, oldest first."""
    await road.settled()
    return sorted((note.numero or "" for note in await road.notes(person)), key=int)


async def test_the_button_after_a_note_opens_another_like_it(road: Road) -> None:
    """The summary names that note and all of its data; nothing is issued before the confirmation."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 400 pra {ZE}, consultoria de marketing")
    [first] = await numbers(road, ana)
    await ana.say(f"nota de 90 pra {CAFE}")
    await ana.say("cancela")
    summary = await ana.press("Igual à última")
    assert summary.text.startswith(f"*Igual à nota {first}; ainda não emiti.*")
    for shown in ("Cliente: PADARIA DO ZÉ LTDA", ZE, "R$ 400,00", "Serviço: consultoria de marketing\n"):
        assert shown in summary.text
    assert await numbers(road, ana) == [first]
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"


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


async def test_an_open_invoice_comes_before_a_copy(road: Road) -> None:
    """The draft stays as it is, by button and by words, and a yes is none to the copy."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 403 pra {ZE}, consultoria de marketing")
    await ana.say(f"nota de 90 pra {CAFE}, revisão de texto")
    for answer in (await ana.press("Igual à última"), await ana.say("igual à última")):
        assert "Antes de repetir outra nota" in answer.text
        assert "continua guardada" in answer.text
    assert (await road.session(ana))["cnpj"] == "99000002000148"
    assert "R$ 90,00" in (await ana.say("sim")).text  # the summary again, to be looked at


async def test_a_note_of_a_company_that_the_person_left_is_not_repeated(road: Road) -> None:
    """The old button finds nothing when the phone issues for another company now."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 404 pra {ZE}, consultoria de marketing")
    await road.settled()
    pool = road.database.pool
    await pool.execute("UPDATE conversas SET usuario_id = NULL WHERE conversa = $1", road.conversation(ana))
    await pool.execute("DELETE FROM usuario WHERE telefone = $1", ana.who)
    await add_company(road.database, company_form(ana.who))
    assert "não tenho qual repetir" in (await ana.press("Igual à última")).text
