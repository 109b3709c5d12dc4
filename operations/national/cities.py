"""Asks for what cities agreed to and their rates, and keeps the answers; one that does not come changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from persistence.national import cities as kept
from state_machine.protocol.agreement import Convenio
from state_machine.protocol.channel import Ambiente, Canal

if TYPE_CHECKING:
    from decimal import Decimal

    from gateway.nacional.adn.parameters import CityParameters
    from gateway.registry import Channels
    from persistence.db.engine import Database
    from persistence.national.cities import CityQuestion
    from state_machine.protocol.emission import CannotTell


async def ask(
    database: Database, cities: CityParameters, canal: Canal, question: CityQuestion
) -> tuple[Convenio | CannotTell, Decimal | CannotTell | None]:
    """Ask for agreement and rate, and keep what was told; ``canal`` names its environment."""
    convenio = await cities.agreement(question.cnpj, question.municipio)
    aliquota = await cities.rate(question.cnpj, question.municipio, question.codigo, question.dia)
    async with database.transaction() as connection:
        await kept.keep(connection, canal, question, convenio, aliquota)
    return convenio, aliquota


async def ask_due(database: Database, channels: Channels) -> int:
    """Ask for what is due on all channels that have it; returns how many cities' codes were told of."""
    told = 0
    for nome in channels.with_any("cities"):
        padrao = channels.environment(Canal(nome))
        for ambiente in Ambiente:
            told += await _ask_due_of(database, channels, Canal(nome, ambiente), padrao)
    return told


async def _ask_due_of(database: Database, channels: Channels, canal: Canal, padrao: Ambiente) -> int:
    async with database.transaction() as connection:
        due = await kept.due(connection, canal, padrao)
    cities = channels.cities(canal) if due else None
    if cities is None:
        return 0
    told = 0
    try:
        for question in due:
            convenio, _ = await ask(database, cities, canal, question)
            if isinstance(convenio, Convenio):
                told += 1
            elif convenio.texto is None:  # no certificate's fault: the next run asks whether ADN is back
                break
    finally:
        await cities.aclose()
    return told
