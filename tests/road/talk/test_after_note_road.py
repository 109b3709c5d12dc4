"""Behind a note two buttons: words for its customer, with a mail where one can go, and another note like it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from operations.company import add_company
from state_machine.protocol.channel import Canal
from tests.road.road_people import until
from tests.road.talk.memory_people import CAFE, ZE, of_new_company
from tests.road.talk.test_repeat_road import CANCEL, numbers
from tests.webhooks.api.conftest import THEIRS

if TYPE_CHECKING:
    from proofs.sandbox.meta.model import Bubble
    from tests.road.road_people import Person, Road

MAND, SAME = "Mandar ao cliente", "Igual à última"
ORDER = f"nota de 400 pra {ZE}, consultoria de marketing."


async def offered_to(person: Person, number: int = 1) -> Bubble:
    """Return the offer behind the person's newest note, once there are so many."""

    async def came() -> Bubble | None:
        return person.offers[-1] if len(person.offers) == number else None

    found: Bubble = await until(came)
    return found


async def test_the_offer_comes_once_behind_the_files_and_asks_nothing(road: Road) -> None:
    """One message a note, the last of it; a yes in words after it issues nothing."""
    [ana] = await of_new_company(road)
    await ana.issue(ORDER)
    offered = await offered_to(ana)
    [first] = await numbers(road, ana)
    assert offered.text == f"NFS-e {first}: toca para mandar ao cliente ou fazer outra igual."
    assert [button.title for button in offered.buttons] == [MAND, SAME]
    order = [b.id for b in road.world.meta.bubbles(ana.who)]
    files = [b.id for b in road.world.meta.bubbles(ana.who) if b.attachment]
    assert order.index(offered.id) > max(map(order.index, files))
    assert not (await ana.say("sim")).text.startswith("*Igual")
    assert await numbers(road, ana) == [first]
    assert len(ana.offers) == 1


async def test_the_customers_words_are_alone_in_their_message(road: Road) -> None:
    """Where no mail goes: what the note is, and nothing else; pressed twice, the same again, and nothing is issued."""
    [ana] = await of_new_company(road)
    await ana.issue(ORDER)
    offered = await offered_to(ana)
    [first] = await numbers(road, ana)
    said = await ana.press(MAND, offered)
    begun = f"Olá! Segue a NFS-e {first}, de R$ 400,00: consultoria de marketing."
    assert said.text.startswith(begun)
    assert not said.buttons
    assert begun in (await ana.press(MAND, offered)).text
    await road.settled()
    assert len(ana.answers) == 3 + 2
    assert await numbers(road, ana) == [first]


async def test_another_note_like_it_is_issued_by_its_own_summary_alone(road: Road) -> None:
    """Pressed twice there is one draft, and one more note only after Confirmar; its own offer follows."""
    [ana] = await of_new_company(road)
    await ana.issue(ORDER)
    offered = await offered_to(ana)
    [first] = await numbers(road, ana)
    outdated = await ana.press(SAME, offered)
    assert f"Igual à nota {first}" in outdated.text
    await ana.touch(SAME, offered)
    await road.settled()
    summary = road.world.meta.bubbles(ana.who)[-1]
    assert f"Igual à nota {first}" in summary.text
    assert "R$ 400,00" in summary.text
    assert await numbers(road, ana) == [first]
    waiting = [each for each in await road.sessions(ana) if each["estado"] == "aguardando_confirmacao"]
    assert len(waiting) == 1
    await ana.touch("Confirmar", outdated)
    await road.settled()
    assert await numbers(road, ana) == [first]
    await ana.touch("Confirmar", summary)  # of equal content: it is asked about
    await road.settled()
    if len(await numbers(road, ana)) == 1:
        await ana.touch("Confirmar")
    second = await offered_to(ana, 2)
    assert len(await numbers(road, ana)) == 2
    assert {button.id for button in second.buttons}.isdisjoint(button.id for button in offered.buttons)


async def test_an_open_draft_is_neither_merged_nor_lost(road: Road) -> None:
    """It is given up for the copy, with a button that takes it up again, as the same act does elsewhere."""
    [ana] = await of_new_company(road)
    await ana.issue(ORDER)
    offered = await offered_to(ana)
    first = await numbers(road, ana)
    await ana.say(f"nota de 90 pra {CAFE}, revisão de texto")
    other = (await road.session(ana))["sessao_id"]
    await ana.touch(SAME, offered)
    await road.settled()
    shown = next(answer for answer in reversed(ana.answers) if "R$ 400,00" in answer and "Igual à nota" in answer)
    assert "R$ 90,00" not in shown
    assert "CAFÉ" not in shown
    kept = {each["sessao_id"]: each for each in await road.sessions(ana)}[other]
    assert (kept["estado"], kept["rascunho"]["valor"]["valor"]) == ("cancelado_usuario", "90.00")
    assert await numbers(road, ana) == first
    ana.read = road.world.meta.bubbles(ana.who)[-1].id
    assert "descartei" in (await ana.press("Retomar esta nota")).text  # the copy, in turn
    await ana.expect("R$ 90,00")


async def test_a_note_that_ended_or_is_another_companys_goes_to_nobody(road: Road) -> None:
    """Each in a sentence, and nothing of the note in it."""
    ana, bia = await of_new_company(road, 2)
    await ana.issue(ORDER)
    offered = await offered_to(ana)
    [first] = await numbers(road, ana)
    [button] = [button for button in offered.buttons if button.title == MAND]
    await road.world.meta.user_button(bia.who, button.id, button.title, offered.id)
    assert "Segue a" not in (await bia.expect()).text
    await road.database.pool.execute(CANCEL, road.conversation(ana), first)
    assert f"A nota {first} está cancelada" in (await ana.press(MAND, offered)).text
    assert "foi cancelada" in (await ana.press(SAME, offered)).text
    await add_company(road.database, THEIRS, Canal("plugnotas"))
    moved = "UPDATE usuario SET empresa_id = (SELECT id FROM empresa WHERE cnpj = $1) WHERE telefone = $2"
    assert await road.database.pool.execute(moved, "99000003000192", ana.who) == "UPDATE 1"
    gone = await ana.press(MAND, offered)
    assert not re.search(rf"\b{first}\b", gone.text)
    assert len(await road.sessions(ana)) == 1
