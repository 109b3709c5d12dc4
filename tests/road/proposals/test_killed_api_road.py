"""kill -9 of the API after what it did was committed and before it answered: the repetition tells of it, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.faults.tcp_proxy import TcpProxy
from tests.road.proposals.erp import PADARIA, approver, erp_of
from tests.road.road_process import Prosa, environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.road.proposals.erp import Erp
    from tests.road.road_people import Road


async def _dies(prosa: Prosa, proxy: TcpProxy, erp: Erp, path: str, body: dict[str, Any], key: str) -> None:
    """Send a request to a process that is killed while the database's answer to its commit is on the way."""
    address = await prosa.start()
    proxy.when_forgotten, proxy.forget = prosa.strike, 1
    headers = {**erp.headers, "Idempotency-Key": key}
    async with httpx.AsyncClient(base_url=f"{address}/api/v1", headers=headers) as client:
        with pytest.raises(httpx.TransportError):
            await client.post(path, json=body)
    await prosa.ended()
    assert proxy.forgotten == 1
    proxy.forgotten = 0


async def test_killed_between_effect_and_answer(road: Road, database_url: str, redis_url: str, tmp_path: Path) -> None:
    """A proposal is made once and sent once; whoever repeats hears the same each time, and one note is issued."""
    ana, erp = await approver(road), await erp_of(road)
    padaria = {"nome": "Padaria do João", "email": "padaria@exemplo.com.br", "documento": PADARIA}
    cliente = (await erp.post("/clientes", padaria))["id"]
    body: dict[str, Any] = {"cliente_id": cliente, "valor": "1500.00", "descricao": "Consultoria"}
    async with TcpProxy(database_url) as proxy:
        env = environment(road.world, proxy.url, redis_url)
        proxy.mark = body["descricao"].encode()  # one statement makes it, and is its own commit
        await _dies(Prosa(("api",), env, tmp_path), proxy, erp, "/propostas", body, "pedido")
        proxy.mark = b"COMMIT"
        assert await road.database.pool.fetchval("SELECT count(*) FROM propostas") == 1
        made = await erp.post("/propostas", body, "pedido")
        assert (made, made["estado"], made["versao"]) == (await erp.get(made["id"]), "rascunho", 1)
        submit = f"/propostas/{made['id']}/submeter"
        await _dies(Prosa(("api",), env, tmp_path), proxy, erp, submit, {"versao": 1}, "envio")
    assert await road.database.pool.fetchval("SELECT count(*) FROM idempotencia_operacoes") == 1
    sent = await erp.post(submit, {"versao": 1}, "envio")
    assert (sent, sent["estado"], sent["versao"]) == (await erp.get(made["id"]), "enviada", 2)
    await ana.expect("propôs esta nota")
    await ana.touch("Confirmar")
    issued = await erp.becomes(made["id"], "emitida")
    assert await erp.post(submit, {"versao": 1}, "envio") == issued == await erp.post("/propostas", body, "pedido")
    await ana.files()
    await road.settled()
    assert [note.valor for note in await road.notes(ana)] == [1500]
    assert len([text for text in ana.answers if "propôs esta nota" in text]) == 1
    assert await road.database.pool.fetchval("SELECT count(*) FROM propostas") == 1
