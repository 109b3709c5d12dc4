"""Measures a MEI's year against its limit; another company has no meter."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from bot.conversation.customers import remembered
from persistence.fiscal import history
from state_machine.catalogue.records import aviso_mei
from state_machine.values.period import MesOuAno
from state_machine.values.yearly_limit import medidor

if TYPE_CHECKING:
    from bot.conversation.customers import Customers
    from gateway.register.cnpj import CompanyEntry
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa
    from state_machine.values.yearly_limit import LimitesMei, Medidor


class MeiMeter:
    """Counts the notes that we know; the opening is the public register's, as far as it is known."""

    def __init__(self, database: Database, customers: Customers, limites: LimitesMei) -> None:
        self._database = database
        self._customers = customers
        self._limites = limites

    async def of(self, empresa: Empresa, hoje: date) -> Medidor | None:
        """Return the meter of a company on a day, ``None`` for one that is no MEI; asks the register if it must."""
        if empresa.regime != "mei":
            return None
        return await self._measured(empresa, hoje, await self._customers.find(empresa.cnpj))

    async def after(self, emissao_id: int, hoje: date) -> str | None:
        """Return what to add to the news of a note, ``None`` below the threshold; asks nobody."""
        async with self._database.alone() as connection:
            empresa = await history.issuer_of(connection, emissao_id)
        if empresa is None or empresa.regime != "mei":
            return None
        async with self._database.alone() as connection:
            entry = await remembered(connection, empresa.cnpj)
        return aviso_mei(await self._measured(empresa, hoje, entry))

    async def _measured(self, empresa: Empresa, hoje: date, entry: CompanyEntry | None) -> Medidor:
        ano = MesOuAno(hoje.year)
        async with self._database.alone() as connection:
            notas = await history.issued(connection, empresa.id, ano)
        limite = self._limites.transporte if empresa.mei_transporte else self._limites.geral
        emitido = sum((nota.valor for nota in notas), start=limite * 0)
        return medidor(limite, hoje.year, emitido, _opening(entry.raw) if entry else None)


def _opening(raw: dict[str, Any]) -> date | None:
    try:
        return date.fromisoformat(str(raw.get("data_inicio_atividade")))
    except ValueError:
        return None
