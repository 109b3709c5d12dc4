"""Tells notes of ours from those that others made for a company, and keeps the latter, without their customers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from persistence.db.connection import Connection
from persistence.fiscal.numbering import Sequencia
from state_machine.protocol.channel import Canal
from state_machine.protocol.emission import Nota, Situacao, StatusEmissao

_OURS = sa.text("""
SELECT e.id AS emissao_id, e.id_integracao, e.id_externo, e.status, e.origem, e.sessao_id, e.correlacao, s.conversa
FROM nfse_emissao e LEFT JOIN session_snapshot s ON s.id = e.session_id
WHERE e.canal = :canal AND e.ambiente = :ambiente
    AND (e.id_externo = :chave OR e.chave_natural = CAST(:id_dps AS text))
ORDER BY e.id
""")
# A series that gave no number yet begins at the company's own first one; earlier numbers are another program's.
_SERIES = sa.text("""
SELECT serie FROM (
    SELECT serie, primeiro FROM numeracao
    WHERE empresa_id = :empresa_id AND municipio = :municipio AND ambiente = :ambiente
    UNION ALL SELECT e.serie_rps, coalesce(e.primeiro_rps, 1) FROM empresa e
    WHERE e.id = :empresa_id AND e.municipio_ibge = :municipio AND NOT EXISTS (
        SELECT FROM numeracao n WHERE n.empresa_id = e.id AND n.municipio = :municipio AND n.ambiente = :ambiente
            AND n.serie = e.serie_rps)
) nossas WHERE ltrim(serie, '0') = :serie AND primeiro <= :numero LIMIT 1
""")
_KEEP = sa.text("""
INSERT INTO nota_de_fora (canal, ambiente, chave, empresa_id, id_dps, numero, valor, emitida_em, situacao, serie,
    numero_dps)
VALUES (:canal, :ambiente, :chave, :empresa_id, :id_dps, :numero, :valor,
    coalesce(CAST(:emitida_em AS timestamptz), now()), 'autorizada', :serie, :numero_dps)
ON CONFLICT DO NOTHING
""")
_ENDED = sa.text("""
UPDATE nota_de_fora SET situacao = :situacao WHERE canal = :canal AND ambiente = :ambiente AND chave = :chave
""")
# One that we learnt to be ours since, as after a restored backup, is nobody else's.
_ALL = """
FROM nota_de_fora n WHERE n.empresa_id = :empresa_id AND NOT EXISTS (SELECT FROM nfse_emissao e
    WHERE e.id_externo = n.chave AND e.canal = n.canal AND e.ambiente = n.ambiente)
"""
_LISTED = f"{_ALL} AND n.canal = :canal AND n.ambiente = :ambiente"
_NEWEST = sa.text(f"SELECT n.* {_ALL} ORDER BY n.emitida_em DESC, n.chave LIMIT :limite")
_TAKEN = sa.text(f"""
SELECT n.ambiente, n.serie, count(*) AS quantas, max(n.numero_dps) AS ultimo {_ALL} AND n.serie IS NOT NULL
GROUP BY n.canal, n.ambiente, n.serie ORDER BY n.serie, n.ambiente
""")
_BETWEEN = sa.text(f"""
SELECT n.* {_LISTED} AND n.emitida_em >= :desde AND n.emitida_em < :ate ORDER BY n.emitida_em, n.chave
""")
_IN_SERIES = sa.text(f"""
SELECT n.* {_LISTED} AND n.serie = :serie ORDER BY n.numero_dps DESC LIMIT 1
""")


@dataclass(frozen=True, slots=True)
class Ours:
    """An emission of ours which a document names; ``chave`` is the key of its note as far as we know it."""

    emissao_id: int
    id_integracao: str
    chave: str | None
    status: StatusEmissao
    origem: str
    sessao_id: str
    conversa: str | None
    correlacao: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotaDeFora:
    """A note that nobody here made; ``serie`` is ours, of which it took ``numero_dps``, or ``None``."""

    chave: str
    id_dps: str
    numero: str | None
    valor: Decimal | None
    emitida_em: datetime | None
    serie: str | None
    numero_dps: int | None
    situacao: str = "autorizada"

    @property
    def vista(self) -> Nota:
        """The note as an audit compares it."""
        ended = Situacao.AUTORIZADA if self.situacao == "autorizada" else Situacao.CANCELADA
        return Nota(self.chave, self.id_dps, ended, valor=self.valor, numero=self.numero, chave=self.chave)


async def ours(connection: Connection, canal: Canal, chave: str, id_dps: str | None = None) -> list[Ours]:
    """Return our emissions under a note's key, or under its DPS."""
    values = {"canal": canal.nome, "ambiente": canal.ambiente, "chave": chave, "id_dps": id_dps or None}
    return [
        Ours(
            row.emissao_id,
            row.id_integracao,
            row.id_externo,
            StatusEmissao(row.status),
            row.origem,
            row.sessao_id,
            row.conversa,
            row.correlacao,
        )
        for row in await connection.execute(_OURS, values)
    ]


