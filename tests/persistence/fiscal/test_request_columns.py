"""An order's request in the columns of two releases: each writes its own, and finds there what the other wrote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest_asyncio

from persistence.db.engine import Database
from persistence.fiscal import emissions, intents
from tests.old_schema import OldSchema, old_schema
from tests.stored_work import change, emission, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.embedded import Embedded

BEFORE = "0048"  # the newest schema whose release reads ``payload_enviado``
TABLE, OLD, LEASE = "nfse_emissao", "payload_enviado", 60.0
MADE_OF, SIGNED = {"valor": "10.00"}, b"<DPS/>"
JSON = json.dumps(MADE_OF).encode()
FIRST = "INSERT INTO nfse_preparo (emissao_id, versao, payload) VALUES ($1, 1, $2), ($1, 2, $3)"
# A second order as the release before stores one of a channel that prepares; the first such release knew one column.
PREPARES = """
INSERT INTO nfse_emissao (session_id, sessao_id, revisao, prestador_id, tomador_id, prestador_cnpj, tomador_documento,
    id_integracao, status, valor_servico, descricao_servico, codigo_servico, competencia, impressao, em_duvida,
    proxima_acao_em, a_preparar, payload_enviado, intencao)
SELECT session_id, sessao_id, revisao + 1, prestador_id, tomador_id, prestador_cnpj, tomador_documento,
    id_integracao || '-b', 'pendente', 10, 'd', '1', '2026-11-21', 'i', false, now(), true, $2, $3
FROM nfse_emissao WHERE id = $1 RETURNING id
"""
PREPARED = "UPDATE nfse_emissao SET payload_enviado = $2, a_preparar = false WHERE id = $1"
PREPARED_IN_BOTH = "UPDATE nfse_emissao SET bytes = $2, payload_enviado = $2, a_preparar = false WHERE id = $1"


@pytest_asyncio.fixture(loop_scope="module")
async def old(embedded: Embedded) -> AsyncIterator[OldSchema]:
    """A database as the release before migrated it."""
    async with old_schema(embedded, "request_columns", BEFORE) as made:
        yield made


async def _reads(database: Database, emissao_id: int) -> tuple[Any, bytes | None, bool]:
    """What this release makes its request of, and what it sends."""
    kept = await row(database, TABLE, emissao_id)
    return kept["intencao"], kept["bytes"], kept["a_preparar"]


async def test_two_releases_find_what_the_other_wrote(old: OldSchema) -> None:
    """From before the migration, in several turns of it, and beside each other after it; the other way round too."""
    before = await Database.open(old.owner_url, size=2)
    sent, waits, prepared, mixed = [await emission(before, payload=OLD) for _ in range(4)]
    await change(before, TABLE, waits, a_preparar=True, payload_enviado=JSON)
    await change(before, TABLE, prepared, payload_enviado=SIGNED)
    await before.pool.execute(FIRST, prepared, JSON, SIGNED)
    await change(before, TABLE, mixed, payload_enviado=SIGNED, intencao=MADE_OF)  # stored by one, prepared by another
    await before.pool.execute("SELECT setval(pg_get_serial_sequence('nfse_emissao', 'id'), 20_000)")
    late = await emission(before, payload=OLD)
    await before.close()
    await old.upgrade()

    database = await Database.open(old.url, size=2)
    assert [await _reads(database, each) for each in (sent, waits, prepared, mixed, late)] == [
        (None, b"[]", False),
        (MADE_OF, None, True),
        (MADE_OF, SIGNED, False),
        (MADE_OF, SIGNED, False),
        (None, b"[]", False),
    ]
    beside = await emission(database, payload=OLD)
    assert await _reads(database, beside) == (None, b"[]", False)
    for known, statement in ((None, PREPARED), (MADE_OF, PREPARED_IN_BOTH)):
        theirs = await database.pool.fetchval(PREPARES, beside, JSON, known)
        assert await _reads(database, theirs) == (MADE_OF, None, True)
        await database.pool.execute(statement, theirs, SIGNED)
        assert await _reads(database, theirs) == (MADE_OF, SIGNED, False)
        await database.pool.execute("DELETE FROM nfse_emissao WHERE id = $1", theirs)
    ours = await emission(database)
    assert (await row(database, TABLE, ours))[OLD] == b"[]"

    async with database.transaction() as connection:
        taken = {tarefa.id: tarefa for tarefa in await emissions.claim(connection, 40, LEASE)}
    assert json.loads(taken[waits].payload) == MADE_OF
    assert [taken[each].payload for each in (sent, prepared, mixed)] == [b"[]", SIGNED, SIGNED]
    async with database.transaction() as connection:
        await intents.prepared(connection, taken[waits], SIGNED)
    kept = await row(database, TABLE, waits)
    assert (kept["bytes"], kept[OLD], kept["intencao"]) == (SIGNED, SIGNED, MADE_OF)
    await database.close()
