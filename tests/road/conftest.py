"""One open road for each module of tests; every test brings its own people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.road_people import Road, open_road

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(scope="module")
async def open_for_module(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    async with open_road(database_url, redis_url) as road:
        yield road


@pytest.fixture
def road(open_for_module: Road) -> Road:
    """The module's road with all faults mended."""
    for simulator in open_for_module.world.simulators:
        simulator.faults.clear()
    return open_for_module
