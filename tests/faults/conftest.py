"""A stage of its own processes and a road in this one, for each module of faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from persistence.db.migrate import upgrade
from proofs.storm.machines.servers import open_servers
from tests.faults.fault_processes import Forks, open_forks
from tests.road.road_people import Road, open_road
from tests.road.road_stage import Stage, open_stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from proofs.storm.machines.servers import Servers


@pytest.fixture(scope="module")
async def opened_stage(
    database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    async with open_stage(database_url, redis_url, tmp_path_factory.mktemp("prosa")) as stage:
        yield stage


@pytest.fixture
async def stage(opened_stage: Stage) -> AsyncIterator[Stage]:
    """The module's stage with all faults mended, nothing remembered of companies, and no process left behind."""
    for simulator in opened_stage.world.simulators:
        simulator.faults.clear()
    await opened_stage.database.pool.execute("DELETE FROM cnpj_cache")
    yield opened_stage
    await opened_stage.clear()


@pytest.fixture(scope="module")
async def opened_road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    async with open_road(database_url, redis_url) as road:
        yield road


@pytest.fixture
def road(opened_road: Road) -> Road:
    """The module's road with all faults mended."""
    for simulator in opened_road.world.simulators:
        simulator.faults.clear()
    return opened_road


@pytest.fixture(scope="module")
async def opened_forks(
    database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Forks]:
    async with open_forks(database_url, redis_url, tmp_path_factory.mktemp("forks")) as forks:
        yield forks


@pytest.fixture
async def forks(opened_forks: Forks) -> AsyncIterator[Forks]:
    """A stage with a zygote, all faults mended, and no process left behind."""
    for simulator in opened_forks.stage.world.simulators:
        simulator.faults.clear()
    await opened_forks.stage.database.pool.execute("DELETE FROM cnpj_cache")
    yield opened_forks
    await opened_forks.clear()


@pytest.fixture(scope="module")
def own_servers() -> Iterator[Servers]:
    """PostgreSQL and Valkey of this module alone, durable, to be crashed."""
    with open_servers() as (servers, _):
        upgrade(servers.owner_url, servers.database_url)
        yield servers
