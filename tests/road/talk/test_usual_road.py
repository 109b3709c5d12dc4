"""What is usually invoiced to a client is offered, and taken only by its button."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.road.talk.memory_people import CAFE, ZE, of_new_company

if TYPE_CHECKING:
    from tests.road.road_people import Road

SERVICE = "consultoria de marketing"


async def test_the_usual_is_offered_and_used_by_a_button(road: Road) -> None:
    """After two equal notes the question has service and amount; nothing is filled before the touch."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 500 pra {ZE}, {SERVICE}")
    assert "De sempre" not in (await ana.say(f"nota pra {ZE}")).text  # one note is no habit
    await ana.say("cancela")
    await ana.issue(f"nota de 500 pra {ZE}, {SERVICE}")
    offer = await ana.say(f"nota pra {ZE}")
    assert offer.text.endswith(f"De sempre: {SERVICE}, R$ 500,00.")
    assert [button.title for button in offer.buttons] == ["Usar", "Mudar"]
    stored = await road.session(ana)
    assert (stored["valor"], stored["descricao"]) == (None, None)
    summary = await ana.press("Usar")
    for shown in ("R$ 500,00", f"Serviço: {SERVICE}\n", "PADARIA DO ZÉ LTDA"):
        assert shown in summary.text
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"


async def test_the_service_alone_is_offered_where_amounts_differ(road: Road) -> None:
    """The amount that was said stays; *Mudar* asks again without an offer."""
    [ana] = await of_new_company(road)
    for valor in (501, 502):
        await ana.issue(f"nota de {valor} pra {ZE}, {SERVICE}")
    offer = await ana.say(f"nota de 503 pra {ZE}")
    assert offer.text.endswith(f"De sempre: {SERVICE}.")
    asked = await ana.press("Mudar")
    assert "serviço" in asked.text
    assert {each.id.partition(":")[0] for each in asked.buttons} <= {"pessoa"}
    summary = await ana.press("Usar")
    assert "R$ 503,00" in summary.text
    assert f"Serviço: {SERVICE}\n" in summary.text


async def test_a_button_of_another_revision_fills_nothing(road: Road) -> None:
    """After the client was changed, the old offer is another client's."""
    [ana] = await of_new_company(road)
    for valor in (504, 505):
        await ana.issue(f"nota de {valor} pra {ZE}, {SERVICE}")
    await ana.say(f"nota de 506 pra {ZE}")
    await ana.say(f"o cliente é {CAFE}")
    await ana.press("Usar")
    stored = await road.session(ana)
    assert (stored["cnpj"], stored["descricao"]) == ("99000002000148", None)


async def test_an_offer_that_was_passed_over_fills_nothing(road: Road) -> None:
    """The client is the same, but something else was said since."""
    [ana] = await of_new_company(road)
    for valor in (510, 511):
        await ana.issue(f"nota de {valor} pra {ZE}, {SERVICE}")
    offer = await ana.say(f"nota de 512 pra {ZE}")
    await ana.say("o valor é 513")
    await ana.press("Usar", offer)
    stored = await road.session(ana)
    assert (str(stored["valor"]), stored["descricao"]) == ("513.00", None)


async def test_a_habit_that_changed_since_it_was_offered_fills_nothing(road: Road) -> None:
    """A partner's notes made another one: the button takes only what its message named."""
    ana, bia = await of_new_company(road, 2)
    for _ in range(2):
        await ana.issue(f"nota de 508 pra {ZE}, {SERVICE}")
    await ana.say(f"nota pra {ZE}")
    for _ in range(2):
        await bia.issue(f"nota de 509 pra {ZE}, {SERVICE}")
    await ana.press("Usar")
    stored = await road.session(ana)
    assert (stored["valor"], stored["descricao"]) == (None, None)


async def test_another_service_and_another_company_are_offered_nothing(road: Road) -> None:
    """The habit is the company's with this client and this service."""
    [ana] = await of_new_company(road)
    [bia] = await of_new_company(road)
    for _ in range(2):
        await ana.issue(f"nota de 507 pra {ZE}, {SERVICE}")
    assert "De sempre" not in (await ana.say(f"nota pra {ZE}, revisão de texto")).text
    assert "De sempre" not in (await bia.say(f"nota pra {ZE}")).text
