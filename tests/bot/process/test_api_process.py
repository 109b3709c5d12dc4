"""The API as the processes of the product answer it: beside the webhooks, and alone."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import httpx
import pytest

from operations.api import make_key
from operations.company import add_company
from persistence.db.engine import Database
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Ambiente, Canal
from tests.bot.process.prosa_process import started

if TYPE_CHECKING:
    from pathlib import Path

ANA = {"nome": "Ana", "email": "ana@exemplo.com.br"}
ADDRESS = re.compile(r'"address":"(http://[^"]+)"')


@pytest.mark.parametrize("command", ["api", "serve"])
async def test_what_a_killed_process_stored_is_answered_by_the_next_one(
    command: str, database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """A caller whose answer was lost repeats with its key and gets the client that was made; there is no second one."""
    database = await Database.open(database_url, size=1)
    try:
        await add_company(database, COMPANY, Canal("plugnotas"))
        (chave,) = await make_key(database, [COMPANY.cnpj], [], Ambiente.PRODUCAO, tudo=True)
        env = {"PROSA_DATABASE_URL": database_url, "PROSA_REDIS_URL": redis_url, "PROSA_PORT": "0"}
        env["PROSA_COMPANY_REQUESTS_PER_MINUTE"] = "1"
        headers = {"Authorization": f"Bearer {chave}", "Idempotency-Key": command}
        made = []
        for _ in range(2):
            with started(tmp_path, command, env=env) as prosa:
                prosa.up()
                (base,) = ADDRESS.findall(prosa.said)
                async with httpx.AsyncClient(base_url=base) as client:
                    assert (await client.get("/healthz")).status_code == 200
                    assert (await client.get("/api/v1/clientes/1")).status_code == 401
                    body = {**ANA, "email": f"{command}@exemplo.com.br"}
                    answer = await client.post("/api/v1/clientes", json=body, headers=headers)
                    early = await client.get("/api/v1/clientes/1", headers=headers)
                prosa.signal(signal.SIGKILL)
                prosa.wait()
            assert answer.status_code == 201
            assert (early.status_code, 0 < int(early.headers["Retry-After"]) <= 60) == (429, True)
            made.append(answer.json())
        assert made[0] == made[1]
        assert "Idempotency-Replayed" in answer.headers
    finally:
        await database.close()
