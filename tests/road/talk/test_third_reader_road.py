"""A model that reads first, on the whole road: when it is asked, what its word changes, and what stays without it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from extractor.learned.reader import LearnedReader
from extractor.model.prompt import NOTHING
from proofs.sandbox.model import Reply
from tests.road.road_people import PADARIA, open_road

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.sandbox.model import Asked
    from proofs.sandbox.world import World
    from tests.road.road_people import Road

ORDER = f"nota de 1.730,00 pra {PADARIA}, consultoria de marketing"  # no currency: the only price needs evidence
ANSWER = {**NOTHING, "ato": "confirmar", "valor": "1.730,00"}


@pytest.fixture(scope="module")
async def modelled(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """A road with a model, of which each person has one question a day."""

    async def model(world: World) -> dict[str, Any]:
        return {
            "openai_api_key": SecretStr("sk-test"),
            "openai_base_url": world.urls.openai_base,
            "openai_model": world.model.model,
            "model_calls_per_person_day": 1,
        }

    async with open_road(database_url, redis_url, between=model) as road:
        yield road


@pytest.fixture
def asked(modelled: Road) -> list[Asked]:
    """What the model is asked from here on; it upholds the amount of ``ORDER``."""
    model = modelled.world.model
    model.asked.clear()
    model.answer_with(lambda _: Reply(ANSWER))
    return model.asked


@pytest.fixture
def unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two readers see the same amount, and are not quite sure of it."""
    monkeypatch.setattr(LearnedReader, "certainty", lambda _reader, _features: 0.8)


async def test_what_holds_no_data_leaves_for_nobody(modelled: Road, asked: list[Asked]) -> None:
    """A greeting, thanks and a yes are read here; an order is the model's to read."""
    ana = await modelled.person()
    for words in ("bom dia!", "obrigada", "sim"):
        await ana.say(words)
    assert asked == []
    assert "R$ 1.730,00" in (await ana.say(ORDER)).text
    assert len(asked) == 1


@pytest.mark.usefixtures("unsure")
async def test_one_word_of_the_model_spares_the_question(modelled: Road, asked: list[Asked]) -> None:
    """The summary shows the amount and waits for its yes, whatever else the model says; the journal names the model."""
    ana = await modelled.person()
    summary = await ana.say(ORDER)
    assert "R$ 1.730,00" in summary.text
    assert "Confirmar" in [button.title for button in summary.buttons]
    assert len(asked) == 1
    assert PADARIA not in json.dumps(asked[0].body, ensure_ascii=False)
    valor = (await modelled.session(ana))["rascunho"]["valor"]
    assert (valor["valor"], valor["escrito"], valor["origem"]) == ("1730.00", "1.730,00", "modelo")
    assert await modelled.notes(ana) == []


@pytest.mark.usefixtures("unsure")
async def test_beyond_the_budget_the_person_is_asked(modelled: Road, asked: list[Asked]) -> None:
    """The second order of a day has no third reader: the same words are marked in the summary."""
    ana = await modelled.person()
    await ana.say(ORDER)
    await ana.press("Cancelar")
    question = await ana.say(ORDER)
    assert len(asked) == 1
    assert "R$ 1.730,00" in question.text
    assert "*R$ 1.730,00* (confere?)" in question.text
    assert question.buttons[0].title == "Confirmar R$ 1.730"


@pytest.mark.usefixtures("unsure")
async def test_a_model_that_fails_leaves_the_question(modelled: Road, asked: list[Asked]) -> None:
    """Its server is away: what was read stands, and only the amount is marked."""
    modelled.world.model.answer_with(lambda _: Reply(shape="refusal"))
    ana = await modelled.person()
    question = await ana.say(ORDER)
    assert len(asked) == 1
    assert question.buttons[0].title == "Confirmar R$ 1.730"
