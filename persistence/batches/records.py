"""Lists and their rows: made once, filled in chunks, confirmed, stopped, and counted."""

# ruff: noqa: S608 - every statement is made of words of ours alone; values are bound

from __future__ import annotations

import asyncio
from itertools import islice
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.batches import mailed_notes, work
from persistence.db.jsontext import clean, storable
from persistence.tables import lote_fila, lote_linhas, lotes
from persistence.versions import literals
from state_machine.mailing.reading import problems
from state_machine.mailing.states import ENCERRADOS, EstadoLinha, EstadoLote, StatusLote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found
    from persistence.db.engine import Database
    from state_machine.mailing.reading import LinhaLida, ListaLida

CHUNK: Final = 1_000  # rows of one statement: the specification's
TOKEN_BYTES: Final = 24  # nobody guesses it
# One statement of arrays: what is composed of a thousand rows anew keeps the event loop for too long.
_INGEST = """
INSERT INTO lote_linhas (lote_id, chave, linha, estado, email, dados, problemas, notas, token)
SELECT $1, chave, linha, estado, email, dados::jsonb, problemas::jsonb, notas::jsonb, token
FROM unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
    WITH ORDINALITY AS r(chave, linha, estado, email, dados, problemas, notas, token, ordem)
ORDER BY ordem ON CONFLICT DO NOTHING
"""
FORGOTTEN: Final = (
    "O banco foi restaurado de uma cópia, e o que saiu desta lista depois dela pode ir de novo. Só segue com outro sim."
)
_DOUBT = sa.text(f"""
UPDATE lotes SET estado = CASE WHEN estado = '{EstadoLote.LENDO}' THEN estado
        ELSE '{EstadoLote.AGUARDANDO_CONFIRMACAO}' END,
    status = '{StatusLote.PENDING}', epoch = epoch + 1, last_attempt = NULL, erro = :motivo, atualizado_em = now()
WHERE estado NOT IN ({literals(ENCERRADOS)})
RETURNING id, nome_arquivo, (SELECT count(*) FROM lote_linhas l
    WHERE l.lote_id = lotes.id AND l.estado IN ('{EstadoLinha.PENDING}', '{EstadoLinha.PROCESSING}')) AS quantas
""")
_STOP = f"""
UPDATE lotes SET estado = '{EstadoLote.CANCELADO}', atualizado_em = now()
WHERE id = $1 AND estado NOT IN ({literals(ENCERRADOS)})
"""


async def by_file(connection: Connection, empresa_id: int, nome: str, sha256: str) -> Found | None:
    """Return the batch that was made of this file."""
    statement = sa.select(lotes).where(
        lotes.c.empresa_id == empresa_id, lotes.c.nome_arquivo == clean(nome), lotes.c.sha256 == sha256
    )
    return (await connection.execute(statement)).one_or_none()


async def by_content(connection: Connection, empresa_id: int, sha256: str) -> Found | None:
    """Return the oldest batch that was made of the same content, under whatever name."""
    statement = sa.select(lotes).where(lotes.c.empresa_id == empresa_id, lotes.c.sha256 == sha256)
    return (await connection.execute(statement.order_by(lotes.c.id).limit(1))).one_or_none()


async def by_id(connection: Connection, lote_id: int) -> Found | None:
    """Return one batch."""
    return (await connection.execute(sa.select(lotes).where(lotes.c.id == lote_id))).one_or_none()


async def lock_content(connection: Connection, empresa_id: int, sha256: str) -> None:
    """Let one upload of a content decide at a time, until the transaction ends: two names of it know of each other."""
    key = f"lote:{empresa_id}:{sha256}"
    await connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", (key,))


async def make(connection: Connection, values: Mapping[str, Any]) -> Found | None:
    """Make a batch, unless its file is one already."""
    made = {**values, "nome_arquivo": clean(values["nome_arquivo"])}
    statement = insert(lotes).values(**made).on_conflict_do_nothing().returning(lotes)
    return (await connection.execute(statement)).one_or_none()


async def single(
    connection: Connection, values: Mapping[str, Any], row: Mapping[str, Any]
) -> tuple[Found | None, bool]:
    """Let one mail be sent that was asked for and agreed to by itself; returns its batch, and whether that is new.

    One that was made before is not made again; while it waits for a yes after a restore, this is one.
    """
    made = await make(connection, {**values, "estado": EstadoLote.AGUARDANDO_CONFIRMACAO, "linhas": 1})
    if made is not None:
        given = {"lote_id": made.id, "chave": row["email"], "linha": 1, "token": token_urlsafe(TOKEN_BYTES), **row}
        await connection.execute(insert(lote_linhas).values(**given))
    found = made or await by_file(connection, values["empresa_id"], values["nome_arquivo"], values["sha256"])
    new = found is not None and await confirm(connection, found.id, values["revisao"], values["usuario"])
    return found, new


async def replace(connection: Connection, lote_id: int, values: Mapping[str, Any]) -> Found | None:
    """Let other words, and the rows that were read with them, take the place of a batch's; ``None``: it is decided."""
    undecided = lotes.c.estado.in_((EstadoLote.LENDO, EstadoLote.AGUARDANDO_CONFIRMACAO))
    said = {name: values[name] for name in ("assunto", "mensagem", "revisao", "linhas", "ignoradas", "iguais")}
    statement = lotes.update().where(lotes.c.id == lote_id, undecided).returning(lotes)
    changed = statement.values(estado=EstadoLote.LENDO, atualizado_em=sa.func.now(), **said)
    found = (await connection.execute(changed)).one_or_none()
    if found is not None:
        await connection.execute(lote_linhas.delete().where(lote_linhas.c.lote_id == lote_id))
    return found


