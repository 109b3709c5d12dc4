"""Budgets where they are kept: for the model, and with Redis away. Each test opens its own road, the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from state_machine.catalogue import messages
from tests.road.road_people import open_road

if TYPE_CHECKING:
    from tests.road.road_people import Road

NOTICE = messages.devagar().texto


async def _refused(road: Road, budget: str) -> float:
    return float(road.house.metrics.budget_refusals.labels(budget)._value.get())


async def test_a_person_and_a_day_have_a_budget_for_the_model(database_url: str, redis_url: str) -> None:
    """Beyond it the rules alone read: for one person first, then for all."""
    limits: dict[str, Any] = {"model_calls_per_person_day": 2, "model_calls_per_day": 3}
    async with open_road(database_url, redis_url, **limits) as road:
        await road.house.redis.flushall()
        budgets = road.house.budgets
        assert [await budgets.model("ana") for _ in range(3)] == [True, True, False]
        assert [await budgets.model("bia") for _ in range(2)] == [True, False]
        assert (await _refused(road, "modelo_pessoa"), await _refused(road, "modelo")) == (1, 1)
        for key in await road.house.redis.keys("prosa:orcamento:*"):
            assert 0 < await road.house.redis.ttl(key) <= 86_400


async def test_without_redis_people_are_answered_and_nothing_is_spent(database_url: str) -> None:
    """People are answered as ever; strangers and the model, which only cost money, wait."""
    async with open_road(database_url, "redis://127.0.0.1:1/0", person_answers_burst=1) as road:
        ana = await road.person()
        assert NOTICE not in [(await ana.say("oi")).text, (await ana.say("oi")).text]
        assert not await road.house.budgets.stranger()
        assert not await road.house.budgets.model("ana")
