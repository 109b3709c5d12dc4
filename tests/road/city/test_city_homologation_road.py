"""São Paulo has no test host: in homologação questions leave and no RPS. A house of its own, on its own database."""

from __future__ import annotations

from dataclasses import replace

from bot.operator.reconcile import channels_of
from gateway.keys import ChaveRPS
from gateway.registry import REGISTRY
from operations.company import add_company
from state_machine.protocol.channel import Ambiente, Canal
from state_machine.protocol.emission import Absent
from tests.road.city.test_city_road import CCM, FORM, PLAIN, led_there, registered, steps, told
from tests.road.road_people import QUICK, Person, new_phone, open_road, unlike, until


async def test_outside_of_production_no_rps_leaves(database_url: str, redis_url: str) -> None:
    """The city has no test host: a confirmed invoice waits as not sent, and only questions were asked."""
    config = replace(QUICK, paulistana=PLAIN)
    async with open_road(database_url, redis_url, config=config, between=led_there("homologacao")) as apart:
        await registered(apart)
        person = Person(apart.world, new_phone())
        await add_company(apart.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
        await person.say(unlike())
        await person.touch("Confirmar")
        session = (await apart.reached(person, "processando"))["sessao_id"]

        async def refused() -> list[tuple[str, str]]:
            return await steps(apart, session)

        assert (await until(refused))[0] == ("submit", "NotSent")
        await told(person, "São Paulo não tem ambiente de testes")
        async with channels_of(apart.house.settings, apart.database) as channels:
            gateway = channels.of(Canal("paulistana", Ambiente.HOMOLOGACAO))
            assert await gateway.find(gateway.key(FORM.cnpj, str(ChaveRPS(CCM, "PROSA", 1)))) == Absent()
        called = {record.data["operation"] for record in apart.world.paulistana.ledger.of("call")}
        assert called == {"ConsultaNFe", "ConsultaNFeEmitidas"}
        assert not apart.world.paulistana.notes