async def ingest(database: Database, lote_id: int, leitura: ListaLida) -> None:
    """Store the rows, each chunk by itself and each row once, and say that they are all there.

    Whoever died in the middle is gone on from by doing it again: what stands there is left as it is.
    """
    rows = iter(leitura.linhas)
    while chunk := list(islice(rows, CHUNK)):
        columns = await asyncio.to_thread(_columns, chunk)  # a chunk of long texts takes 20 ms
        async with database.transaction() as connection:
            if not await _is_reading(connection, lote_id, leitura):
                return
            await connection.exec_driver_sql(_INGEST, (lote_id, *columns))
    while leitura.has_notes:
        async with database.transaction() as connection:
            if not await _is_reading(connection, lote_id, leitura) or not await mailed_notes.find(connection, lote_id):
                break
    async with database.transaction() as connection:
        if await _is_reading(connection, lote_id, leitura):
            await mailed_notes.revise(connection, lote_id)
            await work.leave_out_suppressed(connection, lote_id)
            await _change(connection, lote_id, estado=EstadoLote.AGUARDANDO_CONFIRMACAO)


async def _is_reading(connection: Connection, lote_id: int, leitura: ListaLida) -> bool:
    """Say whether a batch waits for these rows, and not for those of other words."""
    waits = (lotes.c.estado == EstadoLote.LENDO, lotes.c.revisao == leitura.revisao)
    statement = sa.select(lotes.c.id).where(lotes.c.id == lote_id, *waits)
    return (await connection.execute(statement.with_for_update())).one_or_none() is not None


def _columns(chunk: Sequence[LinhaLida]) -> tuple[tuple[Any, ...], ...]:
    return tuple(zip(*map(_values, chunk), strict=True))


def _values(linha: LinhaLida) -> tuple[Any, ...]:
    estado = EstadoLinha.PENDING if linha.problema is None else EstadoLinha.INVALID
    email = None if linha.email is None else clean(linha.email)
    said = (storable(linha.dados), storable(problems(linha)), "[]" if linha.notas else None)
    return linha.chave, linha.linha, estado.value, email, *said, token_urlsafe(TOKEN_BYTES)


async def _change(connection: Connection, lote_id: int, **values: Any) -> None:
    await connection.execute(lotes.update().where(lotes.c.id == lote_id).values(atualizado_em=sa.func.now(), **values))


async def confirm(connection: Connection, lote_id: int, revisao: str, por: str) -> bool:
    """Let a batch be sent, if what was shown is what stands there; says whether that was so and new."""
    statement = (
        lotes.update()
        .where(
            lotes.c.id == lote_id,
            lotes.c.estado == EstadoLote.AGUARDANDO_CONFIRMACAO,
            lotes.c.revisao == revisao,
        )
        .values(
            estado=EstadoLote.PROCESSANDO,
            status=StatusLote.QUEUED,
            confirmado_por=por[:64],  # characters of the column; a login may be longer
            confirmado_em=sa.func.now(),
            atualizado_em=sa.func.now(),
        )
    )
    if (await connection.execute(statement)).rowcount != 1:
        return False
    await connection.execute(insert(lote_fila).values(lote_id=lote_id).on_conflict_do_nothing())
    return True


async def doubt(connection: Connection) -> list[Any]:
    """Have every list wait for another yes: a copy was put back, and what went since is not known.

    Returns ``id``, ``nome_arquivo`` and how many mails may go a second time (``quantas``).
    """
    rows = (await connection.execute(_DOUBT, {"motivo": FORGOTTEN})).all()
    await connection.execute(lote_fila.delete().where(lote_fila.c.lote_id.in_([row.id for row in rows])))
    return list(rows)


async def stop(connection: Connection, lote_id: int) -> int | None:
    """Cancel what was not sent; returns how many rows, or ``None`` where the batch has ended already.

    A mail that is under way is told of by its worker, or by the sweep if that one is dead.
    """
    if (await connection.exec_driver_sql(_STOP, (lote_id,))).rowcount != 1:
        return None
    await connection.execute(lote_fila.delete().where(lote_fila.c.lote_id == lote_id))
    rows = lote_linhas.update().where(lote_linhas.c.lote_id == lote_id, lote_linhas.c.estado == EstadoLinha.PENDING)
    cancelled = rows.values(estado=EstadoLinha.CANCELADA, atualizado_em=sa.func.now())
    return (await connection.execute(cancelled)).rowcount


async def counts(connection: Connection, lote_id: int) -> dict[EstadoLinha, int]:
    """Count a batch's rows by their state."""
    statement = sa.select(lote_linhas.c.estado, sa.func.count().label("quantas"))
    found = await connection.execute(statement.where(lote_linhas.c.lote_id == lote_id).group_by(lote_linhas.c.estado))
    return {EstadoLinha(row.estado): row.quantas for row in found}


async def uncertain(connection: Connection, lote_id: int) -> int:
    """Count the mails of a batch of which an answer was lost."""
    statement = sa.select(sa.func.count()).where(lote_linhas.c.lote_id == lote_id, lote_linhas.c.incertas > 0)
    return int(await connection.scalar(statement))
