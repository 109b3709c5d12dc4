"""Lists of addresses for tests, and a company that sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from operations.batches import Upload, upload
from operations.company import add_company
from persistence.batches import records
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Canal
from tests.stored_work import emission

if TYPE_CHECKING:
    from datetime import date

    from persistence.db.engine import Database

QUEM = "linha de comando"
_NOTE = "INSERT INTO nfse_processada (emissao_id, id_externo, numero, status) VALUES ($1, $2, $3, 'autorizado')"
_CUSTOMER = """
INSERT INTO clientes (empresa_id, nome, email, documento) VALUES ($1, $2::text, $2::text || '@Test.com.br', $3)
"""
_MAILED = """
WITH lote AS (INSERT INTO lotes (empresa_id, tipo, nome_arquivo, sha256, revisao, estado)
    SELECT id, 'envio', 'antes.csv', md5($1::text[]::text), 'antes', 'concluido' FROM empresa RETURNING id)
INSERT INTO lote_linhas (lote_id, chave, linha, estado, email, token)
SELECT lote.id, r.email, r.n, 'DONE', r.email, md5(lote.id || r.email)
FROM lote, unnest($1::text[]) WITH ORDINALITY AS r(email, n)
"""


async def mailed(database: Database, *emails: str) -> None:
    """Have every company's mails gone to these addresses before: a list to them asks nobody."""
    await database.pool.execute(_MAILED, emails)


async def company(database: Database) -> int:
    """Return the id of a company; it is made the first time."""
    await add_company(database, COMPANY, Canal("plugnotas"))
    return int(await database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", COMPANY.cnpj))


async def issued(database: Database, documento: str, numero: str, competencia: date, **columns: Any) -> int:
    """Return the id of an emission of the company to this customer, with its note of this number."""
    columns = {"status": "concluido", "proxima_acao_em": None, "prestador_id": await company(database), **columns}
    emissao_id = await emission(database, tomador_documento=documento, competencia=competencia, **columns)
    await database.pool.execute(_NOTE, emissao_id, f"ext-{emissao_id}", numero)
    return emissao_id


async def customer(database: Database, nome: str, documento: str) -> None:
    """Keep somebody as the company's own system does; their address is made of the name."""
    await database.pool.execute(_CUSTOMER, await company(database), nome, documento)


def listed(nome: str, *emails: str) -> Upload:
    """Return a file with these addresses, and words for all of them."""
    return Upload(
        nome_arquivo=nome, conteudo="\n".join(("email", *emails)).encode(), assunto="Suas notas", mensagem="Bom dia!"
    )


async def confirmed(database: Database, nome: str, *emails: str) -> int:
    """Return the id of a batch of these addresses to which somebody said yes."""
    batch, _ = await upload(database, await company(database), listed(nome, *emails), QUEM)
    async with database.transaction() as connection:
        assert await records.confirm(connection, batch.id, batch.revisao, QUEM)
    return int(batch.id)
