"""Keeps which numbers beyond our counters the authority was seen to know, and whose each of them is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Collection

    from persistence.db.connection import Connection
    from persistence.fiscal.numbers.numbering import Sequencia

_KEEP = sa.text("""
INSERT INTO numero_visto (empresa_id, municipio, serie, ambiente, numero, referencia)
VALUES (:empresa_id, :municipio, :serie, :ambiente, :numero, :referencia)
ON CONFLICT (empresa_id, municipio, serie, ambiente, numero) DO UPDATE SET referencia = excluded.referencia,
    visto_em = now()
""")
_FIND = sa.text("""
SELECT v.serie, v.numero, v.referencia FROM numero_visto v
WHERE v.empresa_id = :empresa_id AND v.municipio = :municipio AND v.ambiente = :ambiente
    AND v.referencia = ANY(CAST(:referencias AS text[]))
    AND NOT EXISTS (SELECT FROM numeracao n JOIN numeracao_uso u ON u.numeracao_id = n.id AND u.numero = v.numero
        WHERE n.empresa_id = v.empresa_id AND n.municipio = v.municipio AND n.serie = v.serie
            AND n.ambiente = v.ambiente AND u.emissao_id IS NOT NULL)
ORDER BY v.numero DESC LIMIT 1
""")
# The number was explained as used beyond the copy; now it is known by whom.
_TAKE = sa.text("""
UPDATE numeracao_uso u SET inutilizado_em = NULL, motivo = NULL FROM numeracao n
WHERE n.id = u.numeracao_id AND u.numero = :numero AND u.emissao_id IS NULL
    AND n.empresa_id = :empresa_id AND n.municipio = :municipio AND n.serie = :serie AND n.ambiente = :ambiente
""")
_BEGIN = sa.text("""
WITH nova AS (
    INSERT INTO numeracao (empresa_id, modelo, municipio, serie, ambiente, primeiro, ultimo)
    VALUES (:empresa_id, :modelo, :municipio, :serie, :ambiente, :numero, :numero)
    ON CONFLICT DO NOTHING RETURNING id
), usada AS (
    INSERT INTO numeracao_uso (numeracao_id, numero, inutilizado_em, motivo)
    SELECT id, :numero, now(), :motivo FROM nova
)
SELECT id FROM nova
""")


async def keep(connection: Connection, sequencia: Sequencia, numero: int, referencia: str | None) -> None:
    """Note that a note stands under the number; ``referencia`` is what it carries, ``None`` where it carries none."""
    values = {**asdict(sequencia), "numero": numero, "referencia": referencia}
    await connection.execute(_KEEP, {name: values[name] for name in values if name != "modelo"})


async def number_of(
    connection: Connection, sequencia: Sequencia, referencias: Collection[str]
) -> tuple[str, int, str] | None:
    """Return series, number and reference of the note that carries one of these; in any series of the company.

    Not one that an emission of ours has taken in.
    """
    values = {
        "empresa_id": sequencia.empresa_id,
        "municipio": sequencia.municipio,
        "ambiente": sequencia.ambiente,
        "referencias": list(referencias),
    }
    row = (await connection.execute(_FIND, values)).one_or_none()
    return None if row is None else (row.serie, int(row.numero), row.referencia)


async def take(connection: Connection, sequencia: Sequencia, numero: int) -> None:
    """Let an intent be bound to a number that was explained as used beyond the copy."""
    values = {**asdict(sequencia), "numero": numero}
    await connection.execute(_TAKE, {name: values[name] for name in values if name != "modelo"})


async def begin(connection: Connection, sequencia: Sequencia, numero: int, motivo: str) -> int | None:
    """Begin a sequence that the copy does not know yet with a number used beyond it; ``None`` where it knows it."""
    found = (await connection.execute(_BEGIN, {**asdict(sequencia), "numero": numero, "motivo": motivo})).scalars()
    return int(found[0]) if found else None
