"""What takes long is told once, to whoever waits, whatever the order waits for."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest_asyncio

import bot.orders.origins
from bot.orders.origins import Origins, SlowNotices
from persistence.db.engine import Database
from persistence.queue.inbox import Inbox
from tests.owner import as_owner
from tests.road.road_people import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

AFTER = timedelta(seconds=30)
ORDER = """
WITH empresa AS (
    INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)
    VALUES ($1, 'Padaria', '1', '3550308', 'mei', '01.01') RETURNING id
), conversa AS (
    INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em)
    VALUES ($1, '1', '1', now()) RETURNING conversa
), sessao AS (
    INSERT INTO session_snapshot (sessao_id, conversa, empresa_id, estado, snapshot_reason, cnpj_status,
        valor_status, descricao_status, data_complete, missing_fields, rascunho, revisao, versao, resumos)
    SELECT $1, conversa, empresa.id, 'processando', 'r', 's', 's', 's', true, '[]', '{}', 1, 1, 1 FROM conversa, empresa
    RETURNING id
), tomador AS (
    INSERT INTO cliente_tomador (empresa_id, cnpj) SELECT id, $1 FROM empresa RETURNING id
)
INSERT INTO nfse_emissao (session_id, sessao_id, revisao, prestador_id, tomador_id, prestador_cnpj, tomador_documento,
    id_integracao, status, valor_servico, descricao_servico, codigo_servico, competencia, impressao, bytes,
    criado_em, proxima_acao_em, lease_until)
SELECT sessao.id, $1, 1, empresa.id, tomador.id, '1', '2', $1, $2, 10, 'd', '1', '2026-11-21', 'i', '',
    now() - make_interval(secs => $3), now() + interval '1 day', now() + interval '1 hour'
FROM sessao, empresa, tomador RETURNING id
"""
# How something becomes due in each queue without a ring.
QUEUES = {
    "lanes": "INSERT INTO lanes (lane, ready_at, pending_since) VALUES ('l', now(), now());",
    "deliveries": "INSERT INTO outbox (conversa, mensagem) SELECT conversa, '{}' FROM conversas;",
    "emissions": "UPDATE nfse_emissao SET proxima_acao_em = now();",
    "cancellations": """
INSERT INTO cancelamento (emissao_id, pedido_por, estado, codigo, motivo, versao, envio, confirmado_em, proxima_acao_em)
SELECT id, 'comando', 'pendente', '9', 'm', 1, 'a_enviar', now(), now() FROM nfse_emissao;
""",
    "webhooks": """
WITH w AS (INSERT INTO webhook (id, empresa_id, url, eventos, segredo, usuario)
    SELECT gen_random_uuid(), id, '', '{}', '', '' FROM empresa RETURNING id)
INSERT INTO webhook_entrega (webhook_id, evento, chave) SELECT id, 'e', 'c' FROM w;
""",
    "mailing": """
WITH l AS (INSERT INTO lotes (empresa_id, tipo, nome_arquivo, sha256, revisao)
    SELECT id, 'envio', 'a.csv', '', '' FROM empresa RETURNING id)
INSERT INTO lote_fila (lote_id) SELECT id FROM l;
""",
}
UNDER_WAY = ("pendente", "enviando", "enviado", "desconhecido")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    """Nothing is under way."""
    await as_owner(opened.pool, "TRUNCATE empresa, conversas, inbox, lanes CASCADE")
    return opened


async def _order(database: Database, name: str, status: str, age: float) -> int:
    return int(await database.pool.fetchval(ORDER, name, status, age))


async def _told(database: Database) -> list[Any]:
    return list(await database.pool.fetch("SELECT chave, lane, payload FROM inbox ORDER BY lane"))


async def test_whatever_is_under_way_for_long_is_told_once(database: Database) -> None:
    """Also what somebody holds or what is put off for a day; neither the young nor the settled, and never again."""
    ids = {status: await _order(database, status, status, 31.0) for status in UNDER_WAY}
    await _order(database, "young", "pendente", 25.0)
    for status in ("concluido", "rejeitado", "erro", "conflito", "dispensado"):
        await _order(database, status, status, 31.0)
    async with AsyncExitStack() as stack:
        inboxes = [Inbox(database, 0.0) for _ in range(4)]
        for inbox in inboxes:
            stack.push_async_callback(inbox.close)
        found = await asyncio.gather(*(SlowNotices(database, Origins(inbox), AFTER).run_once() for inbox in inboxes))
        assert sum(found) == len(UNDER_WAY)
        assert await SlowNotices(database, Origins(inboxes[0]), AFTER).run_once() == 0
    assert [(row["chave"], row["lane"], row["payload"]["aviso"]) for row in await _told(database)] == [
        (f"emissao:{ids[status]}:demorou", status, "demorou") for status in sorted(UNDER_WAY)
    ]
    kept = "SELECT count(*) FROM nfse_emissao WHERE proxima_acao_em > now() + interval '23 hours' AND versao = 1"
    assert await database.pool.fetchval(kept) == len(UNDER_WAY) + 6  # nothing became due by it


async def test_a_database_that_refuses_ends_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who could not be told is told when the database listens again."""
    warned = asyncio.Event()
    monkeypatch.setattr(bot.orders.origins.log, "warning", lambda *_args, **_fields: warned.set())
    monkeypatch.setattr(bot.orders.origins, "LOOK_EVERY", 0.05)
    await _order(database, "one", "pendente", 31.0)
    inbox = Inbox(database, 0.0)
    notices = SlowNotices(database, Origins(inbox), AFTER)
    await as_owner(database.pool, "ALTER TABLE nfse_emissao RENAME TO fora")
    task = asyncio.create_task(notices.run())
    async with asyncio.timeout(20.0):
        await warned.wait()
    await as_owner(database.pool, "ALTER TABLE fora RENAME TO nfse_emissao")
    await until(lambda: _told(database))
    notices.stop()
    await task
    await inbox.close()


async def test_a_look_rings_for_what_is_due_alone(database: Database) -> None:
    """Nobody rang: a worker died, a clock went on or another process wrote; what waits for tomorrow rings nobody."""
    rung: list[str] = []
    rings = {name: partial(rung.append, name) for name in QUEUES}
    inbox = Inbox(database, 0.0)
    notices = SlowNotices(database, Origins(inbox), AFTER, rings)
    assert await notices.look() == bot.orders.origins.IDLE_EVERY
    await _order(database, "young", "pendente", 1.0)
    assert await notices.look() == bot.orders.origins.LOOK_EVERY
    assert rung == []
    await as_owner(database.pool, "".join(QUEUES.values()))
    assert await notices.look() == bot.orders.origins.LOOK_EVERY
    assert sorted(rung) == sorted(QUEUES)
    await inbox.close()
