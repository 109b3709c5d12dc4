"""A backup that is restored: conversations go on, and nothing that the gateway may know already is sent blind."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import pytest
import redis

from persistence.audit.records import verify
from persistence.db.engine import Database
from persistence.embedded.postgres import installation
from tests import children
from tests.road.road_people import FULL, unlike, until
from tests.road.road_process import ROOT
from tests.road.road_stage import open_stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from persistence.embedded import Embedded

pytestmark = [pytest.mark.storm, pytest.mark.timeout(500)]  # starts the product twice, dumps and restores between

PENDING = "SELECT * FROM nfse_emissao WHERE status = 'pendente' AND envios > 0"
CALLS = "SELECT operacao FROM gateway_tentativas WHERE emissao_id = $1 AND id > $2 ORDER BY id"


@pytest.fixture
async def empty(embedded: Embedded) -> AsyncIterator[tuple[str, str]]:
    """The addresses of an empty database: the owner's, and the run-time account's."""
    name = f"restored_{os.urandom(4).hex()}"
    connection = await asyncpg.connect(embedded.servers.owner_url)
    await connection.execute(f"CREATE DATABASE {name}")
    urls = (embedded.servers.owner_url, embedded.servers.database_url)
    owner, run_time = (urlsplit(url)._replace(path=f"/{name}").geturl() for url in urls)
    yield owner, run_time
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


async def _tool(name: str, *words: str) -> None:
    """Run one of PostgreSQL's own programs, those of the server that the tests run on."""
    found = installation()
    program = (found.base / found.program).with_name(name)
    done = await asyncio.to_thread(children.run, [program, *words], capture_output=True)
    assert done.returncode == 0, done.stderr


async def _prosa(env: dict[str, str], *words: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROSA_")}
    done = await asyncio.to_thread(
        children.run,
        [sys.executable, "-m", "bot.cli", *words],
        env={**kept, "PYTHONPATH": str(ROOT), **env},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return str(done.stdout)


async def test_a_restored_database_goes_on_and_asks_before_it_sends(
    owner_url: str, database_url: str, redis_url: str, empty: tuple[str, str], tmp_path: Path
) -> None:
    """A summary shown before the copy is confirmed after it, an emission open in the copy is found: one note each."""
    async with open_stage(database_url, redis_url, tmp_path) as stage:
        await stage.start()
        ana, bia = await stage.person(), await stage.person()
        await ana.say(FULL)
        stage.world.plugnotas.faults.set("limite_429", method="POST", seconds=3600)
        await bia.say(unlike())
        await bia.touch("Confirmar")
        emission = await until(lambda: stage.database.pool.fetchrow(PENDING))
        dump = tmp_path / "prosa.dump"
        await _tool("pg_dump", "--format=custom", f"--file={dump}", owner_url)
        # After the copy the gateway takes it, and then this database is lost.
        stage.world.plugnotas.faults.clear()
        due = "UPDATE nfse_emissao SET proxima_acao_em = now() WHERE id = $1 AND lease_until IS NULL"
        await until(lambda: stage.database.pool.fetchval(f"{due} RETURNING id", emission["id"]))
        await bia.files()
        await stage.settled()
        await stage.clear()
        with redis.Redis.from_url(redis_url) as cache:
            cache.flushdb()
        owner, run_time = empty
        await _tool("pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", f"--dbname={owner}", str(dump))
        stage.env["PROSA_DATABASE_URL"] = run_time
        await _prosa({**stage.env, "PROSA_DATABASE_OWNER_URL": owner}, "migrate")
        said = await _prosa(stage.env, "restaurado")
        assert emission["id_integracao"] in said
        await stage.database.close()
        stage.database = await Database.open(run_time)
        known = await stage.database.pool.fetchval("SELECT coalesce(max(id), 0) FROM gateway_tentativas")
        await stage.start()
        await stage.one_note(bia)
        calls = await stage.database.pool.fetch(CALLS, emission["id"], known)
        assert {row["operacao"] for row in calls} == {"find"}
        await ana.touch("Confirmar")
        await ana.files()
        await stage.one_note(ana)
        async with stage.database.transaction() as connection:
            assert (await verify(connection)).quebra is None
