"""Keeps what cities agreed to and their rates, each with the moment at which it was told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
from persistence.tables import cidade_parametro
from state_machine.protocol.channel import Canal, Convenio, TipoDocumento
from state_machine.protocol.emission import CannotTell
from state_machine.values.local_time import local_day

DUE_AT_ONCE: Final = 100  # questions of one run: the next run has the others
_P = cidade_parametro.c
_KEY: Final = ("canal", "ambiente", "municipio_ibge", "codigo")
# A company chosen at random asks for its city: one whose certificate ADN refuses does not speak for it every time.
_DUE = sa.text(f"""
SELECT DISTINCT ON (e.municipio_ibge, s.codigo) e.cnpj, e.municipio_ibge, s.codigo, now() AS agora
FROM empresa e
JOIN empresa_canal ec ON ec.empresa_id = e.id AND ec.tipo = '{TipoDocumento.SERVICO}'
    AND ec.canal = :canal AND coalesce(ec.ambiente, :padrao) = :ambiente
JOIN empresa_certificado c ON c.empresa_id = e.id AND c.destruido_em IS NULL AND c.valido_ate > now()
CROSS JOIN LATERAL (
    SELECT e.codigo_servico AS codigo UNION SELECT codigo FROM empresa_servico WHERE empresa_id = e.id
) s
WHERE s.codigo ~ '^[0-9]{{6}}$' AND NOT EXISTS (
    SELECT FROM cidade_parametro p
    WHERE p.canal = :canal AND p.ambiente = :ambiente AND p.municipio_ibge = e.municipio_ibge AND p.codigo = s.codigo
        AND (p.tentado_em > now() - interval '1 hour'
            OR (p.convenio_em > now() - interval '1 day' AND p.aliquota_em > now() - interval '1 day'))
)
ORDER BY e.municipio_ibge, s.codigo, random() LIMIT {DUE_AT_ONCE}
""")  # noqa: S608 - our own constants
_FRESH: Final = sa.text("now() - interval '2 days'")  # each is asked for every day: an older one is nobody's word
_HERE = (_P.canal == sa.bindparam("b_canal"), _P.ambiente == sa.bindparam("b_ambiente"))
_CITY = (
    sa.select(_P.aderente, _P.emissor, _P.convenio_em)
    .where(*_HERE, _P.municipio_ibge == sa.bindparam("b_cidade"), _P.convenio_em > _FRESH)
    .order_by(_P.convenio_em.desc())
    .limit(1)
)
_RATE = sa.select(_P.aliquota, _P.aliquota_em).where(
    *_HERE,
    _P.municipio_ibge == sa.bindparam("b_cidade"),
    _P.codigo == sa.bindparam("b_codigo"),
    _P.aliquota_em > _FRESH,
)


@dataclass(frozen=True, slots=True)
class CityQuestion:
    """What one company asks for: its city and a service code, on a day of that city."""

    cnpj: str
    municipio: str
    codigo: str
    dia: date


async def due(connection: Connection, canal: Canal, padrao: str) -> list[CityQuestion]:
    """Return what was not told for a day, nor asked for an hour, of companies with a certificate on this channel.

    ``canal`` names its environment, ``padrao`` is the installation's.
    """
    values = {"canal": canal.nome, "ambiente": canal.ambiente, "padrao": padrao}
    rows = await connection.execute(_DUE, values)
    return [
        CityQuestion(row.cnpj, row.municipio_ibge, row.codigo, local_day(row.municipio_ibge, row.agora)) for row in rows
    ]


async def keep(
    connection: Connection,
    canal: Canal,
    asked: CityQuestion,
    convenio: Convenio | CannotTell,
    aliquota: Decimal | CannotTell | None,
) -> None:
    """Keep that this was asked now, and what was told; what nobody could tell stays as it was."""
    told: dict[str, Any] = {"tentado_em": sa.func.now()}
    if isinstance(convenio, Convenio):
        told |= {"aderente": convenio.aderente, "emissor": convenio.emissor, "convenio_em": sa.func.now()}
    if not isinstance(aliquota, CannotTell):
        told |= {"aliquota": aliquota, "aliquota_em": sa.func.now()}
    key = dict(zip(_KEY, (canal.nome, canal.ambiente, asked.municipio, asked.codigo), strict=True))
    row = insert(cidade_parametro).values(**key, **told)
    await connection.execute(row.on_conflict_do_update(index_elements=_KEY, set_=told))


async def agreement(connection: Connection, canal: Canal, municipio: str) -> tuple[Convenio, datetime] | None:
    """Return what a city agreed to as it was told last, and when; ``None``: not in the last two days."""
    row = (await connection.execute(_CITY, _city(canal, municipio))).one_or_none()
    return (Convenio(row.aderente, row.emissor), row.convenio_em) if row else None


async def rate(
    connection: Connection, canal: Canal, municipio: str, codigo: str
) -> tuple[Decimal | None, datetime] | None:
    """Return a city's rate for a code likewise, in percent; one of ``None``: the city has none."""
    row = (await connection.execute(_RATE, {**_city(canal, municipio), "b_codigo": codigo})).one_or_none()
    return (row.aliquota, row.aliquota_em) if row else None


def _city(canal: Canal, municipio: str) -> dict[str, Any]:
    return {"b_canal": canal.nome, "b_ambiente": canal.ambiente, "b_cidade": municipio}
