"""Rows of emissions, cancellations and messages as the house stores them, for tests of who may work on them."""

from __future__ import annotations

import itertools
import json
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from persistence.db.connection import Result, _compiled
from persistence.fiscal import notes
from state_machine.documents import ConteudoServico
from state_machine.protocol.emission import Arquivo
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from persistence.db.engine import Database

_numbers = itertools.count(1)

_EMISSION = """
WITH conversa AS (
    INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em)
    VALUES ($1, '1', '5511', now()) RETURNING conversa
), emitente AS (
    INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)
    VALUES ($1, 'Padaria', '1', '3550308', 'mei', '01.01') RETURNING id
), sessao AS (
    INSERT INTO session_snapshot (sessao_id, conversa, empresa_id, estado, snapshot_reason, cnpj_status,
        valor_status, descricao_status, data_complete, missing_fields, rascunho, revisao, versao, resumos)
    SELECT $1, conversa, emitente.id, 'processando', 'confirmed', 'validated', 'validated', 'validated', true, '[]',
        '{}', 1, 1, 1
    FROM conversa, emitente RETURNING id
), tomador AS (
    INSERT INTO cliente_tomador (empresa_id, cnpj) SELECT id, '12345678000195' FROM emitente RETURNING id
)
INSERT INTO nfse_emissao (session_id, sessao_id, revisao, prestador_id, tomador_id, prestador_cnpj, tomador_documento,
    id_integracao, status, valor_servico, descricao_servico, codigo_servico, competencia, impressao, bytes,
    em_duvida, proxima_acao_em)
SELECT sessao.id, $1, 1, emitente.id, tomador.id, '44555666000181', '12345678000195', $1 || '-r1-1', 'pendente', 1500,
    'consultoria', '01.01', '2026-11-21', $2, '[]', false, now()
FROM sessao, emitente, tomador RETURNING id
"""
CONTEUDO = ConteudoServico(
    "44555666000181", "12345678000195", "01.01", Decimal(1500), date(2026, 11, 21), "consultoria"
)  # of the stored emission
_NOTE = """
INSERT INTO nfse_processada (emissao_id, id_externo, numero, status) VALUES ($1, $2, '42', 'cancelamento_pendente')
"""
_CANCELLATION = """
INSERT INTO cancelamento (emissao_id, conversa, pedido_por, estado, codigo, motivo, versao, envio, confirmado_em,
    proxima_acao_em)
SELECT e.id, s.conversa, 'conversa', 'pendente', '9', 'valor errado, vou emitir outra', 1, 'a_enviar', now(), now()
FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id WHERE e.id = $1 RETURNING id
"""
_MESSAGE = """
WITH conversa AS (
    INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em)
    VALUES ($1, '1', '5511', now()) RETURNING conversa
)
INSERT INTO outbox (conversa, mensagem) SELECT conversa, '{"tipo": "texto", "texto": "oi", "botoes": []}' FROM conversa
RETURNING id
"""


async def clear(database: Database) -> None:
    """Leave no work and no people behind."""
    await as_owner(database.pool, "TRUNCATE conversas, empresa, idempotency_records CASCADE")


async def emission(database: Database, **columns: Any) -> int:
    """Store a confirmed invoice of a company of its own, due now, and return its id."""
    emissao_id = int(await database.pool.fetchval(_EMISSION, f"s{next(_numbers)}", CONTEUDO.impressao))
    await change(database, "nfse_emissao", emissao_id, **columns)
    return emissao_id


async def note(database: Database, emissao_id: int, id_externo: str) -> None:
    """Store the note that the authority made of it."""
    await database.pool.execute(_NOTE, emissao_id, id_externo)


_ISSUED = """
INSERT INTO nfse_processada (emissao_id, id_externo, numero, status, data_emissao, chave, cancelado_em)
VALUES ($1, 'x' || $1::bigint, $2, $3, '23/11/2026', 'chave',
    CASE WHEN $3 = 'cancelado' THEN timestamptz '2026-12-02' END)
"""


async def issued(
    database: Database, numero: str, company: int | None = None, *, status: str = "autorizado", **columns: Any
) -> tuple[int, int]:
    """Store a note with both its files; returns its emission and its company, which is new if none is given."""
    emissao_id = await emission(database, status="concluido", proxima_acao_em=None)
    await change(database, "nfse_emissao", emissao_id, **({"prestador_id": company} if company else {}), **columns)
    await database.pool.execute(_ISSUED, emissao_id, numero, status)
    async with database.transaction() as connection:
        for formato in ("pdf", "xml"):
            notes.store_document(connection, emissao_id, formato, Arquivo(f"{formato}{numero}".encode(), "x/y"))
    return emissao_id, (await row(database, "nfse_emissao", emissao_id))["prestador_id"]


async def cancellation(database: Database, **columns: Any) -> int:
    """Store a confirmed cancellation of an issued note, due now, and return its id."""
    emissao_id = await emission(database, status="concluido", proxima_acao_em=None)
    await note(database, emissao_id, f"ext-{emissao_id}")
    cancelamento_id = int(await database.pool.fetchval(_CANCELLATION, emissao_id))
    await change(database, "cancelamento", cancelamento_id, **columns)
    return cancelamento_id


async def message(database: Database) -> int:
    """Store a message of a conversation of its own, due now, and return its id."""
    return int(await database.pool.fetchval(_MESSAGE, f"c{next(_numbers)}"))


async def change(database: Database, table: str, row_id: int, **columns: Any) -> None:
    """Set columns of one row."""
    for name, value in columns.items():
        await database.pool.execute(f"UPDATE {table} SET {name} = $2 WHERE id = $1", row_id, value)  # noqa: S608 - ours


async def row(database: Database, table: str, row_id: int) -> Any:
    """Return one row, with the database's ``agora``."""
    return await database.pool.fetchrow(f"SELECT *, now() AS agora FROM {table} WHERE id = $1", row_id)  # noqa: S608


async def lease_ends(database: Database, table: str, row_id: int) -> None:
    """Let its worker have died long ago."""
    statement = f"UPDATE {table} SET lease_until = now() - interval '1 s' WHERE id = $1"  # noqa: S608 - ours
    assert await database.pool.execute(statement, row_id) == "UPDATE 1"


class Counting:
    """A connection that runs a statement for its buffers, and then for its rows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.buffers = 0

    async def scalar(self, statement: Any, values: Mapping[str, Any] | None = None) -> Any:
        """Return the first column of the first row, as a connection does."""
        return (await self.execute(statement, values)).scalar_one()

    async def execute(self, statement: Any, values: Mapping[str, Any] | None = None) -> Result:
        """Return the rows, as a connection does."""
        compiled = _compiled(statement, values or {})
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {compiled.sql}"
        async with self._database.alone() as connection:
            said = await connection.exec_driver_sql(explain, compiled.arguments(values or {}))
            [plan] = json.loads(said.scalar_one())
            self.buffers += plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
            return await connection.execute(statement, values)
