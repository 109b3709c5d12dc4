"""What the console finds it finds by an index: as many buffers in a history as in one that is twenty times as long."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from persistence.access.accounts import Alcance
from persistence.db.engine import Database
from persistence.staff import figures, queue, search
from persistence.staff.queue import Filtros
from proofs.history import invent, tidy
from tests.owner import as_owner
from tests.stored_work import Counting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

MOST = 2_000  # buffers of one answer
SHORT, LONG = 2_000, 40_000  # sessions
ALL = Alcance(todas=True)
# The same few sessions in either history are what is looked for; the gateway was not called within the last hour.
MARKED = """
UPDATE gateway_tentativas SET em = em - interval '2 hours';
UPDATE cliente_tomador SET razao_social = 'Zoológico Raríssimo', cnpj = '11111111000191'
    WHERE id = (SELECT max(tomador_id) FROM nfse_emissao);
UPDATE session_snapshot SET cnpj = '11111111000191', cnpj_razao_social = 'Zoológico Raríssimo'
    WHERE id = (SELECT session_id FROM nfse_emissao ORDER BY tomador_id DESC, id DESC LIMIT 1);
UPDATE session_snapshot SET cnpj_razao_social = 'Xilofonista Único'
    WHERE id = (SELECT max(id) FROM session_snapshot WHERE estado = 'expirado');
UPDATE session_snapshot SET valor = 987654.32
    WHERE id IN (SELECT id FROM session_snapshot ORDER BY md5(id::text) LIMIT 5);
UPDATE session_snapshot SET estado = 'coleta', snapshot_reason = 'manual', cnpj_razao_social = NULL,
    rascunho = rascunho || '{"nome": {"valor": "Yolanda Querida"}}'
    WHERE id = (SELECT min(id) FROM session_snapshot WHERE estado = 'expirado');
UPDATE nfse_processada SET status = 'cancelado'
    WHERE id IN (SELECT id FROM nfse_processada ORDER BY md5(id::text) LIMIT 20);
"""
ASKED: dict[str, tuple[int, Callable[[Any], Awaitable[Any]]]] = {
    "a client": (1, lambda seen: search.by_name(seen, ALL, "zoologico RARÍ")),
    "who never got a note": (1, lambda seen: search.by_name(seen, ALL, "xilofonista unico")),
    "who is writing now": (1, lambda seen: search.by_name(seen, ALL, "yolanda")),
    "nobody": (0, lambda seen: search.by_name(seen, ALL, "ninguém")),
    "a name of many": (50, lambda seen: search.by_name(seen, ALL, "padaria")),
    "a person": (50, lambda seen: search.by_name(seen, ALL, "bruno")),
    "a company's name": (50, lambda seen: search.by_name(seen, ALL, "de mentira 1 me")),
    "an amount": (5, lambda seen: search.by_amount(seen, ALL, Decimal("987654.32"))),
    "issued": (51, lambda seen: queue.all_sessions(seen, ALL, Filtros(estado="aprovado"), 51)),
    "cancelled": (20, lambda seen: queue.all_sessions(seen, ALL, Filtros(estado="cancelada"), 51)),
    "replaced": (0, lambda seen: queue.all_sessions(seen, ALL, Filtros(estado="substituida"), 51)),
    "a high amount": (5, lambda seen: queue.all_sessions(seen, ALL, Filtros(valor_de=Decimal(900000)), 51)),
    "a reason": (51, lambda seen: queue.all_sessions(seen, ALL, Filtros(motivo="webhook_rejected"), 51)),
    "a reason of few": (1, lambda seen: queue.all_sessions(seen, ALL, Filtros(motivo="manual"), 51)),
    "an attendant": (0, lambda seen: queue.all_sessions(seen, ALL, Filtros(atendente="rita"), 51)),
    "calls of late": (0, lambda seen: figures.gateway_lately(seen, ALL)),
    "open operations": (0, lambda seen: figures.open_operations(seen, ALL, 50)),
}


@pytest.fixture(scope="module")
async def counted(database_url: str, owner_url: str) -> AsyncIterator[dict[str, list[int]]]:
    """Buffers of each answer, in the short history and in the long one."""
    database = await Database.open(database_url)
    found: dict[str, list[int]] = {name: [] for name in ASKED}
    for sessions in (SHORT, LONG):
        await as_owner(database.pool, "TRUNCATE empresa, conversas, inbox, outbox, transicoes RESTART IDENTITY CASCADE")
        await invent(database, sessions)
        await database.pool.execute(MARKED)
        await tidy(owner_url)
        for name, (rows, ask) in ASKED.items():
            seen = Counting(database)
            assert len(await ask(seen)) == rows, name
            found[name].append(seen.buffers)
        own: Any = Counting(database)
        mine = await search.by_name(own, Alcance(todas=False, empresas=frozenset({1})), "padaria")
        assert {row["empresa_id"] for row in mine} == {1}
    yield found
    await database.close()


@pytest.mark.parametrize("name", ASKED)
async def test_a_longer_history_costs_no_more(counted: dict[str, list[int]], name: str) -> None:
    """At most a fifth more, or the levels by which indexes are deeper."""
    short, long = counted[name]
    assert long <= min(MOST, max(1.2 * short, short + 50)), (short, long)
