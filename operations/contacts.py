"""``prosa contatos``: shows staff who wrote from a number that no company knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from persistence.conversations import conversations

if TYPE_CHECKING:
    from persistence.db.engine import Database


async def show_unknown(database: Database) -> None:
    """Print a table, the most recent first."""
    async with database.transaction() as connection:
        rows = await conversations.unknown_contacts(connection)
    if not rows:
        Console().print("Nenhum número desconhecido escreveu.")
        return
    table = Table("Telefone", "Nome no perfil", "Mensagens", "Última", title="Números sem empresa")
    for row in rows:
        ultima = row.ultima_entrada_em.strftime("%d/%m/%Y %H:%M UTC")
        table.add_row(row.wa_id or row.endereco, row.nome_perfil or "", str(row.mensagens), ultima)
    Console().print(table)
    Console().print("Para liberar um número: prosa empresa add … --usuario +<telefone>")
