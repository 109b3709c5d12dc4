"""What staff may do to the emission protocol from a terminal: let a stopped company go on; changes no session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence import suspension
from persistence.tables import empresa
from state_machine.documents import CNPJ, DocumentoInvalido

if TYPE_CHECKING:
    from persistence.engine import Database


class CommandRefusedError(ValueError):
    """The command makes no sense now; nothing was changed."""


async def release(database: Database, cnpj: str) -> list[str]:
    """Let a company's submissions go on; its waiting emissions are due at once."""
    try:
        numero = CNPJ(cnpj).numero
    except DocumentoInvalido as error:
        raise CommandRefusedError(f"{cnpj} não é um CNPJ válido; nada mudou.") from error
    async with database.transaction() as connection:
        statement = sa.select(empresa.c.id, empresa.c.razao_social, empresa.c.envio_suspenso)
        row = (await connection.execute(statement.where(empresa.c.cnpj == numero))).one_or_none()
        if row is None:
            raise CommandRefusedError(f"Nenhuma empresa com o CNPJ {cnpj}; nada mudou.")
        if row.envio_suspenso is None:
            return [f"Os envios de {row.razao_social} não estão parados; nada mudou."]
        waiting = await suspension.lift(connection, row.id)
    return [f"{row.razao_social} volta a enviar agora (estava parada por {row.envio_suspenso}); {waiting} na fila."]


async def stopped(database: Database) -> list[str]:
    """Say which companies are stopped, one line each."""
    async with database.transaction() as connection:
        rows = await suspension.suspended(connection)
    return [
        f"PARADA: {row.razao_social} ({row.cnpj}), {row.envio_suspenso} desde {row.suspenso_em:%d/%m/%Y %H:%M} UTC, "
        f"{row.esperando} na fila. Depois de corrigir: prosa empresa liberar {row.cnpj}"
        for row in rows
    ]