async def series_of(connection: Connection, sequencia: Sequencia, numero: int) -> str | None:
    """Return our own writing of a company's series in which we give this number; ``None``: we give none such."""
    values = {
        "empresa_id": sequencia.empresa_id,
        "municipio": sequencia.municipio,
        "ambiente": sequencia.ambiente,
        "serie": sequencia.serie.lstrip("0"),
        "numero": numero,
    }
    found: str | None = (await connection.execute(_SERIES, values)).scalar_one_or_none()
    return found


async def keep(connection: Connection, canal: Canal, empresa_id: int, nota: NotaDeFora) -> bool:
    """Keep a note; False where it is kept already."""
    values = {
        **_of(canal, empresa_id),
        "chave": nota.chave,
        "id_dps": nota.id_dps,
        "numero": nota.numero,
        "valor": nota.valor,
        "emitida_em": nota.emitida_em,
        "serie": nota.serie,
        "numero_dps": nota.numero_dps,
    }
    return (await connection.execute(_KEEP, values)).rowcount == 1


async def ended(connection: Connection, canal: Canal, chave: str, situacao: str) -> None:
    """Note how a kept note ended."""
    here = {"canal": canal.nome, "ambiente": canal.ambiente}
    await connection.execute(_ENDED, {**here, "chave": chave, "situacao": situacao})


async def between(
    connection: Connection, canal: Canal, empresa_id: int, desde: datetime, ate: datetime
) -> list[NotaDeFora]:
    """Return what others issued for a company from ``desde`` to before ``ate``, the oldest first."""
    return _notes((await connection.execute(_BETWEEN, {**_of(canal, empresa_id), "desde": desde, "ate": ate})).all())


async def in_series(connection: Connection, canal: Canal, empresa_id: int, serie: str) -> NotaDeFora | None:
    """Return the note of the highest number that others took of a series of ours, ``None`` where there is none."""
    found = (await connection.execute(_IN_SERIES, {**_of(canal, empresa_id), "serie": serie})).all()
    return next(iter(_notes(found)), None)


async def newest(connection: Connection, empresa_id: int, limite: int) -> list[Any]:
    """Return the rows of what others issued for a company, in each environment, the newest first."""
    return list(await connection.execute(_NEWEST, {"empresa_id": empresa_id, "limite": limite}))


async def taken(connection: Connection, empresa_id: int) -> list[Any]:
    """Return for each series of ours that others use: ``ambiente``, ``serie``, ``quantas`` notes, ``ultimo`` number."""
    return list(await connection.execute(_TAKEN, {"empresa_id": empresa_id}))


def _of(canal: Canal, empresa_id: int) -> dict[str, Any]:
    return {"canal": canal.nome, "ambiente": canal.ambiente, "empresa_id": empresa_id}


def _notes(rows: Sequence[Any]) -> list[NotaDeFora]:
    return [NotaDeFora(**{column.name: row[column.name] for column in fields(NotaDeFora)}) for row in rows]
