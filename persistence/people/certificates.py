"""Keeps until when each company's certificate at the gateway is good, as somebody told us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from persistence.tables import empresa

if TYPE_CHECKING:
    from datetime import date

    from persistence.access.accounts import Alcance
    from persistence.db.connection import Connection

WARN_DAYS: Final = 30  # a new A1 takes days: money, an appointment, somebody who is on holiday
LISTED: Final = 100  # companies
_E = empresa.c
_TODAY = sa.cast(sa.func.timezone("America/Sao_Paulo", sa.func.now()), sa.Date)


async def note(connection: Connection, cnpj: str, vence: date | None) -> str | None:
    """Store the last good day, or forget it; returns the company's name, ``None`` when nobody has this (bare) CNPJ.

    The company's version stays: a date changes nothing that is sent, so summaries that were shown stay good.
    """
    told = empresa.update().where(_E.cnpj == cnpj).values(certificado_vence=vence).returning(_E.razao_social)
    nome: str | None = (await connection.execute(told)).scalar_one_or_none()
    return nome


async def expiring(connection: Connection, alcance: Alcance) -> list[Any]:
    """List (razao_social, certificado_vence, dias) of what ends within 30 days or has ended, the worst first.

    ``dias`` counts from today in Brazil: 0 is the last good day, below it has ended.
    """
    left = (_E.certificado_vence - _TODAY).label("dias")
    statement = sa.select(_E.razao_social, _E.certificado_vence, left).where(alcance.em(_E.id), left <= WARN_DAYS)
    return list(await connection.execute(statement.order_by(_E.certificado_vence, _E.id).limit(LISTED)))


async def undated(connection: Connection, alcance: Alcance) -> int:
    """Count the companies of whose certificate nobody told us the date."""
    statement = sa.select(sa.func.count()).where(alcance.em(_E.id), _E.certificado_vence.is_(None))
    return int((await connection.execute(statement)).scalar_one())
