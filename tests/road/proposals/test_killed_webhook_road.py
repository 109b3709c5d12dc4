"""kill -9 of a worker whose receiver has heard it and not yet answered: it hears the same again, by the same id."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.test_utils import TestServer

from persistence.api import hooks
from persistence.crypto import Vault
from tests import stored_work
from tests.patience import PATIENCE
from tests.road.road_people import until
from tests.road.road_stage import open_stage

if TYPE_CHECKING:
    from pathlib import Path

KEY = bytes(32)


async def test_killed_between_sending_and_settling(database_url: str, redis_url: str, tmp_path: Path) -> None:
    """Another worker takes over when the lease ends; both bodies are the same, and it is told once more only."""
    heard: list[tuple[str, bytes]] = []
    arrived, never = asyncio.Event(), asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        heard.append((request.headers["webhook-id"], await request.read()))
        if len(heard) == 1:
            arrived.set()
            await never.wait()
        return web.Response(status=204)

    app = web.Application()
    app.router.add_post("/", answer)
    key = base64.b64encode(KEY).decode()
    async with (
        TestServer(app) as server,
        open_stage(
            database_url, redis_url, tmp_path, PROSA_MASTER_KEY=key, PROSA_WEBHOOK_REDES_PERMITIDAS="127.0.0.1"
        ) as stage,
    ):
        pool = stage.database.pool
        emissao_id = await stored_work.emission(stage.database, status="concluido", proxima_acao_em=None)
        company = await pool.fetchval("SELECT prestador_id FROM nfse_emissao WHERE id = $1", emissao_id)
        async with stage.database.transaction() as connection:
            url, quem = str(server.make_url("/")), "prosa_live_12345678"
            await hooks.add(connection, Vault((KEY,)), company, quem=quem, url=url, eventos=["nota.autorizada"])
            hooks.tell_note(connection, "nota.autorizada", emissao_id)
        worker = await stage.start("worker")
        async with asyncio.timeout(PATIENCE):
            await arrived.wait()
        await worker.kill()
        assert await pool.fetchval("SELECT estado FROM webhook_entrega") == "pendente"
        await stage.leases_run_out("webhook_entrega")
        await stage.start("worker")
        await until(lambda: pool.fetchval("SELECT estado = 'entregue' FROM webhook_entrega"))
        never.set()
    assert len(heard) == 2
    assert heard[0] == heard[1]
