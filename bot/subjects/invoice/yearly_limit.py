"""Measures a MEI's year against its limit; another company has no meter."""

from __future__ import annotations

import time
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from bot.orders.accept import remembered
from persistence.fiscal import history
from state_machine.catalogue.records import aviso_mei
from state_machine.values.period import MesOuAno
from state_machine.values.yearly_limit import medidor

if TYPE_CHECKING:
    from decimal import Decimal

    from bot.conversation.customers import Customers
    from gateway.register.cnpj import CompanyEntry
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa
    from state_machine.values.yearly_limit import LimitesMei, Medidor

MOST: Final = 2000  # notes of a year that are added up after each one; R$ 40 each are the whole limit
REMEMBERED: Final = 600.0  # seconds for which a company that is over its limit is not measured again


class MeiMeter:
    """Counts the notes that we know; the opening is the public register's, as far as it is known."""

    def __init__(self, database: Database, customers: Customers, limites: LimitesMei) -> None:
        self._database = database
        self._customers = customers
        self._limites = limites
        self._over: dict[tuple[int, int], tuple[float, str]] = {}  # company and year: until when, and what is told

    async def of(self, empresa: Empresa, hoje: date) -> Medidor | None:
        """Return the meter of a company on a day, ``None`` for one that is no MEI; asks the register if it must."""
        if empresa.regime != "mei":
            return None
        entry = await self._customers.find(empresa.cnpj)
        async with self._database.alone() as connection:
            emitidas = await history.issued(connection, empresa.id, MesOuAno(hoje.year))
        return self._measured(empresa, hoje.year, emitidas.soma, entry)

    async def after(self, emissao_id: int, hoje: date) -> str | None:
        """Return what to add to the news of a note, ``None`` below the threshold and beyond ``MOST``; asks nobody."""
        async with self._database.alone() as connection:
            empresa = await history.issuer_of(connection, emissao_id)
            if empresa is None or empresa.regime != "mei":
                return None
            key = empresa.id, hoje.year
            until, told = self._over.get(key, (0.0, ""))
            if time.monotonic() < until:
                return told
            emitido = await history.total_issued(connection, empresa.id, MesOuAno(hoje.year), MOST)
            entry = await remembered(connection, empresa.cnpj)
        if emitido is None:
            return None
        mei = self._measured(empresa, hoje.year, emitido, entry)
        aviso = aviso_mei(mei)
        if aviso and mei.parte > 1:
            self._over[key] = time.monotonic() + REMEMBERED, aviso
        return aviso

    def _measured(self, empresa: Empresa, ano: int, emitido: Decimal, entry: CompanyEntry | None) -> Medidor:
        limite = self._limites.transporte if empresa.mei_transporte else self._limites.geral
        return medidor(limite, ano, emitido, _opening(entry.raw) if entry else None)


def _opening(raw: dict[str, Any]) -> date | None:
    try:
        return date.fromisoformat(str(raw.get("data_inicio_atividade")))
    except ValueError:
        return None
