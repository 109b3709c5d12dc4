"""What staff see of an order that no conversation gave."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from aiohttp.test_utils import TestServer
from pydantic import SecretStr

from bot.orders.origins import ORIGINS
from operations.company import add_company
from persistence.access.accounts import Papel
from proofs.demo.world import COMPANY
from tests.owner import as_owner
from tests.road.road_people import new_phone, open_road
from tests.road.second_origin.agenda import DROPPED, TABLES, order_due, row
from tests.webhooks.console.conftest import Office

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Road

KEY = SecretStr(base64.b64encode(bytes(range(32))).decode())  # the vault of the console's people
OTHER = "12.345.678/0001-95"
TITLE = "agenda de mensalidades"


@pytest.fixture
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    origins = {**ORIGINS, **row()}
    async with open_road(database_url, redis_url, origins=origins, master_key=KEY) as opened:
        await as_owner(opened.database.pool, DROPPED)
        await as_owner(opened.database.pool, TABLES)
        yield opened
        await as_owner(opened.database.pool, DROPPED)


async def _ordered(road: Road, due: str, company: int) -> None:
    """Order an invoice of the agenda, and wait for its end."""
    values = (due, company, "12345678000195", Decimal(50))
    await road.database.pool.execute("INSERT INTO agenda VALUES ($1, $2, $3, $4)", *values)
    assert await order_due(road.house)
    await road.settled()


async def test_an_order_without_a_conversation_is_shown_with_its_origins_name(road: Road) -> None:
    """Its page, the group of its failure, the queue and the search call it as its origin's row says, to its staff."""
    one = await add_company(road.database, replace(COMPANY, usuarios=(new_phone(),)))
    await add_company(road.database, replace(COMPANY, cnpj=OTHER, razao_social="OUTRA LTDA", usuarios=(new_phone(),)))
    pool = road.database.pool
    await _ordered(road, "A1", one)
    road.world.plugnotas.faults.set("rejeitar", times=1)
    await _ordered(road, "A2", one)
    await _ordered(road, "A3", one)
    await pool.execute("UPDATE nfse_emissao SET status = 'erro', erro_mensagem = 'x' WHERE sessao_id = 'A3'")
    async with TestServer(road.house.web_app(https=False)) as server:
        office = Office(road.database, str(server.make_url("")).rstrip("/"), (one,))
        async with office.at_work(Papel.SUPERVISOR) as sara:
            groups = (await sara.get("/console/falhas"))[1]
            assert 'href="/console/sessoes/A2"' in groups
            for due, said in (("A1", "foi autorizada"), ("A2", "foi recusada"), ("A3", "Não se sabe se a nota existe")):
                status, page = await sara.get(f"/console/sessoes/{due}")
                assert (status, page.count(f"<h1>{TITLE}</h1>")) == (200, 1)
                assert said in page
                assert f"Quem pediu foi {TITLE}" in page
                assert "12345678000195" not in page
            listed = (await sara.get("/console?ver=pedidos"))[1]
            assert re.findall(r'<a class="lead" href="([^"]+)">([^<]+)', listed) == [("/console/sessoes/A3", TITLE)]
            assert 'data-testid="aba-pedidos">Sem conversa <span class="count hot">1<' in listed
            group = next(
                link for link in re.findall(r'href="(/console/falhas/grupo[^"]+)"', groups) if "rejeitado" in link
            )
            rehearsal = (await sara.get(group.replace("&amp;", "&")))[1]
            assert "não veio de uma conversa" in rehearsal
            numero = await pool.fetchval("SELECT numero FROM nfse_processada")
            for typed in ("A1", "A1-r1-1", str(numero)):
                assert (await sara.search(typed))[1] == "/console/sessoes/A1"
        async with office.at_work(Papel.LEITURA, (OTHER,)) as joe:
            assert (await joe.get("/console/sessoes/A1"))[0] == 404
            assert "aba-pedidos" not in (await joe.get("/console"))[1]
