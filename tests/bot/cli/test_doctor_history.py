"""The doctor says which replica may lack confirmations, and that a history is in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from bot.operator.doctor import about_history, about_replicas
from bot.settings import Settings
from persistence.db.engine import Database
from persistence.witness import Witness

if TYPE_CHECKING:
    from bot.operator.doctor import Achado


@pytest.mark.parametrize(
    ("replicas", "named", "verdict"), [(0, "", "ok"), (1, "", "aviso"), (2, " ", "aviso"), (1, "ANY 1 (b)", "ok")]
)
def test_an_asynchronous_replica_is_told_with_its_cost(replicas: int, named: str, verdict: str) -> None:
    """Only a replica for which nobody waits is one."""
    said = about_replicas(replicas, named)
    assert said.veredito == verdict
    assert ("prosa restaurado" in said.dito) is (verdict == "aviso")


async def test_a_doubt_is_a_failure_until_it_is_settled(database_url: str) -> None:
    """The run-time account may see both; what is in doubt names the command."""
    settings = Settings(database_url=SecretStr(database_url))
    database = await Database.open(database_url, size=1)
    async with database.transaction() as connection:
        await Witness().look(connection)
    assert [line.veredito for line in await about_history(settings)] == ["ok", "ok"]
    await database.pool.execute("UPDATE historia SET suspeita = 'another server'")
    assert _history(await about_history(settings)) == ("falha", True)
    await database.pool.execute("UPDATE historia SET suspeita = NULL")
    assert _history(await about_history(settings)) == ("ok", False)
    await database.close()


async def test_a_database_that_is_away_is_told_elsewhere() -> None:
    """No second line about the same fault."""
    away = Settings(database_url=SecretStr("postgresql://a:b@127.0.0.1:1/c"))
    assert await about_history(away) == []


def _history(lines: list[Achado]) -> tuple[str, bool]:
    [line] = [line for line in lines if line.assunto == "banco: história"]
    return line.veredito, "prosa restaurado" in line.dito
