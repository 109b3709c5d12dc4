"""A process that dies while it submits a proposal, before the commit and after it."""

from __future__ import annotations

import asyncio
import re
import signal
from typing import TYPE_CHECKING, Any

import httpx

from operations.api import make_key
from operations.company import add_company
from persistence.db.engine import Database
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Ambiente, Canal
from tests.bot.process.prosa_process import started
from tests.road.road_people import until

if TYPE_CHECKING:
    from pathlib import Path

ADDRESS = re.compile(r'"address":"(http://[^"]+)"')
_CONVERSATION = """
INSERT INTO conversas (conversa, phone_number_id, endereco, usuario_id, ultima_entrada_em)
SELECT '1:ana', '1', telefone, id, now() FROM usuario LIMIT 1
"""
_BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%propostas%'"
_STORED = """
SELECT (SELECT estado FROM propostas), (SELECT count(*) FROM idempotencia_operacoes) AS operacoes,
    (SELECT count(*) FROM inbox WHERE tipo = 'proposta') AS linhas
"""


async def test_a_submission_is_done_whole_and_once_whenever_its_process_dies(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """Killed before its commit it has done nothing, killed after it everything; the repetition makes it once."""
    database = await Database.open(database_url, size=3)
    try:
        await add_company(database, COMPANY, Canal("plugnotas"))
        await database.pool.execute(_CONVERSATION)
        (chave,) = await make_key(database, [COMPANY.cnpj], [], Ambiente.PRODUCAO, tudo=True)
        env = {"PROSA_DATABASE_URL": database_url, "PROSA_REDIS_URL": redis_url, "PROSA_PORT": "0"}

        async def sent(base: str, path: str, body: dict[str, Any], key: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {chave}", "Idempotency-Key": key}
            async with httpx.AsyncClient(base_url=f"{base}/api/v1", headers=headers) as client:
                return await client.post(path, json=body)

        with started(tmp_path, "api", env=env) as prosa:
            prosa.up()
            (base,) = ADDRESS.findall(prosa.said)
            cliente = (await sent(base, "/clientes", {"nome": "Ana", "email": "ana@exemplo.com.br"}, "c")).json()["id"]
            made = await sent(base, "/propostas", {"cliente_id": cliente, "valor": 1}, "p")
            path = f"/propostas/{made.json()['id']}/submeter"
            async with database.pool.acquire() as other, other.transaction():
                await other.execute("SELECT FROM propostas FOR UPDATE")
                lost = asyncio.create_task(sent(base, path, {"versao": 1}, "s"))
                await until(lambda: database.pool.fetchval(_BLOCKED))
                prosa.signal(signal.SIGKILL)
                prosa.wait()
                assert isinstance((await asyncio.gather(lost, return_exceptions=True))[0], httpx.TransportError)
        assert tuple(await database.pool.fetchrow(_STORED)) == ("rascunho", 0, 0)
        answers = []
        for _ in range(2):
            with started(tmp_path, "api", env=env) as prosa:
                prosa.up()
                (base,) = ADDRESS.findall(prosa.said)
                answers.append(await sent(base, path, {"versao": 1}, "s"))
                prosa.signal(signal.SIGKILL)
                prosa.wait()
            assert tuple(await database.pool.fetchrow(_STORED)) == ("enviada", 1, 1)
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()
        assert ["Idempotency-Replayed" in answer.headers for answer in answers] == [False, True]
    finally:
        await database.close()
