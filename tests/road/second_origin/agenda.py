"""A made-up origin: a table of invoices that are due, of which each is ordered once and told in a second table."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import sqlalchemy as sa

from bot.orders.accept import Confirmed
from bot.orders.origins import OriginRow
from operations.person import issuer_of
from persistence.people.companies import get_company
from persistence.rows import EmissionRow
from state_machine.documents import DocumentoServico, Tomador
from state_machine.protocol.channel import Origin
from state_machine.services.codes import Servico

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.house import House
    from bot.orders.origins import News
    from persistence.db.connection import Connection

NAME = "agenda"
TABLES = """
CREATE TABLE agenda (
    id text PRIMARY KEY, empresa_id bigint NOT NULL, documento text NOT NULL, valor numeric NOT NULL, emissao_id bigint
);
CREATE TABLE agenda_ouviu (chave text PRIMARY KEY, agenda_id text NOT NULL, tipo text NOT NULL, aviso text NOT NULL);
GRANT ALL ON agenda, agenda_ouviu TO PUBLIC;
"""
DROPPED = "DROP TABLE IF EXISTS agenda, agenda_ouviu"
LOOK_EVERY = 0.05  # seconds

_DUE = sa.text("SELECT * FROM agenda WHERE emissao_id IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
_ORDERED = sa.text("UPDATE agenda SET emissao_id = :emissao_id WHERE id = :id")
_HEARD = sa.text("INSERT INTO agenda_ouviu VALUES (:chave, :id, :tipo, :aviso) ON CONFLICT DO NOTHING")


def row() -> Mapping[str, OriginRow]:
    """Return the origin's row of the table of origins."""
    return {NAME: OriginRow("agenda de mensalidades", lambda _: hear)}


async def hear(connection: Connection, news: Sequence[News]) -> None:
    """Keep what is told, each once."""
    for each in news:
        tipo = "emissao" if isinstance(each.row, EmissionRow) else "cancelamento"
        await connection.execute(_HEARD, {"chave": each.chave, "id": each.id, "tipo": tipo, "aviso": each.row.aviso})


async def order_due(house: House) -> bool:
    """Order what is due, in the transaction that notes it; False where nothing is."""
    async with house.database.transaction() as connection:
        due = (await connection.execute(_DUE, {})).one_or_none()
        if due is None:
            return False
        empresa, agora = await get_company(connection, due.empresa_id)
        confirmed = Confirmed(
            origin=Origin(NAME, due.id, 1),
            tentativa=1,
            empresa=empresa,
            documento=DocumentoServico(
                prestador=issuer_of(empresa, Servico(empresa.codigo_servico)),
                tomador=Tomador(due.documento, None),
                valor=due.valor,
                competencia=agora.date(),
                descricao="mensalidade",
            ),
        )
        emissao_id = await house.door.accept(connection, confirmed, due.id)
        await connection.execute(_ORDERED, {"id": due.id, "emissao_id": emissao_id})
    house.pumps.ring()
    return True


async def keep_ordering(house: House) -> None:
    """Order what is due, as long as the process lives."""
    while True:
        if not await order_due(house):
            await asyncio.sleep(LOOK_EVERY)
