from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from tests.faults.tcp_proxy import TcpProxy
from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import FULL, QUICK, open_road, until
from tests.road.road_stage import waits_passing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.sandbox.world import World
    from tests.road.road_people import Road

GATEWAY_SECONDS = 2.0  # that the house waits for the gateway here
BAD = size(1.0, 30.0)  # seconds


@pytest.fixture(scope="module")
async def wires(database_url: str, redis_url: str) -> AsyncIterator[tuple[Road, dict[str, TcpProxy]]]:
    """A road whose every way to the outside and to its servers leads through a bad network."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(TcpProxy(database_url))
        cache = await stack.enter_async_context(TcpProxy(redis_url))
        proxies = {"database": database, "redis": cache}

        async def between(world: World) -> dict[str, str]:
            urls = world.urls
            for name, url in (("whatsapp_api_url", urls.whatsapp_api), ("plugnotas_url", urls.plugnotas)):
                proxies[name] = await stack.enter_async_context(TcpProxy(url))
            return {name: proxies[name].url for name in ("whatsapp_api_url", "plugnotas_url")}

        road = await stack.enter_async_context(
            open_road(database.url, cache.url, config=QUICK, between=between, gateway_timeout_seconds=GATEWAY_SECONDS)
        )
        yield road, proxies


@pytest.fixture
async def bad(wires: tuple[Road, dict[str, TcpProxy]]) -> AsyncIterator[tuple[Road, dict[str, TcpProxy]]]:
    """The same, mended afterwards: a trouble that stays would be that of all the tests that follow."""
    yield wires
    for proxy in wires[1].values():
        proxy.silent, proxy.latency = False, 0.0


@pytest.mark.parametrize("trouble", ["latency", "reset", "half-open"])
@pytest.mark.parametrize("wire", ["whatsapp_api_url", "plugnotas_url", "redis", "database"])
async def test_nobody_waits_past_their_timeout(bad: tuple[Road, dict[str, TcpProxy]], wire: str, trouble: str) -> None:
    """On a slow, cut or silent line every wait ends in time, and once it is mended the invoice is issued, once."""
    road, proxies = bad
    proxy = proxies[wire]
    ana = await road.person()
    await ana.tell(FULL)
    await ana.expect("R$ 1.500,00", timeout=PATIENCE)
    proxy.latency = 0.05 if trouble == "latency" else 0.0
    proxy.silent = trouble == "half-open"
    if trouble == "reset":
        proxy.reset()
    await ana.touch("Confirmar")
    await asyncio.sleep(BAD)
    if trouble == "half-open" and wire == "plugnotas_url":
        query = "SELECT status = 'desconhecido' FROM nfse_emissao ORDER BY id DESC LIMIT 1"
        await until(lambda: road.database.pool.fetchval(query), GATEWAY_SECONDS + 5.0)
    if trouble == "reset":
        proxy.reset()
    proxy.silent, proxy.latency = False, 0.0
    async with waits_passing(road, doubts=True):
        await road.world.meta.wait_for(ana.who, lambda b: b.attachment is not None, PATIENCE)
    assert len(await road.notes(ana)) == 1
