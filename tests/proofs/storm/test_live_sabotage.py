"""Small storms around a product with one thing made wrong: the judge finds it in what really was left behind."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import pytest

from proofs.storm.judge.verdict import BROKEN, NOT_PROVEN
from proofs.storm.machines.servers import open_servers
from proofs.storm.plan import Plan
from proofs.storm.run import Result, storm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.storm.machines.servers import Servers

SABOTAGE = str(Path(__file__).with_name("sabotage.py"))
PEOPLE = 6
LIMIT = 240.0  # seconds, on a machine that does other things besides
CALM = Plan(PEOPLE, 1, workers=1, webs=1, gateway_faults=0.0, kills_every=(3600.0, 3600.0))

pytestmark = [
    pytest.mark.storm,
    pytest.mark.timeout(LIMIT + 60),  # a small storm ends itself at LIMIT; this is the net below it
]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with open_servers() as (opened, _):
        yield opened


async def run(servers: Servers, home: Path, name: str, canal: str = "plugnotas") -> Result:
    """One small storm over one channel, with a database of its own."""
    connection = await asyncpg.connect(servers.owner_url)
    await connection.execute(f'DROP DATABASE IF EXISTS "{canal}_{name}"')
    await connection.execute(f'CREATE DATABASE "{canal}_{name}"')
    await connection.close()
    await servers.flush_cache()
    addresses = servers.owner_url, servers.database_url
    servers.owner_url, servers.database_url = (f"{url.rpartition('/')[0]}/{canal}_{name}" for url in addresses)
    try:
        async with asyncio.timeout(LIMIT):
            plan = replace(CALM, channels=(canal,))
            return await storm(plan, servers, home, lambda *_: None, (SABOTAGE, name))
    finally:
        servers.owner_url, servers.database_url = addresses


@pytest.mark.parametrize("canal", ["plugnotas", "nacional", "paulistana", "nfe", "nfce"])
async def test_a_sound_product_in_calm_weather_proves_nothing(servers: Servers, tmp_path: Path, canal: str) -> None:
    """Everything is as it should be, and no blow fell: nothing is broken and nothing is proven."""
    result = await run(servers, tmp_path, "none", canal)
    assert not any(result.verdict.faults.values()), result.verdict.faults
    assert (result.verdict.confirmed, result.verdict.notes) == (PEOPLE, PEOPLE)
    assert result.word == NOT_PROVEN


@pytest.mark.parametrize(
    ("canal", "wrong"),
    [
        (
            "plugnotas",
            {
                "text": ("wrong", "servico.0.discriminacao é 'outro serviço'", PEOPLE),
                "competence": ("wrong", "rps.competencia é '1999-01-01'", PEOPLE),
                "webhooks": ("unstored", "gateway ", PEOPLE),
            },
        ),
        ("plugnotas", {"pdf": ("misfiled", "chave não é", PEOPLE - 2)}),
        ("nacional", {"dps": ("wrong", "serv.cServ.xDescServ é 'outro serviço'", PEOPLE)}),
        ("paulistana", {"rps": ("wrong", "Discriminacao é 'outro serviço", PEOPLE)}),
        ("nfe", {"itens": ("wrong", "det2.prod.qCom é '1'", PEOPLE)}),
        ("nacional", {"xml": ("misfiled", "não é o documento que a autoridade guarda", PEOPLE)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
async def test_a_sabotaged_product_is_found_out(
    servers: Servers, tmp_path: Path, canal: str, wrong: dict[str, tuple[str, str, int]]
) -> None:
    """Another text, competence 1999, one PDF for all, webhooks dropped, an XML not the authority's: each is told."""
    result = await run(servers, tmp_path, "-".join(wrong), canal)
    for kind, words, count in wrong.values():
        said = result.verdict.faults[kind]
        assert len(said) >= count, (kind, words, result.verdict.faults)
        assert any(words in line for line in said), said
    assert result.word == BROKEN
