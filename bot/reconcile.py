"""``prosa reconcile``: asks the gateway now after every emission without a final answer, and says what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from bot.protocol_commands import stopped
from persistence.tables import nfse_emissao
from state_machine.emission import StatusEmissao
from state_machine.reconciliation import ASSENTADOS

if TYPE_CHECKING:
    from bot.house import House


async def ask_now(house: House) -> list[str]:
    """Make every open emission due, work on them once, and return a line about each, and about stopped companies."""
    stops = await stopped(house.database)
    async with house.database.transaction() as connection:
        opened = await connection.execute(
            nfse_emissao.update()
            .where(nfse_emissao.c.status.not_in({*ASSENTADOS, StatusEmissao.PENDENTE}))  # those are sent in their time
            .values(proxima_acao_em=sa.func.now())
            .returning(nfse_emissao.c.id)
        )
        ids = list(opened.scalars())
    if not ids:
        return ["Nenhuma emissão sem resposta final.", *stops]
    await house.emissions.run_once()
    async with house.database.transaction() as connection:
        rows = await connection.execute(
            sa.select(nfse_emissao.c.id_integracao, nfse_emissao.c.status, nfse_emissao.c.erro_mensagem)
            .where(nfse_emissao.c.id.in_(ids))
            .order_by(nfse_emissao.c.id)
        )
        return [*(_line(row.id_integracao, row.status, row.erro_mensagem) for row in rows), *stops]


def _line(id_integracao: str, status: str, motivo: str | None) -> str:
    settled = "" if status in ASSENTADOS else " (a Prosa continua perguntando)"
    return f"{id_integracao}: {status}{f' · {motivo}' if motivo else ''}{settled}"
