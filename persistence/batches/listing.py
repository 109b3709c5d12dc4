"""Batches and rows page by page, and how far batches are."""

# ruff: noqa: S608 - every statement is made of words of ours alone; values are bound

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from persistence.tables import lote_linhas, lotes
from persistence.versions import literals
from state_machine.mailing.states import ENCERRADOS, EstadoLinha, EstadoLote
from state_machine.mailing.text import text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found

GOING: Final = 10  # batches at once of a company, for people to choose from
_SHOWN: Final = tuple(lote_linhas.c[name] for name in ("id", "linha", "estado", "email", "problemas", "notas"))
_UNSENT: Final = (EstadoLinha.INVALID, EstadoLinha.IGNORADA, EstadoLinha.CANCELADA)
_FIRST: Final = f"""
SELECT l.lote_id, l.linha, l.email, l.dados, l.notas FROM unnest($1::bigint[]) AS r(id), LATERAL (
    SELECT * FROM lote_linhas WHERE lote_id = r.id AND estado = '{EstadoLinha.PENDING}' ORDER BY id LIMIT 1) AS l
"""
# What a company had in the last 24 hours, and in how many seconds the oldest of it is that old.
TAKEN_IN: Final = """
SELECT coalesce(sum(tamanho), 0) AS quantos, extract(epoch FROM min(criado_em) + interval '1 day' - now()) AS segundos
FROM lotes WHERE empresa_id = $1 AND criado_em > now() - interval '1 day'
"""
HANDED_OVER: Final = f"""
SELECT count(*) AS quantos, extract(epoch FROM min(o.confirmado_em) + interval '1 day' - now()) AS segundos
FROM lotes o JOIN lote_linhas l ON l.lote_id = o.id AND l.estado NOT IN ({literals(_UNSENT)})
WHERE o.empresa_id = $1 AND o.confirmado_em > now() - interval '1 day'
"""


@dataclass(frozen=True, slots=True)
class FirstMail:
    """The first mail of a batch as it will look, and the numbers of the notes that go with it."""

    linha: int
    email: str
    assunto: str
    mensagem: str
    notas: list[str]


async def newest(
    connection: Connection, empresas: Collection[int] | None, before: int | None, limit: int
) -> Sequence[Found]:
    """Return up to ``limit`` batches of these companies (``None``: of all), newest first, below an id."""
    statement = sa.select(lotes).order_by(lotes.c.id.desc()).limit(limit)
    if empresas is not None:
        statement = statement.where(lotes.c.empresa_id.in_(list(empresas)))
    if before is not None:
        statement = statement.where(lotes.c.id < before)
    return (await connection.execute(statement)).all()


async def going(connection: Connection, empresa_id: int, lote_id: int | None) -> Sequence[Found]:
    """Return the company's batches of which something may be sent still, oldest first; with an id only that one."""
    statement = sa.select(lotes).where(lotes.c.empresa_id == empresa_id, lotes.c.estado.not_in(ENCERRADOS))
    if lote_id is not None:
        statement = statement.where(lotes.c.id == lote_id)
    return (await connection.execute(statement.order_by(lotes.c.id).limit(GOING))).all()


async def rows(connection: Connection, lote_id: int, after: int, limit: int) -> Sequence[Found]:
    """Return up to ``limit`` rows of a batch in the order of the file, above an id."""
    statement = sa.select(*_SHOWN).where(lote_linhas.c.lote_id == lote_id, lote_linhas.c.id > after)
    return (await connection.execute(statement.order_by(lote_linhas.c.id).limit(limit))).all()


async def carrying(connection: Connection, lote_id: int, limit: int) -> tuple[Sequence[Found], int]:
    """Return up to ``limit`` rows whose mails carry notes, in the order of the file, and how many there are."""
    carries = (lote_linhas.c.lote_id == lote_id, sa.func.jsonb_array_length(lote_linhas.c.notas) > 0)
    mails = sa.select(*_SHOWN, sa.func.count().over().label("quantas"))
    mails = mails.where(*carries, lote_linhas.c.estado != EstadoLinha.INVALID)
    found = (await connection.execute(mails.order_by(lote_linhas.c.id).limit(limit))).all()
    return found, found[0].quantas if found else 0


async def first_mails(connection: Connection, batches: Collection[Any]) -> dict[int, FirstMail]:
    """Return the first mail of each batch that waits for a yes, by the batch's id."""
    waiting = {lote.id: lote for lote in batches if lote.estado == EstadoLote.AGUARDANDO_CONFIRMACAO}
    return {
        row.lote_id: FirstMail(
            row.linha,
            row.email,
            *text_of(waiting[row.lote_id].assunto, waiting[row.lote_id].mensagem, row.dados),
            [nota["numero"] for nota in row.notas or ()],
        )
        for row in await connection.exec_driver_sql(_FIRST, (list(waiting),))
    }


async def counts_of(connection: Connection, ids: Collection[int]) -> dict[int, dict[EstadoLinha, int]]:
    """Count the rows of batches by their state."""
    columns = (lote_linhas.c.lote_id, lote_linhas.c.estado)
    statement = sa.select(*columns, sa.func.count().label("quantas")).where(lote_linhas.c.lote_id.in_(list(ids)))
    found: dict[int, dict[EstadoLinha, int]] = {lote_id: {} for lote_id in ids}
    for row in await connection.execute(statement.group_by(*columns)):
        found[row.lote_id][EstadoLinha(row.estado)] = row.quantas
    return found


async def of_a_day(connection: Connection, empresa_id: int, day: str) -> Found:
    """Return (quantos, segundos) of ``TAKEN_IN`` or ``HANDED_OVER``; the audit, written before, lets one ask."""
    return (await connection.exec_driver_sql(day, (empresa_id,))).one()
