"""Fills a database with sessions of the past by COPY, for the growth row."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 50_000
PER_CONVERSATION = 10  # sessions: a person who issued ten invoices
PHONE = "106540352242922"
TABLES = ("conversas", "session_snapshot", "transicoes", "inbox", "lanes", "outbox")


async def seed(url: str, sessions: int) -> None:
    """Store ``sessions`` finished sessions with journal, arrivals and departures; the company must exist."""
    connection = await asyncpg.connect(url)
    try:
        empresa = await connection.fetchval("SELECT min(id) FROM empresa")
        template = json.dumps(_draft())
        for first in range(0, sessions, BATCH):
            numbers = range(first, min(first + BATCH, sessions))
            for table, columns, rows in _tables(numbers, empresa, template):
                await connection.copy_records_to_table(table, records=rows, columns=columns)
        for table in TABLES:
            await connection.execute(f"VACUUM ANALYZE {table}")
    finally:
        await connection.close()


def _draft() -> dict[str, Any]:
    from dataclasses import asdict  # noqa: PLC0415 - only here

    from state_machine.invoice.draft import Rascunho  # noqa: PLC0415 - likewise

    plain: dict[str, Any] = json.loads(json.dumps(asdict(Rascunho()), default=str))
    return plain


def _tables(numbers: range, empresa: int, draft: str) -> Iterator[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]]:
    """Yield (table, columns, rows) for these sessions, parents first."""
    began = datetime.now(UTC) - timedelta(days=90)

    def conversa(number: int) -> str:
        return f"{PHONE}:55219{70_000_000 + number // PER_CONVERSATION}"

    def sessao(number: int) -> str:
        return f"010126-{number:08x}"

    yield (
        "conversas",
        ("conversa", "phone_number_id", "endereco", "wa_id", "mensagens", "ultima_entrada_em"),
        [
            (conversa(n), PHONE, conversa(n)[-13:], conversa(n)[-13:], 20, began)
            for n in numbers
            if n % PER_CONVERSATION == 0
        ],
    )
    yield (
        "session_snapshot",
        ("sessao_id", "conversa", "empresa_id", "estado", "snapshot_reason", "cnpj_status", "cnpj", "valor_status",
         "valor", "descricao_status", "descricao", "data_complete", "missing_fields", "rascunho", "revisao", "versao",
         "resumos"),
        [
            (sessao(n), conversa(n), empresa, "aprovado", "webhook_success", "validated", "12345678000195",
             "validated", 1500, "validated", "Consultoria de marketing", True, "[]", draft, 1, 4, 1)
            for n in numbers
        ],
    )  # fmt: skip
    yield (
        "transicoes",
        ("sessao_id", "de", "para", "evento", "snapshot_reason", "revisao", "em"),
        [(sessao(n), "processando", "aprovado", "Autorizada", "webhook_success", 1, began) for n in numbers],
    )
    yield (
        "inbox",
        ("chave", "lane", "tipo", "payload", "estado", "correlacao", "recebido_em", "feito_em"),
        [
            (f"wamid.past{n:08x}", conversa(n), "mensagem", '{"mensagem":{"type":"text","text":{"body":"nota"}}}', 1,
             "past", began, began)
            for n in numbers
        ],
    )  # fmt: skip
    yield (
        "lanes",
        ("lane", "epoch"),
        [(conversa(n), 20) for n in numbers if n % PER_CONVERSATION == 0],
    )
    yield (
        "outbox",
        ("conversa", "sessao_id", "mensagem", "status", "wamid", "tentativas", "run_at", "enviado_em"),
        [
            (conversa(n), sessao(n), '{"tipo":"texto","texto":"Nota emitida.","botoes":[]}', "lido",
             f"wamid.out.past{n:08x}", 1, None, began)
            for n in numbers
        ],
    )  # fmt: skip
